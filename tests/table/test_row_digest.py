"""The digest of rows matches Python integers and depends only on the rows and their order."""

import struct

import numpy as np
import pytest
from scipy import sparse

from rekmeans.table.row_digest import BASE, MODULUS, digest_rows, shift_digest

RANDOM = np.random.default_rng(0)
X = RANDOM.integers(-2, 3, (300, 4)) * RANDOM.choice([1.0, 0.1, 1e200], (300, 4))
X[RANDOM.random(X.shape) < 0.1] = np.nan
W = RANDOM.integers(0, 3, 300) / 2


def bits(number):
    """Return the bits of a float64 with the high half mixed into the low half."""
    if number != number:
        number = np.nan
    word = struct.unpack("<Q", struct.pack("<d", number + 0.0))[0]
    return word ^ word >> 32


def plain_digest(X, w):
    factors = [int(word) | 1 for word in np.random.PCG64(0).random_raw(X.shape[1])]
    total = 0
    for i, row in enumerate(X):
        h = sum(a * bits(x) for a, x in zip(factors, row, strict=True)) + 0xD6E8FEB86659FD93 * bits(
            w[i]
        )
        h %= MODULUS
        h ^= h >> 29
        h = h * 0xFF51AFD7ED558CCD % MODULUS
        h ^= h >> 32
        total += pow(BASE, i, MODULUS) * h
    return total % MODULUS


def test_the_formula_in_integers():
    assert digest_rows(X, W) == plain_digest(X, W)
    assert digest_rows(X, None) == plain_digest(X, np.zeros(len(X)))


@pytest.mark.parametrize("seed", range(5))
def test_blocks_in_any_order(seed):
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(X) + 1, 6))
    parts = zip(np.split(X, cuts), np.split(W, cuts), [0, *cuts], strict=True)
    shares = [digest_rows(*part) for part in parts]
    assert sum(shares[::-1]) % MODULUS == digest_rows(X, W)
    assert shift_digest(digest_rows(X, W), 17) == digest_rows(X, W, 17)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "float32", "bool"])
def test_forms_of_the_same_numbers(dtype):
    numbers = RANDOM.integers(0, 2, (100_000, 3)).astype(dtype)
    expected = digest_rows(numbers.astype(float), None)
    assert digest_rows(numbers, None) == expected
    assert digest_rows(np.asfortranarray(numbers), None) == expected
    assert digest_rows(sparse.csr_array(numbers), None) == expected


def test_signs_of_zero_and_of_nan_do_not_show():
    other = np.where(X == 0, -0.0, X)
    other[np.isnan(other)] = -np.nan
    assert digest_rows(other, W) == digest_rows(X, W)


@pytest.mark.parametrize("seed", range(5))
def test_other_rows_have_other_digests(seed):
    random = np.random.default_rng(seed)
    tables = [(X, W), (X, None), (X, 2 * W)]
    for _ in range(300):
        i, k = random.choice(300, 2, replace=False)
        j, m = random.choice(4, 2, replace=False)
        changed, flipped, swapped, moved = X.copy(), X.copy(), X.copy(), X.copy()
        changed[i, j] = random.choice([np.nan, 7.0, np.nextafter(X[i, j], np.inf), 2.0**-1074])
        flipped[i, [j, m]] *= -1
        swapped[[i, k]] = swapped[[k, i]]
        moved[i, [j, m]] = moved[i, [m, j]]
        tables += [(table, W) for table in (changed, flipped, swapped, moved)]
    contents = {
        (repr((table + 0.0).tolist()), repr(w if w is None else w.tolist())) for table, w in tables
    }
    assert len({digest_rows(*table) for table in tables}) == len(contents) > 900
