"""The table and the plot of a run of benchmarks/gpu.py."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

FLASH = ("flash-kmeans float32", "flash-kmeans float16")


def write(records: Path, picture: Path) -> None:
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    machine = next(line for line in lines if line["kind"] == "machine")
    print(f"{machine['device']}, torch {machine['torch']}; copy {machine['copy_TB_s']:.2f} TB/s, "
          f"16-bit product {machine['product_TFLOP_s']:.0f} TFLOP/s\n")  # fmt: skip
    ours = {line["shape"]: line for line in lines if line["kind"] == "ours" and not line["variant"]}
    print(
        "| shape | ms per pass (20 passes) | passes 11 to 20 | wrong labels | REK | "
        "1 % missing | weights | assignment kernel |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for shape, line in ours.items():
        print(_row(shape, line, lines, machine))
    peers = {
        (line["shape"], line["peer"]): line.get("ms") for line in lines if line["kind"] == "peer"
    }
    names = list(dict.fromkeys(peer for _, peer in peers))
    print(
        "\n| shape | "
        + " | ".join(f"{name}, ms (relative to rekmeans, in late passes)" for name in names)
        + " |"
    )
    print("|---" * (len(names) + 1) + "|")
    for shape, line in ours.items():
        cells = [_against(peers.get((shape, name)), line) for name in names]
        print(f"| {shape} | " + " | ".join(cells) + " |")
    for name in FLASH:
        pairs = [(peers.get((shape, name)), line) for shape, line in ours.items()]
        ratios = [(ms / line["ms_fit"], ms / line["ms_late"]) for ms, line in pairs if ms]
        means = [math.exp(sum(math.log(pair[i]) for pair in ratios) / len(ratios)) for i in (0, 1)]
        print(
            f"\n- {name}: {means[0]:.2f} times the time of rekmeans in the geometric mean, "
            f"{means[1]:.2f} in late passes"
        )
    for line in lines:
        if line["kind"] == "small":
            print(f"- {line['shape']}: {line['us_a_pass']:.1f} µs per pass in one launch")
    draw(ours, peers, picture)


def _row(
    shape: str, line: dict[str, Any], lines: list[dict[str, Any]], machine: dict[str, Any]
) -> str:
    others = {
        other.get("variant"): other
        for other in lines
        if other["kind"] == "ours" and other["shape"] == shape
    }
    rectified = next(
        other for other in lines if other["kind"] == "rectified" and other["shape"] == shape
    )
    kernel = next(
        other for other in lines if other["kind"] == "assignment" and other["shape"] == shape
    )
    variants = [
        f"{others[name]['ms_fit'] / line['ms_fit']:.2f} x" for name in ("1 % missing", "weights")
    ]
    rates = (
        f"{kernel['TFLOP_s']:.0f} TFLOP/s ({kernel['TFLOP_s'] / machine['product_TFLOP_s']:.0%}), "
        f"{kernel['TB_s']:.2f} TB/s ({kernel['TB_s'] / machine['copy_TB_s']:.0%})"
    )
    wrong = f"{line['wrong']} of {line['checked']:,}"
    cells = [
        shape,
        f"**{line['ms_fit']:.3f}**",
        f"{line['ms_late']:.3f}",
        wrong,
        f"{rectified['ms_fit']:.3f}",
    ]
    return "| " + " | ".join([*cells, *variants, rates]) + " |"


def _against(ms: float | None, line: dict[str, Any]) -> str:
    return (
        "cannot"
        if ms is None
        else f"{ms:.2f} ({ms / line['ms_fit']:.1f}, {ms / line['ms_late']:.1f})"
    )


def draw(ours: dict[str, Any], peers: dict[tuple[str, str], float | None], picture: Path) -> None:
    """Plot the time of a pass of each library relative to rekmeans."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    names = list(dict.fromkeys(peer for _, peer in peers))
    height = 0.8 / len(names)
    for i, name in enumerate(names):
        ratios = [
            (peers.get((shape, name)) or math.nan) / line["ms_fit"] for shape, line in ours.items()
        ]
        places = [y + (i - (len(names) - 1) / 2) * height for y in range(len(ours))]
        axes.barh(places, ratios, height, label=name)
    axes.set(
        xscale="log",
        xlim=(1, None),
        xlabel="time of a pass relative to rekmeans, mean of 20 passes",
        yticks=range(len(ours)),
    )
    axes.set_yticklabels(ours)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.invert_yaxis()
    axes.legend(fontsize="small", loc="lower right")
    figure.savefig(picture, dpi=150)
