"""Explanations of violated claims come in; lines of text and JSON objects go out."""
