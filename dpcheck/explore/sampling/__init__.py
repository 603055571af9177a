"""A distribution and its parameters come in; a finite support with exact weights goes out."""
