"""Text that was read comes in; the tree as written and the program as meant go out."""
