"""Exact passes over rows on circles, and passes in floats over points."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


GRID: int = 8388608

TURN: int = 65536

MAX_COLUMNS: int = 32767

MAX_ROWS: int = 2147483648

MAX_THREADS: int = 256

AT_CENTROID: float = 1e-09

def instruction_set(name: str) -> str:
    """
    Return the instruction set with this name, or the best one if it is empty. Raises ValueError if the processor does not support it.
    """

class Scale:
    """
    The map of columns: (d, m) ends and shifts, flat; (d,) rates and periods.
    """

    def __init__(self, low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], period: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beyond: str) -> None: ...

class Rows:
    """Mapped rows."""

    @property
    def is_complete(self) -> bool: ...

    def weights(self) -> NDArray[numpy.int64]: ...

    def grid(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int32]:
        """Return rows as grid integers, (count, p)."""

    def phase_sums(self, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int) -> tuple:
        """
        Return the sums of phases and of observed weights of each cluster, both (k, d).
        """

    def distances(self, C: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
        """
        Return the exact squared distance of each row to the centroid of its label, (n,).
        """

class DenseRows(Rows):
    """Rows with all their values."""

    def __init__(self, X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], scale: Scale, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, is_stored: bool, threads: int, isa: str) -> None: ...

class SparseRows(Rows):
    """Rows whose nonzero cells are stored."""

    @overload
    def __init__(self, X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], scale: Scale, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int, isa: str) -> None: ...

    @overload
    def __init__(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], d: int, scale: Scale, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int, isa: str) -> None: ...

class Run:
    """A run over rows: labels, bounds and sums of the last pass."""

    def __init__(self, rows: Rows, k: int, skip: bool) -> None: ...

    def assign(self, C: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> int:
        """Assign every row to a centroid; return how many labels changed."""

    def centroids(self, rectified: bool, old: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int32]:
        """
        Return the centroids of the sums. If a sum is 0, return the value in old.
        """

    def labels(self) -> NDArray[numpy.int32]: ...

    def totals(self) -> object:
        """Return the sums of w f, (k, p)."""

    def mass(self) -> NDArray[numpy.int64]: ...

    def missing_mass(self) -> NDArray[numpy.int64]:
        """
        Return the weight of the missing cells, (k, d), or (0, d) if none is missing.
        """

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
    Return the best fit of several starts: centroids, labels, n_iter, and the loss, n_changed, n_relocated and seconds of each pass.
    """

class SeedingPlan:
    """The numbers of draws of k-means++."""

    def __init__(self, k: int, candidates: int, batches: int, swap_candidates: int, patience: int) -> None: ...

    @property
    def n_words(self) -> int: ...

def fit_drawn_starts(rows: Rows, overall: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], plan: SeedingPlan, rectified: bool, skip: bool, max_iter: int, tol: float) -> tuple:
    """
    As fit_starts, for k-means++ starts that these words draw, one row per start.
    """

class BlockRun:
    """
    A run over rows that are read in blocks. The caller stores their labels and bounds.
    """

    def __init__(self, scale: Scale, k: int, d: int, isa: str) -> None: ...

    def start_pass(self, C: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Start a pass with these centroids. Assign all blocks after this."""

    def assign_rows(self, X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], upper: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], lower: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> int:
        """
        Assign the rows of a block and update their labels and bounds; return how many labels changed.
        """

    def assign_columns(self, columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], upper: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], lower: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> int:
        """As assign_rows, for a block that is stored by columns."""

    def totals(self) -> object: ...

    def mass(self) -> NDArray[numpy.int64]: ...

    def missing_mass(self) -> NDArray[numpy.int64]: ...

    @property
    def loss(self) -> object: ...

    @property
    def n_uninformative(self) -> int: ...

    @property
    def n_passes(self) -> int: ...

def row_phase_sums(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], scale: Scale, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, threads: int, isa: str) -> tuple:
    """
    Return the sums of phases and of observed weights of each cluster of a block, both (k, d).
    """

def column_phase_sums(columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], scale: Scale, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, threads: int, isa: str) -> tuple:
    """As row_phase_sums, for a block that is stored by columns."""

class Seeding:
    """The starting centroids chosen so far."""

    def __init__(self, rows: Rows, overall: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    def sample(self, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
        """
        Draw a row for each word, by weight times distance to the nearest centroid.
        """

    def add_rows(self, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """For each row of words, draw candidates and add the best one."""

    def swap_rows(self, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], patience: int) -> None:
        """For each row of words, draw candidates and swap the best one."""

    def add_all(self, P: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        Add all of these. After this, only the nearest centroid of each row is known.
        """

    def add_drawn(self, words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Add the row that each word draws, with the same effect as add_all."""

    def nearest_masses(self) -> NDArray[numpy.int64]: ...

    def add_best(self, P: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Add the candidate with the smallest resulting loss."""

    def swap_best(self, P: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> bool:
        """
        Swap a candidate for a centroid if that lowers the loss; return whether it did.
        """

    def centroids(self) -> NDArray[numpy.int32]: ...

def soft_pass(F: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, C: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], measure: str, gamma: float, rule: str, amount: float, h: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, threads: int, isa: str, with_V: bool) -> tuple:
    """
    Make one pass; return labels, totals, pull, mass, loss, V (None unless with_V) and mass_at_centroid.
    """

def medians(F: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], V: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, order: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], C: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], threads: int) -> object:
    """Return the weighted medians of each column and cluster, (k, p)."""

MOMENT_GRID: float = 16777216.0

NORMAL_IQR: float = 1.349

FENCE_SIGMAS: float = 3.0

NEAREST: float = 2.5

MAX_DISTANCE: float = 1000000.0

BIN: float = 0.5

BIN_GROWTH: float = 1.025

WIDE_BINS: float = 20.0

N_GROWTHS: int = 440

RISE_SIGMAS: float = 2.0

RISE_SHARE: float = 0.1

RISE_OF_ALL: float = 0.0025

GROUP_END: float = 0.25

MIN_GROUP_SHARE: float = 0.01

MIN_RISE_CELLS: float = 4.0

WIDEST_SIGMA: float = 20.0

WIDEST: float = 120.0

GROUP_SIGMAS: float = 3.0

MAX_WIDENING: int = 20

MAX_CATEGORY_DISTANCE: float = 12.0

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

MIN_WIDTH: float = 1e-150

MAX_INTERVALS: int = 24

MAX_GROUPS: int = 8

BULK_SIGMAS: float = 4.0

WIDEST_GAP: float = 1.0

TAIL: float = 0.02

FOLDED_SHARE: float = 0.85

FEW_PLACES: int = 48

FEW_SIGMAS: float = 2.0

SHORT_SIDE: float = 1.6

SHORT_TAIL: float = 0.02

TAIL_START: float = 4.0

MAX_TAIL: float = 4096.0

MIN_TAIL_SHARE: float = 0.005

MIN_TAIL_CELLS: float = 4.0

MAX_MIRRORED: float = 0.5

MIN_TAIL_VALUES: int = 13

N_PIECES: int = 14

TAIL_FALL: float = 0.8

RECORD: int = 97

REACHES: tuple = (0.0, 4.0, 12.0)

@overload
def place_columns(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, row_weight: float, threads: int) -> NDArray[numpy.float64]:
    """
    Return the record of the robust scale of each column for these rows, (26, d).
    """

@overload
def place_columns(data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n: int, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, row_weight: float, threads: int) -> NDArray[numpy.float64]:
    """The same for a table in CSC form."""

@overload
def cells_left_out_by_row(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, low: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> NDArray[numpy.int64]:
    """Return how many cells of each row are outside all intervals, (n,)."""

@overload
def cells_left_out_by_row(data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n: int, low: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> NDArray[numpy.int64]:
    """The same for a table in CSC form."""

class ErrorBounds:
    """The error bounds of exact passes, for rows with any coordinates."""

    EXACT_COLUMNS: int = 31

    @staticmethod
    def supports_method(method: str, isa: str, k: int) -> bool:
        """Return whether this scoring method is supported."""

    @staticmethod
    def score_rows(G: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], missing: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], H: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], method: str, isa: str) -> tuple:
        """
        Score rows G (n, p) for centroids H (k, p), both centred and in grid units; return scores, errors, winners, best, second, upper, lower, certain.
        """

    @staticmethod
    def certify(norm2: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], error: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], best: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], isa: str) -> tuple:
        """Return upper, lower and certain, as proven by two scores."""

    @staticmethod
    def loosen_bounds(labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], drift: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], isa: str) -> tuple:
        """
        Loosen the bounds by the drift of the centroids; return upper, lower, open.
        """

    @staticmethod
    def near_bars(norm2: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], limit: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], error: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]:
        """
        Return a lower bound on the score of a centroid below a squared distance.
        """

    @staticmethod
    def quantized_errors(length: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], row_rest: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], largest_norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], centroid_rest: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]:
        """Return the error that 8 or 16 bits add to a score."""

    @staticmethod
    def float_above(x: float) -> float:
        """Return a float32 that is at least x."""

    @staticmethod
    def length_above(D: int) -> float:
        """Return a float32 that is at least the root of D."""

    @staticmethod
    def length_below(D2: float) -> float:
        """Return a float32 that is at most the root of D2."""

    @staticmethod
    def is_beyond(own: float, limit: float, distance: float) -> bool:
        """
        Return whether a candidate at this distance from a row's own centroid is farther from the row than the limit.
        """

    @staticmethod
    def candidate_bar(best: float, error: float) -> float:
        """Return a lower bound on the score of a centroid that may win."""

    @staticmethod
    def ruled_out_score(bar: float, error: float) -> float:
        """
        Return an upper bound on the float32 scores of centroids below the bar.
        """
