"""A digest of all rows in order and of their weights.

It does not depend on blocks, dtypes or sparsity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._grid import Array
from .base import Cells, is_sparse
from .source_parts import BlockCells

BASE = 0x9E3779B97F4A7C15  # 5 modulo 8, so its powers repeat only after 2^62 rows
FACTOR_SEED = 0  # seed of the random odd factors, one per column
WEIGHT_FACTOR = np.uint64(0xD6E8FEB86659FD93)
MIXING_FACTOR = np.uint64(0xFF51AFD7ED558CCD)  # a constant of MurmurHash3
DIGEST_CELLS = 1 << 16  # cells per block; the block and its copies fit in the cache
MODULUS = 1 << 64


def digest_rows(X: Cells | BlockCells, weights: Array | None, first: int = 0) -> int:
    """Return the contribution of a block to the digest. Contributions are added modulo 2^64.

    The digest is sum_i B^i mix(h_i) with h_i = sum_j a_j bits(x_ij) + a bits(w_i), where i starts
    at `first`. Zeros contribute nothing, so sparse rows cost time only for nonzero cells.
    """
    size = max(1, DIGEST_CELLS // X.shape[1])
    blocks = (slice(at, at + size) for at in range(0, X.shape[0], size))
    shares = (
        _digest_block(X[at], None if weights is None else weights[at], first + at.start)
        for at in blocks
    )
    return sum(shares) % MODULUS


def shift_digest(digest: int, n_rows: int) -> int:
    """Return the contribution of the same rows if `n_rows` more rows precede them."""
    return digest * pow(BASE, int(n_rows), MODULUS) % MODULUS


def _digest_block(X: Cells, weights: Array | None, first: int) -> int:
    words: Array = np.random.PCG64(FACTOR_SEED).random_raw(int(X.shape[1]))
    factors: Array = words | np.uint64(1)
    hashes = _hash_sparse_rows(X, factors) if is_sparse(X) else _bits(X) @ factors
    if weights is not None:
        hashes += _bits(weights) * WEIGHT_FACTOR
    hashes ^= hashes >> np.uint64(29)
    hashes *= MIXING_FACTOR
    hashes ^= hashes >> np.uint64(32)
    powers = np.full(len(hashes), BASE, np.uint64)
    powers[0] = 1
    return shift_digest(int((hashes * np.multiply.accumulate(powers)).sum()), first)


def _hash_sparse_rows(X: sparse.csr_array, factors: Array) -> Array:
    """Return the hashes of the rows of a CSR array from their stored cells, (n,)."""
    sums = np.zeros(len(X.data) + 1, np.uint64)
    np.cumsum(_bits(X.data) * factors[X.indices], out=sums[1:])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]  # modulo 2^64


def _bits(cells: ArrayLike) -> Array:
    """Return the bits of numbers as float64, with the high half mixed into the low half.

    All NaNs are mapped to the same bits, and -0 to the bits of 0.
    """
    numbers = np.array(cells, np.float64)
    numbers += 0.0
    if (missing := np.isnan(numbers)).any():
        numbers[missing] = np.nan
    bits = numbers.view(np.uint64)
    bits ^= bits >> np.uint64(32)
    return bits
