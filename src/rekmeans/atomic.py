"""Atomic writes: outputs appear at their path complete or not at all."""

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

# the name of a staging folder: host, process and a random number
LEFTOVER = re.compile(r"\.rekmeans-([0-9a-f]{8})-(\d+)-[0-9a-f]{8}")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to.

    Its file replaces `path` when the block ends. It is deleted if the block raises.
    """
    path = Path(path)
    _check_parent(path)
    with atomic_writes([path]) as parts:
        yield parts[0]


@contextmanager
def atomic_writes(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield a path to write to for each of `paths`, which must be in one folder.

    The files appear after all of them are synced to disk. A new folder appears with all its files
    by one rename. In an existing folder each file is replaced by its own rename, in order, and no
    other file changes. Staging folders of killed runs are removed.
    """
    folder = paths[0].parent
    if any(path.parent != folder for path in paths):
        raise ValueError(f"outputs must be in one folder, got {', '.join(map(str, paths))}.")
    for path in paths:
        if path.is_dir():
            raise IsADirectoryError(
                f"the output must be a file, but {path} is a directory: pass a file in it."
            )
    is_new = not folder.exists()
    made = [parent for parent in folder.parents if not parent.exists()] if is_new else []
    remove_leftovers(folder, folder.parent)
    name = f".rekmeans-{_host()}-{os.getpid()}-{secrets.token_hex(4)}"
    staging = (folder.parent if is_new else folder) / name
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
        for parent in made:
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()


@contextmanager
def exclusive_use(path: Path) -> Iterator[None]:
    """Lock `path` against other calls of this function, in any process or thread, for the block."""
    _check_parent(path)
    lock = path.with_name(path.name + ".lock")
    file = _lock(lock, path)
    try:
        yield
    finally:
        with suppress(PermissionError):  # Windows cannot remove an open file
            # remove before unlocking, so that a process that has just opened it detects the removal
            lock.unlink(missing_ok=True)
        file.close()


def _check_parent(path: Path) -> None:
    """Raise FileNotFoundError unless the folder of a file to write exists."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written because the folder {path.parent} does not exist: create it "
            f"first."
        )


def _lock(lock: Path, path: Path) -> IO[bytes]:
    """Open and lock the lock file of `path`.

    The operating system unlocks it when this process ends, even if it is killed.
    """
    while True:
        file = lock.open("ab")
        try:
            _lock_file(file)
        except OSError:
            file.close()
            raise ValueError(
                f"{path} is in use by another fit: wait until it ends, or pass another file."
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
    """Remove the staging folders of killed runs on this machine."""
    found = (path for folder in folders if folder.is_dir() for path in folder.glob(".rekmeans-*"))
    for path in found:
        made_by = LEFTOVER.fullmatch(path.name)
        if made_by and made_by[1] == _host() and not _is_alive(int(made_by[2])):
            shutil.rmtree(path, ignore_errors=True)


def sha256_digest(path: Path) -> str:
    """Return the SHA-256 digest of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _host() -> str:
    """Return the name of this machine as eight hexadecimal digits.

    On a shared disk, only the processes of this machine can be checked.
    """
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _is_alive(process: int) -> bool:
    """Return whether a process of this machine is running."""
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it runs as another user
        return True
    return True


def _sync_files(folder: Path) -> None:
    """Sync the files of a folder to disk, with the permissions of new files.

    Some writers create files that only the user can read.
    """
    os.umask(mask := os.umask(0o077))  # the umask can only be read by setting it
    for file in folder.iterdir():
        file.chmod(0o666 & ~mask)
        _sync(file)
    _sync(folder)


def _sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    if path.is_dir() and os.name == "nt":  # Windows cannot open folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reject_unwritable(folder: Path) -> None:
    """Raise OSError before a long fit if its outputs cannot be written to `folder`."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise NotADirectoryError(
            f"{folder} cannot be a folder because {nearest} is a file: pass another folder as "
            f"--out."
        )
    if not os.access(nearest, os.W_OK):
        raise PermissionError(f"{nearest} is not writable: pass another folder as --out.")
