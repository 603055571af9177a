"""A chain and sets of states come in; exact reach probabilities, or float bounds, go out."""
