"""Tables that the memory of this machine cannot hold, refused before they are made."""

from __future__ import annotations

from pathlib import Path

from ..machine_memory import machine_memory
from .file_table import UnreadableFileError

UNITS = ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes"))


def refuse_oversize(path: Path, n: int, d: int, itemsize: int = 8) -> None:
    """Refuse a table of n rows and d columns that the memory of this machine cannot hold."""
    refuse_bytes(path, n * d * itemsize, f"{n:,} rows, {d:,} columns")


def refuse_bytes(path: Path, size: int, shape: str) -> None:
    """Refuse to read a file that takes more bytes of memory than there are."""
    if size > (most := machine_memory()):
        raise UnreadableFileError(
            f"{path.name} would take {size_text(size)} of memory ({shape}), this machine has "
            f"{size_text(most)}: "
            "use fewer rows or columns."
        )


def size_text(size: int) -> str:
    """Bytes for people: 8.7 GB."""
    unit, name = next((unit, name) for unit, name in UNITS if size >= unit or unit == 1)
    return f"{size / unit:.3g} {name}"
