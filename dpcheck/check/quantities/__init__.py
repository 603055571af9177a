"""A whole-mechanism claim and its evidence come in; an outcome goes out."""
