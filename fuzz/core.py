"""Attacks on the compiled core with random calls of its functions.

Each call must return or raise one of a few exceptions. An unchecked call may crash the process, so
each case makes its calls in a child process. The child reports each call before making it, so that
the message for a crash can name the last one.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rekmeans.engines.native import _core
from rekmeans.engines.native.exact import core_scale
from rekmeans.kernels.euler import Euler, grid_distances
from rekmeans.scales import Scale

from .attack import Attack, register
from .table_cases import Array, Generator

LONGEST_CASE = 30  # seconds
CALLS = 30  # calls in a case
# bytes of address space that a case may add, so that a huge size causes a MemoryError
MAX_MEMORY = 1 << 30
GRID = _core.GRID
# the sanitizer aborts a process that allocates too much
IS_SANITIZED = "ASAN_OPTIONS" in os.environ
ALLOWED = (ValueError, TypeError, IndexError, RuntimeError, OverflowError, MemoryError)
# large sizes, which the sanitizer does not allow
LARGE = [] if IS_SANITIZED else [1 << 31, 1 << 40]
STRANGE = [
    None,
    "",
    "x",
    0.5,
    -1,
    *LARGE,
    (1 << 64) - 1,
    1 << 70,
    float("nan"),
    float("inf"),
    (),
    [],
    object(),
]
SIZES = [0, 1, 2, 3, 7, 17, 64, 257]


@dataclass(frozen=True)
class CallsCase:
    """The seed of some calls, and the probability that an argument is damaged."""

    seed: int
    damage: float


# arguments


def distort_array(rng: Generator, a: Array) -> Any:
    """Change the type, shape, order, alignment or values of an array, so that it no longer fits."""
    kind = rng.integers(9)
    if kind == 0:
        return a.astype(
            rng.choice(["f4", "f8", "i4", "i8", "u8", "i2", "?", "c16", ">f8", ">i4", "O"])
        )
    if kind == 1:
        return a[: int(rng.integers(len(a) + 1))] if a.ndim else a
    if kind == 2:
        return np.asfortranarray(a)[::-1]
    if kind == 3:
        return a.reshape(-1) if a.ndim > 1 else a.reshape(1, -1)
    if kind == 4:
        shape = tuple(int(rng.choice([0, size, size + 1])) for size in a.shape)
        return np.zeros(shape, a.dtype)
    if kind == 5:  # unaligned
        raw = np.zeros(a.nbytes + 1, np.uint8)[1:]
        raw[:] = np.frombuffer(a.tobytes(), np.uint8)
        return raw.view(a.dtype).reshape(a.shape)
    if kind == 6:
        return np.broadcast_to(a.reshape(-1)[:1].reshape((1,) * a.ndim), a.shape) if a.size else a
    b = a.copy()
    if b.size:
        limits = np.iinfo(b.dtype) if b.dtype.kind in "iu" else None
        extremes = (
            [limits.min, limits.max, 0]
            if limits
            else [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324]
        )
        b.flat[rng.integers(b.size, size=int(rng.integers(1, 4)))] = extremes[
            rng.integers(len(extremes))
        ]
    return b


def damage_argument(rng: Generator, value: Any) -> Any:
    """Return a damaged replacement for a valid argument."""
    if rng.random() < 0.2:
        return STRANGE[rng.integers(len(STRANGE))]
    if isinstance(value, np.ndarray):
        return distort_array(rng, value)
    if isinstance(value, list):
        return [*value, value[0][:-1]] if rng.random() < 0.5 else []
    if isinstance(value, bool | str) or value is None:
        return STRANGE[rng.integers(len(STRANGE))]
    if isinstance(value, int):
        sizes = [0, 1, value + 1, value * 2, 1 << 60, (1 << 64) - 1, *LARGE]
        return sizes[rng.integers(len(sizes))]
    if isinstance(value, float):
        return float(rng.choice([0, -1, np.nan, np.inf, 1e308]))
    return STRANGE[rng.integers(len(STRANGE))]


class Session:
    """The objects of the core that earlier calls created, and generators of valid arguments for the
    next calls.
    """

    def __init__(self, rng: Generator) -> None:
        self.rng = rng
        self.d = int(rng.choice([1, 2, 5, 33]))
        self.k = int(rng.choice([1, 2, 3, 13, 70]))
        self.n = int(rng.choice([*SIZES, 2100]))
        self.isa = str(rng.choice(["", "baseline", "avx2"]))
        self.X = rng.normal(size=(self.n, self.d)) * (
            rng.random((self.n, self.d)) < rng.choice([0.2, 1.0])
        )
        self.X[rng.random(self.X.shape) < rng.choice([0, 0.05])] = rng.choice([np.nan, 1e30])
        self.weights = (
            None if rng.random() < 0.5 else rng.integers(0, rng.choice([1, 2, 1 << 31]), self.n)
        )
        low, high, shift, rate, period, beyond = self.scale_arguments()
        ends = (end.reshape(self.d, -1) for end in (low, high, shift))
        self.kernel = Euler(Scale(*ends, np.ones(self.d), period), beyond, float(rate[0]))
        self.scale = core_scale(self.kernel)
        self.found: dict[str, list[Any]] = {"rows": [], "run": [], "blocks": [], "seeding": []}
        self.rows_of: dict[int, Any] = {}  # the rows of each run or seeding, by its id
        self.rows()

    def scale_arguments(self) -> tuple[Any, ...]:
        m = int(self.rng.choice([1, 1, 3]))
        one = np.ones(self.d)
        # so that the intervals do not overlap
        low = np.sort(self.rng.normal(size=(self.d, m)) * 2, axis=1) + 3 * np.arange(m)
        beyond = str(self.rng.choice(["ignore", "clip", "wrap"]))
        period = self.rng.choice([0.0, 0.0, 1.5]) * one
        return low.ravel(), (low + 2).ravel(), low.ravel(), 0.4 * one, period, beyond

    def threads(self) -> int:
        return int(self.rng.choice([0, 1, 2, 5]))

    def rows(self) -> Any:
        rows = self.found["rows"]
        if not rows or self.rng.random() < 0.1:
            rows.append(_core.DenseRows(*self.dense_arguments()))
        return rows[self.rng.integers(len(rows))]

    def dense_arguments(self) -> tuple[Any, ...]:
        return (
            self.X,
            self.scale,
            self.weights,
            bool(self.rng.random() < 0.7),
            self.threads(),
            self.isa,
        )

    def table(self) -> Array:
        kind = str(self.rng.choice(["f8", "f8", "f4", "i1", "u8", "?", "c8", "f2"]))
        X = np.nan_to_num(self.X, posinf=0) if kind not in ("f8", "f4") else self.X
        with np.errstate(all="ignore"):
            X = X.astype(kind)
        return [X, np.asfortranarray(X), X[::-1], np.repeat(X, 2, axis=0)[::2]][
            self.rng.integers(4)
        ]

    def csr(self) -> tuple[Any, ...]:
        stored = np.nonzero(self.X)
        indptr = np.searchsorted(stored[0], np.arange(self.n + 1))
        return self.X[stored], stored[1].astype(np.int64), indptr.astype(np.int64)

    def csc(self) -> tuple[Any, ...]:
        stored = np.nonzero(self.X.T)
        indptr = np.searchsorted(stored[0], np.arange(self.d + 1))
        return self.X.T[stored], stored[1].astype(np.int64), indptr.astype(np.int64), self.n

    def points(self, count: int) -> Array:
        angle = self.rng.random((count, self.d)) * 2 * np.pi
        radius = self.rng.choice([1.0, 1.0, 0.5, 0.0]) * GRID
        return np.rint(radius * np.hstack([np.cos(angle), np.sin(angle)])).astype(np.int32)

    def labels(self) -> Array:
        return self.rng.integers(0, self.k, self.n).astype(np.int32)

    def words(self, *shape: int) -> Array:
        return self.rng.integers(0, 1 << 64, shape, np.uint64)

    def plan(self) -> Any:
        return _core.SeedingPlan(self.k, 2, 2, 3, 2)


def one_of(session: Session, kind: str, make: Callable[..., Any], first: Any, *others: Any) -> Any:
    """Return an object of an earlier call, or a new one."""
    objects = session.found[kind]
    if not objects or session.rng.random() < 0.1:
        objects.append(make(first, *others))
        session.rows_of[id(objects[-1])] = first
    return objects[session.rng.integers(len(objects))]


def a_run(s: Session) -> Any:
    return one_of(s, "run", _core.Run, s.rows(), s.k, bool(s.rng.random() < 0.5))


def a_block_run(s: Session) -> Any:
    return one_of(s, "blocks", _core.BlockRun, s.scale, s.k, s.d, s.isa)


def a_seeding(s: Session) -> Any:
    overall = s.points(1)[0] if s.rng.random() < 0.9 else None
    return one_of(s, "seeding", _core.Seeding, s.rows(), overall)


def block_arguments(s: Session) -> tuple[Any, ...]:
    labels = s.labels() if s.rng.random() < 0.9 else np.full(s.n, -1, np.int32)
    upper, lower = s.rng.random((2, s.n)).astype(np.float32)
    weights = s.weights if s.rng.random() < 0.9 else np.ones(s.n, np.int64)
    return (
        weights,
        labels,
        (labels.view(np.float32) if s.rng.random() < 0.1 else upper),
        lower,
        s.threads(),
    )


def soft_arguments(s: Session) -> tuple[Any, ...]:
    p = 2 * s.d
    k = int(s.rng.choice([s.k, 300]))
    F = s.rng.normal(size=(s.n, p)).astype(s.rng.choice(["f4", "f8"]))
    F[s.rng.random(F.shape) < s.rng.choice([0, 0.1])] = s.rng.choice([np.nan, np.inf, 1e30])
    w = None if s.rng.random() < 0.5 else s.rng.random(s.n)
    measure = str(s.rng.choice(["square", "rbf", "laplace", "laplace-l2"]))
    rule = str(s.rng.choice(["hard", "fuzzy", "neural_gas", "som"]))
    h = s.rng.random((k, k)) if rule == "som" else None
    C = s.rng.normal(size=(k, p))
    return F, w, C, measure, 0.5, rule, 1.5, h, s.threads(), s.isa, bool(s.rng.random() < 0.5)


def median_arguments(s: Session) -> tuple[Any, ...]:
    F = s.X.copy()
    p = s.d
    order = np.argsort(F, axis=0).T.astype(np.int32).copy()
    if s.rng.random() < 0.5:
        return F, s.rng.random(s.n), s.labels(), order, s.rng.normal(size=(s.k, p)), s.threads()
    return F, s.rng.random((s.n, s.k)), None, order, s.rng.normal(size=(s.k, p)), s.threads()


def place_arguments(s: Session) -> tuple[Any, ...]:
    numbers = (
        None
        if s.rng.random() < 0.5 or not s.n
        else s.rng.integers(0, s.n, int(s.rng.choice(SIZES)))
    )
    n = s.n if numbers is None else len(numbers)
    return (
        s.table(),
        numbers,
        None if s.rng.random() < 0.5 else s.rng.integers(0, 5, n),
        1.0,
        s.threads(),
    )


def bounds(s: Session) -> tuple[Array, Array]:
    low = s.rng.normal(size=(int(s.rng.choice([0, 1, 3])), s.d))
    return low, low + 1


# Calls: a function that returns the callable, given the objects so far, and one that returns valid
# arguments.
Call = Callable[[Session], tuple[Callable[..., Any], tuple[Any, ...]]]
CALLABLE: dict[str, Call] = {
    "Scale": lambda s: (_core.Scale, s.scale_arguments()),
    "instruction_set": lambda s: (_core.instruction_set, (s.isa,)),
    "DenseRows": lambda s: (_core.DenseRows, s.dense_arguments()),
    "DenseRows of a type": lambda s: (_core.DenseRows, (s.table(), *s.dense_arguments()[1:])),
    "SparseRows": lambda s: (_core.SparseRows, (s.table(), s.scale, s.weights, s.threads(), s.isa)),
    "SparseRows of CSR": lambda s: (
        _core.SparseRows,
        (*s.csr(), s.d, s.scale, s.weights, s.threads(), s.isa),
    ),
    "Rows.weights": lambda s: (s.rows().weights, ()),
    "Rows.grid": lambda s: (s.rows().grid, (s.rng.integers(0, max(s.n, 1), min(s.n, 5)),)),
    "Rows.phase_sums": lambda s: (s.rows().phase_sums, (s.labels(), s.k)),
    "Rows.distances": lambda s: (s.rows().distances, (s.points(s.k), s.labels())),
    "Run": lambda s: (_core.Run, (s.rows(), s.k, True)),
    "Run.assign": lambda s: (a_run(s).assign, (s.points(s.k),)),
    "Run.centroids": lambda s: (a_run(s).centroids, (True, s.points(s.k))),
    "Run.labels": lambda s: (a_run(s).labels, ()),
    "Run.totals": lambda s: (a_run(s).totals, ()),
    "Run.mass": lambda s: (a_run(s).mass, ()),
    "Run.missing_mass": lambda s: (a_run(s).missing_mass, ()),
    "Run.loss": lambda s: (lambda: a_run(s).loss, ()),
    "fit_starts": lambda s: (
        _core.fit_starts,
        (s.rows(), s.points(2 * s.k), s.k, True, True, 5, 0.0),
    ),
    "SeedingPlan": lambda s: (_core.SeedingPlan, (s.k, 2, 2, 3, 2)),
    "fit_drawn_starts": lambda s: (
        _core.fit_drawn_starts,
        (s.rows(), s.points(1)[0], s.words(2, s.plan().n_words), s.plan(), True, True, 5, 0.0),
    ),
    "BlockRun": lambda s: (_core.BlockRun, (s.scale, s.k, s.d, s.isa)),
    "BlockRun.start_pass": lambda s: (a_block_run(s).start_pass, (s.points(s.k),)),
    "BlockRun.assign_rows": lambda s: (
        a_block_run(s).assign_rows,
        (s.table(), *block_arguments(s)),
    ),
    "BlockRun.assign_columns": lambda s: (
        a_block_run(s).assign_columns,
        ([column.copy() for column in s.X.T], *block_arguments(s)),
    ),
    "BlockRun.totals": lambda s: (a_block_run(s).totals, ()),
    "BlockRun.mass": lambda s: (a_block_run(s).mass, ()),
    "BlockRun.missing_mass": lambda s: (a_block_run(s).missing_mass, ()),
    "BlockRun.loss": lambda s: (lambda: a_block_run(s).loss, ()),
    "row_phase_sums": lambda s: (
        _core.row_phase_sums,
        (s.table(), s.scale, s.weights, s.labels(), s.k, s.threads(), s.isa),
    ),
    "column_phase_sums": lambda s: (
        _core.column_phase_sums,
        (
            [column.copy() for column in s.X.T],
            s.scale,
            s.weights,
            s.labels(),
            s.k,
            s.threads(),
            s.isa,
        ),
    ),
    "Seeding": lambda s: (_core.Seeding, (s.rows(), s.points(1)[0])),
    "Seeding.sample": lambda s: (a_seeding(s).sample, (s.words(1, 5),)),
    "Seeding.add_rows": lambda s: (a_seeding(s).add_rows, (s.words(2, 3),)),
    "Seeding.swap_rows": lambda s: (a_seeding(s).swap_rows, (s.words(2, 3), 2)),
    "Seeding.add_all": lambda s: (a_seeding(s).add_all, (s.points(3),)),
    "Seeding.add_drawn": lambda s: (a_seeding(s).add_drawn, (s.words(1, 3),)),
    "Seeding.nearest_masses": lambda s: (a_seeding(s).nearest_masses, ()),
    "Seeding.add_best": lambda s: (a_seeding(s).add_best, (s.points(2),)),
    "Seeding.swap_best": lambda s: (a_seeding(s).swap_best, (s.points(2),)),
    "Seeding.centroids": lambda s: (a_seeding(s).centroids, ()),
    "soft_pass": lambda s: (_core.soft_pass, soft_arguments(s)),
    "medians": lambda s: (_core.medians, median_arguments(s)),
    "place_columns": lambda s: (_core.place_columns, place_arguments(s)),
    "place_columns of CSC": lambda s: (
        _core.place_columns,
        (*s.csc(), s.weights, 1.0, s.threads()),
    ),
    "cells_left_out_by_row": lambda s: (
        _core.cells_left_out_by_row,
        (s.table(), None, *bounds(s), s.threads()),
    ),
    "cells_left_out_by_row of CSC": lambda s: (
        _core.cells_left_out_by_row,
        (*s.csc(), *bounds(s), s.threads()),
    ),
}
# prefixes of their names
THEMES = ("", "", "Run", "BlockRun", "Seeding", "Rows", "fit", "place", "cells", "Sparse")


# checks of the results of valid calls: (session, function, arguments, result)


def check_mapped_rows(s: Session, _: Any, arguments: tuple[Any, ...], rows: Any) -> None:
    expected = s.kernel.embed(arguments[0].astype(np.float64))
    assert np.array_equal(rows.grid(np.arange(s.n)), expected), (
        "not the mapped rows of the reference engine"
    )


def check_distances(s: Session, function: Any, arguments: tuple[Any, ...], D: Array) -> None:
    C, labels = arguments
    F = function.__self__.grid(np.arange(s.n))
    assert np.array_equal(D, grid_distances(F, C)[np.arange(s.n), labels]), (
        "not the exact distances"
    )


def check_assignment(s: Session, function: Any, arguments: tuple[Any, ...], _: Any) -> None:
    run = function.__self__
    rows = s.rows_of[id(run)]
    F = rows.grid(np.arange(s.n)).astype(object)
    w = rows.weights().astype(object)
    D = grid_distances(F.astype(np.int32), arguments[0])
    labels = D.argmin(axis=1)
    assert np.array_equal(run.labels(), labels), "not the labels of the nearest centroids"
    assert run.loss == sum(w * D[np.arange(s.n), labels].astype(object)), "not the exact loss"
    mass = np.zeros(s.k, object)
    totals = np.zeros((s.k, 2 * s.d), object)
    np.add.at(mass, labels, w)
    np.add.at(totals, labels, w[:, None] * F)
    found = run.totals()
    found = (
        found
        if isinstance(found, np.ndarray)
        else (found[0].astype(object) << 64) + found[1].astype(object)
    )
    assert np.array_equal(run.mass(), mass), "not the exact masses"
    assert np.array_equal(found, totals), "not the exact sums"


def check_fit(s: Session, _: Any, arguments: tuple[Any, ...], fit: Any) -> None:
    rows = arguments[0]
    (C, labels, _, losses, *_) = fit
    D = grid_distances(rows.grid(np.arange(s.n)), C)
    assert np.array_equal(labels, D.argmin(axis=1)), "not the labels of the nearest centroids"
    assert losses[-1] == sum(rows.weights().astype(object) * D.min(axis=1, initial=1 << 62)), (
        "not the exact loss"
    )


def check_masses(s: Session, function: Any, _: Any, masses: Array) -> None:
    assert masses.sum() == s.rows_of[id(function.__self__)].weights().sum(), "rows were lost"


def check_left_out(_: Session, __: Any, arguments: tuple[Any, ...], counts: Array) -> None:
    X, _, low, high, _ = arguments
    X = X.astype(np.float64)
    inside = ((X[None] >= low[:, None]) & (X[None] <= high[:, None])).any(axis=0)
    assert np.array_equal(counts, (~inside & ~np.isnan(X)).sum(axis=1)), (
        "the counts of ignored cells differ"
    )


Check = Callable[[Session, Any, tuple[Any, ...], Any], None]
RESULT_CHECKS: dict[str, Check] = {
    "DenseRows": check_mapped_rows,
    "DenseRows of a type": check_mapped_rows,
    "SparseRows": check_mapped_rows,
    "Rows.distances": check_distances,
    "Run.assign": check_assignment,
    "fit_starts": check_fit,
    "fit_drawn_starts": check_fit,
    "Seeding.nearest_masses": check_masses,
    "cells_left_out_by_row": check_left_out,
}


# the law


def draw_calls(rng: Generator) -> CallsCase:
    return CallsCase(int(rng.integers(1 << 62)), float(rng.choice([0.0, 0.1, 0.4])))


def check_calls(case: CallsCase) -> None:
    """Check that each call returns or raises an allowed exception with a message, and that valid
    calls agree with the reference.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        report_calls(case, write)
    os.close(write)
    with open(read, "rb") as pipe:
        lines = pipe.read().decode(errors="replace").splitlines()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    last = lines[-1] if lines else "before the first call"
    assert code == 0, (
        f"the process ended by {signal.Signals(-code).name if code < 0 else code} in {last}"
    )


def report_calls(case: CallsCase, write: int) -> None:
    """Make the calls of a case in this process, write the name of each to a pipe before it, and
    exit.
    """
    code = 1
    try:
        signal.alarm(LONGEST_CASE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limit_memory()
        rng = np.random.default_rng(case.seed)
        session = Session(rng)
        theme = THEMES[rng.integers(len(THEMES))]
        names = [name for name in CALLABLE if name.startswith(theme)]
        for number in range(CALLS):
            name = names[rng.integers(len(names))]
            try:
                function, arguments = CALLABLE[name](session)
            except ALLOWED:
                continue  # an object that the call needs cannot be created for this table
            is_damaged = rng.random(len(arguments)) < case.damage
            pairs = zip(arguments, is_damaged, strict=True)
            arguments = tuple(
                damage_argument(rng, argument) if bad else argument for argument, bad in pairs
            )
            os.write(write, f"call {number}, {name}{describe_arguments(arguments)}\n".encode())
            make_call(session, name, function, arguments, is_valid=not is_damaged.any())
        code = 0
    except BaseException as error:
        os.write(write, f"{type(error).__name__}: {' '.join(str(error).split())}\n".encode())
    finally:
        os._exit(code)


def limit_memory() -> None:
    """Limit the address space of this process to its current size plus MAX_MEMORY, if the system
    reports the size.
    """
    sizes = Path("/proc/self/statm")
    if sizes.exists() and not IS_SANITIZED:  # the sanitizer maps terabytes
        limit = int(sizes.read_text().split()[0]) * resource.getpagesize() + MAX_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def make_call(
    session: Session,
    name: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    is_valid: bool,
) -> None:
    """Make one call, and check the result of a valid call if that is cheap."""
    try:
        result = function(*arguments)
    except ALLOWED as error:
        if not str(error).strip():
            raise AssertionError(f"{name}: {type(error).__name__} without a message") from error
        return
    if isinstance(result, _core.Rows) and result.weights().size == session.n:
        session.found["rows"].append(result)
    if is_valid and name in RESULT_CHECKS:
        RESULT_CHECKS[name](session, function, arguments, result)


def describe_arguments(arguments: tuple[Any, ...]) -> str:
    """Return a description of the arguments, with the dtype and shape of arrays."""
    texts = [
        f"{a.dtype}{a.shape}" if isinstance(a, np.ndarray) else repr(a)[:60] for a in arguments
    ]
    return f"({', '.join(texts)})"


register(Attack("core.calls", draw_calls, check_calls, n_cases=2000))
