"""The chain room."""
