"""A table whose rows are the partitions of a Dask collection: what is asked of it is a task where
each partition is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.base import BaseEstimator

from ..._grid import Array
from ..._lazy_property import lazy_property
from ...table import refusals
from ...table.base import EXACT_ROWS, SUMMARY_ROWS, ColumnSummary, draw_goals, numbers_of_rows
from ...table.block_source import columns_by_name
from ...table.memory import SUMMARY_SEED, MemoryTable
from ...table.refusals import number_rows
from ...table.row_digest import shift_digest
from ...table.stream import rows_at_goals, running_weights, stack_blocks
from ...table.stream_input import fitted_names
from ...table.survey import Survey, refuse_bad_survey, survey_raw_block
from ...threads import count_threads
from .compute import compute


@dataclass(frozen=True)
class DaskTable:
    """Partitions of rows in order, some perhaps empty."""

    blocks_of_parts: tuple[Any, ...]  # the collection's own, delayed
    weights_of_parts: tuple[Any, ...]  # None where they are all equal or in a column
    weight: str | None  # the name of that column
    names: list[Any]
    # of the partitions, where they are known without reading
    lengths: tuple[int, ...] | None = None
    # scikit-learn's n_features_in_, feature_names_in_
    columns: dict[str, Any] = field(default_factory=dict)
    has_digest: bool = False  # the survey finds the digest of all rows

    is_in_memory: ClassVar[bool] = False
    is_partitioned: ClassVar[bool] = True
    is_on_host: ClassVar[bool] = True

    @property
    def n_columns(self) -> int:
        return len(self.names)

    @lazy_property
    def parts(self) -> tuple[Any, ...]:
        """A delayed MemoryTable each."""
        return self.make_parts()

    def make_parts(self) -> tuple[Any, ...]:
        """Such tables by tasks of their own: the scheduler knows no others by their names."""
        pairs = zip(self.blocks_of_parts, self.weights_of_parts, strict=True)
        names = self.names if self.weight else None
        return tuple(delayed(_load_part)(block, names, self.weight, w) for block, w in pairs)

    @lazy_property
    def surveys(self) -> list[Survey | None]:
        """Of each partition, None of an empty one: one read of all rows."""
        tasks = [
            delayed(_survey_part)(part, self.names, i, self.has_digest)
            for i, part in enumerate(self.parts)
        ]
        return compute(tasks)

    @lazy_property
    def survey(self) -> Survey:
        known: list[Survey] = []
        n_before = 0  # rows of the partitions before, which a partition does not know
        for survey in self.surveys:
            if survey is not None:
                digest = None if survey.digest is None else shift_digest(survey.digest, n_before)
                known.append(replace(survey, digest=digest))
                n_before += survey.n_rows
        return refuse_bad_survey(reduce(add, known) if known else None)

    @lazy_property
    def ends(self) -> Array:
        """Number of the first row after each partition."""
        counts = self.lengths or [0 if survey is None else survey.n_rows for survey in self.surveys]
        return np.cumsum(counts, dtype=np.int64)

    def known_lengths(self) -> list[int] | None:
        """Lengths of the partitions, if nothing has to be read for them."""
        if self.lengths is None and "surveys" not in vars(self):
            return None
        return np.diff(self.ends, prepend=0).tolist()

    @property
    def n_rows(self) -> int:
        return int(self.ends[-1])

    @property
    def largest_weight(self) -> float | None:
        return self.survey.largest_weight

    @property
    def weights(self) -> Array | None:
        """Weights of all rows, (n,), brought here."""
        if self.largest_weight is None:
            return None
        return np.concatenate(compute([delayed(_weights_of_part)(part) for part in self.parts]))

    def answer(self, values: Any) -> Any:
        return values

    def count_labels(self, labels: Any, k: int) -> Array:
        counts = [delayed(np.bincount)(part, minlength=k) for part in labels.to_delayed().ravel()]
        return reduce(add, compute(counts))

    def has_missing(self) -> bool:
        return self.survey.has_missing

    def digest(self) -> int:
        if self.survey.digest is None:
            raise ValueError(
                "This table was read without has_digest=True, so its survey has no digest."
            )
        return self.survey.digest

    def blocks(self, size: int) -> Any:
        return (slice(at, min(at + size, self.n_rows)) for at in range(0, self.n_rows, size))

    def dense(self, rows: slice | Array = slice(None)) -> Array:
        """These rows, brought here."""
        ascending, places = np.unique(numbers_of_rows(rows, self.n_rows), return_inverse=True)
        return self._rows_at(ascending, self.ends, None)[0][places]

    def sample(self, count: int, seed: int) -> MemoryTable:
        if self.survey.n_counting <= count:
            return self._counting_rows()
        ends, largest = self._weight_ends, self.largest_weight
        X, times = self._rows_at(
            draw_goals(int(ends[-1]), np.random.PCG64(seed).random_raw(count)), ends, largest
        )
        return MemoryTable(X, times, self.columns)

    def take(self, rows: Array, weights: Array) -> MemoryTable:
        return MemoryTable(self.dense(rows), weights, self.columns)

    def in_memory(self) -> MemoryTable:
        """All rows here: of a small table, which starts are chosen from."""
        tables = [table for table in compute(list(self.parts)) if table.n_rows]
        weights = (
            None
            if self.largest_weight is None
            else np.concatenate([table.weights for table in tables])
        )
        return MemoryTable(stack_blocks([table.X for table in tables]), weights, self.columns)

    def column_summary(self, n_threads: int | None = None) -> ColumnSummary:
        threads = count_threads(n_threads)
        return ColumnSummary(
            self.n_columns,
            lambda: (self.survey.low, self.survey.high),
            lambda: self._summary_table.column_summary(threads).rows,
            threads,
        )

    @lazy_property
    def _summary_table(self) -> MemoryTable:
        """The rows that statistics of columns are taken of."""
        if self.survey.n_counting <= EXACT_ROWS:
            return self._counting_rows()
        return self.sample(SUMMARY_ROWS, SUMMARY_SEED).repeat_rows()

    def _counting_rows(self) -> MemoryTable:
        """All rows whose weight is not 0, here."""
        return self.in_memory() if self.largest_weight is None else _counting(self.in_memory())

    @lazy_property
    def _weight_ends(self) -> Array:
        """Running sum of the integer weights after each partition."""
        if self.largest_weight is None:
            return self.ends
        totals = compute(
            [delayed(_total_of_part)(part, self.largest_weight) for part in self.parts]
        )
        return np.cumsum(totals, dtype=np.int64)

    def _rows_at(self, goals: Array, ends: Array, largest: float | None) -> tuple[Array, Array]:
        """Rows whose running sum of weights, or of ones, first exceeds these goals, and how often
        each is hit.
        """
        goals, times = np.unique(goals, return_counts=True)
        cuts = np.searchsorted(goals, ends)
        starts = np.append(0, ends[:-1])
        tasks = []
        first = 0
        for part, cut, start in zip(self.parts, cuts, starts, strict=True):
            if cut > first:
                tasks.append(
                    delayed(_take_of_part)(
                        part, goals[first:cut] - start, times[first:cut], largest
                    )
                )
            first = cut
        found = compute(tasks)
        return stack_blocks([X for X, _ in found]), np.concatenate(
            [hits for _, hits in found]
        ).astype(np.float64)


def read_dask_table(
    estimator: BaseEstimator,
    X: Any,
    sample_weight: Any,
    *,
    fitting: bool,
    k: int = 1,
    k_parameter: str = "",
) -> DaskTable:
    """Return the table of a dask.array or dask.dataframe; a fit reads it once, to check it."""
    table = open_collection(estimator, X, sample_weight, fitting)
    if fitting:
        refusals.refuse_few_rows(table.n_rows, k, k_parameter)
    return table


def open_collection(
    estimator: BaseEstimator, X: Any, sample_weight: Any, fitting: bool
) -> DaskTable:
    """Return the table of a dask.array or dask.dataframe without reading it."""
    only = None if fitting else fitted_names(estimator)
    kind = type(X).__name__
    if isinstance(X, Delayed):
        raise TypeError(
            "X must be a 2-D dask.array or a dask.dataframe, got a Delayed: use "
            "dask.array.from_delayed."
        )
    if hasattr(X, "to_dask_array") and X.ndim == 2:
        weight = sample_weight if isinstance(sample_weight, str) else None
        if len(set(X.columns)) < len(X.columns):
            raise ValueError(
                f"X must have different column names, got {list(X.columns)!r:.80}: rename one."
            )
        taken = columns_by_name(
            [*X.columns], only if weight is None or only is None else [*only, weight]
        )
        X = X if taken == [*X.columns] else X[taken]  # else its partitions are its own
        names = [name for name in X.columns if name != weight]
        if weight is not None and weight not in X.columns:
            raise ValueError(
                f"sample_weight={weight!r} must name a column of X; it has {list(X.columns)!r:.80}."
            )
        meta = X._meta[names]
        number_rows(meta)  # refuses columns of text
        blocks = X.to_delayed()
        lengths = None
    elif hasattr(X, "rechunk") and X.ndim == 2:
        if isinstance(sample_weight, str):
            raise ValueError(
                f"sample_weight={sample_weight!r} names a column, X has no column names: pass an "
                f"array."
            )
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        names = list(range(X.shape[1]))
        weight = None
        meta = np.empty((1, X.shape[1]))
        blocks = X.to_delayed().ravel()
        lengths = X.chunks[0]
        lengths = None if np.isnan(lengths).any() else tuple(map(int, lengths))
    else:
        raise TypeError(f"X must be a 2-D dask.array or a dask.dataframe, got {kind}: convert it.")
    if not names:
        raise ValueError("X has 0 feature(s) while a minimum of 1 is required: pass a column.")
    weights = tuple(_weights_by_part(sample_weight, weight, lengths, len(blocks)))
    columns = refusals.read_columns(estimator, meta, fitting)
    has_digest = fitting and getattr(estimator, "checkpoint", None) is not None
    return DaskTable(tuple(blocks), weights, weight, names, lengths, columns, has_digest)


def _weights_by_part(
    sample_weight: Any, weight: str | None, lengths: Any, count: int
) -> Sequence[Any]:
    """The weights of each partition where they are given as an array, else None."""
    if sample_weight is None or weight is not None:
        return [None] * count
    if hasattr(sample_weight, "__dask_graph__"):
        if hasattr(sample_weight, "to_dask_array"):
            sample_weight = sample_weight.to_dask_array()
        if sample_weight.ndim != 1:
            raise ValueError(
                f"sample_weight must be 1-D, got {sample_weight.ndim}-D: pass a weight for each "
                f"row."
            )
        if lengths is not None and not np.isnan(sample_weight.shape[0]):
            sample_weight = (
                sample_weight.rechunk((lengths,))
                if sample_weight.shape[0] == sum(lengths)
                else sample_weight
            )
        blocks = list(sample_weight.to_delayed().ravel())
        if len(blocks) != count:
            raise ValueError(
                f"sample_weight must have the {count} partitions of X, got {len(blocks)}: rechunk "
                f"it."
            )
        return blocks
    if lengths is None:
        raise ValueError(
            "sample_weight must be a Dask array, or name a column, where the lengths of X are not "
            "known."
        )
    whole = refusals.read_weights(sample_weight, sum(lengths))
    return np.split(whole, np.cumsum(lengths)[:-1])


# tasks


def _load_part(block: Any, names: list[Any] | None, weight: str | None, w: Any) -> MemoryTable:
    """A partition as rows of numbers with their weights."""
    if weight is not None:
        w = number_rows(block[[weight]])[:, 0]
        block = block[names]
    X = number_rows(block)
    weights = None if w is None else np.asarray(w, np.float64)
    if weights is not None and weights.shape != X.shape[:1]:
        raise ValueError(
            f"sample_weight has {weights.shape} weights in a partition of {len(X)} rows: rechunk "
            f"it."
        )
    return MemoryTable(X, weights)


def _survey_part(
    table: MemoryTable, names: list[Any], number: int, has_digest: bool
) -> Survey | None:
    if not table.n_rows:
        return None
    try:
        return survey_raw_block(table.X, table.weights, names, 0, has_digest)
    except ValueError as error:
        raise ValueError(f"in partition {number} of X, {error}") from None


def _weights_of_part(table: MemoryTable) -> Any:
    return table.weights


def _total_of_part(table: MemoryTable, largest: float) -> int:
    return int(running_weights(part_of(table, largest))[-1]) if table.n_rows else 0


def _take_of_part(
    table: MemoryTable, goals: Array, times: Array, largest: float | None
) -> tuple[Array, Array]:
    ends = (
        np.arange(1, table.n_rows + 1)
        if largest is None
        else running_weights(part_of(table, largest))
    )
    return rows_at_goals(table.X, ends, goals, times)


def part_of(table: MemoryTable, largest: float | None) -> MemoryTable:
    """A partition of a table whose largest weight this is."""
    return MemoryTable(table.X, table.weights, table.columns, largest)


def _counting(table: MemoryTable) -> MemoryTable:
    counting = np.flatnonzero(table.weights > 0)  # type: ignore[operator]
    return MemoryTable(table.X[counting], table.weights[counting], table.columns)  # type: ignore[index]
