"""The BlockSource protocol for out-of-core tables, and block sources that call a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self, cast, runtime_checkable

import narwhals.stable.v2 as nw
from narwhals.exceptions import DuplicateError
from scipy import sparse

from .._grid import Array
from .source_parts import RawBlock, SourcePart
from .validation import number_rows

if TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoDataFrame


class TableBlock(Protocol):
    """A block yielded by a user function: an array or a data frame."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, rows: slice, /) -> Self: ...


@runtime_checkable
class BlockSource(Protocol):
    """Rows that can be read repeatedly, in order."""

    @property
    def n_columns(self) -> int: ...

    @property
    def n_rows(self) -> int | None:
        """The number of rows, or None if it is unknown before all rows are read."""

    def first_row(self) -> object:
        """Return a one-row table with the column names, in a type that scikit-learn supports."""

    def blocks(self, size: int) -> Iterator[RawBlock]:
        """Yield all rows in order, in blocks of about `size` rows or of the source's block size."""

    def parts(self, size: int) -> list[SourcePart]:
        """Return parts that can be read in parallel, or one part if rows must be read in order."""

    def keep_blocks(self, room: int) -> None:
        """Prepare for repeated reads: cache up to `room` bytes if decoding is slow."""

    def take(self, rows: Array) -> Array | None:
        """Return the rows with these sorted row numbers, or None if not supported."""


class CalledBlocks:
    """Rows from a function that returns a new iterator over blocks on each call.

    Blocks are arrays or data frames. The columns of data frames are selected by name. `weight` is
    the name of the weight column, and `only` are the names of the feature columns.
    """

    def __init__(
        self,
        function: Callable[[], Iterable[TableBlock]],
        weight: str | None = None,
        only: Sequence[str] | None = None,
    ) -> None:
        self.function = function
        self.weight = weight
        self.n_rows: int | None = None
        self.names: list[str] | None = None
        first = next((block for block in self._open() if block.shape[0]), None)
        if first is None:
            raise ValueError("X must yield at least one row, but its iterator yields none.")
        names = self.first_names = names_of_frame(first)
        if weight is not None and weight not in (names or []):
            raise ValueError(
                f"sample_weight={weight!r} must be a column of every block, but the first block "
                f"has the columns {names!r:.80}."
            )
        if names is not None:
            self.names = [name for name in columns_by_name(names, only) if name != weight]
        self.first = copy(self._features(first)[:1])
        self.n_columns = number_rows(self.first).shape[1]

    def _open(self) -> Iterator[TableBlock]:
        """Yield the blocks of a new iterator. Raise TypeError unless they are dense tables."""
        blocks = self.function()
        if not isinstance(blocks, Iterator):
            raise TypeError(
                f"X must return a new iterator over blocks of rows on each call, got "
                f"{type(blocks).__name__}."
            )
        return map(_dense_block, blocks)

    def _features(self, block: TableBlock) -> TableBlock:
        """Return the feature columns, in the order of the first block."""
        return block if self.names is None else select_columns(block, self.names)

    def _reject_other_columns(self, block: TableBlock) -> None:
        """Raise ValueError if the columns of a block differ from those of the first block."""
        names = names_of_frame(block)
        if names is None and self.first_names is None:
            if (d := block.shape[1]) != self.n_columns:
                raise ValueError(
                    f"X must yield blocks of {self.n_columns} columns like the first, got {d}."
                )
        elif names is None or self.first_names is None:
            raise ValueError(
                "X must yield either arrays or data frames, got both. Use one type in every block."
            )
        elif other := [
            name
            for name in [*self.first_names, *names]
            if (name in names) + (name in self.first_names) == 1
        ]:
            raise ValueError(
                f"X must yield blocks with the same columns, but {other[0]!r} is missing from "
                f"some of them. Use the same column names in every block."
            )

    def first_row(self) -> TableBlock:
        return self.first

    def blocks(self, size: int) -> Iterator[RawBlock]:
        """Yield copies of all rows in order.

        Blocks are copied because the function may reuse their memory.
        """
        for block in self._open():
            if not block.shape[0]:
                continue
            raw = self._read_block(block)
            for at in range(0, len(raw.X), size):
                rows = slice(at, at + size)
                weights = None if raw.weights is None else raw.weights[rows].copy()
                yield RawBlock(raw.X[rows].copy(), weights)

    def _read_block(self, block: TableBlock) -> RawBlock:
        """Return the cells and the weights of a block, without a copy of numeric arrays."""
        self._reject_other_columns(block)
        X = number_rows(self._features(block))
        if self.weight is None:
            return RawBlock(X, None)
        return RawBlock(X, number_rows(select_columns(block, [self.weight]))[:, 0])

    def parts(self, size: int) -> list[SourcePart]:
        return [SourcePart(0, partial(self.blocks, size))]

    def keep_blocks(self, room: int) -> None:
        """Do nothing, because the blocks may change between reads."""

    def take(self, rows: Array) -> Array | None:
        return None


def names_of_frame(block: TableBlock) -> list[str] | None:
    """Return the column names of a data frame; None for an array."""
    try:
        frame = nw.from_native(block, pass_through=True)
    except DuplicateError:
        names = list(cast("IntoDataFrame", block).columns)
        raise ValueError(
            f"X must have unique column names, got {names!r:.80}. Rename the duplicates."
        ) from None
    return frame.columns if isinstance(frame, nw.DataFrame) else None


def select_columns(block: TableBlock, names: list[str]) -> TableBlock:
    """Return these columns of a data frame as a data frame of the same library."""
    frame = nw.from_native(cast("IntoDataFrame", block))
    return cast("TableBlock", frame.select(names).to_native())


def columns_by_name(names: Sequence[str], only: Sequence[str] | None) -> list[str]:
    """Return `only` if all of these columns exist, else all names."""
    return list(only) if only is not None and set(only) <= set(names) else list(names)


def _dense_block(block: TableBlock) -> TableBlock:
    """Return a block that is a dense table; raise TypeError for anything else."""
    if sparse.issparse(block):
        raise TypeError(
            "X must yield dense blocks, got a sparse block. Pass sparse tables in memory."
        )
    if len(getattr(block, "shape", ())) != 2:
        kind = type(block).__name__
        raise TypeError(
            f"X must yield blocks of rows (2-D arrays or data frames), got {kind}. Yield "
            f"np.asarray(rows)."
        )
    return block


@dataclass(frozen=True)
class WeightedBlocks:
    """A source and the weights (n,) of its rows."""

    source: BlockSource
    weights: Array

    @property
    def n_columns(self) -> int:
        return self.source.n_columns

    @property
    def n_rows(self) -> int:
        return len(self.weights)

    def first_row(self) -> object:
        return self.source.first_row()

    def blocks(self, size: int) -> Iterator[RawBlock]:
        at = 0
        for X, _ in self.source.blocks(size):
            if at + len(X) > self.n_rows:
                raise ValueError(
                    f"sample_weight has {self.n_rows} weights, but X has more rows. Pass one "
                    f"per row."
                )
            yield RawBlock(X, self.weights[at : at + len(X)])
            at += len(X)
        if at < self.n_rows:
            raise ValueError(
                f"sample_weight has {self.n_rows} weights, but X has {at} rows. "
                f"Pass one weight per row."
            )

    def parts(self, size: int) -> list[SourcePart]:
        if self.source.n_rows != self.n_rows:  # the number of rows was unknown before
            return [SourcePart(0, partial(self.blocks, size))]
        return [
            SourcePart(part.start, partial(self._weigh, part)) for part in self.source.parts(size)
        ]

    def _weigh(self, part: SourcePart) -> Iterator[RawBlock]:
        at = part.start
        for X, _ in part.read():
            yield RawBlock(X, self.weights[at : at + len(X)])
            at += len(X)

    def keep_blocks(self, room: int) -> None:
        self.source.keep_blocks(room)

    def take(self, rows: Array) -> Array | None:
        return self.source.take(rows)
