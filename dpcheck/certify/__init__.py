"""The certify room."""
