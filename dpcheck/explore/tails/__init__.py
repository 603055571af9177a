"""Draws of numbers without bounds come in; laws of their tails, and integers for codes, go out."""
