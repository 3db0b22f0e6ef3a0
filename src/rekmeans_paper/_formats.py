"""File formats of the sources: delimited text, and .Z files compressed with Lempel-Ziv-Welch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .values import Array

MAGIC = b"\x1f\x9d"  # the first bytes of a .Z file
CLEAR = 256  # the code that clears the dictionary, in files that use it


@dataclass(frozen=True)
class Layout:
    """The layout of a row of text.

    `separator` None means runs of blanks, `label` is the index of the class, and the first `names`
    fields are ignored.
    """

    separator: str | None = None
    label: int = -1
    names: int = 0

    def table(self, text: str) -> tuple[Array, Array]:
        """Return X (n, d) float32 and y (n,) int32, where classes are numbered in sorted order."""
        rows = [line.split(self.separator) for line in text.splitlines() if line.strip()]
        if not rows:
            raise ValueError("no rows")
        for number, row in enumerate(rows, 1):
            if len(row) != len(rows[0]):
                raise ValueError(
                    f"row {number} has {len(row)} fields, but the first row has {len(rows[0])}"
                )
        labels = [row.pop(self.label).strip() for row in rows]
        ranks = {label: rank for rank, label in enumerate(sorted(set(labels), key=_length_order))}
        X = np.array([row[self.names :] for row in rows], np.float64)  # (n, d)
        return X.astype(np.float32), np.array([ranks[label] for label in labels], np.int32)


BLANKS = Layout()
COMMAS = Layout(",")


def _length_order(label: str) -> tuple[int, str]:
    """Return a sort key: integers in numeric order, names of equal length alphabetically."""
    return len(label), label


def unpack_lzw(data: bytes) -> bytes:
    """Unpack a .Z file.

    The codes have 9 to 16 bits and refer to a dictionary that grows with every code. They come in
    groups of eight. When their width changes, the rest of a group is padding.
    """
    if data[:2] != MAGIC or len(data) < 3:
        raise ValueError("not a .Z file")
    widest, clears = data[2] & 31, data[2] & 128
    strings = [bytes([byte]) for byte in range(256)] + [b""] * bool(clears)
    first = len(strings)
    width = 9
    last = b""
    out: list[bytes] = []
    group = at = 8 * 3  # in bits
    while True:
        if len(strings) >= 1 << width and width < widest:
            group = at = _group_end(group, at, width)
            width += 1
        if at + width > 8 * len(data):
            return b"".join(out)
        code = int.from_bytes(data[at // 8 : at // 8 + 3], "little") >> at % 8 & (1 << width) - 1
        at += width
        if code == CLEAR and clears:
            group = at = _group_end(group, at, width)
            width, last = 9, b""
            del strings[first:]
            continue
        if code > len(strings) or (code == len(strings) and not last):
            raise ValueError("damaged .Z file")
        string = strings[code] if code < len(strings) else last + last[:1]
        if last and len(strings) < 1 << widest:
            strings.append(last + string[:1])
        out.append(string)
        last = string


def _group_end(group: int, at: int, width: int) -> int:
    """Return the end of the group of eight codes that contains the last code before `at`."""
    return at + (group - at) % (8 * width)
