"""Label files: row and cluster of each row, as csv or parquet."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from .._grid import Array


def write_labels(path: Path, labels: Array, ids: Array | None) -> None:
    """Write the cluster of each row beside its name or number; parquet or csv by the ending of the path."""
    rows = np.arange(len(labels)) if ids is None else ids
    if path.suffix.lower() == ".parquet":
        from .arrow import write_parquet

        write_parquet(path, {"row": rows, "cluster": labels})
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("row", "cluster"))
        lines.writerows(zip(rows.tolist(), labels.tolist(), strict=True))
