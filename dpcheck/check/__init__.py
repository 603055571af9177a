"""The check room."""
