"""Checkpoints: files written between passes, from which an interrupted fit can be resumed."""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ._text import caller_stacklevel
from .atomic import atomic_write, exclusive_use
from .codec import Codec
from .lloyd import STAGE, Progress, SavedStage
from .model import ANSWER_VERSION, Centroids, Pass, State, check_like
from .tensor_file import parse_distinct, read_tensor_file, write_tensor_file

FORMAT = "rekmeans checkpoint"  # key in the metadata of the file
VERSION = 2
EARLIER_MAGIC = b"rekmeans checkpoint 1\n"  # first bytes of version-1 files
INTERVAL = 1.0  # minimum seconds between two writes
CODEC = Codec((Progress, SavedStage, State, Pass), families=(Centroids,))
Identity = dict[str, str]


@dataclass
class Checkpoint:
    """The checkpoint file of a fit.

    `progress` is the progress of the interrupted fit, `entropy` the seed entropy of the starts.
    """

    path: Path
    identity: Identity
    entropy: list[int]
    progress: Progress | None = None
    written: float = 0.0

    @property
    def n_starts_begun(self) -> int:
        """The number of starts that already have initial centroids."""
        return 0 if self.progress is None else self.progress.start + 1

    def record(self, progress: Progress) -> None:
        """Write the progress unless the last write was less than a second ago."""
        if time.monotonic() < self.written + INTERVAL:
            return
        try:
            with atomic_write(self.path) as part:
                write_checkpoint(part, self.identity, self.entropy, progress)
        except OSError as error:  # a full disk must not end a long fit
            what = (
                f"The checkpoint could not be written ({error}). The fit continues, and "
                f"{self.path.name} is unchanged."
            )
            warnings.warn(what, stacklevel=caller_stacklevel())
        self.written = time.monotonic()


@dataclass(frozen=True)
class FitLimits:
    """Bounds on the progress of a fit."""

    n_starts: int
    n_stages: int
    max_iter: int
    n_rows: int
    centroids: Any  # centroids with the shapes and types of the fit
    has_exact_loss: bool

    def check(self, progress: Progress) -> None:
        """Raise ValueError unless this fit could have recorded this progress."""
        _check_range("start", progress.start, self.n_starts - 1)
        if not progress.stages or bool(progress.best) != bool(progress.start):
            raise ValueError("its starts are inconsistent")
        for stages in (progress.stages, progress.best):
            if [saved.stage for saved in stages] != sorted({saved.stage for saved in stages}):
                raise ValueError("its stages are in the wrong order")
            for saved in stages:
                self._check_stage(saved)

    def _check_stage(self, saved: SavedStage) -> None:
        state = saved.state
        _check_range("stage", saved.stage, self.n_stages - 1)
        _check_range("max_iter", saved.max_iter, max(self.max_iter, STAGE))
        _check_range("number of passes", len(state.passes), saved.max_iter + 1, least=1)
        for one in state.passes:
            _check_range("n_changed", one.n_changed, self.n_rows)
            _check_range("n_relocated", one.n_relocated, len(self.centroids))
            self._check_loss(one.loss)
            if not 0 <= one.seconds < math.inf:
                raise ValueError(f"a pass has the invalid duration {one.seconds} s")
        self._check_loss(state.loss)
        if state.labels is not None:
            raise ValueError("it contains labels")
        for name, C in (("centroids", state.centroids), ("candidate", state.candidate)):
            check_like(name, C, self.centroids)

    def _check_loss(self, loss: Any) -> None:
        if self.has_exact_loss:
            is_valid = isinstance(loss, int) and loss >= 0
        else:  # a log-likelihood objective may be negative
            is_valid = math.isfinite(loss)
        if not is_valid:
            raise ValueError(f"{loss!r:.40} is not a valid loss of this fit")


def _check_range(name: str, value: int, most: int, least: int = 0) -> None:
    if not least <= value <= most:
        raise ValueError(f"its {name} must be between {least} and {most}, got {value}")


@contextmanager
def use_checkpoint(
    path: str | os.PathLike[str],
    find_identity: Callable[[], Identity],
    find_limits: Callable[[], FitLimits],
    entropy: list[int],
) -> Iterator[Checkpoint]:
    """Open the checkpoint of a fit and load the progress of an interrupted one.

    The file is removed when the fit succeeds.
    """
    place = Path(path)
    identity = find_identity() | {"answer version": str(ANSWER_VERSION)}
    with exclusive_use(place):
        checkpoint = Checkpoint(place, identity, entropy, written=time.monotonic())
        if place.exists():
            checkpoint.entropy, checkpoint.progress = read_checkpoint(place, identity, find_limits)
        yield checkpoint
        place.unlink(missing_ok=True)


class EarlierVersionError(Exception):
    """Raised for a checkpoint of a version that is no longer supported."""


def write_checkpoint(
    path: Path, identity: Identity, entropy: list[int], progress: Progress
) -> None:
    """Write a checkpoint without labels, which can be computed from the centroids."""
    stages, best = (
        tuple(one._replace(state=replace(one.state, labels=None)) for one in saved)
        for saved in (progress.stages, progress.best)
    )
    without_labels = Progress(progress.start, stages, best)
    plain, arrays = CODEC.to_record({"progress": without_labels})
    header = {"version": VERSION, "identity": identity, "entropy": entropy, **plain}
    write_tensor_file(path, {FORMAT: json.dumps(header)}, arrays)


def read_checkpoint(
    path: Path, identity: Identity, find_limits: Callable[[], FitLimits]
) -> tuple[list[int], Progress]:
    """Return the entropy and the progress in a file.

    Raise ValueError for a damaged file, or for a checkpoint of another fit.
    """
    try:
        if not path.is_file():
            raise ValueError("it is not a regular file")
        _reject_earlier_version(path)
        file = read_tensor_file(path)
        header = _parse_header(file.metadata.get(FORMAT, ""))
        if not file.has_digest:
            raise ValueError("it has no digest")
        saved = header["identity"]
        entropy = [_check_word(word) for word in header["entropy"]]
        progress = CODEC.from_record({"progress": header["progress"]}, file.arrays)["progress"]
        if not isinstance(progress, Progress):
            raise ValueError("it has no progress")
        if saved == identity:
            find_limits().check(progress)
    except EarlierVersionError:
        raise ValueError(
            f"checkpoint={str(path)!r} was written by an earlier version of rekmeans, whose fits "
            f"cannot be resumed. Remove the file, or pass another path."
        ) from None
    except (ValueError, LookupError, TypeError, AttributeError, OSError, MemoryError) as error:
        what = " ".join(str(error).split())
        raise ValueError(
            f"checkpoint={str(path)!r} is damaged or not a checkpoint ({what:.100}). Remove the "
            f"file, or pass another path."
        ) from None
    if saved != identity:
        name = next(name for name in {**saved, **identity} if saved.get(name) != identity.get(name))
        what = (
            f"its {name:.40} is {saved.get(name, 'absent'):.100}, but this fit has "
            f"{identity.get(name, 'none')}"
        )
        raise ValueError(
            f"checkpoint={str(path)!r} belongs to another fit: {what}. Pass another path."
        )
    return entropy, progress


def _reject_earlier_version(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(len(EARLIER_MAGIC)) == EARLIER_MAGIC:
            raise EarlierVersionError


def _parse_header(text: str) -> dict[str, Any]:
    """Return the header of a checkpoint; raise ValueError if its entries are not valid."""
    try:
        header = parse_distinct(text or "null")
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError("it has no checkpoint header")
    if header.get("version") != VERSION:
        raise ValueError(f"its format has version {header.get('version')!r:.20}, not {VERSION}")
    if header.keys() != {"version", "identity", "entropy", "progress"}:
        raise ValueError("its header has missing or unknown entries")
    identity = header["identity"]
    if not isinstance(identity, dict) or not all(
        isinstance(value, str) for value in identity.values()
    ):
        raise ValueError("its identity is not a JSON object with string values")
    if not isinstance(header["entropy"], list):
        raise ValueError("its entropy is not a list")
    return header


def _check_word(word: Any) -> int:
    """Return one integer of the seed entropy; raise ValueError unless it has at most 128 bits."""
    if type(word) is not int or not 0 <= word < 1 << 128:
        raise ValueError("its entropy has values that are not 128-bit unsigned integers")
    return word
