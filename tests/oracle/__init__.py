"""A slow and obvious interpreter of the language, which shares no code with what it checks.

It works on the surface tree with Python's `Fraction`, one run at a time, by recursion on the text.
"""
