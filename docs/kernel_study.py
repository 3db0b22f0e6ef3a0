"""The tables and pictures of kernel_study.md from a run: `python docs/kernel_study.py FOLDER
[linear.jsonl]`.

FOLDER is what `rekmeans reproduce --kernels --out FOLDER` wrote, linear.jsonl what
`benchmarks/linear.py` did. Text between `<!-- NAME -->` and `<!-- end -->` is replaced.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from pictures import write_compressed

HERE = Path(__file__).parent
PICTURES = ("deviation_widths", "deviation_clusters", "score_kappa", "robustness")
Row = dict[str, Any]


def main(folder: Path, times: Path | None) -> None:
    results = json.loads((folder / "results.json").read_text())
    made = {name: table(rows(results["tables"])) for name, rows in TABLES.items()}
    made["protocol"] = "\n".join(f"- {key}: {text}." for key, text in results["protocols"].items())
    if times:
        made["linear"] = table(
            linear([json.loads(line) for line in times.read_text().splitlines()])
        )
    page = HERE / "kernel_study.md"
    text = page.read_text(encoding="utf-8")
    for name, block in made.items():
        text, found = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\g<1>{block}\n\g<2>", text, flags=re.DOTALL
        )
        if found != 1:
            raise ValueError(f"{page} has {found} places for {name}, one is needed.")
    page.write_text(text, encoding="utf-8")
    images = HERE / "images" / "kernel_study"
    images.mkdir(exist_ok=True)
    for name in PICTURES:
        write_compressed((folder / f"{name}.png").read_bytes(), images / f"{name}.png")


def table(rows: list[Row]) -> str:
    """Markdown."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [
        names,
        ["---"] * len(names),
        *([cell(row.get(name)) for name in names] for row in rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}".replace("-0.000", "0.000") if isinstance(value, float) else str(value)


def over_sets(rows: list[Row], by: str) -> list[Row]:
    """Mean and range over the sets of the deviation degree, and mean score, by kernel and width or
    k.
    """
    out = []
    for kernel, value in dict.fromkeys((row["kernel"], row[by]) for row in rows):
        own = [row for row in rows if (row["kernel"], row[by]) == (kernel, value)]
        kappas, scores = ([row[what] for row in own] for what in ("kappa", "score"))
        spread = f"{min(kappas):.3f} to {max(kappas):.3f}"
        out.append(
            {"kernel": kernel, by: f"{value:g}", "κ": fmean(kappas), "over the sets": spread}
        )
        out[-1] |= {"score": fmean(scores), "its range": f"{min(scores):.3f} to {max(scores):.3f}"}
    return out


def linear(records: list[Row]) -> list[Row]:
    """Seconds by rows and method."""
    out: dict[int, Row] = {}
    for record in records:
        row = out.setdefault(record["n"], {"rows": f"{record['n']:,}"})
        seconds = record.get("seconds")
        row[record["method"]] = (
            f"{seconds:.3g} s, {record['passes']} passes"
            if seconds
            else "refused"
            if record["refused"]
            else "not run"
        )
        row |= {f"of {record['method']}": seconds} if seconds else {}
    for row in out.values():
        row["RBF / REK"] = f"{row['of rectified RBF'] / row['of REK']:.2f}"
        for name in [name for name in row if name.startswith("of ")]:
            del row[name]
    return list(out.values())


def without(rows: list[Row], *names: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


TABLES: dict[str, Callable[[dict[str, list[Row]]], list[Row]]] = {
    "claims": lambda tables: tables["claims"],
    "widths": lambda tables: over_sets(tables["widths"], "width"),
    "clusters": lambda tables: over_sets(tables["clusters"], "k"),
    "rectification": lambda tables: without(tables["rectification_means"], "sets"),
    "robustness": lambda tables: tables["robustness_means"],
    "breaks": lambda tables: tables["breaks"],
}

if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
