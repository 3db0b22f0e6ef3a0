"""The memory that this machine has, and tables that it cannot hold, refused before they are made."""

from __future__ import annotations

import os
from pathlib import Path

from .file_table import UnreadableFileError

try:
    import resource
except ImportError:  # Windows knows no such limits
    resource = None  # type: ignore[assignment]

CGROUP_MEMORY = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))  # containers
UNITS = ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes"))


def refuse_oversize(path: Path, n: int, d: int, itemsize: int = 8) -> None:
    """Refuse a table of n rows and d columns that the memory of this machine cannot hold."""
    size, most = n * d * itemsize, machine_memory()
    if size > most:
        raise UnreadableFileError(
            f"{path.name} would take {size_text(size)} of memory ({n:,} rows, {d:,} columns), this machine has "
            f"{size_text(most)}: use fewer rows or columns."
        )


def machine_memory() -> int:
    """Bytes that a process may have here: those of the machine, of its container, or of its own limit."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")] if hasattr(os, "sysconf") else []
    if resource is not None and (own := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY:
        limits.append(own)
    for file in CGROUP_MEMORY:
        if file.is_file() and (text := file.read_text().strip()).isdecimal():
            limits.append(int(text))
    return min(limits, default=1 << 62)


def size_text(size: int) -> str:
    """Bytes for people: 8.7 GB."""
    unit, name = next((unit, name) for unit, name in UNITS if size >= unit or unit == 1)
    return f"{size / unit:.3g} {name}"
