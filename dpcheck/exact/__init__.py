"""The exact room."""
