"""A path formula and a chain come in; a product on which reaching is all that is left goes out."""
