"""Answers come in; witnesses, and what the reference interpreter says of them, go out."""
