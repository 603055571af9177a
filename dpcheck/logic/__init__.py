"""The logic room."""
