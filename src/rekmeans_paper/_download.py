"""Download files once, verify their sha256 and keep them in the user's cache folder."""

from __future__ import annotations

from pathlib import Path

from ._origins import File

try:
    import pooch
    import requests
except ImportError:
    raise ImportError("downloading datasets needs pooch: pip install 'rekmeans[paper]'.") from None

TIMEOUT = 30  # seconds without data; working servers respond within a few seconds


class DownloadError(OSError):
    """Raised for a file that could not be downloaded; the message contains the reason."""


def cache_folder() -> Path:
    """Return the user's cache folder for this operating system."""
    return Path(pooch.os_cache("rekmeans"))


def download_file(file: File, folder: Path) -> Path:
    """Return the path of a file in the cache, after downloading it if needed.

    A file with the wrong checksum is downloaded again, or deleted if that fails.
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
            path.unlink()  # an older file with another checksum
        raise DownloadError(f"{file.url} {_failure_text(error, folder)}") from error
    return path


def _failure_text(error: Exception, folder: Path) -> str:
    """Describe the reason why a download failed."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "closed the connection before the end of the file"
    if isinstance(error, requests.RequestException):
        return "cannot be reached"
    if isinstance(error, OSError):
        return f"could not be saved in {folder} ({error.strerror or error})"
    return "sent a file with an unexpected sha256"
