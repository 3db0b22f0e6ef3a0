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
    refuse_bytes(path, n * d * itemsize, f"{n:,} rows, {d:,} columns")


def refuse_bytes(path: Path, size: int, shape: str) -> None:
    """Refuse to read a file that takes more bytes of memory than there are."""
    if size > (most := machine_memory()):
        raise UnreadableFileError(
            f"{path.name} would take {size_text(size)} of memory ({shape}), this machine has {size_text(most)}: "
            "use fewer rows or columns."
        )


def machine_memory() -> int:
    """Bytes that a process may have here: those of the machine, of its container, or what its own limit leaves it."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")] if hasattr(os, "sysconf") else []
    if resource is not None and (own := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY:
        limits.append(max(0, own - _addresses()))
    for file in CGROUP_MEMORY:
        if file.is_file() and (text := file.read_text().strip()).isdecimal():
            limits.append(int(text))
    return min(limits, default=1 << 62)


def _addresses() -> int:
    """Bytes of addresses that this process has, of which its own limit is a limit; 0 where it cannot be known."""
    file = Path("/proc/self/statm")
    return int(file.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if file.is_file() else 0


def size_text(size: int) -> str:
    """Bytes for people: 8.7 GB."""
    unit, name = next((unit, name) for unit, name in UNITS if size >= unit or unit == 1)
    return f"{size / unit:.3g} {name}"
