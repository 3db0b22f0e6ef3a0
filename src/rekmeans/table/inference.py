"""Infer the schema of a table: counts of its cells determine the kind of each column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._grid import Array
from .._text import count_of, name_list, quoted_list, shorten_name
from ..io.scan import LateTextError, ReadAs, Scan, ScanPart
from ..io.selection import ColumnSelection, UnreadableFileError
from ..threads import count_threads
from .column_counts import CellBlock, ColumnCounts, NumberCounts
from .schema import (
    DROPPED,
    ROW_NAMES,
    WEIGHTS,
    Column,
    ColumnFacts,
    Id,
    Label,
    Number,
    Skipped,
    TableSchema,
    count_block,
    recognize_column,
    recognize_feature,
)

if TYPE_CHECKING:
    import pyarrow as pa

MERGED_BLOCKS = 32  # number of blocks whose counts are added at a time
MAX_EXAMPLE_LETTERS = 12  # maximum length of a text quoted in a note
MAX_NOTE_LETTERS = 120  # maximum length of a note on one column

CountsByColumn = Mapping[str, ColumnCounts]


@dataclass(frozen=True)
class Inference:
    """A scan, its schema, and the counts that the schema was inferred from."""

    scan: Scan
    schema: TableSchema
    counts: CountsByColumn = field(default_factory=dict)

    def notes(self) -> list[str]:
        """Return at most three notes on how cells were read."""
        notes = number_notes(self.schema, self.counts, self.scan.decimal)
        items = []
        for column in self.schema.columns:
            if isinstance(column, Id):
                counts = number_counts(self.counts, column.name)
                n = 0 if counts is None else counts.n_values
                items.append(f"{shorten_name(column.name)} ({n:,} integers)")
        if items:
            text = f"skipped as ids: {name_list(items)}; pass --keep NAME to use one as a feature"
            notes.append(text)
        return notes


class Candidates(NamedTuple):
    """The source columns, classified before any cell is read."""

    names: list[str]  # columns that may be features, in order
    decided: dict[str, Column]  # the others


def infer_schema(
    scan: Scan,
    selection: ColumnSelection,
    n_threads: int | None = None,
    *,
    is_full: bool = False,
) -> Inference:
    """Infer the schema of a scan that is not read into memory.

    Only columns whose kind depends on their cells are read, or all of them if `is_full`.
    """
    while True:
        candidates = find_candidates(scan, selection)
        try:
            counts = _count_candidates(scan, candidates, n_threads, is_full)
            schema = settle_schema(scan, selection, candidates, counts)
        except LateTextError as late:
            scan = scan.with_late_text(late.name, candidates.names)
            continue
        return Inference(scan, schema, counts)


def find_candidates(scan: Scan, selection: ColumnSelection) -> Candidates:
    """Return the columns that may be features, and those whose kind is set by the selection."""
    decided: dict[str, Column] = {name: Skipped(name, ROW_NAMES) for name in scan.index}
    decided |= {name: Skipped(name, DROPPED) for name in selection.drop}
    if selection.label is not None:
        decided[selection.label] = Label(selection.label)
    if selection.weight is not None:
        decided[selection.weight] = Skipped(selection.weight, WEIGHTS)
    for name in selection.only or ():
        if name in scan.index:
            decided.pop(name, None)
    names = [name for name in (selection.only or scan.types) if name not in decided]
    return Candidates(names, decided)


def read_modes(scan: Scan, names: Sequence[str]) -> dict[str, ReadAs]:
    """Return how each column is read: numbers as numbers, everything else as written."""
    modes: dict[str, ReadAs] = {
        "integer": "number",
        "number": "number",
        "text": "text",
        "other": "exact",
    }
    return {name: modes[scan.column_types[name].storage] for name in names}


def settle_schema(
    scan: Scan,
    selection: ColumnSelection,
    candidates: Candidates,
    counts: CountsByColumn,
    count_empty_rows: Callable[[], int] | None = None,
) -> TableSchema:
    """Derive the schema from the counts."""

    def count_empty() -> int:
        columns = provisional_features(scan, selection, candidates, counts)
        return count_rows_without_values(scan, columns)

    facts = _facts(scan, selection, candidates.names, counts, count_empty_rows or count_empty)
    columns = dict(candidates.decided) | {one.name: recognize_column(one) for one in facts}
    if selection.only is not None:
        others = [name for name in scan.types if name in candidates.decided]
        ordered = [*(name for name in selection.only if name in columns), *others]
        _reject_other_columns(scan, [columns[name] for name in candidates.names])
    else:
        ordered = [name for name in scan.types if name in columns]
    return TableSchema(tuple(columns[name] for name in ordered), scan.has_names)


def provisional_features(
    scan: Scan, selection: ColumnSelection, candidates: Candidates, counts: CountsByColumn
) -> list[Column]:
    """Return the columns that are features unless they turn out to be ids or empty."""
    facts = _facts(scan, selection, candidates.names, counts, lambda: 0)
    found = map(recognize_feature, facts)
    return [column for column in found if column is not None]


def count_columns(
    scan: Scan, names: Sequence[str], n_threads: int | None = None
) -> dict[str, ColumnCounts]:
    """Return the counts of all cells of these columns, from one pass."""
    if not names:
        return {}
    columns = read_modes(scan, names)

    def count_part(part: ScanPart) -> dict[str, ColumnCounts]:
        return merge_counts(
            {name: count_cells(scan, name, batch.column(j)) for j, name in enumerate(names)}
            for batch in part.read()
        )

    parts = scan.parts(columns)
    if len(parts) == 1:
        return count_part(parts[0])
    with ThreadPoolExecutor(count_threads(n_threads)) as pool:
        return merge_counts(pool.map(count_part, parts))


def count_cells(scan: Scan, name: str, cells: pa.Array) -> ColumnCounts:
    """Count a block of cells of a column."""
    return count_block(CellBlock(cells, scan.column_types[name], scan.decimal))


def merge_counts(
    counted: Iterator[dict[str, ColumnCounts]],
) -> dict[str, ColumnCounts]:
    """Sum counts in groups, so that large records are rarely merged."""
    waiting: list[dict[str, ColumnCounts]] = []
    for counts in counted:
        waiting.append(counts)
        if len(waiting) == MERGED_BLOCKS:
            waiting = [_sum_counts(waiting)]
    return _sum_counts(waiting)


def _sum_counts(counted: Sequence[dict[str, ColumnCounts]]) -> dict[str, ColumnCounts]:
    """Sum the counts of each column pairwise: add neighbors, then their sums, and so on."""
    sums = {}
    for name in dict.fromkeys(name for counts in counted for name in counts):
        parts = [counts[name] for counts in counted if name in counts]
        while len(parts) > 1:
            parts = [reduce(add, parts[at : at + 2]) for at in range(0, len(parts), 2)]
        sums[name] = parts[0]
    return sums


def count_rows_without_values(scan: Scan, columns: Sequence[Column]) -> int:
    """Return the number of rows without a value in any of these columns."""
    if not columns:
        return 0
    names = [column.name for column in columns]
    batches = (batch for part in scan.parts(read_modes(scan, names)) for batch in part.read())
    return sum(
        int(np.count_nonzero(~rows_with_values(_lazy_cells(batch, columns), batch.num_rows)))
        for batch in batches
    )


def rows_with_values(columns: Iterator[Array], n_rows: int) -> Array:
    """Return a mask of the rows with a value. Columns are read until every row has one."""
    has_value = np.zeros(n_rows, bool)
    for column in columns:
        has_value |= ~np.isnan(column)
        if has_value.all():
            break
    return has_value


def _lazy_cells(batch: pa.RecordBatch, columns: Sequence[Column]) -> Iterator[Array]:
    for j, column in enumerate(columns):
        yield from column.encode(batch.column(j), np.float64)


def check_types(scan: Scan, schema: TableSchema) -> None:
    """Raise an error unless the scan has all features of a schema, as numbers or text."""
    if missing := [name for name in schema.feature_names if name not in scan.types]:
        raise UnreadableFileError(missing_columns_message(scan.name, missing))
    bad = [
        f"{name} ({kind.reason})"
        for name in schema.feature_names
        if (kind := scan.column_types[name]).storage == "other"
    ]
    if bad:
        raise UnreadableFileError(_other_columns_message(scan.name, bad))


def missing_columns_message(table: str, missing: Sequence[str]) -> str:
    """Return the error message for a table that lacks columns of the fit."""
    return (
        f"{table} has no column {quoted_list(missing)}, which the model requires. Add "
        f"{'it' if len(missing) == 1 else 'them'}, with missing values if necessary."
    )


def check_text(scan: Scan, schema: TableSchema, counts: CountsByColumn) -> None:
    """Raise an error if a text feature is not numeric in the number format of the fit."""
    bad = []
    for column in schema.features:
        found = number_counts(counts, column.name)
        if found is None or not isinstance(column, Number):
            continue
        count = found.texts.get(column.decimal)
        if count is not None and count.n_cells and not count.is_numeric:
            bad.append(f"{column.name} (text)")
    if bad:
        raise UnreadableFileError(_other_columns_message(scan.name, bad))


def apply_schema(
    scan: Scan, schema: TableSchema, n_threads: int | None = None, *, checks_text: bool = True
) -> Inference:
    """Return a scan with the schema of a fit, after checking its text columns."""
    check_types(scan, schema)
    if not checks_text and scan.is_typed:
        return Inference(scan, schema)
    while True:
        texts = [name for name in schema.feature_names if scan.column_types[name].storage == "text"]
        names = texts if scan.is_typed else schema.feature_names
        try:
            counts = count_columns(scan, names, n_threads)
        except LateTextError as late:
            scan = scan.with_late_text(late.name, schema.feature_names)
            continue
        check_text(scan, schema, counts)
        return Inference(scan, schema, counts)


def number_counts(counts: CountsByColumn, name: str) -> NumberCounts | None:
    """Return the counts of the numbers of a column, if available."""
    found = counts[name].by_kind.get(Number.kind) if name in counts else None
    return found if isinstance(found, NumberCounts) else None


def number_notes(schema: TableSchema, counts: CountsByColumn, decimal: str) -> list[str]:
    """Return at most two notes on text columns that are read as numbers."""
    converted = []
    lost = []
    for column in schema.features:
        found = number_counts(counts, column.name)
        if found is None or not isinstance(column, Number) or not found.texts:
            continue
        count = found.texts[column.decimal]
        name = shorten_name(column.name)
        if count.n_formatted:
            marks = " and ".join(sorted(count.marks))
            converted.append(f"{name} ({marks} in {count_of(count.n_formatted, 'cell')})")
        if count.texts:
            examples = ", ".join(
                repr(shorten_name(text, MAX_EXAMPLE_LETTERS)) for text in count.texts
            )
            n = count.n_cells - count.n_numbers
            lost.append(f"{name} ({count_of(n, 'cell')}: {examples})")
    return [
        *([f"text read as numbers: {name_list(converted, MAX_NOTE_LETTERS)}"] if converted else []),
        *([f"text read as missing: {name_list(lost, MAX_NOTE_LETTERS)}"] if lost else []),
    ]


def _count_candidates(
    scan: Scan, candidates: Candidates, n_threads: int | None, is_full: bool
) -> dict[str, ColumnCounts]:
    """Count the columns whose kind depends on their cells."""
    if is_full:
        return count_columns(scan, candidates.names, n_threads)
    readable = [name for name in candidates.names if scan.column_types[name].storage != "other"]
    if not scan.is_typed:
        return count_columns(scan, readable, n_threads)
    needed = [name for name in readable if scan.column_types[name].storage in ("integer", "text")]
    floats = [name for name in readable if scan.column_types[name].storage == "number"]
    first = next(iter(scan.batches(read_modes(scan, floats))), None) if floats else None
    if first is not None:
        blocks = [
            CellBlock(first.column(j), scan.column_types[name], scan.decimal)
            for j, name in enumerate(floats)
        ]
        needed += [
            name
            for name, block in zip(floats, blocks, strict=True)
            if block.n_missing == len(block.column)
        ]
    return count_columns(scan, needed, n_threads)


def _facts(
    scan: Scan,
    selection: ColumnSelection,
    names: Sequence[str],
    counts: CountsByColumn,
    count_empty_rows: Callable[[], int],
) -> list[ColumnFacts]:
    """Return the facts about these columns, from which their kinds follow."""
    finds_ids = selection.only is None and not selection.is_of_model and scan.has_names
    return [
        ColumnFacts(
            name,
            scan.column_types[name],
            counts.get(name),
            scan.decimal,
            finds_ids and name not in selection.keep,
            selection.only is not None,
            count_empty_rows,
        )
        for name in names
    ]


def _reject_other_columns(scan: Scan, columns: Sequence[Column]) -> None:
    """Raise an error if a column of the model is not numeric."""
    bad = [f"{column.name} ({column.reason})" for column in columns if not column.is_feature]
    if bad:
        raise UnreadableFileError(_other_columns_message(scan.name, bad))


def _other_columns_message(table: str, bad: Sequence[str]) -> str:
    return (
        f"{table} must be numeric in the columns of the model, got {name_list(bad)}. Convert "
        f"them to numbers."
    )


def with_only(selection: ColumnSelection, names: Sequence[str] | None) -> ColumnSelection:
    """Return a selection of these columns, for a model without a schema."""
    return replace(selection, only=None if names is None else tuple(names), is_of_model=True)
