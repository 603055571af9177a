"""The parse room."""
