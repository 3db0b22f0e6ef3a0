"""Write cluster labels to csv or parquet. In csv, text that looks like a formula is escaped."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._grid import Array

# from the OWASP page on CSV injection
FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def write_labels(path: Path, labels: Array, ids: Array | None) -> None:
    """Write the name or number and the cluster of each row.

    The file extension determines the format. Masked labels are empty in csv and null in parquet.
    """
    rows = np.arange(len(labels)) if ids is None else ids
    if path.suffix.lower() == ".parquet":
        from .arrow import write_parquet

        write_parquet(path, {"row": rows, "cluster": labels})
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        names = [guard_cell(name) for name in rows.tolist()]
        # by default, Python does not quote carriage returns
        has_returns = any(isinstance(name, str) and "\r" in name for name in names)
        lines = csv.writer(
            file,
            lineterminator="\n",
            quoting=csv.QUOTE_NONNUMERIC if has_returns else csv.QUOTE_MINIMAL,
        )
        lines.writerow(("row", "cluster"))
        lines.writerows(zip(names, labels.tolist(), strict=True))


def write_label_blocks(path: Path, blocks: Iterable[Array]) -> None:
    """Write the number and the cluster of each row, one block at a time."""
    numbered = _number_rows(blocks)
    if path.suffix.lower() == ".parquet":
        from .arrow import write_parquet_blocks

        write_parquet_blocks(path, ({"row": rows, "cluster": labels} for rows, labels in numbered))
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write("row,cluster\n")
        for rows, labels in numbered:
            file.writelines(
                f"{row},{'' if label is None else label}\n"
                for row, label in zip(rows.tolist(), labels.tolist(), strict=True)
            )


def _number_rows(blocks: Iterable[Array]) -> Iterator[tuple[Array, Array]]:
    """Yield each block with its row numbers."""
    start = 0
    for labels in blocks:
        yield np.arange(start, start + len(labels)), labels
        start += len(labels)


def guard_cell(cell: Any) -> Any:
    """Return a csv cell, with a leading apostrophe if a spreadsheet would evaluate it."""
    is_formula = (
        isinstance(cell, str)
        and cell.startswith(FORMULA_MARKS)
        and not PLAIN_NUMBER.fullmatch(cell)
    )
    return f"'{cell}" if is_formula else cell
