"""A state formula and a chain come in; where it holds, and why not elsewhere, go out."""
