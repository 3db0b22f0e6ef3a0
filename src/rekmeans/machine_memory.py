"""The memory that this machine has for a process, and sizes as text."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import resource
except ImportError:  # Windows knows no such limits
    resource = None  # type: ignore[assignment]

# containers
CGROUP_MEMORY = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)

UNITS = ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes"))

# bytes; with less OpenBLAS ends the process or hangs, measured from 300 MB to 2 GB
LEAST_ADDRESS_SPACE = 1 << 30


def check_address_space() -> None:
    """Raise MemoryError where the address space of this process is limited to less than NumPy and
    SciPy need.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource is not None else -1
    if resource is not None and limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
        raise MemoryError(
            f"the address space of this process is limited to {limit >> 20} MiB (RLIMIT_AS), and "
            f"rekmeans needs at "
            f"least {LEAST_ADDRESS_SPACE >> 20} MiB. Raise the limit: ulimit -v unlimited."
        )


def machine_memory() -> int:
    """Bytes that a process may have here: those of the machine, of its container, or what its own
    limit leaves it.
    """
    limits = (
        [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")] if hasattr(os, "sysconf") else []
    )
    if (
        resource is not None
        and (own := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY
    ):
        limits.append(max(0, own - _addresses()))
    for file in CGROUP_MEMORY:
        if file.is_file() and (text := file.read_text().strip()).isdecimal():
            limits.append(int(text))
    return min(limits, default=1 << 62)


def _addresses() -> int:
    """Bytes of addresses that this process has, of which its own limit is a limit; 0 where it
    cannot be known.
    """
    file = Path("/proc/self/statm")
    return int(file.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if file.is_file() else 0


def size_text(size: int) -> str:
    """Bytes for people: 8.7 GB."""
    unit, name = next((unit, name) for unit, name in UNITS if size >= unit or unit == 1)
    return f"{size / unit:.3g} {name}"
