"""rekmeans engines and bench: where a fit can run on this machine, and how fast."""

from __future__ import annotations

from typing import Any

from ..engines import ENGINES
from . import _console
from ._options import Debug, Json, Quiet


def engines(as_json: Json = False, debug: Debug = False) -> None:
    """Say where a fit can run here, and if not, why."""
    descriptions = describe_engines()
    if as_json:
        _console.print_json({"command": "engines", "engines": descriptions})
    else:
        _console.print_table("engines", ["engine", "here"], list(descriptions.items()))


def describe_engines() -> dict[str, str]:
    """What each engine is here, or how to get it."""
    missing = {name: engine.missing() for name, engine in ENGINES.items()}
    return {
        name: f"not available: it needs {missing[name]}" if missing[name] else f"available: {engine.describe()}"
        for name, engine in reversed(ENGINES.items())
    }


def bench(as_json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Measure rekmeans against scikit-learn here, in two minutes.

    Both cluster the same mapped rows from the same start. Mapping counts for
    rekmeans and is free for scikit-learn.
    """
    from .bench import machine, races

    with _console.progress_bar(quiet) as bar:
        results = list(races(bar.show_step))
    if as_json:
        _console.print_json({"command": "bench", "machine": machine(), "races": [race._asdict() for race in results]})
        return
    columns = ["rows", "columns", "k", "passes", "sklearn", "rekmeans", "ratio", "same labels"]
    title = "Euler k-means: median seconds of a fit, scikit-learn's KMeans and rekmeans"
    _console.print_table(title, columns, [_race_cells(race) for race in results], columns)
    _console.print_lines(machine())


def _race_cells(race: Any) -> list[str]:
    """A race as cells of the table."""
    return [
        *(f"{count:,}" for count in (race.rows, race.columns, race.clusters, race.passes)),
        *(f"{seconds:.3f}" for seconds in (race.sklearn, race.rekmeans)),
        f"{race.sklearn / race.rekmeans:.1f}",
        f"{race.same:.2%}",
    ]
