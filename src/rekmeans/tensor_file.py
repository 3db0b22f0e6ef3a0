"""Read and write safetensors files: header length in eight bytes, JSON header, raw arrays.

Arrays are little-endian. Only NumPy is required, and nothing in a file is executed. The header
contains a SHA-256 digest of the whole file, computed with zeros in place of the digest.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from ._grid import Array
from .machine_memory import machine_memory, size_text

# bytes, enough for the names of 200,000 columns; parsing takes less than 500 MB
MAX_HEADER = 16 << 20
MAX_DIMENSIONS = 8  # maximum dimensions of an array; models have at most three
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
METADATA = "__metadata__"
DIGEST = "sha256"  # key in the metadata
NO_DIGEST = "0" * 64
ALIGNMENT = 8  # bytes; alignment of the first array


class DamagedFileError(ValueError):
    """Raised if a file is not a safetensors file or was modified. The message states the reason."""


class RepeatedNameError(ValueError):
    """Raised if a JSON object contains a name twice."""


@dataclass(frozen=True)
class TensorFile:
    """The metadata and the arrays of a file, and whether its digest was checked."""

    metadata: dict[str, str]
    arrays: dict[str, Array]
    has_digest: bool


@dataclass(frozen=True)
class Entry:
    """The position of an array in a file."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


def write_tensor_file(
    path: str | os.PathLike[str], metadata: Mapping[str, str], arrays: Mapping[str, Array]
) -> None:
    """Write arrays, metadata and a digest; raise ValueError if the header is too long."""
    # in descending order of item size, so that each array is aligned
    ordered = sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize)
    entries: dict[str, Any] = {METADATA: {DIGEST: NO_DIGEST, **metadata}}
    stored = []
    at = 0
    for name, values in ordered:
        little_endian = values.dtype.newbyteorder("<")
        values = np.ascontiguousarray(values, little_endian).reshape(values.shape)
        entries[name] = {
            "dtype": NAMES[values.dtype],
            "shape": list(values.shape),
            "data_offsets": [at, at + values.nbytes],
        }
        at += values.nbytes
        stored.append(values)
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % ALIGNMENT)
    if len(header) > MAX_HEADER:
        raise ValueError(f"the header takes {len(header)} bytes, but the limit is {MAX_HEADER}")
    header = seal_header(header, [_bytes_of(values) for values in stored])
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for values in stored:
            file.write(_bytes_of(values))


def seal_header(header: bytes, blocks: Iterable[bytes | memoryview]) -> bytes:
    """Return the header with the digest of header and arrays in place of the zeros."""
    digest = _begin_digest(header)
    for block in blocks:
        digest.update(block)
    return header.replace(NO_DIGEST.encode(), digest.hexdigest().encode(), 1)


def read_tensor_file(path: str | os.PathLike[str]) -> TensorFile:
    """Read a regular file. The header is checked before any array is read.

    A corrupt file raises DamagedFileError. Operating system errors are raised unchanged.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = _read_header(file, size)
        metadata, entries = _parse_header(header)
        _check_layout(entries, size - 8 - len(header))
        expected = metadata.pop(DIGEST, "")
        if expected and not re.fullmatch("[0-9a-f]{64}", expected):
            raise DamagedFileError("its digest is not 64 hexadecimal digits")
        digest = _begin_digest(header.replace(expected.encode(), NO_DIGEST.encode(), 1))
        arrays = {}
        for entry in entries:
            values = _empty_array(entry)
            if values.nbytes and file.readinto(_bytes_of(values)) != values.nbytes:
                raise DamagedFileError("it is truncated")
            if values.dtype == bool and (values.view(np.uint8) > 1).any():
                raise DamagedFileError("a boolean is neither 0 nor 1")
            digest.update(_bytes_of(values))
            arrays[entry.name] = values.astype(values.dtype.newbyteorder("="), copy=False)
    if expected and digest.hexdigest() != expected:
        raise DamagedFileError("its digest does not match its content")
    return TensorFile(metadata, arrays, bool(expected))


def parse_distinct(text: str) -> Any:
    """Parse JSON; raise RepeatedNameError if an object repeats a name.

    Parsers differ in which of the two values they use.
    """
    return json.loads(text, object_pairs_hook=_distinct_entries)


def _distinct_entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        name = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise RepeatedNameError(f"its header contains {name[:40]!r} twice")
    return entries


def _begin_digest(header: bytes) -> Any:
    """Return the hash of a header with zeros in place of the digest."""
    return hashlib.sha256(len(header).to_bytes(8, "little") + header)


def _bytes_of(values: Array) -> memoryview:
    """Return the bytes of a contiguous array without a copy."""
    return values.reshape(-1).view(np.uint8).data


def _read_header(file: IO[bytes], size: int) -> bytes:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > size - 8:
        raise DamagedFileError("its header is longer than the file")
    if length > MAX_HEADER:
        raise DamagedFileError(f"its header is longer than {MAX_HEADER >> 20} MB")
    return file.read(length)


def _parse_header(data: bytes) -> tuple[dict[str, str], list[Entry]]:
    """Return the metadata and the array entries, sorted by position."""
    try:
        header = parse_distinct(data.decode())
    except UnicodeDecodeError:
        raise DamagedFileError("its header is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        what = error if isinstance(error, RepeatedNameError) else "its header is not JSON"
        raise DamagedFileError(str(what)) from None
    if not isinstance(header, dict):
        raise DamagedFileError("its header is not a JSON object")
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        raise DamagedFileError("its metadata is not a JSON object with string values")
    entries = [_parse_entry(name, entry) for name, entry in header.items()]
    return metadata, sorted(entries, key=lambda entry: (entry.start, entry.stop))


def _parse_entry(name: str, entry: Any) -> Entry:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise DamagedFileError("its header has no type, shape or position for an array")
    dtype = DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise DamagedFileError(f"{name[:40]!r} has the unknown type {str(entry['dtype'])[:20]!r}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not _are_sizes(shape) or len(shape) > MAX_DIMENSIONS:
        raise DamagedFileError(f"{name[:40]!r} has no valid shape")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise DamagedFileError(f"{name[:40]!r} has no valid position")
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise DamagedFileError(f"{name[:40]!r} has a length that does not match its shape")
    return Entry(name, dtype, tuple(shape), *offsets)


def _empty_array(entry: Entry) -> Array:
    try:
        return np.empty(entry.shape, entry.dtype)
    except (ValueError, MemoryError) as error:  # NumPy limits each dimension
        raise DamagedFileError(f"{entry.name[:40]!r} cannot be read: {error!s:.60}") from None


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value < 1 << 63 for value in values
    )


def _check_layout(entries: list[Entry], n_bytes: int) -> None:
    """Raise an error unless the arrays are contiguous, fill the file and fit into memory."""
    at = 0
    for entry in entries:
        if entry.start != at:
            raise DamagedFileError("its arrays overlap or leave gaps")
        at = entry.stop
    if at != n_bytes:
        raise DamagedFileError(f"its arrays take {at} bytes, but the file has {n_bytes}")
    if n_bytes > machine_memory():
        raise DamagedFileError(
            f"its arrays take {size_text(n_bytes)}, but this machine has "
            f"{size_text(machine_memory())}"
        )
