"""The optional libraries that a command needs."""

from __future__ import annotations

from importlib.util import find_spec


def refuse_missing_libraries(*libraries: str) -> None:
    """Say before a long fit, not after it, that its outputs cannot be made."""
    if missing := [name for name in libraries if find_spec(name) is None]:
        raise ImportError(f"this command needs {', '.join(missing)}: pip install 'rekmeans[cli]'.")
