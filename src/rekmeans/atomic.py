"""Atomic writes: outputs are written beside their place, and appear there complete or not at
all.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

# host, process, and a number of its own
LEFTOVER = re.compile(r"\.rekmeans-([0-9a-f]{8})-(\d+)-[0-9a-f]{8}")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; its file takes the place of `path` if the block ends well, and vanishes
    if not.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written, there is no folder {path.parent}: make it first."
        )
    with atomic_writes([path]) as parts:
        yield parts[0]


@contextmanager
def atomic_writes(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """A path to write to for each of `paths`, which are in one folder; they appear after the last
    was synced.

    A new folder appears by one rename, with all its files. In a folder that is there each file is
    replaced by a rename of its own, in their order, and no other file is touched. What a killed run
    left behind is removed.
    """
    folder = paths[0].parent
    if any(path.parent != folder for path in paths):
        raise ValueError(f"outputs must be in one folder, got {', '.join(map(str, paths))}.")
    for path in paths:
        if path.is_dir():
            raise IsADirectoryError(
                f"a file is to be written, but {path} is a directory: name a file in it."
            )
    is_new = not folder.exists()
    made = [place for place in folder.parents if not place.exists()] if is_new else []
    remove_leftovers(folder, folder.parent)
    staging = (folder.parent if is_new else folder) / _staging_name()
    try:
        staging.mkdir(parents=True)
        yield [staging / path.name for path in paths]
        _sync_files(staging)
        if is_new and not folder.exists():
            os.rename(staging, folder)
        else:
            for path in paths:
                os.replace(staging / path.name, path)
        _sync(staging.parent)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        for place in made:
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()


@contextmanager
def exclusive_use(path: Path) -> Iterator[None]:
    """No other process or thread uses `path` by this function until the block ends, however it
    ends.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written, there is no folder {path.parent}: make it first."
        )
    lock = path.with_name(path.name + ".lock")
    file = _lock(lock, path)
    try:
        yield
    finally:
        with suppress(PermissionError):  # Windows removes no open file
            # while it is locked: who opened it in between finds that it is gone
            lock.unlink(missing_ok=True)
        file.close()


def _lock(lock: Path, path: Path) -> IO[bytes]:
    """The lock file of `path`, locked: the system unlocks it when this process ends, also where
    that is killed.
    """
    while True:
        file = lock.open("ab")
        try:
            _lock_file(file)
        except OSError:
            file.close()
            raise ValueError(
                f"{path} is in use by another fit: wait for its end, or name another file."
            ) from None
        if lock.exists() and os.fstat(file.fileno()).st_ino == lock.stat().st_ino:
            return file
        file.close()


def _lock_file(file: IO[bytes]) -> None:
    """Lock an open file, or raise OSError."""
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_leftovers(*folders: Path) -> None:
    """Remove what runs on this machine wrote to and, killed, could neither finish nor remove."""
    places = (
        place for folder in folders if folder.is_dir() for place in folder.glob(".rekmeans-*")
    )
    for place in places:
        made_by = LEFTOVER.fullmatch(place.name)
        if made_by and made_by[1] == _host() and not _is_alive(int(made_by[2])):
            shutil.rmtree(place, ignore_errors=True)


def sha256_digest(path: Path) -> str:
    """The SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _staging_name() -> str:
    """The name of a folder to write to, which says who writes."""
    return f".rekmeans-{_host()}-{os.getpid()}-{secrets.token_hex(4)}"


def _host() -> str:
    """The name of this machine, as eight letters: the processes of others on a shared disk cannot
    be asked for.
    """
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _is_alive(process: int) -> bool:
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is there, and another user's
        return True
    return True


def _sync_files(folder: Path) -> None:
    """Put the files of a folder on the disk, with the rights of any new file: some writers give
    none to others.
    """
    for part in folder.iterdir():
        part.chmod(0o666 & ~_umask())
        _sync(part)
    _sync(folder)


def _sync(place: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    if place.is_dir() and os.name == "nt":  # Windows opens no folders
        return
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    """The rights that new files are not to give; reading it means setting it."""
    os.umask(mask := os.umask(0o077))
    return mask


def refuse_unwritable(folder: Path) -> None:
    """Say before a long fit, not after it, that nothing can be written to `folder`."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise NotADirectoryError(
            f"{folder} cannot be a folder: {nearest} is a file; name another with --out."
        )
    if not os.access(nearest, os.W_OK):
        raise PermissionError(f"{nearest} may not be written to: name another folder with --out.")
