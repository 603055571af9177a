"""Products of integer matrices and of polynomials, by flint.

flint multiplies modulo many primes or in pieces of machine words, or packs a polynomial into one
number (Kronecker), whichever is fastest for the length of the entries; sums of products cost a
fraction of what they do number by number.
"""

from __future__ import annotations

from flint import fmpz_mat, fmpz_poly


def integer_product(left: list[int], right: list[int], n_rows: int, n_columns: int) -> list[int]:
    """Return the product of two integer matrices, all given entry by entry, row after row.

    left [n_rows * n], right [n * n_columns], result [n_rows * n_columns]; n > 0 follows from them.

    >>> integer_product([1, 2, 3, 4], [5, 6], 2, 1)
    [17, 39]
    """
    n = len(left) // n_rows
    product = fmpz_mat(n_rows, n, left) * fmpz_mat(n, n_columns, right)
    return [int(value) for value in product.entries()]


def convolution(left: list[int], right: list[int]) -> list[int]:
    """Return the sums of left[i] right[j] by i + j, up to the last one that is not 0.

    >>> convolution([1, 2], [3, 4, 5])
    [3, 10, 13, 10]
    """
    return [int(value) for value in (fmpz_poly(left) * fmpz_poly(right)).coeffs()]
