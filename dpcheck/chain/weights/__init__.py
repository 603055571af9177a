"""Exact weights come in; sparse rows over common denominators, and their arithmetic, go out."""
