"""Answers and mistakes come in; text, drawings for a terminal, and JSON go out."""
