"""Implement partial_fit: add the sums of each block to the fading sums of the earlier ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import _parameters, lloyd
from .._grid import Array, mean_turns
from .._text import caller_stacklevel
from ..centroids import relocate_empty_clusters
from ..engines import ENGINES, choose_engine, summarize_columns
from ..half_life import Clock, Piece, halved_sums, weighed_sums, without_faded
from ..model import Fit, Model, Pass, State, Stop, check_like
from ..scales import NO_COLUMNS, Scale
from ..table import MemoryTable
from ..table.recent_rows import RecentRows
from ..table.validation import LARGEST_VALUE, reject_table_on_device
from ..threads import limit_threads
from .base import (
    Clusterer,
    check_has_informative_rows,
    set_fitted_attributes,
    warn_of_empty_rows,
    warn_of_ignored_cells,
)
from .placement import Placement, fitted_centroids, place_fitted_table, place_table

# The scale is updated if the share of cells outside it, overall or in one column, exceeds the share
# at the time of the fit by this much.
OUTSIDE_SHARE = 0.05
OUTSIDE_COLUMN = 0.5
ROWS_CHECKED = 100  # minimum number of rows for a reliable share, in one or more blocks
# maximum weights of integer sums and of float sums
LARGEST_EXACT = 2.0**31
LARGEST_REAL = 0.5
# maximum counts in a file, so that the counts of more blocks fit into 64 bits
MAX_CELLS = 1 << 60


@dataclass(frozen=True)
class CellCounts:
    """Counts of the cells of each column since the last check of the scale."""

    n_rows: int = 0
    observed: Array | int = 0  # (d,)
    outside: Array | int = 0  # (d,) outside all kept intervals

    def add(self, scale: Scale, table: MemoryTable) -> CellCounts:
        """Return the counts including the cells of a block."""
        observed, outside = self.observed, self.outside
        for at in table.blocks(max(1, (1 << 20) // table.n_columns)):
            X = table.dense(at)
            here = ~np.isnan(X)
            observed = observed + here.sum(axis=0)
            outside = outside + (here & ~scale.inside(X)).sum(axis=0)
        return CellCounts(self.n_rows + table.n_rows, observed, outside)

    def share_outside(self, scale: Scale) -> float:
        """Return the share of cells outside the kept intervals, or 0 if they are few."""
        left_out = np.zeros(scale.n_columns) if scale.left_out is None else scale.left_out
        expected = left_out * self.observed
        too_many = np.sum(self.outside - expected) > OUTSIDE_SHARE * np.sum(self.observed)
        in_one = np.any(self.outside - expected > OUTSIDE_COLUMN * np.asarray(self.observed))
        return float(np.sum(self.outside) / np.sum(self.observed)) if too_many or in_one else 0.0


@dataclass(frozen=True)
class Stream:
    """The state of a stream between blocks, in addition to the fitted attributes."""

    clock: Clock
    sums: Any = None  # None before the first block
    recent: RecentRows = field(default_factory=RecentRows)
    cells: CellCounts = CellCounts()
    n_blocks: int = 0
    n_rows: int = 0


def check_stream(stream: Stream, model: Model, C: Any) -> None:
    """Raise ValueError unless this stream can continue from these centroids."""
    kernel = model.kernel
    d = kernel.scale.n_columns
    if not kernel.is_additive or kernel.statistics:
        raise ValueError("stream_ requires a kernel with additive sums")
    _parameters.check_int("n_blocks", stream.n_blocks)
    _parameters.check_int("n_rows", stream.n_rows)
    _check_cells(stream.cells, d)
    _check_recent_rows(stream.recent, d)
    row = kernel.embed(kernel.scale.middle[None])
    weight = np.ones(1, np.int64 if kernel.has_exact_arithmetic else np.float64)
    example = weighed_sums(replace(model.assign_block(row, weight, C)[1], loss=0))
    if type(stream.sums) is not type(example):
        raise ValueError(f"sums are {type(stream.sums).__name__}, not {type(example).__name__}")
    for name, value in vars(example).items():
        _check_sum(name, getattr(stream.sums, name), value)
    if (stream.sums.mass < 0).any():
        raise ValueError("mass must not be negative")
    # the next centroids are weighted means of these and of mapped rows
    check_like("centroids of the sums", model.update(without_faded(stream.sums), C), C)


def _check_sum(name: str, value: Any, example: Any) -> None:
    """Raise ValueError unless a field of sums has the type and shape of the example."""
    if type(value) is not type(example):
        raise ValueError(f"{name} is a {type(value).__name__}, not a {type(example).__name__}")
    if not isinstance(example, np.ndarray):
        return
    if (value.dtype, value.shape) != (example.dtype, example.shape):
        raise ValueError(f"{name} is {value.dtype} of shape {value.shape}, not {example.shape}")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise ValueError(f"{name} is not finite")


def _check_cells(cells: CellCounts, d: int) -> None:
    observed, outside = (np.asarray(values) for values in (cells.observed, cells.outside))
    if cells.n_rows < 0 or not observed.dtype.kind == outside.dtype.kind == "i":
        raise ValueError("counts of cells must be integers")
    if not observed.shape == outside.shape in ((), (d,)):
        raise ValueError(f"cell counts must have {d} columns")
    if (outside < 0).any() or (outside > observed).any() or (observed > MAX_CELLS).any():
        raise ValueError(
            "the number of cells outside the kept intervals exceeds the number observed"
        )


def _check_recent_rows(recent: RecentRows, d: int) -> None:
    """Raise ValueError unless the sample of a stream has d columns."""
    for number in (recent.least_level, recent.n_rows_before):
        _parameters.check_int("recent rows", number, minimum=0)
    if max(recent.least_level, recent.n_rows_before) > MAX_CELLS:
        raise ValueError("recent rows have row numbers that are too large")
    columns = (recent.weights, recent.epochs, recent.levels)
    n = len(recent.levels)
    if any(values.shape != (n,) for values in columns):
        raise ValueError("recent rows must have a weight, an epoch and a level each")
    if any((values < 0).any() or (values > MAX_CELLS).any() for values in columns[1:]):
        raise ValueError("recent rows must have epochs and levels that are not negative")
    if any(values.dtype != np.int64 for values in columns[1:]):
        raise ValueError("recent rows must have integer epochs and levels")
    if recent.X is None:
        if n:
            raise ValueError("recent rows have no cells")
        return
    if (
        recent.weights.dtype != np.float64
        or not (np.isfinite(recent.weights) & (recent.weights > 0)).all()
    ):
        raise ValueError("recent rows must have positive weights")
    cells = recent.X if isinstance(recent.X, np.ndarray) else recent.X.data
    if recent.X.shape != (n, d) or cells.dtype != np.float64:
        raise ValueError(f"recent rows must have {d} columns of float64, got {recent.X.shape}")
    if (np.abs(cells) > LARGEST_VALUE).any():
        raise ValueError(f"values of recent rows must be at most {LARGEST_VALUE:g}")


def _is_same_scale(one: Scale, two: Scale) -> bool:
    """Return whether two scales have equal arrays; a loaded one is never the same object."""
    return all(
        (value is None) == (other is None)
        and (value is None or np.array_equal(value, other, equal_nan=True))
        for value, other in zip(vars(one).values(), vars(two).values(), strict=True)
    )


class PartialFitMixin(Clusterer):
    """A clusterer with hard labels and additive sums."""

    half_life: float | None

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Update the centroids with one block of a stream of rows.

        The first block determines the scale and the initial centroids, as in `fit` with
        `max_iter=1`, and must have at least n_clusters rows. The rows of each block are assigned to
        the current centroids, and their sums are added to those of the earlier blocks, which fade
        with `half_life`. The new centroids follow from the total. A cluster without rows keeps its
        centroid. After `fit`, the stream continues with the scale and the centroids of that
        fit, but its rows have no weight. A model that was saved after `partial_fit` continues with
        the same bits.

        If more than 5 % of the values of a block (of at least 100 rows) are outside the range kept
        by the scale, the scale is recomputed from a sample of the stream, in which older rows fade
        as well. The centroids keep their pre-images, and a warning is issued. User-defined scales
        (`SCALES["mine"] = lambda summary: scale`) are not updated.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            One block of rows in memory: a NumPy array, a SciPy sparse matrix, or a pandas, polars
            or pyarrow table. NaN and null are missing values.
        y : None
            Ignored. Exists for compatibility with scikit-learn.
        sample_weight : array of shape (n_samples,) or None
            Row weights. A row of weight 2 counts as two equal rows. None: all weights are 1.

        Returns
        -------
        self
            The updated estimator. `labels_`, `inertia_` and `history_` describe this block.
        """
        self._check_parameters()
        self._reject_partial_fit()
        is_first = not hasattr(self, "kernel_")
        table = self._read_table(X, sample_weight, fitting=is_first)
        if not table.is_in_memory:
            raise ValueError(
                "partial_fit requires a block in memory, but X is out of core or distributed. "
                "Pass its blocks one by one, or use fit."
            )
        reject_table_on_device(table, "partial_fit")
        with limit_threads(self.n_threads):
            stream = getattr(self, "stream_", None) or Stream(
                Clock.begin(self.half_life, table.weights)
            )
            stream = replace(stream, clock=stream.clock.with_half_life(self.half_life))
            units = stream.clock.units(table.weights, table.n_rows)
            stream.clock.reject_heavy_rows(units, self.half_life)
            if self.scale is not None:
                stream = replace(
                    stream, recent=stream.recent.add(table, stream.clock.epochs(units))
                )
            if is_first:
                placed = place_table(self, table)
                check_has_informative_rows(placed.rows, self.scale)
                C = next(self._make_starts(placed.rows, table, self._start_draws()))
            else:
                stream, kernel, C = self._renew_scale(table, stream)
                placed = place_fitted_table(self, kernel, table, self.engine)
            attributes = self._add_block(stream, placed, C, units, is_first)
        warn_of_empty_rows(table)
        if is_first:
            warn_of_ignored_cells(placed, table)
        set_fitted_attributes(self, table, attributes)
        return self

    def _reject_partial_fit(self) -> None:
        """Raise ValueError for kernels without additive sums, or if n_clusters has changed."""
        kernel = self._make_kernel(NO_COLUMNS)
        if not kernel.is_additive or kernel.statistics:
            name = kernel.name or type(kernel).__name__
            raise ValueError(
                f"partial_fit requires additive sums, which the kernel {name!r} does not have. "
                f"Use fit."
            )
        if hasattr(self, "deviation_") and len(self.deviation_) != self.n_clusters:
            n = len(self.deviation_)
            raise ValueError(
                f"n_clusters={self.n_clusters} differs from the {n} clusters of the earlier "
                f"blocks. Use n_clusters={n}, or call fit."
            )

    def _renew_scale(self, table: MemoryTable, stream: Stream) -> tuple[Stream, Any, Any]:
        """Return the stream, kernel and centroids for a block.

        The kernel gets a new scale if too many cells are outside the kept intervals of the old one.
        """
        kernel = self.kernel_
        C = fitted_centroids(self)
        if self.scale is None:
            return stream, kernel, C
        cells = stream.cells.add(kernel.scale, table)
        if cells.n_rows < ROWS_CHECKED:
            return replace(stream, cells=cells), kernel, C
        share = cells.share_outside(kernel.scale)
        stream = replace(stream, cells=CellCounts())
        if not share:
            return stream, kernel, C
        engine = choose_engine(self.engine, ENGINES, self._make_stages(kernel), table)
        recent = stream.recent.table(table.columns)
        scale = self._find_scale(summarize_columns(engine, recent, self.n_threads))
        if _is_same_scale(scale, kernel.scale):  # the scale does not depend on the rows
            return stream, kernel, C
        warnings.warn(
            f"{share:.0%} of the values in the last {cells.n_rows} rows are outside the range kept "
            f"by the scale. The scale was recomputed from recent rows.",
            stacklevel=caller_stacklevel(),
        )
        kernel = replace(kernel, scale=scale)
        C = kernel.from_points(self.cluster_centers_)
        if stream.sums is not None:
            stream = replace(stream, sums=kernel.sums_at(stream.sums, C))
            C = self._make_stages(kernel)[-1].update(without_faded(stream.sums), C)
        return stream, kernel, C

    def _add_block(
        self, stream: Stream, placed: Any, C: Any, units: Array, is_first: bool
    ) -> dict[str, Any]:
        """Return the fitted attributes after a block.

        The rows are assigned to C, and then to the centroids computed from the updated sums.
        """
        model = placed.model
        table = placed.table
        started = perf_counter()
        run = placed.rows.start_run(model)
        before = run.assign(C)
        block_sums = before.sums.fetch()
        total = stream.sums
        for number, piece in enumerate(stream.clock.pieces(units)):
            total = halved_sums(total) if number and total is not None else total
            if piece.weights.any():
                # without the loss, which belongs to the old centroids
                sums = replace(self._piece_sums(placed, piece, C, block_sums), loss=0)
                total = sums if total is None else total + sums
        candidate = model.update(without_faded(total), C)
        n_relocated = 0
        if is_first:
            candidate, n_relocated = relocate_empty_clusters(
                model.kernel, placed.rows.farthest, candidate, block_sums.mass
            )
        passed = perf_counter()
        after = run.assign(candidate)
        lloyd.check_loss(block_sums.loss, 1)
        lloyd.check_loss(after.sums.loss, 2)
        passes = (
            Pass(block_sums.loss, before.n_changed, n_relocated, passed - started),
            Pass(after.sums.loss, after.n_changed, 0, perf_counter() - passed),
        )
        state = State(
            candidate, candidate, after.sums.loss, passes, is_done=True, labels=run.labels()
        )
        fit = lloyd.make_fit(placed.rows, [lloyd.RunResult(run, model, state, Stop(1, 0.0))])
        n_blocks = stream.n_blocks + 1
        n_rows = stream.n_rows + table.n_rows
        stream = replace(
            stream, clock=stream.clock.advance(units), sums=total, n_blocks=n_blocks, n_rows=n_rows
        )
        counts = {"n_steps_": n_blocks, "n_samples_seen_": n_rows, "stream_": stream}
        return self._attributes(placed, fit) | self._centers(placed, fit) | counts

    def _centers(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        """Return the pre-images. A cluster without rows in this block keeps its branch."""
        kernel = placed.model.kernel
        last = getattr(self, "cluster_centers_", None)
        if last is None or not kernel.is_periodic:
            return {}
        turns, observed = placed.rows.phase_sums(fit.labels, len(fit.centroids))
        near = np.where(
            observed > 0, mean_turns(turns, observed), kernel.within_bounds().coordinates(last)
        )
        return {"cluster_centers_": kernel.preimage(fit.centroids, near)}

    def _piece_sums(self, placed: Any, piece: Piece, C: Any, block_sums: Any) -> Any:
        """Return the sums of a piece of a block, with the weights of its rows."""
        table, model = placed.table, placed.model
        is_even = len(piece.weights) == table.n_rows and (piece.weights == piece.weights[0]).all()
        if is_even and table.weights is None:
            return weighed_sums(block_sums, int(piece.weights[0]))
        largest = LARGEST_EXACT if model.kernel.has_exact_arithmetic else LARGEST_REAL
        rows = MemoryTable(
            table.X[piece.rows], piece.weights.astype(np.float64), table.columns, largest
        )
        on_engine = ENGINES[placed.engine].place([model], rows, self.n_threads, None)
        return weighed_sums(on_engine.start_run(model).assign(C).sums.fetch())
