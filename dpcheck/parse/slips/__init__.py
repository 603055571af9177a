"""Tokens of a text with syntax errors come in; what is plainly meant in it goes out, as edits."""
