"""The commands `rekmeans engines` and `rekmeans bench`."""

from __future__ import annotations

from typing import Any

from . import plugin
from ._options import Debug, Json, Quiet


def engines(as_json: Json = False, debug: Debug = False) -> None:
    """List the engines, and the requirements of engines that are not available."""
    descriptions = describe_engines()
    if as_json:
        plugin.print_json({"command": "engines", "engines": descriptions})
    else:
        plugin.print_table("engines", ["engine", "status"], list(descriptions.items()))


def describe_engines() -> dict[str, str]:
    """Return the description of each engine, or how to install it."""
    # imported here to keep --help fast: NumPy and scikit-learn load slowly
    from ..engines import ENGINES

    missing = {name: engine.missing() for name, engine in ENGINES.items()}
    return {
        name: f"not available: requires {missing[name]}"
        if missing[name]
        else f"available: {engine.describe()}"
        for name, engine in reversed(ENGINES.items())
    }


def bench(as_json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Compare the speed with scikit-learn on this machine (takes two minutes).

    The first table compares fits with default parameters. The second compares
    fits of the same mapped rows from the same initial centroids. Only the times
    of rekmeans include the mapping.
    """
    from ._workflow import progress_bar
    from .bench import first_fits, machine, races

    with progress_bar(quiet) as bar:
        firsts, results = list(first_fits(bar.show_step)), list(races(bar.show_step))
    if as_json:
        lists = {
            "first_fits": [first._asdict() for first in firsts],
            "races": [race._asdict() for race in results],
        }
        plugin.print_json({"command": "bench", "machine": machine()} | lists)
        return
    columns = [
        "rows",
        "columns",
        "k",
        "sklearn",
        "rekmeans",
        "ratio",
        "sklearn's score",
        "rekmeans' score",
    ]
    title = (
        "Default parameters: median seconds of StandardScaler + KMeans and of "
        "RectifiedEulerKMeans, and adjusted Rand index"
    )
    plugin.print_table(title, columns, [_first_fit_cells(first) for first in firsts], columns)
    columns = ["rows", "columns", "k", "passes", "sklearn", "rekmeans", "ratio", "same labels"]
    title = "Euler k-means: median seconds per fit of scikit-learn's KMeans and of rekmeans"
    plugin.print_table(title, columns, [_race_cells(race) for race in results], columns)
    plugin.print_lines(machine())


def _first_fit_cells(first: Any) -> list[str]:
    """Format the timings of a fit with default parameters as a table row."""
    return [
        *(f"{count:,}" for count in (first.rows, first.columns, first.clusters)),
        *(f"{seconds:.4f}" for seconds in (first.sklearn, first.rekmeans)),
        f"{first.sklearn / first.rekmeans:.1f}",
        *(f"{score:.2f}" for score in (first.sklearn_score, first.rekmeans_score)),
    ]


def _race_cells(race: Any) -> list[str]:
    """Format the timings of fits from the same start as a table row."""
    return [
        *(f"{count:,}" for count in (race.rows, race.columns, race.clusters, race.passes)),
        *(f"{seconds:.3f}" for seconds in (race.sklearn, race.rekmeans)),
        f"{race.sklearn / race.rekmeans:.1f}",
        f"{race.same:.2%}",
    ]
