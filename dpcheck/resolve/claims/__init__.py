"""Claims as written come in; claims with a target, formulas and atoms go out."""
