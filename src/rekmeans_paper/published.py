"""The printed values of Lin & Chen (2021): NMI, ACC, κ, dataset sizes and the grid of alpha."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, NamedTuple

PUBLISHED: dict[str, Any] = json.loads(
    files(__package__).joinpath("published.json").read_text(encoding="utf-8")
)
SOURCE: str = PUBLISHED["source"]
ALPHAS: tuple[float, ...] = tuple(float(alpha) for alpha in PUBLISHED["alpha_grid"])
SETS: tuple[str, ...] = tuple(PUBLISHED["datasets"])
PRINTED_METHODS: tuple[str, ...] = tuple(PUBLISHED["NMI"])
KAPPA: dict[str, float] = PUBLISHED["deviation_degree_EulerK"]
PRINTED_SIZES: dict[str, tuple[int, int, int]] = {
    name: tuple(size) for name, size in PUBLISHED["datasets"].items()
}
READ_AS: dict[str, str] = PUBLISHED["nmi_columns_read_as"]


class PrintedValue(NamedTuple):
    """A printed table cell, in percent."""

    mean: float
    std: float


def printed_value(measure: str, method: str, name: str) -> PrintedValue | None:
    """Return a table cell as printed, or None if the paper has no such cell.

    Examples
    --------
    >>> from rekmeans_paper.published import printed_value
    >>> printed_value("NMI", "REK1", "wine").mean
    49.35
    """
    cell = PUBLISHED[measure].get(method, {}).get(name)
    return None if cell is None else PrintedValue(*cell)


def reference_value(measure: str, method: str, name: str) -> PrintedValue | None:
    """Return the printed value to compare with.

    This is the printed cell, except in the three NMI columns that look rotated.

    Examples
    --------
    >>> from rekmeans_paper.published import printed_value, reference_value
    >>> reference_value("NMI", "REK1", "isolet") == printed_value("NMI", "REK1", "yeast")
    True
    """
    return printed_value(measure, method, READ_AS.get(name, name) if measure == "NMI" else name)
