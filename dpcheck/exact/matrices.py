"""Products of integer matrices, by flint's `fmpz_mat`.

flint multiplies modulo many primes or in pieces of machine words, whichever is faster for the
length of the entries; sums of products cost a fraction of what they do number by number.
"""

from __future__ import annotations

from flint import fmpz_mat


def integer_product(left: list[int], right: list[int], n_rows: int, n_columns: int) -> list[int]:
    """Return the product of two matrices, all given entry by entry, row after row.

    left [n_rows * n], right [n * n_columns], result [n_rows * n_columns]; n > 0 follows from them.

    >>> integer_product([1, 2, 3, 4], [5, 6], 2, 1)
    [17, 39]
    """
    n = len(left) // n_rows
    product = fmpz_mat(n_rows, n, left) * fmpz_mat(n, n_columns, right)
    return [int(value) for value in product.entries()]
