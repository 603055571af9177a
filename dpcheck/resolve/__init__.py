"""The resolve room."""
