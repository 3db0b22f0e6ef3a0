"""Run the fits of a study in a process pool and store their records as JSON lines.

An interrupted run continues from the file.
"""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from itertools import groupby
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from rekmeans import __version__
from rekmeans.atomic import atomic_write
from rekmeans.threads import count_threads

from . import datasets

LARGE = 1 << 23  # cells in a table from which each fit is a task of its own
Record = dict[str, Any]
Progress = Callable[[int, int, str], None]  # (finished fits, all fits, dataset of the latest fit)


@dataclass(frozen=True, order=True)
class StudyFit:
    """One fit of a study on one dataset; each study adds its own fields."""

    dataset: str


FitT = TypeVar("FitT", bound=StudyFit)


@dataclass(frozen=True)
class FitKind(Generic[FitT]):
    """The fits of a study: their class, and two functions.

    A worker calls `measure` for each fit, and fits with equal `task_key` form one task.
    """

    fit_class: type[FitT]
    measure: Callable[[FitT], Record]
    task_key: Callable[[FitT], tuple[Any, ...]]


@dataclass(frozen=True)
class Fingerprint:
    """An identifier of the package version and the dataset, and the number of cells."""

    text: str
    size: int


def fingerprint_datasets(names: Iterable[str]) -> tuple[dict[str, Fingerprint], dict[str, str]]:
    """Return the fingerprints of the available datasets, and why the others are missing."""
    present, missing = dict[str, Fingerprint](), dict[str, str]()
    for name in dict.fromkeys(names):
        try:
            data = datasets.load(name)
        except datasets.MissingDatasetError as error:
            missing[name] = error.why
            continue
        digest = blake2b(np.ascontiguousarray(data.X).tobytes(), digest_size=8)
        digest.update(np.asarray(data.y, np.int64).tobytes())
        present[name] = Fingerprint(f"{__version__} {digest.hexdigest()}", data.X.size)
    return present, missing


def run_fits(
    fits: Iterable[FitT],
    kind: FitKind[FitT],
    present: dict[str, Fingerprint],
    path: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[FitT, Record]:
    """Return the records of the fits; records in the file at `path` are reused.

    New records are appended to the file. At the end it is sorted, so its bytes do not depend on the
    order of the fits, the number of workers or interruptions.
    """
    known = _valid_records(path, kind, present) if path else {}
    wanted = sorted({fit for fit in fits if fit.dataset in present})
    todo = [fit for fit in wanted if fit not in known]
    n_known = len(wanted) - len(todo)
    with open(path or os.devnull, "a", encoding="utf-8") as file:
        for done, records in _run_tasks(
            _tasks(todo, kind, present), kind.measure, count_threads(workers)
        ):
            marked = {
                fit: {"mark": present[fit.dataset].text} | record for fit, record in records.items()
            }
            file.writelines(_json_line(fit, record) for fit, record in marked.items())
            file.flush()
            known |= marked
            if progress is not None:
                progress(n_known + done, len(wanted), next(iter(records)).dataset)
    if path:
        save_records(path, known)
    return {fit: known[fit] for fit in wanted}


def _valid_records(
    path: Path, kind: FitKind[FitT], present: dict[str, Fingerprint]
) -> dict[FitT, Record]:
    """Return the records in the file that match the current datasets, and remove the others."""
    records = {
        fit: record
        for fit, record in load_records(path, kind.fit_class).items()
        if fit.dataset not in present or record["mark"] == present[fit.dataset].text
    }
    save_records(path, records)
    return records


def load_records(path: Path, fit_class: type[FitT]) -> dict[FitT, Record]:
    """Return the records in a file; an incomplete last line is ignored."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    names = [field.name for field in fields(fit_class)]
    records: dict[FitT, Record] = {}
    for line in lines:
        if line.endswith("\n"):
            record = json.loads(line)
            records[fit_class(**{name: record.pop(name) for name in names})] = record
    return records


def save_records(path: Path, records: dict[FitT, Record]) -> None:
    """Write the sorted records atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(_json_line(fit, records[fit]) for fit in sorted(records))


def _json_line(fit: StudyFit, record: Record) -> str:
    return json.dumps(asdict(fit) | record) + "\n"


def _tasks(
    todo: list[FitT], kind: FitKind[FitT], present: dict[str, Fingerprint]
) -> list[list[FitT]]:
    """Group fits with equal keys into tasks; a fit of a large table is a task of its own."""
    tasks: list[list[FitT]] = []
    for _, group in groupby(todo, key=kind.task_key):
        fits = list(group)
        tasks += [[fit] for fit in fits] if present[fits[0].dataset].size >= LARGE else [fits]
    return tasks


def _run_tasks(
    tasks: list[list[FitT]], measure: Callable[[FitT], Record], workers: int
) -> Iterator[tuple[int, dict[FitT, Record]]]:
    """Yield the number of finished fits and the new records as tasks finish."""
    done = 0
    total = sum(map(len, tasks))
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            done += len(task)
            yield done, _measure_task(task, measure)
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(min(workers, len(tasks)), get_context("spawn"), _ignore_interrupts)
    try:
        for future in as_completed([pool.submit(_measure_task, task, measure) for task in tasks]):
            records = future.result()
            done += len(records)
            yield done, records
    except BrokenProcessPool:
        raise MemoryError(
            "a worker was killed, probably because memory ran out. Run again with fewer workers; "
            "finished records are kept in the file."
        ) from None
    finally:
        if done < total:  # interrupted: the results of running workers are not needed
            for worker in set(active_children()) - others:
                worker.terminate()
        pool.shutdown(cancel_futures=True)


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C in a worker; the parent process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _measure_task(fits: list[FitT], measure: Callable[[FitT], Record]) -> dict[FitT, Record]:
    """Return the records of the fits, using one thread because there is a worker per core."""
    # Ignored warnings: empty clusters and ignored rows.
    with warnings.catch_warnings(action="ignore"), threadpool_limits(1):
        return {fit: measure(fit) for fit in fits}
