"""A chain comes in; exact laws of its output sequences, pair by pair, go out."""
