"""Products of integer matrices and of polynomials, by flint.

flint multiplies modulo many primes or in pieces of machine words, or packs a polynomial into one
number (Kronecker), whichever is fastest for the length of the entries; sums of products cost a
fraction of what they do number by number.

A number takes longer to become one of flint's, and one of Python's again, than to be multiplied by
a short one. So a row of numbers that are not very long is packed into one number first.
"""

from __future__ import annotations

from struct import unpack

from flint import fmpz_mat, fmpz_poly

SHORT = 2**62
"""Left numbers that fit a word multiply packed rows at the cost of one long product."""
LONGEST_PACKED = 2**2560
"""Longer numbers cost more to multiply than to convert; those of 400 bits did not."""
LEAST_PACKED = 8
"""Fewer columns are not worth packing."""


def integer_product(left: list[int], right: list[int], n_rows: int, n_columns: int) -> list[int]:
    """Return the product of two matrices of numbers >= 0, all given entry by entry, row after row.

    left [n_rows * n], right [n * n_columns], result [n_rows * n_columns]; n > 0 follows from them.

    >>> integer_product([1, 2, 3, 4], [5, 6], 2, 1)
    [17, 39]
    """
    n, tops = len(left) // n_rows, (max(left), max(right))
    if n_columns >= LEAST_PACKED and tops[0] < SHORT and tops[1] < LONGEST_PACKED:
        return _packed_product(left, right, n_rows, n * max(tops[0], 1) * tops[1])
    product = fmpz_mat(n_rows, n, left) * fmpz_mat(n, n_columns, right)
    return [int(value) for value in product.entries()]


def _packed_product(left: list[int], right: list[int], n_rows: int, bound: int) -> list[int]:
    """Return the product of two matrices of numbers >= 0; no right number, no sum is above `bound`.

    Rows of the right one are packed (Kronecker substitution): for B above the bound,

        Σ_j B^j Σ_k l_ik r_kj = Σ_k l_ik (Σ_j B^j r_kj),

    and the digits of that in base B are the sums, since each is below B. Here B = 256^width.
    """
    n = len(left) // n_rows
    width = bound.bit_length() // 8 + 1
    size = len(right) // n * width
    digits = b"".join([number.to_bytes(width, "little") for number in right])
    packed = [int.from_bytes(digits[i : i + size], "little") for i in range(0, n * size, size)]
    sums = (fmpz_mat(n_rows, n, left) * fmpz_mat(n, 1, packed)).entries()
    digits = b"".join([int(total).to_bytes(size, "little") for total in sums])
    parts = unpack(f"{width}s" * (len(digits) // width), digits)
    return [int.from_bytes(part, "little") for part in parts]


def convolution(left: list[int], right: list[int]) -> list[int]:
    """Return the sums of left[i] right[j] by i + j, up to the last one that is not 0.

    >>> convolution([1, 2], [3, 4, 5])
    [3, 10, 13, 10]
    """
    return [int(value) for value in (fmpz_poly(left) * fmpz_poly(right)).coeffs()]
