"""Labelled chains as arrays come in; smaller chains, graphs and rows of exact weights go out."""
