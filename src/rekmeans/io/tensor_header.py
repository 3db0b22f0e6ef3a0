"""The header of a safetensors file, read before anything else of it: bounded, and each name
once.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

# bytes; the names of 200 000 columns fit, and no JSON of that length takes 500 MB
MOST_HEADER = 16 << 20
LONGEST_SHAPE = 4  # sides of an array; models have arrays of two at most


class DamagedHeaderError(Exception):
    """The beginning of a file is not that of a safetensors file; the message says why."""


@dataclass(frozen=True)
class TensorHeader:
    """The text entries of a safetensors file, and the type and shape of each array."""

    metadata: dict[str, str]
    kinds: dict[str, str]
    shapes: dict[str, tuple[int, ...]]


def read_tensor_header(path: str | os.PathLike[str]) -> TensorHeader:
    """Return the header of a regular file; errors of the operating system are raised unchanged."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or length > size - 8:
            raise DamagedHeaderError("its header is longer than the file")
        if length > MOST_HEADER:
            raise DamagedHeaderError(f"its header is longer than {MOST_HEADER >> 20} MB")
        text = file.read(length)
    try:
        header = parse_distinct(text.decode())
    except UnicodeDecodeError:
        raise DamagedHeaderError("its header is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        what = error if isinstance(error, RepeatedNameError) else "its header is not JSON"
        raise DamagedHeaderError(str(what)) from None
    if not isinstance(header, dict):
        raise DamagedHeaderError("its header is not a table")
    return _tensor_header(header)


def _tensor_header(header: dict[str, Any]) -> TensorHeader:
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        raise DamagedHeaderError("its metadata is not text")
    for entry in header.values():
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("dtype"), str)
            or not _is_shape(entry.get("shape"))
        ):
            raise DamagedHeaderError("its header does not say type and shape of every array")
    kinds = {name: entry["dtype"] for name, entry in header.items()}
    return TensorHeader(
        metadata, kinds, {name: tuple(entry["shape"]) for name, entry in header.items()}
    )


def _is_shape(sides: Any) -> bool:
    return (
        isinstance(sides, list)
        and len(sides) <= LONGEST_SHAPE
        and all(type(side) is int and 0 <= side < 1 << 63 for side in sides)
    )


class RepeatedNameError(ValueError):
    """A JSON object names something twice."""


def parse_distinct(text: str) -> Any:
    """JSON of which no object has a name twice: readers differ in which of the two they take."""
    return json.loads(text, object_pairs_hook=_distinct_entries)


def _distinct_entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        name = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise RepeatedNameError(f"its header names {name[:40]!r} twice")
    return entries
