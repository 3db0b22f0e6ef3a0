"""Paths that cannot be read as a file, and the errors that say why."""

from __future__ import annotations

import errno
import os
import stat

KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_regular_file(path: str | os.PathLike[str]) -> None:
    """Raise an error unless the path leads to a regular file. Opening a named pipe would block."""
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:
        raise ValueError(
            f"{os.fspath(path)!r} is not a path ({error}). Pass the path of a file."
        ) from None
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist. Pass the path of a file.") from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ValueError(
            f"{path} is a symbolic link that leads back to itself. Pass the path of a file."
        ) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder. Pass the path of a file in it.")
    if not stat.S_ISREG(mode):
        raise ValueError(
            f"{path} is {KINDS.get(stat.S_IFMT(mode), 'no regular file')}. Pass the path of a file."
        )
