"""Atomic writes: outputs appear complete, all of them, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; its file takes the place of `path` if the block ends well, and vanishes if not."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written, there is no folder {path.parent}: make it first.")
    with atomic_writes([path]) as parts:
        yield parts[0]


@contextmanager
def atomic_writes(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """A path to write to for each of `paths`; they are replaced together, after the last was written and synced.

    Missing folders are made, and removed again if the block fails.
    """
    made = [folder for folder in dict.fromkeys(path.parent for path in paths) if not folder.exists()]
    parts = [path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}") for path in paths]
    for path in paths:
        if path.is_dir():
            raise IsADirectoryError(f"a file is to be written, but {path} is a directory: name a file in it.")
    try:
        for folder in made:
            folder.mkdir(parents=True)
        yield parts
        for part in parts:
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.chmod(0o666 & ~_umask())  # some writers give rights to the owner only
        for part, path in zip(parts, paths, strict=True):
            os.replace(part, path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
        for folder in made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _umask() -> int:
    """The rights that new files are not to give; reading it means setting it."""
    os.umask(mask := os.umask(0o077))
    return mask


def refuse_unwritable(folder: Path) -> None:
    """Say before a long fit, not after it, that nothing can be written to `folder`."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise NotADirectoryError(f"{folder} cannot be a folder: {nearest} is a file; name another with --out.")
    if not os.access(nearest, os.W_OK):
        raise PermissionError(f"{nearest} may not be written to: name another folder with --out.")
