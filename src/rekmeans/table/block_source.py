"""Where the blocks of a table that is not in memory come from: what every source answers, and
functions as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import narwhals.stable.v2 as nw
from narwhals.exceptions import DuplicateError
from scipy import sparse

from .._grid import Array
from .refusals import number_rows
from .source_parts import RawBlock, SourcePart


@runtime_checkable
class BlockSource(Protocol):
    """Rows that can be read from the first to the last, as often as is asked for."""

    @property
    def n_columns(self) -> int: ...

    @property
    def n_rows(self) -> int | None:
        """None where only reading them all tells."""

    def first_row(self) -> Any:
        """A table of one row with the column names, as scikit-learn reads them."""

    def blocks(self, size: int) -> Iterator[RawBlock]:
        """All rows in order; about `size` at a time, or as the source has them."""

    def parts(self, size: int) -> list[SourcePart]:
        """The same rows as parts that can be read side by side; one where they must be read in
        order.
        """

    def keep_blocks(self, room: int) -> None:
        """Many reads follow: keep decoded blocks, up to so many bytes, where decoding is most of a
        read.
        """

    def take(self, rows: Array) -> Array | None:
        """Rows of ascending numbers; None where that means reading all."""


class CalledBlocks:
    """Rows from a function that gives a new iterator over blocks each time: arrays, or data frames
    with column names.

    `weight` names the column of the frames that holds the weights, `only` those of the features;
    columns of frames are taken by name.
    """

    def __init__(
        self,
        function: Callable[[], Iterable[Any]],
        weight: str | None = None,
        only: Sequence[str] | None = None,
    ) -> None:
        self.function = function
        self.weight = weight
        self.n_rows: int | None = None
        self.names: list[str] | None = None
        first = next((block for block in self._open() if block.shape[0]), None)
        if first is None:
            raise ValueError(
                "X must give at least one row, got a function whose iterator gives none."
            )
        names = self.first_names = names_of_frame(first)
        if weight is not None and weight not in (names or []):
            raise ValueError(
                f"sample_weight={weight!r} must name a column of every block; the first has "
                f"{names!r:.80}."
            )
        if names is not None:
            self.names = [name for name in columns_by_name(names, only) if name != weight]
        self.first = copy(self._features(first)[:1])
        self.n_columns = number_rows(self.first).shape[1]

    def _open(self) -> Iterator[Any]:
        """The blocks of a new iterator; one that is not a dense table is refused."""
        blocks = self.function()
        if not isinstance(blocks, Iterator):
            raise TypeError(
                f"X must give a new iterator over blocks of rows each time it is called; got "
                f"{type(blocks).__name__}."
            )
        return map(_dense_block, blocks)

    def _features(self, block: Any) -> Any:
        """The columns of the features, in the order of the first block."""
        if self.names is None:
            return block
        return nw.from_native(block).select(self.names).to_native()

    def _refuse_other_columns(self, block: Any) -> None:
        """Refuse a block that has not the columns of the first."""
        names = names_of_frame(block)
        if names is None and self.first_names is None:
            if (d := block.shape[1]) != self.n_columns:
                raise ValueError(
                    f"X must have blocks of {self.n_columns} columns as the first; got {d}."
                )
        elif names is None or self.first_names is None:
            raise ValueError(
                "X must give arrays or data frames, got both: give every block the same column "
                "names."
            )
        elif other := [
            name
            for name in [*self.first_names, *names]
            if (name in names) + (name in self.first_names) == 1
        ]:
            raise ValueError(
                f"X must give blocks with the same columns, {other[0]!r} is in the first or in "
                f"another one and not in "
                "both: give every block the same column names."
            )

    def first_row(self) -> Any:
        return self.first

    def blocks(self, size: int) -> Iterator[RawBlock]:
        """Yield copies of all rows in order: the next block is read ahead, and may reuse the memory
        of the last one.
        """
        for block in self._open():
            if not block.shape[0]:
                continue
            raw = self._read_block(block)
            for at in range(0, len(raw.X), size):
                yield RawBlock(
                    *(None if cells is None else cells[at : at + size].copy() for cells in raw)
                )

    def _read_block(self, block: Any) -> RawBlock:
        """The cells of a block and its weights; neither is copied if it is an array of numbers
        already.
        """
        self._refuse_other_columns(block)
        X = number_rows(self._features(block))
        if self.weight is None:
            return RawBlock(X, None)
        return RawBlock(X, number_rows(nw.from_native(block).select(self.weight).to_native())[:, 0])

    def parts(self, size: int) -> list[SourcePart]:
        return [SourcePart(0, partial(self.blocks, size))]

    def keep_blocks(self, room: int) -> None:
        """Nothing is kept, as blocks may be the caller's to change."""

    def take(self, rows: Array) -> Array | None:
        return None


def names_of_frame(block: Any) -> list[str] | None:
    """The column names of a data frame; None of an array."""
    try:
        frame = nw.from_native(block, pass_through=True)
    except DuplicateError:
        raise ValueError(
            f"X must have different column names, got {list(block.columns)!r:.80}: rename one."
        ) from None
    return frame.columns if isinstance(frame, nw.DataFrame) else None


def columns_by_name(names: Sequence[str], only: Sequence[str] | None) -> list[str]:
    """The columns of `only` where all of them are there, else all names."""
    return list(only) if only is not None and set(only) <= set(names) else list(names)


def _dense_block(block: Any) -> Any:
    """A block that is a dense table, unless it is something else."""
    if sparse.issparse(block):
        raise TypeError(
            "X must give dense blocks, got a sparse one: pass a sparse table in memory."
        )
    if len(getattr(block, "shape", ())) != 2:
        kind = type(block).__name__
        raise TypeError(
            f"X must give blocks of rows, 2-D arrays or data frames; got {kind}: give "
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

    def first_row(self) -> Any:
        return self.source.first_row()

    def blocks(self, size: int) -> Iterator[RawBlock]:
        at = 0
        for X, _ in self.source.blocks(size):
            if at + len(X) > self.n_rows:
                raise ValueError(
                    f"sample_weight has {self.n_rows} weights, X more rows: pass a weight for "
                    f"each row."
                )
            yield RawBlock(X, self.weights[at : at + len(X)])
            at += len(X)
        if at < self.n_rows:
            raise ValueError(
                f"sample_weight has {self.n_rows} weights, X {at} rows: pass a weight for each row."
            )

    def parts(self, size: int) -> list[SourcePart]:
        if self.source.n_rows != self.n_rows:  # only reading them all tells
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
