"""A file from its public source: fetched once, checked by its sha256, kept in the user's cache
folder.
"""

from __future__ import annotations

from pathlib import Path

from ._origins import File

try:
    import pooch
    import requests
except ImportError:
    raise ImportError("fetching a data set needs pooch: pip install 'rekmeans[paper]'.") from None

TIMEOUT = 30  # seconds without a byte; a server that answers at all answers within a few


class DownloadError(OSError):
    """A file that could not be fetched; the message says what its server answered."""


def cache_folder() -> Path:
    """The user's own, by the custom of the system."""
    return Path(pooch.os_cache("rekmeans"))


def download_file(file: File, folder: Path) -> Path:
    """The file in the cache folder, fetched if it is not there or not as it must be; a bad one is
    not kept.
    """
    path = folder / file.name
    try:
        pooch.retrieve(
            file.url,
            f"sha256:{file.sha256}",
            fname=file.name,
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=TIMEOUT),
        )
    except (OSError, ValueError) as error:
        if path.is_file():
            path.unlink()  # it lay there before, with another checksum
        raise DownloadError(f"{file.url} {_failure_text(error, folder)}") from error
    return path


def _failure_text(error: Exception, folder: Path) -> str:
    """What happened to the download, in a few words."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "broke off before the end of the file"
    if isinstance(error, requests.RequestException):
        return "cannot be reached"
    if isinstance(error, OSError):
        return f"could not be saved in {folder} ({error.strerror or error})"
    return "sent a file with another sha256 than the known one"
