"""Declared inputs and an adjacency come in; input rows and neighbor pairs go out."""
