"""The explore room."""
