"""A run over cells (set, scaling, method, alpha, start): one JSON line each, so that a killed run continues."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from .. import EulerKMeans, RectifiedEulerKMeans, __version__
from .._grid import Array
from ..io.atomic import atomic_write
from ..metrics import clustering_accuracy, normalized_mutual_info
from . import datasets
from .methods import METHODS, Case, Outcome, estimator, rises
from .protocol import SCALINGS

LARGE = 1 << 23  # numbers in a table from which a task is a single cell
HALVED = {"EulerK": EulerKMeans, "REK1": RectifiedEulerKMeans}
Record = dict[str, Any]
Records = dict["Cell", Record]
Watch = Callable[[int, int, str], None]  # cells done, cells in all, what was done last


@dataclass(frozen=True, order=True)
class Cell:
    """One fit. `alpha` is 0 for methods without one, `k` 0 for as many clusters as classes."""

    dataset: str
    scaling: str
    init: str
    method: str
    alpha: float
    k: int
    start: int
    half: bool = False  # fitted on one half of the rows, scored on the other


@dataclass(frozen=True)
class Mark:
    """What the records of a data set belong to: this version on these numbers; and how many numbers."""

    text: str
    size: int


def marks(names: Iterable[str]) -> tuple[dict[str, Mark], dict[str, str]]:
    """The marks of the data sets at hand, and why the others are missing."""
    found, absent = dict[str, Mark](), dict[str, str]()
    for name in dict.fromkeys(names):
        try:
            data = datasets.load(name)
        except datasets.Missing as missing:
            absent[name] = missing.why
            continue
        digest = blake2b(np.ascontiguousarray(data.X).tobytes(), digest_size=8)
        digest.update(np.asarray(data.y, np.int64).tobytes())
        found[name] = Mark(f"{__version__} {digest.hexdigest()}", data.X.size)
    return found, absent


def run(
    cells: Iterable[Cell], path: Path, found: dict[str, Mark], workers: int | None = None, watch: Watch | None = None
) -> Records:
    """The records of these cells: those in the file, and the others made now and added to it.

    The file ends up sorted, with the same bytes whatever the order, the workers and the interruptions.
    """
    known = {
        cell: record
        for cell, record in recorded(path).items()
        if cell.dataset not in found or record["mark"] == found[cell.dataset].text
    }
    save(path, known)
    wanted = sorted({cell for cell in cells if cell.dataset in found})
    todo = [cell for cell in wanted if cell not in known]
    with path.open("a", encoding="utf-8") as file:
        for done, total, made in _made(todo, found, workers or os.cpu_count() or 1):
            marked = {cell: {"mark": found[cell.dataset].text} | record for cell, record in made}
            file.writelines(_line(cell, record) for cell, record in marked.items())
            file.flush()
            known |= marked
            if watch is not None:
                watch(len(wanted) - len(todo) + done, len(wanted) - len(todo) + total, made[-1][0].dataset)
    save(path, known)
    return {cell: known[cell] for cell in wanted}


def recorded(path: Path) -> Records:
    """The records in a file; a line cut short is none."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    names = [field.name for field in fields(Cell)]
    records: Records = {}
    for line in lines:
        if line.endswith("\n"):
            record = json.loads(line)
            records[Cell(**{name: record.pop(name) for name in names})] = record
    return records


def save(path: Path, records: Records) -> None:
    """All records, sorted, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(_line(cell, records[cell]) for cell in sorted(records))


def _line(cell: Cell, record: Record) -> str:
    return json.dumps(asdict(cell) | record) + "\n"


def _made(
    todo: list[Cell], found: dict[str, Mark], workers: int
) -> Iterator[tuple[int, int, list[tuple[Cell, Record]]]]:
    """Cells done, cells in all and the latest records, as tasks end."""
    tasks, done = list(_tasks(todo, found)), 0
    if workers == 1 or len(tasks) < 2:
        with threadpool_limits(1):
            for task in tasks:
                made = measured_all(task)
                done += len(made)
                yield done, len(todo), made
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(min(workers, len(tasks)), get_context("spawn"), _quiet_worker)
    try:
        for future in as_completed([pool.submit(measured_all, task) for task in tasks]):
            made = future.result()
            done += len(made)
            yield done, len(todo), made
    except BrokenProcessPool:
        why = "a worker was killed, most likely for want of memory"
        raise MemoryError(f"{why}: run again with fewer workers; the fits made so far are kept.") from None
    finally:
        if done < len(todo):  # nobody waits for what they are at
            for worker in set(active_children()) - others:
                worker.terminate()
        pool.shutdown(cancel_futures=True)


def _tasks(todo: list[Cell], found: dict[str, Mark]) -> Iterator[list[Cell]]:
    """Cells that differ in their start only go together, unless each takes long."""
    for _, same in groupby(todo, key=lambda cell: (cell.dataset, cell.scaling, cell.init, cell.method, cell.alpha)):
        cells = list(same)
        alone = found[cells[0].dataset].size >= LARGE
        yield from ([cell] for cell in cells) if alone else [cells]


def _quiet_worker() -> None:
    """Workers share the machine by processes, not by threads, and leave Ctrl-C to the one who started them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)


def measured_all(cells: list[Cell]) -> list[tuple[Cell, Record]]:
    """Cells with their records."""
    with warnings.catch_warnings(action="ignore"):  # of clusters that stay empty at an alpha that aliases
        return [(cell, measured(cell)) for cell in cells]


def measured(cell: Cell) -> Record:
    """NMI, ACC, κ, objective and passes of one fit; the sum of its labels; the course of the first start."""
    X, y = _scaled(cell.dataset, cell.scaling)
    scaling = SCALINGS[cell.scaling]
    k = cell.k or len(np.unique(y))
    case = Case(X, k, cell.alpha, scaling.scale, scaling.beyond, cell.init, cell.start)
    if cell.half:
        return _half(cell.method, case, y)
    outcome = METHODS[cell.method](case)
    return _scores(y, outcome.labels) | _told(outcome, whole_course=cell.start == 0)


@lru_cache(maxsize=1)
def _scaled(name: str, scaling: str) -> tuple[Array, Array]:
    """Rows after the scaling of rows, in the narrowest floating type that holds them, and classes."""
    data = datasets.load(name)
    X = np.asarray(data.X)
    return SCALINGS[scaling].rows(X.astype(np.result_type(X.dtype, np.float32))), np.asarray(data.y)


def _half(method: str, case: Case, y: Array) -> Record:
    """Fitted on a random half; scores of the other half, and of the fitted one."""
    order = check_random_state(case.seed).permutation(len(y))
    fitted, other = np.split(order, [len(y) // 2])
    model = estimator(HALVED[method], case).fit(case.X[fitted])
    own = {f"fitted_{name}": score for name, score in _scores(y[fitted], model.labels_).items()}
    return _scores(y[other], model.predict(case.X[other])) | own


def _scores(y: Array, labels: Array) -> Record:
    checksum = crc32(np.asarray(labels, np.int32).tobytes())
    return {"nmi": normalized_mutual_info(y, labels), "acc": clustering_accuracy(y, labels), "labels": checksum}


def _told(outcome: Outcome, *, whole_course: bool) -> Record:
    told = {"kappa": outcome.kappa, "objective": outcome.objective, "passes": outcome.passes}
    told["rises"] = rises(outcome.course)
    return told | ({"course": list(outcome.course)} if whole_course else {})
