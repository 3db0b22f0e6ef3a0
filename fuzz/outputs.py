"""Attacks that kill a run or fill the disk at a random moment.

Every output file must be complete, and the next run must remove temporary files.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from rekmeans import load
from rekmeans.atomic import sha256_digest

from .attack import Attack, register
from .command import Answer, Limits, command_server

OUTPUTS = {"labels.csv", "model.safetensors", "report.html", "summary.json"}
FOREIGN = "notes.txt"  # a file of the user in the output folder
FILLER = "filler.bin"  # takes up space on the disk
N_ROWS = 20_000  # enough rows for writing to take a noticeable time
DISK = 8 << 20  # size of the small disk in bytes; the outputs of a fit need less than 1 MB


@dataclass(frozen=True)
class BrokenRun:
    """An interrupted fit with k clusters that writes to a new folder or over an earlier fit."""

    k: int
    is_second: bool
    share: float | None = None  # the run is killed after this share of the time of a full run
    file_size: int | None = None  # largest size of a file in bytes
    free: int | None = None  # free bytes on the disk


@cache
def _table() -> bytes:
    rng = np.random.default_rng(0)
    names = [f"r{i}" for i in range(N_ROWS)]
    return (
        pd.DataFrame(rng.normal(size=(N_ROWS, 3)), index=names, columns=list("abc"))
        .to_csv()
        .encode()
    )


@cache
def _seconds() -> float:
    """Return the duration of a full run on this machine in seconds."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "t.csv").write_bytes(_table())
        answers = [_fit(Path(place), 3) for _ in range(2)]
    return min(answer.seconds for answer in answers)


def _fit(folder: Path, k: int, limits: Limits = Limits()) -> Answer:  # noqa: B008 - frozen
    words = ["fit", "t.csv", "-k", k, "--out", "new/out", "--csv", "-q", "--starts", 1]
    return command_server().run(words, folder, limits)


def _draw_kill(rng: np.random.Generator) -> BrokenRun:
    return BrokenRun(
        int(rng.integers(2, 5)), bool(rng.integers(2)), share=float(rng.uniform(0.3, 1.1))
    )


def _draw_full_disk(rng: np.random.Generator) -> BrokenRun:
    return BrokenRun(
        int(rng.integers(2, 5)), bool(rng.integers(2)), file_size=int(2 ** rng.uniform(9, 19))
    )


def _draw_full_tmpfs(rng: np.random.Generator) -> BrokenRun:
    return BrokenRun(
        int(rng.integers(2, 5)), bool(rng.integers(2)), free=int(2 ** rng.uniform(0, 21))
    )


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a disk of a few megabytes at a folder, which requires root."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder],
        check=True,
        capture_output=True,
    )
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def can_mount() -> bool:
    """Return whether this process can mount a disk."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory() as place:
        try:
            with small_disk(Path(place)):
                return True
        except subprocess.CalledProcessError:
            return False


def _fill(path: Path, free: int) -> None:
    """Write a file that leaves `free` bytes on the disk."""
    taken = shutil.disk_usage(path.parent).free - free
    path.write_bytes(bytes(max(0, taken)))


def _check_on_small_disk(case: BrokenRun) -> None:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "new").mkdir()
        with small_disk(Path(place) / "new"):
            _check_in(Path(place), case)


def _check(case: BrokenRun) -> None:
    with tempfile.TemporaryDirectory() as place:
        _check_in(Path(place), case)


def _check_in(folder: Path, case: BrokenRun) -> None:
    (folder / "t.csv").write_bytes(_table())
    if case.is_second:
        assert _fit(folder, 7).status == 0
        (folder / "new/out" / FOREIGN).write_text("mine")
    if case.free is not None:
        _fill(folder / "new" / FILLER, case.free)
    before = contents(folder)
    kill_after = None if case.share is None else case.share * _seconds()
    answer = _fit(
        folder, case.k, replace(Limits(), kill_after=kill_after, file_size=case.file_size)
    )
    if case.share is None:
        answer.reject_unclean()
        assert answer.status == 0 or contents(folder) == before, (
            f"{sorted(contents(folder))} after {answer.err}"
        )
    else:
        assert answer.status in (0, -9), answer.err
    check_outputs(folder / "new/out", case.is_second)
    (folder / "new" / FILLER).unlink(missing_ok=True)
    assert _fit(folder, 5).status == 0
    check_outputs(folder / "new/out", case.is_second)
    stray = {str(path.relative_to(folder)) for path in folder.rglob(".*")}
    assert not stray, f"the next run does not remove {stray}"
    assert load(folder / "new/out/model.safetensors").n_clusters == 5


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files in a folder and its subfolders."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def check_outputs(out: Path, is_second: bool) -> None:
    """Check that all outputs exist and are complete, and come from one run if the folder is new."""
    if not out.exists():
        assert not is_second, "the earlier folder is gone"
        return
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert names == OUTPUTS | ({FOREIGN} if is_second else set()), f"the folder has {sorted(names)}"
    assert not is_second or (out / FOREIGN).read_text() == "mine"
    clusters = load(out / "model.safetensors").n_clusters
    labels = pd.read_csv(out / "labels.csv")
    assert len(labels) == N_ROWS, f"{len(labels)} labels"
    assert (out / "report.html").read_text().rstrip().endswith("</html>")
    summary = json.loads((out / "summary.json").read_text())
    is_whole = all(
        sha256_digest(out / name) == digest for name, digest in summary["sha256"].items()
    )
    assert set(summary["sha256"]) == OUTPUTS - {"summary.json"}
    if not is_second:
        assert is_whole, "a new folder has files of two runs"
    if is_whole:
        assert len(summary["sizes"]) == clusters == labels["cluster"].max() + 1


register(Attack("outputs.kill", _draw_kill, _check, n_cases=60))
register(Attack("outputs.full-disk", _draw_full_disk, _check, n_cases=60))
if can_mount():
    register(Attack("outputs.full-tmpfs", _draw_full_tmpfs, _check_on_small_disk, n_cases=60))
