"""Paths and texts come in; parsed models, with all that they import, go out."""
