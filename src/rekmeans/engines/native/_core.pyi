"""Passes over rows on circles, exact, and over points, in floats."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


GRID: int = 8388608

TURN: int = 65536

MOST_COLUMNS: int = 32767

MOST_ROWS: int = 2147483648

MOST_THREADS: int = 256

AT_CENTROID: float = 1e-09

def instruction_set(name: str) -> str:
    """
    The instruction set of this name, the best where it is empty; ValueError where the processor lacks it.
    """

class Scale:
    """
    How columns are mapped: (d, m) ends and shifts, flat; (d,) rates and periods.
    """

    def __init__(self, low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], period: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beyond: str) -> None: ...

class Rows:
    """Mapped rows."""

    @property
    def is_complete(self) -> bool: ...

    def weights(self) -> NDArray[numpy.int64]: ...

    def grid(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int32]:
        """Rows as grid integers, (count, p)."""

    def phase_sums(self, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int) -> tuple:
        """Sums of phases of each cluster, and observed weights; (k, d)."""

    def distances(self, C: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
        """Exact squared distance of each row to the centroid of its label."""

class DenseRows(Rows):
    """Rows with all their values."""

    def __init__(self, X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], scale: Scale, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, is_stored: bool, threads: int, isa: str) -> None: ...

class SparseRows(Rows):
    """Rows of which the cells that are not zero are stored."""

    @overload
    def __init__(self, X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], scale: Scale, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int, isa: str) -> None: ...

    @overload
    def __init__(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], d: int, scale: Scale, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int, isa: str) -> None: ...

class Run:
    """One run over rows: labels, bounds and sums of the last pass."""

    def __init__(self, rows: Rows, k: int, skip: bool) -> None: ...

    def assign(self, C: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> int:
        """Assign every row to a centroid; how many changed."""

    def centroids(self, rectified: bool, old: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int32]:
        """Centroids of the sums, those given where they vanish."""

    def labels(self) -> NDArray[numpy.int32]: ...

    def totals(self) -> object:
        """Sums of w f, (k, p)."""

    def mass(self) -> NDArray[numpy.int64]: ...

    def missing_mass(self) -> NDArray[numpy.int64]:
        """Weight of the missing cells, (k, d); (0, d) where none is missing."""

    @property
    def loss(self) -> object: ...

    @property
    def n_passes(self) -> int: ...

    @property
    def n_scored(self) -> int: ...

    @property
    def n_scored_fast(self) -> int: ...

    @property
    def n_decided_exactly(self) -> int: ...

    @property
    def n_refined(self) -> int: ...

    @property
    def was_quantized(self) -> bool: ...

    @property
    def may_quantize(self) -> bool: ...

    @may_quantize.setter
    def may_quantize(self, arg: bool, /) -> None: ...

def fit_starts(rows: Rows, starts: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], k: int, rectified: bool, skip: bool, max_iter: int, tol: float) -> tuple:
    """
    The best fit of several starts: centroids, labels, n_iter, and of each pass loss, n_changed, n_relocated and seconds.
    """

class SeedingPlan:
    """How k-means++ draws its rows."""

    def __init__(self, k: int, candidates: int, batches: int, swap_candidates: int, patience: int) -> None: ...

    @property
    def n_words(self) -> int: ...

def fit_drawn_starts(rows: Rows, overall: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], plan: SeedingPlan, rectified: bool, skip: bool, max_iter: int, tol: float) -> tuple:
    """
    As fit_starts, from starts that k-means++ draws by these words, a row each.
    """

class BlockRun:
    """
    One run over rows that come block by block; labels and bounds are the caller's.
    """

    def __init__(self, scale: Scale, k: int, d: int, isa: str) -> None: ...

    def start_pass(self, C: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Begin a pass with these centroids; all blocks follow."""

    def assign_rows(self, X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], upper: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], lower: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> int:
        """
        Assign the rows of a block, renew their labels and bounds; how many changed.
        """

    def assign_columns(self, columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], upper: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], lower: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> int:
        """As assign_rows, of a block stored column by column."""

    def totals(self) -> object: ...

    def mass(self) -> NDArray[numpy.int64]: ...

    def missing_mass(self) -> NDArray[numpy.int64]: ...

    @property
    def loss(self) -> object: ...

    @property
    def n_silent(self) -> int: ...

    @property
    def n_passes(self) -> int: ...

def row_phase_sums(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], scale: Scale, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, threads: int, isa: str) -> tuple:
    """
    Sums of phases of each cluster of a block, and observed weights; (k, d).
    """

def column_phase_sums(columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], scale: Scale, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, threads: int, isa: str) -> tuple:
    """As row_phase_sums, of a block stored column by column."""

class Seeding:
    """Starting centroids as they are chosen."""

    def __init__(self, rows: Rows, overall: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    def sample(self, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
        """
        Rows drawn by weight times distance to the nearest centroid, one a word.
        """

    def add_rows(self, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Draw candidates and add the best, once for each row of words."""

    def swap_rows(self, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], patience: int) -> None:
        """Draw candidates and swap the best, row for row of words."""

    def add_all(self, P: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Add all of these; from then on only the nearest centroid is known."""

    def add_drawn(self, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Add the row that each word draws; then as after add_all."""

    def nearest_masses(self) -> NDArray[numpy.int64]: ...

    def add_best(self, P: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Add the candidate that leaves the least loss."""

    def swap_best(self, P: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> bool:
        """
        Swap a candidate for a centroid if that lowers the loss; whether it did.
        """

    def centroids(self) -> NDArray[numpy.int32]: ...

def soft_pass(F: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, C: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], measure: str, gamma: float, rule: str, amount: float, h: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, threads: int, isa: str, with_V: bool) -> tuple:
    """
    One pass: labels, totals, pull, mass, loss, V (None unless asked for) and mass_at_centroid.
    """

def medians(F: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], V: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, order: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], C: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], threads: int) -> object:
    """Weighted medians of each column and cluster, (k, p)."""

MOMENT_GRID: float = 16777216.0

NORMAL_IQR: float = 1.349

FENCE_SIGMAS: float = 3.0

NEAREST: float = 2.5

MOST_DISTANT: float = 1000000.0

BIN: float = 0.5

BIN_GROWTH: float = 1.025

WIDE_BINS: float = 20.0

N_GROWTHS: int = 440

RISE_SIGMAS: float = 2.0

RISE_SHARE: float = 0.1

RISE_OF_ALL: float = 0.0025

GROUP_END: float = 0.25

LEAST_GROUP: float = 0.01

LEAST_CELLS: float = 4.0

WIDEST_SIGMA: float = 20.0

WIDEST: float = 120.0

GROUP_SIGMAS: float = 3.0

MOST_WIDENING: int = 20

MOST_DISTANT_CATEGORY: float = 12.0

FEW_VALUES: int = 8

PLACES: int = 64

REPEATED: float = 0.005

REPEATED_CELLS: float = 2.0

REPEATED_SHARE: float = 0.25

CODE_DISTANCE: float = 10.0

CODE_REST: float = 0.25

USUAL: float = 0.75

LARGEST: float = 0.95

KEPT: float = 1.5

UNIT_SIGMAS: float = 6.0

UNIT_DISTANCES: float = 1.25

RARE: float = 0.2

RARE_UNITS: float = 2.0

BOTH_SIDES: float = 0.05

LEAST_WIDTH: float = 1e-150

MOST_INTERVALS: int = 8

BULK_SIGMAS: float = 4.0

WIDEST_GAP: float = 1.0

TAIL: float = 0.02

FOLDED_SHARE: float = 0.85

RECORD: int = 26

REACHES: tuple = (0.0, 4.0, 12.0)

@overload
def place_columns(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, row_weight: float, threads: int) -> NDArray[numpy.float64]:
    """The robust scale's record of each column of these rows, (26, d)."""

@overload
def place_columns(data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n: int, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, row_weight: float, threads: int) -> NDArray[numpy.float64]:
    """The same of a table in CSC form."""

@overload
def cells_left_out_by_row(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, low: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> NDArray[numpy.int64]:
    """How many cells of each row are in no interval, (n,)."""

@overload
def cells_left_out_by_row(data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n: int, low: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> NDArray[numpy.int64]:
    """The same of a table in CSC form."""

class ErrorBounds:
    """The error bounds of exact passes, on rows of any coordinates."""

    EXACT_COLUMNS: int = 31

    @staticmethod
    def has_way(way: str, isa: str, k: int) -> bool:
        """Whether rows can be scored so."""

    @staticmethod
    def score_rows(G: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], missing: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], H: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], way: str, isa: str) -> tuple:
        """
        Scores of rows G (n, p) for centroids H (k, p), both centred and in grid units: scores, errors, winners, best, second, upper, lower, certain.
        """

    @staticmethod
    def certify(norm2: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], error: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], best: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], isa: str) -> tuple:
        """What two scores prove: upper, lower, certain."""

    @staticmethod
    def loosen_bounds(labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], drift: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], isa: str) -> tuple:
        """Bounds after the centroids moved by drift: upper, lower, open."""

    @staticmethod
    def near_bars(norm2: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], limit: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], error: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]:
        """What a centroid nearer than a squared distance scores at least."""

    @staticmethod
    def quantized_errors(length: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], row_rest: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], largest_norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], centroid_rest: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]:
        """The error that 8 or 16 bits add to a score."""

    @staticmethod
    def float_above(x: float) -> float:
        """A float32 that is at least x."""

    @staticmethod
    def length_above(D: int) -> float:
        """A float32 that is at least the root of D."""

    @staticmethod
    def length_below(D2: float) -> float:
        """A float32 that is at most the root of D2."""

    @staticmethod
    def is_beyond(own: float, limit: float, distance: float) -> bool:
        """
        Whether a candidate so far from a row's own centroid is beyond the row's limit.
        """

    @staticmethod
    def candidate_bar(best: float, error: float) -> float:
        """What a centroid that may win scores at least."""

    @staticmethod
    def ruled_out_score(bar: float, error: float) -> float:
        """What stands for the float32 scores of centroids below the bar."""
