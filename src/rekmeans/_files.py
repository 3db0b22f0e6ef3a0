"""Files written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name beside `path` to write to; it takes the place of `path` when all went well, and is removed when not."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"a file is to be written, but {path} is a directory: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written, there is no folder {path.parent}: make it first.")
    beside = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield beside
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
