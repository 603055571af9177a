"""A claim with a parameter comes in; the values for which it fails, or pieces of one, go out."""
