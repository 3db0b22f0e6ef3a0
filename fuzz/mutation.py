"""Mutations of bytes: bit flips, cuts, insertions, copies, and extreme numbers in text."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from rekmeans.tensor_file import seal_header

Mutation = Callable[[bytearray, np.random.Generator], None]
HUGE = (
    b"0",
    b"-1",
    b"1e400",
    b"nan",
    b"300000000",
    b"2147483648",
    b"9223372036854775807",
    b"99999999999999999999999",
)
MAX_STEPS = 4  # largest number of mutations of one file
NEAR_ENDS = 200  # number of bytes at both ends of a file, where formats have their headers


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes after one to MAX_STEPS mutations."""
    result = bytearray(data)
    for _ in range(rng.integers(1, MAX_STEPS + 1)):
        MUTATIONS[rng.integers(len(MUTATIONS))](result, rng)
    return bytes(result)


def sealed(data: bytes, rng: np.random.Generator, share: float) -> bytes:
    """The file with the digest that belongs to its bytes, in this share of the cases."""
    if rng.random() >= share:
        return data
    length = int.from_bytes(data[:8], "little")
    header, blob = data[8:][:length], data[8:][length:]
    header = re.sub(rb'("sha256": ")[0-9a-f]{64}', rb"\g<1>" + b"0" * 64, header, count=1)
    return data[:8] + seal_header(header, [blob]) + blob


def _place(data: bytearray, rng: np.random.Generator) -> int:
    """Return a position in the data. With probability 1/2 it is near one of the ends."""
    n = len(data)
    if not n:
        return 0
    if rng.random() < 0.5:
        return int(rng.integers(n))
    near = int(rng.integers(min(n, NEAR_ENDS)))
    return near if rng.random() < 0.5 else n - 1 - near


def _flip_bit(data: bytearray, rng: np.random.Generator) -> None:
    if data:
        data[_place(data, rng)] ^= 1 << int(rng.integers(8))


def _set_byte(data: bytearray, rng: np.random.Generator) -> None:
    if data:
        data[_place(data, rng)] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFF, int(rng.integers(256))]))


def _truncate(data: bytearray, rng: np.random.Generator) -> None:
    del data[_place(data, rng) :]


def _delete(data: bytearray, rng: np.random.Generator) -> None:
    at = _place(data, rng)
    del data[at : at + int(rng.integers(1, 40))]


def _insert(data: bytearray, rng: np.random.Generator) -> None:
    at = _place(data, rng)
    data[at:at] = rng.bytes(int(rng.integers(1, 40)))


def _repeat(data: bytearray, rng: np.random.Generator) -> None:
    """Copy some bytes to another position."""
    at, to = _place(data, rng), _place(data, rng)
    data[to:to] = data[at : at + int(rng.integers(1, 200))]


def _write_integer(data: bytearray, rng: np.random.Generator) -> None:
    """Write an extreme 32- or 64-bit integer, such as a size or an offset."""
    at = _place(data, rng)
    size = int(rng.choice([4, 8]))
    value = (
        int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**20]))
        if size == 4
        else int(rng.integers(2**63, dtype=np.uint64))
    )
    data[at : at + size] = value.to_bytes(size, "little")


def _change_number(data: bytearray, rng: np.random.Generator) -> None:
    """Replace a number in decimal digits by an extreme one."""
    if places := list(re.finditer(rb"\d+", data)):
        place = places[int(rng.integers(len(places)))]
        data[place.start() : place.end()] = HUGE[int(rng.integers(len(HUGE)))]


MUTATIONS: tuple[Mutation, ...] = (
    _flip_bit,
    _flip_bit,
    _set_byte,
    _truncate,
    _delete,
    _insert,
    _repeat,
    _write_integer,
    _change_number,
)
