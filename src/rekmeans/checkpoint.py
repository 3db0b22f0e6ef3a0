"""Checkpoints: the progress of a fit in one file, written between passes, from which the same fit
goes on.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from ._caller import caller_stacklevel
from ._grid import Array
from .atomic import atomic_write, exclusive_use
from .lloyd import STAGE, Progress, SavedStage
from .model import ANSWER_VERSION, Centroids, Pass, State, check_like

MAGIC = b"rekmeans checkpoint 1\n"
DIGEST_LENGTH = 64  # letters of a SHA-256 digest, which follow the magic
INTERVAL = 1.0  # seconds between two writes, at least
Identity = dict[str, str]


@dataclass
class Checkpoint:
    """The file of a fit; `progress` is what an interrupted one left in it, `entropy` that of the
    starts.
    """

    path: Path | None
    identity: Identity
    entropy: list[int]
    progress: Progress | None = None
    written: float = 0.0

    @property
    def journal(self) -> Checkpoint | None:
        """What the loop tells of each pass; None where no checkpoint is asked for."""
        return None if self.path is None else self

    @property
    def n_starts_begun(self) -> int:
        """Starts of which no starting centroids are needed any more."""
        return 0 if self.progress is None else self.progress.start + 1

    def record(self, progress: Progress) -> None:
        """Write the progress, unless the last write was less than a second ago."""
        if self.path is None or time.monotonic() < self.written + INTERVAL:
            return
        try:
            with atomic_write(self.path) as part:
                part.write_bytes(encode(self.identity, self.entropy, progress))
        except OSError as error:  # a fit of hours is not lost for a full disk
            what = (
                f"no checkpoint could be written ({error}): the fit goes on, "
                f"{self.path.name} is as it was."
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
    centroids: Any  # an example with as many centroids as the fit has
    has_exact_loss: bool

    def check(self, progress: Progress) -> None:
        """Raise ValueError unless this fit could have recorded this progress."""
        _check_range("start", progress.start, self.n_starts - 1)
        if not progress.stages or bool(progress.best) != bool(progress.start):
            raise ValueError("its starts do not fit together")
        for stages in (progress.stages, progress.best):
            if [saved.stage for saved in stages] != sorted({saved.stage for saved in stages}):
                raise ValueError("its stages are out of order")
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
                raise ValueError(f"a pass took {one.seconds} s")
        self._check_loss(state.loss)
        for name, C in (("centroids", state.centroids), ("candidate", state.candidate)):
            check_like(name, C, self.centroids)

    def _check_loss(self, loss: Any) -> None:
        if self.has_exact_loss:
            is_valid = isinstance(loss, int) and loss >= 0
        else:  # it may be negative, as that of a likelihood
            is_valid = math.isfinite(loss)
        if not is_valid:
            raise ValueError(f"{loss!r:.40} is no loss of this fit")


def _check_range(name: str, value: int, most: int, least: int = 0) -> None:
    if not least <= value <= most:
        raise ValueError(f"its {name} is {value}, not between {least} and {most}")


@contextmanager
def use_checkpoint(
    path: str | os.PathLike[str] | None,
    find_identity: Callable[[], Identity],
    find_limits: Callable[[], FitLimits],
    entropy: list[int],
) -> Iterator[Checkpoint]:
    """The checkpoint of a fit, with what an interrupted one left; its file goes when the fit ends
    well.
    """
    if path is None:
        yield Checkpoint(None, {}, entropy)
        return
    place = Path(path)
    identity = find_identity() | {"answer version": str(ANSWER_VERSION)}
    with exclusive_use(place):
        checkpoint = Checkpoint(place, identity, entropy, written=time.monotonic())
        if place.exists():
            checkpoint.entropy, checkpoint.progress = read_checkpoint(place, identity, find_limits)
        yield checkpoint
        place.unlink(missing_ok=True)


def read_checkpoint(
    path: Path, identity: Identity, find_limits: Callable[[], FitLimits]
) -> tuple[list[int], Progress]:
    """Return the entropy and the progress in a file, which must be complete and belong to the fit
    of this identity.
    """
    try:
        if not path.is_file():
            raise ValueError("it is not a regular file")
        content = path.read_bytes()
        digest = content[len(MAGIC) :][:DIGEST_LENGTH]
        payload = content[len(MAGIC) + DIGEST_LENGTH :]
        if not content.startswith(MAGIC) or hashlib.sha256(payload).hexdigest().encode() != digest:
            raise ValueError("its digest is another")
        arrays = read_arrays(payload)
        header = json.loads(arrays["header"].tobytes().decode())
        saved = {str(name): str(value) for name, value in header["identity"].items()}
        entropy = [_check_word(word) for word in header["entropy"]]
        progress = Decoder(arrays).progress(header["progress"])
        if saved == identity:
            find_limits().check(progress)
    except (ValueError, LookupError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise ValueError(
            f"checkpoint={str(path)!r} must be a file that a fit wrote, this one is damaged or "
            f"something else "
            f"({error!s:.100}): remove it, or name another."
        ) from None
    if saved != identity:
        name = next(name for name in {**saved, **identity} if saved.get(name) != identity.get(name))
        what = (
            f"its {name} is {saved.get(name, 'absent')}, this fit has {identity.get(name, 'none')}"
        )
        raise ValueError(
            f"checkpoint={str(path)!r} belongs to another fit: {what}; pass another path."
        )
    return entropy, progress


def read_arrays(payload: bytes) -> dict[str, Array]:
    """Return the arrays of an .npz file; none is larger than the file."""
    arrays = {}
    try:
        with ZipFile(io.BytesIO(payload)) as archive:
            for entry in archive.infolist():
                if entry.compress_type != ZIP_STORED or entry.file_size > len(payload):
                    raise ValueError("an array is not stored as it is")
                arrays[entry.filename.removesuffix(".npy")] = _read_array(archive.read(entry))
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, struct.error) as error:
        raise ValueError(f"its arrays cannot be read: {error}") from None
    return arrays


def _read_array(data: bytes) -> Array:
    """Return the array of an .npy file, which must be as long as its header says."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array is of another version")
    shape, is_by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in "iuf" or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError("an array has another length than its header says")
    flat = np.frombuffer(data, dtype, offset=file.tell())
    return flat.reshape(shape, order="F" if is_by_columns else "C").copy()


def _check_word(word: Any) -> int:
    """Return one integer of the seed entropy; raise ValueError unless it has at most 128 bits."""
    if not isinstance(word, int) or not 0 <= word < 1 << 128:
        raise ValueError("its entropy is not made of integers")
    return word


def encode(identity: Identity, entropy: list[int], progress: Progress) -> bytes:
    """The content of a checkpoint: magic, digest, and arrays of which the first is a header in
    JSON.
    """
    encoder = Encoder({})
    header = {"identity": identity, "entropy": entropy, "progress": encoder.progress(progress)}
    encoder.arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    payload = io.BytesIO()
    np.savez(payload, **encoder.arrays)
    return MAGIC + hashlib.sha256(payload.getvalue()).hexdigest().encode() + payload.getvalue()


@dataclass
class Encoder:
    """Records as plain JSON, their arrays beside it by number."""

    arrays: dict[str, Any]

    def progress(self, progress: Progress) -> dict[str, Any]:
        stages, found = (
            [self._stage(one) for one in many] for many in (progress.stages, progress.best)
        )
        return {"start": progress.start, "stages": stages, "best": found}

    def _stage(self, saved: SavedStage) -> dict[str, Any]:
        state = saved.state
        return {
            "stage": saved.stage,
            "max_iter": saved.max_iter,
            "centroids": self._value(state.centroids),
            "candidate": self._value(state.candidate),
            "loss": _number_text(state.loss),
            "passes": [
                [
                    _number_text(one.loss),
                    one.n_changed,
                    one.n_relocated,
                    _number_text(float(one.seconds)),
                ]
                for one in state.passes
            ],
            "is_done": state.is_done,
        }

    def _value(self, value: Any) -> Any:
        """A record of centroids, a tuple of them, or an array."""
        if isinstance(value, Centroids):
            parts = {field.name: self._value(getattr(value, field.name)) for field in fields(value)}
            return {"record": type(value).__name__, "parts": parts}
        if isinstance(value, tuple):
            return [self._value(one) for one in value]
        name = f"a{len(self.arrays)}"
        self.arrays[name] = np.asarray(value)
        return name


@dataclass
class Decoder:
    """The way back."""

    arrays: Any

    def progress(self, plain: dict[str, Any]) -> Progress:
        stages, found = (
            tuple(self._stage(one) for one in plain[name]) for name in ("stages", "best")
        )
        return Progress(int(plain["start"]), stages, found)

    def _stage(self, plain: dict[str, Any]) -> SavedStage:
        passes = tuple(
            Pass(_number_of_text(loss), int(n_changed), int(n_relocated), _number_of_text(seconds))
            for loss, n_changed, n_relocated, seconds in plain["passes"]
        )
        C = self._value(plain["centroids"])
        candidate = self._value(plain["candidate"])
        state = State(C, candidate, _number_of_text(plain["loss"]), passes, bool(plain["is_done"]))
        return SavedStage(int(plain["stage"]), int(plain["max_iter"]), state)

    def _value(self, plain: Any) -> Any:
        if isinstance(plain, dict):
            parts = {name: self._value(part) for name, part in plain["parts"].items()}
            return _record_types()[plain["record"]](**parts)
        if isinstance(plain, list):
            return tuple(self._value(one) for one in plain)
        array: Array = self.arrays[plain]
        return array


def _record_types() -> dict[str, type]:
    """Every record of centroids by its name; those of foreign kernels too."""
    found = dict[str, type]()
    waiting = [Centroids]
    while waiting:
        kind = waiting.pop()
        found[kind.__name__] = kind
        waiting += kind.__subclasses__()
    return found


def _number_text(value: Any) -> str:
    """A loss as text that keeps every bit: an integer in decimals, a float in hexadecimals."""
    return str(int(value)) if isinstance(value, int | np.integer) else float(value).hex()


def _number_of_text(text: str) -> Any:
    return int(text) if text.lstrip("-").isdecimal() else float.fromhex(text)
