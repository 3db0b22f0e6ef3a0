"""A block of rows whose cells lie column by column: some or all of them are put side by side when
they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._grid import Array

COLUMN_TYPES = set(map(np.dtype, "bhilBHILfd"))  # of numbers that every engine reads
TILE_BYTES = 1 << 17  # of the rows that are written together, so that they stay in the cache


@dataclass(frozen=True)
class ColumnCells:
    """Cells of a block, read as an array of rows: `cells[numbers]` are some of them,
    `np.asarray(cells)` all.
    """

    columns: tuple[Array, ...]  # (m,) each, of one type
    dtype: np.dtype[Any]  # of the rows

    @classmethod
    def of_columns(cls, columns: Sequence[Array], dtype: np.dtype[Any]) -> Self:
        """Cells of these columns, uncopied where they are of one plain type already."""
        kinds = {column.dtype for column in columns}
        if len(kinds) > 1 or not kinds <= COLUMN_TYPES:
            columns = [column.astype(dtype, copy=False) for column in columns]
        return cls(tuple(columns), dtype)

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)

    def __getitem__(self, rows: Array | slice) -> Array:
        columns = [column[rows] for column in self.columns]
        found = np.empty((len(columns[0]), len(columns)), self.dtype)
        tile = max(1, TILE_BYTES // (self.dtype.itemsize * len(columns)))
        for at in range(0, len(found), tile):
            for j, column in enumerate(columns):
                found[at : at + tile, j] = column[at : at + tile]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self[:].astype(dtype or self.dtype, copy=False)
