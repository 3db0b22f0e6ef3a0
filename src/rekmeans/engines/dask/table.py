"""A table whose rows are in the partitions of a Dask collection. Tasks read them on the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias, cast

import numpy as np
from dask.delayed import Delayed, delayed

from ..._grid import Array
from ...table import validation
from ...table.base import (
    EXACT_ROWS,
    SUMMARY_ROWS,
    ColumnAttributes,
    ColumnName,
    ColumnSummary,
    draw_goals,
    numbers_of_rows,
)
from ...table.block_source import columns_by_name
from ...table.empty_rows import count_labels, weights_without_rows
from ...table.frames import require_features
from ...table.memory import SUMMARY_SEED, MemoryTable
from ...table.schema import TableSchema
from ...table.stream import rows_at_goals, running_weights, stack_blocks
from ...table.stream_input import FittedColumns
from ...table.survey import Survey, reject_bad_survey, survey_raw_block
from ...table.validation import number_rows
from ...threads import count_threads, lazy_property
from .compute import compute
from .schema import encode_partition, has_plain_columns, infer_collection

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from dask.dataframe import DataFrame as DaskFrame
    from pandas import DataFrame
    from sklearn.base import BaseEstimator

RawPartition: TypeAlias = "Array | DataFrame"
PartitionWeights: TypeAlias = "Delayed | Array | None"


@dataclass(frozen=True)
class DaskTable:
    """The partitions of a collection, in order. Some may be empty."""

    raw_partitions: tuple[Delayed, ...]  # the partitions of the collection
    # None if all weights are equal, or if they are in a column
    partition_weights: tuple[PartitionWeights, ...]
    weight: str | None  # the name of the weight column
    names: list[ColumnName]  # the feature columns
    lengths: tuple[int, ...] | None = None  # the rows of each partition, if known without reading
    columns: ColumnAttributes = field(default_factory=ColumnAttributes)
    has_digest: bool = False  # whether the survey computes the digest of all rows
    # how columns become numbers; None if all are stored as numbers
    schema: TableSchema | None = None

    is_in_memory: ClassVar[bool] = False
    is_partitioned: ClassVar[bool] = True
    is_on_host: ClassVar[bool] = True

    @property
    def n_columns(self) -> int:
        return len(self.names)

    @lazy_property
    def partitions(self) -> tuple[Delayed, ...]:
        """A delayed MemoryTable for each partition."""
        return self.make_partitions()

    def make_partitions(self) -> tuple[Delayed, ...]:
        """Return delayed tables with new task names, so that they share no tasks with others."""
        pairs = zip(self.raw_partitions, self.partition_weights, strict=True)
        names = self.names if self.weight else None
        return tuple(
            delayed(_load_partition)(raw, names, self.weight, w, self.schema) for raw, w in pairs
        )

    @lazy_property
    def surveys(self) -> list[Survey | None]:
        """The survey of each partition, or None if it is empty. All rows are read once."""
        tasks = [
            delayed(_survey_partition)(table, self.names, i, self.has_digest)
            for i, table in enumerate(self.partitions)
        ]
        return compute(tasks)

    @lazy_property
    def survey(self) -> Survey:
        known: list[Survey] = []
        n_before = 0  # rows of the previous partitions
        for survey in self.surveys:
            if survey is not None:
                known.append(survey.shift(n_before))
                n_before += survey.n_rows
        return reject_bad_survey(reduce(add, known) if known else None)

    @lazy_property
    def ends(self) -> Array:
        """The row number at which each partition ends."""
        counts = self.lengths or [0 if survey is None else survey.n_rows for survey in self.surveys]
        return np.cumsum(counts, dtype=np.int64)

    def known_lengths(self) -> list[int] | None:
        """Return the number of rows of each partition; None if this needs to read rows."""
        if self.lengths is None and "surveys" not in vars(self):
            return None
        return np.diff(self.ends, prepend=0).tolist()

    @property
    def n_rows(self) -> int:
        return int(self.ends[-1])

    @property
    def largest_weight(self) -> float | None:
        return self.survey.largest_row_weight

    @property
    def empty_rows(self) -> Array:
        return self.survey.empty_rows

    @property
    def weights(self) -> Array | None:
        """The weights of all rows (n,), loaded into this process."""
        if self.largest_weight is None:
            return None
        found: list[Array] = compute(
            [delayed(_weights)(table, self.largest_weight) for table in self.partitions]
        )
        return np.concatenate(found)

    def mark_empty_rows(self, values: Array) -> Array:
        """Return the values, which are lazy. Their tasks mark the rows without a value."""
        return values

    def to_input_type(self, values: Array) -> Array:
        return values

    def count_labels(self, labels: Array, k: int) -> Array:
        blocks = cast("DaskArray", labels).to_delayed().ravel()
        counts: list[Array] = compute([delayed(count_labels)(block, k) for block in blocks])
        return reduce(add, counts)

    def has_missing(self) -> bool:
        return self.survey.has_missing

    def digest(self) -> int:
        if self.survey.digest is None:
            raise ValueError(
                "The survey of this table has no digest. Open the table with has_digest=True."
            )
        return self.survey.digest

    def blocks(self, size: int) -> Iterator[slice]:
        return (slice(at, min(at + size, self.n_rows)) for at in range(0, self.n_rows, size))

    def dense(self, rows: slice | Array = slice(None)) -> Array:
        """Load these rows into this process."""
        ascending, places = np.unique(numbers_of_rows(rows, self.n_rows), return_inverse=True)
        return self._rows_at(ascending, self.ends, None)[0][places]

    def sample(self, count: int, seed: int) -> MemoryTable:
        if self.survey.n_counting <= count:
            return self._counting_rows()
        ends = self._weight_ends
        goals = draw_goals(int(ends[-1]), np.random.PCG64(seed).random_raw(count))
        X, times = self._rows_at(goals, ends, self.largest_weight)
        return MemoryTable(X, times, self.columns)

    def take(self, rows: Array, weights: Array) -> MemoryTable:
        return MemoryTable(self.dense(rows), weights, self.columns)

    def in_memory(self) -> MemoryTable:
        """Load all rows into this process. The table must be small."""
        loaded: list[MemoryTable] = compute(self.partitions)
        tables = [with_largest_weight(table, self.largest_weight) for table in loaded]
        tables = [table for table in tables if table.n_rows]
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
        """The rows from which the column statistics are computed."""
        if self.survey.n_counting <= EXACT_ROWS:
            return self._counting_rows()
        return self.sample(SUMMARY_ROWS, SUMMARY_SEED).repeat_rows()

    def _counting_rows(self) -> MemoryTable:
        """Load all rows of positive weight into this process."""
        table = self.in_memory()
        if table.weights is None:
            return table
        counting = np.flatnonzero(table.weights > 0)
        return MemoryTable(table.X[counting], table.weights[counting], table.columns)

    @lazy_property
    def _weight_ends(self) -> Array:
        """The running sum of the integer weights at the end of each partition."""
        if self.largest_weight is None:
            return self.ends
        totals: list[int] = compute(
            [delayed(_total_weight)(table, self.largest_weight) for table in self.partitions]
        )
        return np.cumsum(totals, dtype=np.int64)

    def _rows_at(self, goals: Array, ends: Array, largest: float | None) -> tuple[Array, Array]:
        """Return the first row whose running sum of weights exceeds each goal.

        If `largest` is None, all weights are 1. The second array has the number of draws of each
        row.
        """
        goals, times = np.unique(goals, return_counts=True)
        cuts = np.searchsorted(goals, ends)
        starts = np.append(0, ends[:-1])
        tasks = []
        first = 0
        for table, cut, start in zip(self.partitions, cuts, starts, strict=True):
            if cut > first:
                here = slice(first, cut)
                tasks.append(delayed(_take_rows)(table, goals[here] - start, times[here], largest))
            first = cut
        found: list[tuple[Array, Array]] = compute(tasks)
        hits = np.concatenate([times_in_partition for _, times_in_partition in found])
        return stack_blocks([X for X, _ in found]), hits.astype(np.float64)


class Collection(NamedTuple):
    """A Dask collection whose rows have not been read."""

    raw_partitions: tuple[Delayed, ...]
    names: list[ColumnName]  # the feature columns
    meta: Array | DataFrame  # an example of the feature columns
    weight: str | None = None  # the name of the weight column
    lengths: tuple[int, ...] | None = None  # the rows of each partition, if known
    schema: TableSchema | None = None  # how columns become numbers, if they are not all numbers


def read_dask_table(
    estimator: BaseEstimator,
    X: object,
    sample_weight: object,
    *,
    fitting: bool,
    k: int = 1,
    k_parameter: str = "",
) -> DaskTable:
    """Return the table of a dask.array or dask.dataframe. A fit reads all rows to check them."""
    table = open_collection(estimator, X, sample_weight, fitting)
    if fitting:
        validation.reject_few_rows(table.n_rows, len(table.empty_rows), k, k_parameter)
    return table


def open_collection(
    estimator: BaseEstimator, X: object, sample_weight: object, fitting: bool
) -> DaskTable:
    """Return the table of a dask.array or dask.dataframe without reading it."""
    kind = type(X).__name__
    if isinstance(X, Delayed):
        raise TypeError(
            "X must be a 2-D dask.array or a dask.dataframe, got a Delayed. Convert it with "
            "dask.array.from_delayed."
        )
    is_table = getattr(X, "ndim", None) == 2
    if is_table and hasattr(X, "to_dask_array"):
        weight = sample_weight if isinstance(sample_weight, str) else None
        fitted = None if fitting else FittedColumns.of(estimator)
        collection = _open_frame(cast("DaskFrame", X), weight, fitted)
    elif is_table and hasattr(X, "rechunk"):
        collection = _open_array(cast("DaskArray", X), sample_weight)
    else:
        raise TypeError(f"X must be a 2-D dask.array or a dask.dataframe, got {kind}. Convert it.")
    if not collection.names:
        raise ValueError("X has 0 feature(s) while a minimum of 1 is required. Add a column.")
    weights = _split_weights(sample_weight, collection)
    columns = validation.read_columns(estimator, collection.meta, fitting, collection.schema)
    has_digest = fitting and getattr(estimator, "checkpoint", None) is not None
    return DaskTable(
        collection.raw_partitions,
        tuple(weights),
        collection.weight,
        collection.names,
        collection.lengths,
        columns,
        has_digest,
        None if collection.schema is None or collection.schema.is_plain else collection.schema,
    )


def _open_frame(X: DaskFrame, weight: str | None, fitted: FittedColumns | None) -> Collection:
    """Open a dask.dataframe; `weight` is a column, `fitted` are the columns of the fit."""
    columns = [*X.columns]
    if len(set(columns)) < len(columns):
        raise ValueError(
            f"X must have unique column names, got {columns!r:.80}. Rename the duplicates."
        )
    if weight is not None and weight not in columns:
        raise ValueError(
            f"sample_weight={weight!r} is not a column of X. Use one of {columns!r:.80}."
        )
    schema = None if fitted is None else fitted.schema
    if fitted is None:
        schema = infer_collection(X, [name for name in columns if name != weight])
    if (
        schema is not None
        and schema.has_names
        and not (fitted is not None and schema.is_plain and has_plain_columns(X._meta, columns))
    ):
        require_features(schema, columns)
        names: list[ColumnName] = [*schema.feature_names]
    else:
        only = None if fitted is None else fitted.names
        names = [name for name in columns_by_name(columns, only) if name != weight]
    taken = (
        [name for name in columns if name in {*names, weight}]
        if fitted is None
        else [
            *names,
            *([] if weight is None else [weight]),
        ]
    )
    if taken != columns:  # otherwise the partitions keep their task names
        X = X[taken]
    meta = X._meta[names]
    if schema is None:
        number_rows(meta)  # raises an error for text columns
    return Collection(tuple(X.to_delayed()), names, meta, weight, schema=schema)


def _open_array(X: DaskArray, sample_weight: object) -> Collection:
    """Open a dask.array with all columns in one chunk."""
    if isinstance(sample_weight, str):
        raise ValueError(
            f"sample_weight={sample_weight!r} is a column name, but X has no column names. Pass an "
            f"array."
        )
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    chunks = X.chunks[0]
    lengths = None if np.isnan(chunks).any() else tuple(map(int, chunks))
    names: list[ColumnName] = list(range(X.shape[1]))
    meta = np.empty((1, X.shape[1]))
    return Collection(tuple(X.to_delayed().ravel()), names, meta, lengths=lengths)


def _split_weights(sample_weight: object, collection: Collection) -> Sequence[PartitionWeights]:
    """Return the weights of each partition, or None for each if they are not given as an array."""
    count = len(collection.raw_partitions)
    lengths = collection.lengths
    if sample_weight is None or collection.weight is not None:
        return [None] * count
    if hasattr(sample_weight, "__dask_graph__"):
        if hasattr(sample_weight, "to_dask_array"):
            sample_weight = sample_weight.to_dask_array()
        weights = cast("DaskArray", sample_weight)
        if weights.ndim != 1:
            raise ValueError(
                f"sample_weight must be 1-D, got {weights.ndim}-D. Pass one weight for each row."
            )
        if lengths is not None and weights.shape[0] == sum(lengths):
            weights = weights.rechunk((lengths,))
        blocks = list(weights.to_delayed().ravel())
        if len(blocks) != count:
            raise ValueError(
                f"sample_weight must have as many partitions as X ({count}), got {len(blocks)}. "
                f"Rechunk it."
            )
        return blocks
    if lengths is None:
        raise ValueError(
            "sample_weight cannot be split because the partition lengths of X are unknown. Pass a "
            "Dask array or the name of a column."
        )
    whole = validation.read_weights(sample_weight, sum(lengths))
    return np.split(whole, np.cumsum(lengths)[:-1])


# tasks


def _load_partition(
    raw: RawPartition,
    names: list[ColumnName] | None,
    weight: str | None,
    w: Array | None,
    schema: TableSchema | None,
) -> MemoryTable:
    """Return the rows of a partition as a table of numbers, with their weights."""
    if weight is not None:
        frame = cast("DataFrame", raw)
        w = number_rows(frame[[weight]])[:, 0]
        raw = frame[names]
    X = number_rows(raw) if schema is None else encode_partition(raw, schema)
    weights = None if w is None else np.asarray(w, np.float64)
    if weights is not None and weights.shape != X.shape[:1]:
        raise ValueError(
            f"sample_weight has shape {weights.shape} in a partition with {len(X)} rows. Rechunk "
            f"it."
        )
    return MemoryTable(X, weights)


def _survey_partition(
    table: MemoryTable, names: list[ColumnName], number: int, has_digest: bool
) -> Survey | None:
    if not table.n_rows:
        return None
    try:
        return survey_raw_block(table.X, table.weights, names, 0, has_digest)
    except ValueError as error:
        raise ValueError(f"in partition {number} of X, {error}") from None


def _weights(table: MemoryTable, largest: float) -> Array | None:
    return with_largest_weight(table, largest).weights


def _total_weight(table: MemoryTable, largest: float) -> int:
    return int(running_weights(with_largest_weight(table, largest))[-1]) if table.n_rows else 0


def _take_rows(
    table: MemoryTable, goals: Array, times: Array, largest: float | None
) -> tuple[Array, Array]:
    if largest is None:
        ends: Array = np.arange(1, table.n_rows + 1)
    else:
        ends = running_weights(with_largest_weight(table, largest))
    return rows_at_goals(table.X, ends, goals, times)


def with_largest_weight(table: MemoryTable, largest: float | None) -> MemoryTable:
    """Return the table of a partition with its weights in the whole table.

    `largest` is the largest weight of the whole table. If it is None, all weights are equal.
    Otherwise, rows without an observed value get weight 0.
    """
    weights = table.weights
    if largest is not None and (weights is None or len(table.empty_rows)):
        weights = weights_without_rows(weights, table.n_rows, table.empty_rows)
    return MemoryTable(table.X, weights, table.columns, largest)
