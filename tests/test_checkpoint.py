"""An interrupted fit resumes from its checkpoint with the same bits; other files raise errors."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import dask.array
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rekmeans import (
    EulerKMeans,
    KernelKMeans,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
    checkpoint,
    lloyd,
    watch_passes,
)
from rekmeans.atomic import exclusive_use
from rekmeans.estimators import _identity
from rekmeans.kernels.euler import OnCircles
from rekmeans.model import Assignment, Pass, Points, Stop
from rekmeans.tensor_file import read_tensor_file
from support.assertions import (
    assert_message_states_fix,
    assert_one_sentence,
    assert_same_fit,
    raises_mentioning,
)
from support.clusterers import CLUSTERERS
from support.paths import DATA, ROOT

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(90, 3)) + 3 * RANDOM.integers(0, 3, (90, 1))
SIMILARITY = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 8)
# raises an error, because there are no points
NAMES = [name for name in CLUSTERERS if name != "KernelKMeans-precomputed-rectified"]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _write_after_each_pass(monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)


class InterruptionError(Exception):
    pass


@contextmanager
def interrupted(start, number):
    """Stop fits in this context with an error after this pass of this start."""

    def interrupt(event):
        if (event.start, event.number) >= (start, number):
            raise InterruptionError

    try:
        with watch_passes(interrupt):
            yield
    except InterruptionError:
        pass


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", [0, 2])
def test_every_clusterer_goes_on_to_the_same_bits(name, number, tmp_path):
    rows = SIMILARITY if "precomputed" in name else X
    path = tmp_path / "fit.checkpoint"
    uninterrupted = CLUSTERERS[name](random_state=3).fit(rows)
    with interrupted(0, number):
        CLUSTERERS[name](random_state=3, checkpoint=path).fit(rows)
    was_interrupted = path.exists()
    model = CLUSTERERS[name](random_state=3, checkpoint=path).fit(rows)
    assert was_interrupted or len(uninterrupted.history_["inertia"]) <= number
    assert_same_fit(model, uninterrupted)
    assert list(tmp_path.iterdir()) == []  # neither the checkpoint nor its lock file


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("estimator", [EulerKMeans, RectifiedEulerKMeans])
@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_every_start_and_pass_can_be_the_last_before_an_interruption(
    engine, estimator, start, number, tmp_path
):
    parameters = {"random_state": 0, "n_init": 4, "engine": engine, "init": "random"}
    with interrupted(start, number):
        estimator(4, checkpoint=tmp_path / "c", **parameters).fit(X)
    model = estimator(4, checkpoint=tmp_path / "c", **parameters).fit(X)
    assert_same_fit(model, estimator(4, **parameters).fit(X))


@pytest.mark.parametrize("number", range(12))
def test_every_stage_of_a_map_can_be_interrupted(number, tmp_path):
    parameters = {"grid": (2, 2), "stages": 4, "init": "random", "n_init": 2, "random_state": 0}
    with interrupted(1, number):
        SelfOrganizingMap(checkpoint=tmp_path / "c", **parameters).fit(X)
    model = SelfOrganizingMap(checkpoint=tmp_path / "c", **parameters).fit(X)
    assert_same_fit(model, SelfOrganizingMap(**parameters).fit(X))


def test_a_fit_without_a_seed_goes_on_with_its_own_starts(tmp_path):
    ours, copy = tmp_path / "ours", tmp_path / "copy"

    def copy_once(event):
        if not copy.exists() and event.start == 1:
            shutil.copy(ours, copy)

    with watch_passes(copy_once):
        uninterrupted = RectifiedEulerKMeans(4, n_init=5, init="random", checkpoint=ours).fit(X)
    model = RectifiedEulerKMeans(4, n_init=5, init="random", checkpoint=copy).fit(X)
    assert_same_fit(model, uninterrupted)


def test_a_callable_init_without_a_seed_draws_the_same_again(tmp_path):
    ours, copy = tmp_path / "ours", tmp_path / "copy"

    def random_points(X, k, random_state):
        return X[random_state.choice(len(X), k, replace=False)]

    def copy_once(event):
        if not copy.exists() and event.start == 1:
            shutil.copy(ours, copy)

    with watch_passes(copy_once):
        uninterrupted = RectifiedEulerKMeans(4, n_init=6, init=random_points, checkpoint=ours).fit(
            X
        )
    model = RectifiedEulerKMeans(4, n_init=6, init=random_points, checkpoint=copy).fit(X)
    assert_same_fit(model, uninterrupted)


def row_starts(first):
    return lambda X, k, random_state: X[first : first + k]


def test_functions_are_told_apart_by_what_they_do(tmp_path):
    path = tmp_path / "c"
    starts = [
        lambda X, k, random_state: X[:k],
        lambda X, k, random_state: X[-k:],
        lambda X, k, random_state: X[7:][:k],
    ]
    starts += [
        row_starts(3),
        row_starts(5),
        partial(row_starts(3), k=4),
        partial(row_starts(5), k=4),
    ]
    starts += [FromRow(1), FromRow(2), FromRow(1).last_rows, FromRow(2).last_rows]
    texts = [_identity._value_text(start) for start in starts]
    assert len(set(texts)) == len(starts)
    assert _identity._value_text(row_starts(3)) == _identity._value_text(row_starts(np.int64(3)))
    with interrupted(0, 1):
        RectifiedEulerKMeans(4, init=starts[0], checkpoint=path).fit(X)
    with raises_mentioning(ValueError, "belongs to another fit", "init"):
        RectifiedEulerKMeans(4, init=starts[1], checkpoint=path).fit(X)


class FromRow:
    def __init__(self, row):
        self.row = row

    def __call__(self, X, k, random_state):
        return X[self.row : self.row + k]

    def last_rows(self, X, k, random_state):
        return X[-k:]


@pytest.mark.parametrize(
    "other", [{"alpha": np.float32(1.0)}, {"alpha": 1}, {"random_state": np.int64(0)}]
)
def test_the_same_number_is_the_same_parameter(other, tmp_path):
    parameters = {"alpha": 1.0, "random_state": 0}
    path = tmp_path / "c"
    with interrupted(0, 0):
        RectifiedEulerKMeans(4, checkpoint=path, **parameters).fit(X)
    assert path.exists()
    model = RectifiedEulerKMeans(4, checkpoint=path, **parameters | other).fit(X)
    assert_same_fit(model, RectifiedEulerKMeans(4, **parameters).fit(X))


def test_a_checkpoint_changes_nothing_and_may_be_watched(tmp_path):
    parameters = {"n_clusters": 4, "random_state": np.random.RandomState(0), "n_init": 2}
    events = []
    with watch_passes(events.append):
        model = RectifiedEulerKMeans(checkpoint=tmp_path / "c", **parameters).fit(X)
    plain = RectifiedEulerKMeans(**parameters | {"random_state": np.random.RandomState(0)}).fit(X)
    assert_same_fit(model, plain)
    with interrupted(0, 1):
        RectifiedEulerKMeans(checkpoint=tmp_path / "c", **parameters | {"random_state": 0}).fit(X)
    again = []
    with watch_passes(again.append):
        RectifiedEulerKMeans(checkpoint=tmp_path / "c", **parameters | {"random_state": 0}).fit(X)
    assert [(e.start, e.number, e.inertia) for e in again] == [
        (e.start, e.number, e.inertia) for e in events
    ][2:]


def test_a_table_read_in_blocks_goes_on(tmp_path):
    def blocks():
        return iter(np.array_split(X, 7))

    parameters = {"n_clusters": 4, "random_state": 0, "init": "random", "n_init": 2}
    with interrupted(1, 2):
        RectifiedEulerKMeans(checkpoint=tmp_path / "c", **parameters).fit(blocks)
    assert (tmp_path / "c").exists()
    model = RectifiedEulerKMeans(checkpoint=tmp_path / "c", **parameters).fit(blocks)
    assert_same_fit(model, RectifiedEulerKMeans(**parameters).fit(X))


# the labels belong to the centroids, even if the last pass was dropped

LOSSES = [10, 8, 7, 6, 9]  # loss of centroids 0, 1, 2, ...; the last one is not used


class ScriptedRun:
    """A run whose centroids count the passes, and whose labels all equal the centroid."""

    n_passes = 0

    def assign(self, C):
        self.n_passes = self.n_passes + 1
        self.last = C
        return Assignment(1, SimpleNamespace(loss=LOSSES[C], mass=np.ones(1)))

    def update(self, sums, C):
        return C + 1

    def advance(self, state, stop, most_passes):
        return None

    def labels(self):
        return np.array([self.last])


@pytest.mark.parametrize("n_passes", [1, 2, 3, 4])
def test_labels_are_those_of_the_centroids_wherever_a_run_goes_on(n_passes):
    kernel = SimpleNamespace(loss_unit=1.0)
    rows = SimpleNamespace(
        kernel=kernel,
        weight_bits=0,
        farthest=None,
        start_run=lambda model: ScriptedRun(),
        label=lambda model, C: np.array([C]),
    )
    journal = SimpleNamespace(progress=None, record=lambda progress: recorded.append(progress))
    recorded = []
    stages = [SimpleNamespace(kernel=kernel)]
    stop = Stop(10, 0.0)
    whole = lloyd.fit_best_start(rows, stages, [0], stop, journal=journal)
    assert (whole.centroids, whole.labels.tolist(), whole.loss) == (3, [3], 6)
    journal.progress = recorded[n_passes - 1]
    assert len(journal.progress.stages[0].state.passes) == n_passes
    resumed = lloyd.fit_best_start(rows, stages, [None], stop, journal=journal)
    assert (resumed.centroids, resumed.labels.tolist(), resumed.loss) == (3, [3], 6)


# killed processes

KILLED = """
import sys, time
import numpy as np
from rekmeans import RectifiedEulerKMeans, checkpoint, watch_passes
checkpoint.INTERVAL = 0.0
X = np.load(sys.argv[1])
with watch_passes(lambda event: (time.sleep(0.02), print("pass", flush=True))[0]):
    RectifiedEulerKMeans(5, random_state=1, n_init=3, init="random", checkpoint=sys.argv[2]).fit(X)
"""


def kill_and_go_on(folder, seconds):
    """Kill a process some time after the first pass of its fit, then run the same fit here."""
    np.save(folder / "X.npy", X)
    command = [sys.executable, "-c", KILLED, str(folder / "X.npy"), str(folder / "c")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "pass\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    parameters = {"n_clusters": 5, "random_state": 1, "n_init": 3, "init": "random"}
    model = RectifiedEulerKMeans(checkpoint=folder / "c", **parameters).fit(X)
    assert_same_fit(model, RectifiedEulerKMeans(**parameters).fit(X))


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no SIGKILL")
def test_a_killed_process_leaves_a_checkpoint_that_goes_on(tmp_path):
    kill_and_go_on(tmp_path, 0.1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X.npy"]


KILLED_AFTER_TWO_PASSES = """
import sys, time
import numpy as np
from rekmeans import checkpoint, watch_passes
from support.clusterers import CLUSTERERS
checkpoint.INTERVAL = 0.0

name, rows, path = sys.argv[1:]
events = []

def wait_to_be_killed(event):
    events.append(event)
    if len(events) == 2:
        print("second pass", flush=True)
        time.sleep(600)

with watch_passes(wait_to_be_killed):
    CLUSTERERS[name](random_state=3, init="random", n_init=2, checkpoint=path).fit(np.load(rows))
"""
ONE_OF_EACH = {name.split("-")[0]: name for name in NAMES}.values()
KILLED_NAMES = [
    name if name in ONE_OF_EACH else pytest.param(name, marks=pytest.mark.long) for name in NAMES
]


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no SIGKILL")
@pytest.mark.parametrize("name", KILLED_NAMES)
def test_every_clusterer_resumes_after_its_process_was_killed(name, tmp_path):
    rows = SIMILARITY if "precomputed" in name else X
    np.save(tmp_path / "X.npy", rows)
    path = tmp_path / "c"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED_AFTER_TWO_PASSES, name, str(tmp_path / "X.npy"), str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
    )
    assert process.stdout.readline() == "second pass\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert path.exists()
    make = partial(CLUSTERERS[name], random_state=3, init="random", n_init=2)
    assert_same_fit(make(checkpoint=path).fit(rows), make().fit(rows))
    assert not path.exists()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_a_process_killed_at_any_moment_leaves_a_checkpoint_that_goes_on(seed, tmp_path):
    kill_and_go_on(tmp_path, np.random.default_rng(seed).uniform(0, 0.5))


# how often, and the effect of a full disk


def test_at_most_one_write_a_second(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 1.0)
    clock = [0.0]
    writes = []
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: clock[0])
    write = checkpoint.write_checkpoint
    monkeypatch.setattr(
        checkpoint, "write_checkpoint", lambda *rest: writes.append(clock[0]) or write(*rest)
    )

    def tick(event):
        clock[0] += 0.3

    with watch_passes(tick):
        model = RectifiedEulerKMeans(
            4, random_state=0, n_init=3, init="random", checkpoint=tmp_path / "c"
        ).fit(X)
    assert len(model.history_["inertia"]) > 3
    assert len(writes) > 2
    assert (np.diff([0.0, *writes]) >= 1).all()


@pytest.mark.filterwarnings("default")
def test_a_full_disk_costs_the_checkpoint_and_not_the_fit(tmp_path, monkeypatch):
    parameters = {"n_clusters": 4, "random_state": 0, "init": "random", "n_init": 1}
    with interrupted(0, 0):
        RectifiedEulerKMeans(checkpoint=tmp_path / "c", **parameters).fit(X)
    earlier = (tmp_path / "c").read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "write_checkpoint", full)
    with interrupted(0, 2), warnings.catch_warnings(action="ignore"):
        RectifiedEulerKMeans(checkpoint=tmp_path / "c", **parameters).fit(X)
    assert (tmp_path / "c").read_bytes() == earlier
    with pytest.warns(
        UserWarning, match="checkpoint could not be written .*No space left.*c is unchanged"
    ):
        model = RectifiedEulerKMeans(checkpoint=tmp_path / "c", **parameters).fit(X)
    assert_same_fit(model, RectifiedEulerKMeans(**parameters).fit(X))


# errors


@pytest.fixture
def path(tmp_path):
    """Return the checkpoint of an interrupted fit."""
    with interrupted(0, 0):
        RectifiedEulerKMeans(4, random_state=0, checkpoint=tmp_path / "c").fit(X)
    return tmp_path / "c"


def test_a_damaged_file_is_refused_wherever_it_is_damaged(path):
    content = path.read_bytes()
    positions = np.random.default_rng(0).integers(0, len(content), 40)
    damaged = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in positions]
    for bad in [*damaged, b"", content[:30], content[:-1], content + b"x", b"something else"]:
        path.write_bytes(bad)
        with raises_mentioning(ValueError, "damaged or not a checkpoint") as caught:
            RectifiedEulerKMeans(4, random_state=0, checkpoint=path).fit(X)
        assert_message_states_fix(caught.value)
        assert path.read_bytes() == bad
    path.write_bytes(content)
    RectifiedEulerKMeans(4, random_state=0, checkpoint=path).fit(X)


def forge(path, change):
    """Apply `change` to the progress in the file, and write it with a valid digest."""
    file = read_tensor_file(path)
    header = json.loads(file.metadata[checkpoint.FORMAT])
    plain = {"progress": header["progress"]}
    progress = change(checkpoint.CODEC.from_record(plain, file.arrays)["progress"])
    checkpoint.write_checkpoint(path, header["identity"], header["entropy"], progress)


def with_state(**fields):
    """Return a function that changes the state of the current stage."""

    def change(progress):
        saved = progress.stages[-1]
        return progress._replace(
            stages=(*progress.stages[:-1], saved._replace(state=replace(saved.state, **fields)))
        )

    return change


def with_stage(**fields):
    """Return a function that changes the record of the current stage."""
    return lambda progress: progress._replace(
        stages=(*progress.stages[:-1], progress.stages[-1]._replace(**fields))
    )


def circles(*shape, fill=0, dtype=np.int32):
    return OnCircles(np.full(shape, fill, dtype))


FORGED = {
    "a coordinate outside the circle": (
        with_state(candidate=circles(4, 6, fill=2**23)),
        "outside the circles",
    ),
    "a coordinate outside the grid": (
        with_state(candidate=circles(4, 6, fill=-(2**31))),
        "outside the circles",
    ),
    "too many clusters": (
        with_state(candidate=circles(5, 6)),
        "f is int32 of shape (5, 6), not int32 of shape (4, 6)",
    ),
    "too few columns": (with_state(centroids=circles(4, 4)), "f is int32 of shape (4, 4)"),
    "another dtype": (with_state(centroids=circles(4, 6, dtype=np.int64)), "f is int64"),
    "another record": (
        with_state(centroids=Points(np.zeros((4, 3)))),
        "centroids is a Points, not a OnCircles",
    ),
    "no passes": (with_state(passes=()), "number of passes must be between 1 and 301, got 0"),
    "a negative loss": (with_state(loss=-1), "-1 is not a valid loss"),
    "a loss that is no number": (with_state(loss=float("nan")), "nan is not a valid loss"),
    "more changes than rows": (
        with_state(passes=(Pass(5, 91, 0, 0.1),)),
        "n_changed must be between 0 and 90, got 91",
    ),
    "more empty clusters than clusters": (
        with_state(passes=(Pass(5, 9, 5, 0.1),)),
        "n_relocated must be between 0 and 4, got 5",
    ),
    "an endless pass": (
        with_state(passes=(Pass(5, 9, 0, float("inf")),)),
        "invalid duration inf s",
    ),
    "a start too many": (
        lambda progress: progress._replace(start=1, best=progress.stages),
        "start must be between 0 and 0, got 1",
    ),
    "a best start before the first": (
        lambda progress: progress._replace(best=progress.stages),
        "are inconsistent",
    ),
    "no stages": (lambda progress: progress._replace(stages=()), "are inconsistent"),
    "a stage twice": (
        lambda progress: progress._replace(stages=progress.stages * 2),
        "in the wrong order",
    ),
    "a stage too many": (with_stage(stage=1), "stage must be between 0 and 0, got 1"),
    "too many passes": (
        with_stage(max_iter=10**9),
        "max_iter must be between 0 and 300, got 1000000000",
    ),
}


@pytest.mark.parametrize(("change", "words"), FORGED.values(), ids=FORGED)
def test_forged_progress_is_refused(change, words, path):
    forge(path, lambda progress: progress)
    before = path.read_bytes()
    forge(path, change)
    assert path.read_bytes() != before
    with raises_mentioning(ValueError, "damaged or not a checkpoint", words) as caught:
        RectifiedEulerKMeans(4, random_state=0, checkpoint=path).fit(X)
    assert_message_states_fix(caught.value)
    path.write_bytes(before)
    assert_same_fit(
        RectifiedEulerKMeans(4, random_state=0, checkpoint=path).fit(X),
        RectifiedEulerKMeans(4, random_state=0).fit(X),
    )


def test_a_checkpoint_of_an_earlier_version_is_refused(tmp_path):
    earlier = DATA / "models" / "checkpoint-1"
    shutil.copy(earlier, tmp_path / "c")
    rows = np.nan_to_num(np.load(DATA / "models" / "answers.npz")["X"])
    with raises_mentioning(ValueError, "earlier version of rekmeans", "Remove the file") as caught:
        RectifiedEulerKMeans(3, random_state=0, engine="reference", checkpoint=tmp_path / "c").fit(
            rows
        )
    assert_message_states_fix(caught.value)
    assert (tmp_path / "c").read_bytes() == earlier.read_bytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_named_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "c")
    with raises_mentioning(ValueError, "it is not a regular file") as caught:
        RectifiedEulerKMeans(4, checkpoint=tmp_path / "c").fit(X)
    assert_message_states_fix(caught.value)


@pytest.mark.parametrize(
    ("model", "rows", "words"),
    [
        (RectifiedEulerKMeans(5, random_state=0), X, ["n_clusters is 4", "has 5"]),
        (RectifiedEulerKMeans(4, random_state=1), X, ["random_state is 0"]),
        (RectifiedEulerKMeans(4, random_state=0, alpha=0.5), X, ["alpha is 0.9"]),
        (RectifiedEulerKMeans(4, random_state=0, init=X[:4]), X, ["init is 'k-means++'"]),
        (EulerKMeans(4, random_state=0), X, ["estimator is RectifiedEulerKMeans"]),
        (KernelKMeans(4, random_state=0), X, ["estimator is RectifiedEulerKMeans"]),
        (RectifiedEulerKMeans(4, random_state=0), X[:-1], ["number of rows is 90", "89"]),
        (RectifiedEulerKMeans(4, random_state=0), X[:, :2], ["number of columns is 3"]),
        (RectifiedEulerKMeans(4, random_state=0), X + 1e-9, ["digest of all rows"]),
    ],
    ids=["k", "seed", "alpha", "init", "rule", "kernel", "rows", "columns", "cells"],
)
def test_a_checkpoint_of_another_fit_is_refused(model, rows, words, path):
    content = path.read_bytes()
    with raises_mentioning(ValueError, "belongs to another fit", *words) as caught:
        model.set_params(checkpoint=path).fit(rows)
    assert_message_states_fix(caught.value)
    assert path.read_bytes() == content


LARGE = RANDOM.normal(size=(5000, 3)) + 3 * RANDOM.integers(0, 3, (5000, 1))
LARGE_WEIGHTS = RANDOM.integers(1, 4, 5000).astype(float)
ONE_CELL = LARGE.copy()
ONE_CELL[4321, 1] += 1e-9
SWAPPED = LARGE.copy()
SWAPPED[[7, 4000]] = LARGE[[4000, 7]]
PLACES = {
    "memory": lambda X, folder: X,
    "sparse": lambda X, folder: sparse.csr_array(X),
    "blocks": lambda X, folder: lambda: iter(np.array_split(X, 7)),
    "npy": lambda X, folder: np.save(folder / "X.npy", X) or folder / "X.npy",
    "dask": lambda X, folder: dask.array.from_array(X, chunks=(700, 3)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("rows", "weights", "other", "other_weights"),
    [
        (LARGE, None, ONE_CELL, None),
        (LARGE, None, SWAPPED, None),
        (LARGE, None, LARGE, LARGE_WEIGHTS),
        (LARGE, LARGE_WEIGHTS, LARGE, None),
        (LARGE, LARGE_WEIGHTS, LARGE, 3 * LARGE_WEIGHTS),
    ],
    ids=["one cell", "order of rows", "weights added", "weights removed", "weights multiplied"],
)
def test_all_rows_and_weights_are_compared(place, rows, weights, other, other_weights, tmp_path):
    path = tmp_path / "c"
    make = partial(RectifiedEulerKMeans, 4, random_state=0, init="random", n_init=2)
    with interrupted(1, 1):
        make(checkpoint=path).fit(PLACES[place](rows, tmp_path), None, weights)
    with raises_mentioning(ValueError, "belongs to another fit", "digest of all rows and weights"):
        make(checkpoint=path).fit(PLACES[place](other, tmp_path), None, other_weights)
    model = make(checkpoint=path).fit(PLACES[place](rows, tmp_path), None, weights)
    expected = make().fit(rows, None, weights)
    assert_array_equal(np.asarray(model.labels_), expected.labels_)
    assert_array_equal(model.centroids_, expected.centroids_)


def test_a_fit_in_memory_goes_on_from_blocks(tmp_path):
    parameters = {"n_clusters": 4, "random_state": 0, "init": "random", "engine": "native"}
    with interrupted(0, 1):
        RectifiedEulerKMeans(checkpoint=tmp_path / "c", **parameters).fit(LARGE)
    assert (tmp_path / "c").exists()
    model = RectifiedEulerKMeans(checkpoint=tmp_path / "c", **parameters).fit(
        lambda: iter(np.array_split(LARGE, 9))
    )
    assert_same_fit(model, RectifiedEulerKMeans(**parameters).fit(LARGE))


@pytest.mark.parametrize(
    "other", [{"alpha": np.float32(0.9)}, {"alpha": np.nextafter(0.9, 1)}, {"tol": 1e-300}]
)
def test_parameters_are_compared_in_all_digits(other, path):
    with raises_mentioning(ValueError, "belongs to another fit", *other):
        RectifiedEulerKMeans(4, random_state=0, checkpoint=path).set_params(**other).fit(X)


def test_long_arrays_inside_lists_are_compared_whole():
    one, two = np.zeros(5000), np.zeros(5000)
    two[2500] = 1.0
    assert _identity._value_text([one]) != _identity._value_text([two])
    assert _identity._value_text({"a": (one,)}) != _identity._value_text({"a": (two,)})
    assert _identity._value_text([0.5, np.float64(0.5)]) == _identity._value_text((0.5, 0.5))


def test_a_checkpoint_of_another_answer_version_is_refused(path, monkeypatch):
    monkeypatch.setattr(checkpoint, "ANSWER_VERSION", checkpoint.ANSWER_VERSION + 1)
    with raises_mentioning(ValueError, "answer version"):
        RectifiedEulerKMeans(4, random_state=0, checkpoint=path).fit(X)


def test_parameters_that_do_not_change_the_answer_may_change(path):
    model = RectifiedEulerKMeans(
        4, random_state=0, checkpoint=path, n_threads=1, memory_limit="1GB", verbose=0
    ).fit(X)
    assert_same_fit(model, RectifiedEulerKMeans(4, random_state=0).fit(X))


def test_a_checkpoint_in_use_is_refused(tmp_path):
    path = tmp_path / "c"
    found = []

    def fit_again(event):
        if not found:
            with raises_mentioning(ValueError, "is in use by another fit") as caught:
                RectifiedEulerKMeans(3, checkpoint=path).fit(X)
            found.append(caught.value)

    with watch_passes(fit_again):
        RectifiedEulerKMeans(3, checkpoint=path).fit(X)
    assert_one_sentence(found[0])
    with exclusive_use(path):
        pass  # free again


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with raises_mentioning(FileNotFoundError, "does not exist", "create it first"):
        RectifiedEulerKMeans(3, checkpoint=tmp_path / "no" / "c").fit(X)
