"""Answers to the units of a sweep come in; a table, CSV, JSON, or a page with drawings goes out."""
