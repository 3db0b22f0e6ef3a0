"""The committed page of a finished reproduction: reproduction.md and its pictures.

rekmeans reproduce --out reproduction
python docs/reproduction.py reproduction
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pictures import IMAGES, write_compressed

from rekmeans_paper.datasets import LOW

HERE = Path(__file__).parent
COLUMNS = {
    "claims": ("claim", "found", "verdict"),
    "equality": ("set", "protocol", "fits", "same", "printed_rises"),
    "deviation": ("set", "protocol", "alpha", "kappa", "printed", "verdict"),
    "scaling": ("scaling", "gap", "kappa_gap"),
    "halves": ("set", "draws", "EulerK", "REK1", "gain", "from", "to", "verdict"),
    "errata": ("number", "paper", "right", "run", "verdict"),
    "datasets": ("set", "ours", "printed", "rows", "columns", "classes", "verdict"),
}
HEADS = {
    "kappa": "κ",
    "kappa_gap": "gap of κ, powers of ten",
    "gap": "gap of NMI and ACC, points",
    "printed_rises": "the printed update rises",
    "number": " ",
}
SCORED = {  # method: its heading
    "EulerK": "EulerK",
    "REK1": "REK1 = REK2",
    "REK2 printed": "REK2 as printed",
    "k-means": "k-means",
    "k-means z": "k-means z",
}
PICTURES = {
    "half_moons": "Half-moons, and their mapped points in each dimension",
    "surfaces": "Centroids and decision surfaces of EulerK, REK1 and REK2 in each dimension",
    "starts_circle": "Centroids of EulerK that began at random points of the circle, three draws: "
    "they leave it",
    "starts_random": "The same from random mapped rows",
    "clusters": "κ of EulerK on half-moons falls with the number of clusters; dashed, the printed "
    "0.298",
    "alphas_range": "NMI against alpha, columns on their range",
    "alphas_paper": "NMI against alpha, rows of sum 1",
    "objective_paper": "Objective against pass, rows of sum 1",
}
Row = dict[str, Any]


def table(rows: list[Row], columns: tuple[str, ...]) -> str:
    """Rows as a Markdown table; columns of numbers to the right."""
    right = {
        column
        for column in columns
        if all(isinstance(row.get(column), int | float) for row in rows)
    }
    lines = [
        [HEADS.get(column, column) for column in columns],
        ["---:" if c in right else "---" for c in columns],
    ]
    lines += [[cell(row.get(column)) for column in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(value: Any) -> str:
    """A value as text that leaves the table whole."""
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")


def measure_row(results: dict[str, Any], measure: str, *, low: bool) -> Row:
    """One measure on low- or high-dimensional sets: a table for each protocol."""
    protocols = []
    for key, title in results["protocols"].items():
        rows = [
            r
            for r in results["tables"][measure]
            if r["protocol"] == key and (r["set"] in LOW) == low
        ]
        if rows:
            protocols.append({"title": title, "starts": rows[0]["starts"], "table": scores(rows)})
    return {
        "title": f"{measure.upper()}, {'low' if low else 'high'}-dimensional sets",
        "protocols": protocols,
    }


def scores(rows: list[Row]) -> str:
    """One measure under one protocol: a line a set, ours with its spread, and how far it is from
    the printed value.
    """
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        own = {row["method"]: row for row in rows if row["set"] == name}
        line = {"set": name} | {heading: score(own[method]) for method, heading in SCORED.items()}
        lines.append(line | {"REK1 is": own["REK1"]["verdict"], "its alpha": own["REK1"]["alpha"]})
    return table(lines, tuple(lines[0]))


def score(row: Row) -> str:
    """Mean ± std, and for the paper's methods the difference to the printed value."""
    ours = f"{row['mean']:.1f} ± {row['std']:.1f}"
    return (
        f"{ours} ({row['difference']:+.1f} to {row['read']:.1f})"
        if row["method"] in ("EulerK", "REK1")
        else ours
    )


def page(results: dict[str, Any]) -> str:
    """The page in Markdown."""
    rows = results["tables"]
    means = [row for row in rows["scaling"] if row["set"] == "mean of all"]
    jinja = Environment(
        loader=FileSystemLoader(HERE), undefined=StrictUndefined, trim_blocks=True, autoescape=False
    )
    return jinja.get_template("reproduction.md.j2").render(
        {
            name: table(means if name == "scaling" else rows[name], columns)
            for name, columns in COLUMNS.items()
        },
        measures=[
            measure_row(results, name, low=low) for name in ("nmi", "acc") for low in (True, False)
        ],
        pictures=PICTURES,
        paper=results["paper"].partition(":")[0],
        version=results["version"],
        missing=results["missing"],
    )


def main(folder: Path) -> None:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    (HERE / "reproduction.md").write_text(page(results) + "\n", encoding="utf-8")
    (IMAGES / "reproduction").mkdir(exist_ok=True)
    for name in PICTURES:
        write_compressed(
            (folder / f"{name}.png").read_bytes(), IMAGES / "reproduction" / f"{name}.png"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
