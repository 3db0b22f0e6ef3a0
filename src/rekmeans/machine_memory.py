"""The memory available to this process, and sizes as text."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

# files with the memory limit of a container (cgroup versions 2 and 1)
CGROUP_MEMORY = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)

UNITS = ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes"))

# bytes; with a smaller limit OpenBLAS aborts or hangs (measured with limits of 300 MB to 2 GB)
MIN_ADDRESS_SPACE = 1 << 30


def check_address_space() -> None:
    """Raise MemoryError if the address space of this process is too small for NumPy and SciPy."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource is not None else -1
    if resource is not None and limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE:
        raise MemoryError(
            f"the address space of this process is limited to {limit >> 20} MiB (RLIMIT_AS), and "
            f"rekmeans needs at least {MIN_ADDRESS_SPACE >> 20} MiB. Raise the limit: ulimit -v "
            f"unlimited."
        )


def machine_memory() -> int:
    """Return the bytes available to this process.

    They are limited by the memory of the machine, by its container and by the limit of the process.
    """
    limits = (
        [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")] if hasattr(os, "sysconf") else []
    )
    if (
        resource is not None
        and (own := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY
    ):
        limits.append(max(0, own - _used_address_space()))
    for file in CGROUP_MEMORY:
        if file.is_file() and (text := file.read_text().strip()).isdecimal():
            limits.append(int(text))
    return min(limits, default=1 << 62)


def _used_address_space() -> int:
    """Return the bytes of address space that this process uses; 0 if they cannot be read."""
    file = Path("/proc/self/statm")
    return int(file.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if file.is_file() else 0


def size_text(size: int) -> str:
    """Return a number of bytes as text, such as "8.7 GB"."""
    unit, name = next((unit, name) for unit, name in UNITS if size >= unit or unit == 1)
    return f"{size / unit:.3g} {name}"
