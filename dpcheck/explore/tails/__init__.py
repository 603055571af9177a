"""Noise without bounds: what is known of numbers beyond a window, as finitely many states."""
