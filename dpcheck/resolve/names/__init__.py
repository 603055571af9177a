"""Declarations come in; what each name means at each place goes out."""
