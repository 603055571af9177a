"""Expressions as written come in; core expressions with constants folded go out."""
