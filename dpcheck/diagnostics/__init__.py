"""The diagnostics room."""
