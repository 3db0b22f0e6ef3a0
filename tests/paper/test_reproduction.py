"""A small reproduction of the paper: stored results, the page and the command."""

import json
import os
import re

import numpy as np
from numpy.testing import assert_allclose

from rekmeans import RectifiedEulerKMeans, normalized_mutual_info
from rekmeans.cli import status
from rekmeans_paper.reproduction import REPRODUCTION, reproduce_paper
from rekmeans_paper.reproduction_plans import Plan, Protocol
from support.paths import DATA, ROOT

STORED = DATA / "reproduction_wine.json"
SMALL = Plan(
    low={
        "paper": Protocol("paper", "row L1", (10.0, 300.0), 2),
        "range": Protocol("range", "range", (0.5, 0.9, 5.0), 3, "k-means++"),
        "default": Protocol("default", "robust", (0.9,), 2, "k-means++", False),
    },
    low_sets=("wine",),
    high={},
    high_sets=(),
    search=Protocol("search", "none", (0.5, 300.0), 2),
    search_sets=("wine",),
    halves=4,
    max_clusters=4,
)


def test_a_small_reproduction_gives_the_stored_results(wine_folder, tmp_path):
    results = reproduce_paper(tmp_path / "out", SMALL, workers=1)
    contents = json.loads((tmp_path / "out" / "results.json").read_text())
    assert contents["tables"] == json.loads(json.dumps(results["tables"]))
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "index.html",
        "results.json",
        "cells.jsonl",
        *(f"{name}.csv" for name in REPRODUCTION.tables),
    } <= names
    drawn = {
        "half_moons",
        "surfaces",
        "surfaces_plane",
        "starts_circle",
        "starts_random",
        "clusters",
        "alphas_range",
    }
    assert (
        {f"{name}.{kind}" for name in drawn for kind in ("svg", "png")}
        <= set(contents["figures"])
        <= names
    )
    for name in drawn:
        (text, picture) = (
            (tmp_path / "out" / f"{name}.{kind}").read_bytes() for kind in ("svg", "png")
        )
        wide, high = map(float, re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups())
        assert picture[:8] == b"\x89PNG\r\n\x1a\n"
        size = np.frombuffer(picture[16:24], ">u4")
        # The PNG has 150 dots per inch.
        assert_allclose(size, np.array([wide, high]) / 72 * 150, atol=1)
    page = (tmp_path / "out" / "index.html").read_text()
    # The page loads no external resources.
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)|url\((?!#)|@import""", page)
    ours = {
        # The bits of scikit-learn may change.
        name: [row for row in rows if not row.get("method", "").startswith("k-means")]
        for name, rows in contents["tables"].items()
        if name != "datasets"
    }
    if os.environ.get("REKMEANS_STORE"):  # set this variable to store the new results
        STORED.write_text("\n".join(_stored_lines(ours)) + "\n")
    assert ours == json.loads(STORED.read_text())


def test_the_page_of_the_docs_matches_the_results(wine_folder, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import reproduction as docs

    results = reproduce_paper(tmp_path / "out", SMALL, [*docs.COLUMNS, "nmi", "acc"], workers=1)
    page = docs.page(results)
    (row,) = [
        r for r in results["tables"]["acc"] if (r["protocol"], r["method"]) == ("range", "REK1")
    ]
    cell = (
        f"{row['mean']:.1f} ± {row['std']:.1f} ({row['mean'] - row['read']:+.1f} to "
        f"{row['read']:.1f})"
    )
    (line,) = [line for line in page[page.index("### ACC, low") :].splitlines() if cell in line]
    assert line.startswith("| wine |")
    assert line.endswith(f"| {row['verdict']} | {row['alpha']:g} |")
    for name, columns in docs.COLUMNS.items():
        if name != "scaling":
            assert all(
                docs.table([row], columns).splitlines()[2] in page
                for row in results["tables"][name]
            )
    assert "undefined" not in page.lower()


def _stored_lines(ours):
    """Yield lines of JSON, one for each row."""
    for at, (name, rows) in enumerate(ours.items()):
        yield f'{"," if at else "{"} "{name}": ['
        yield ",\n".join(json.dumps(row) for row in rows)
        yield "]"
    yield "}"


def test_the_tables_match_their_records(wine_folder, tmp_path):
    wanted = ("claims", "nmi", "equality", "errata", "halves")
    results = reproduce_paper(tmp_path / "out", SMALL, wanted, workers=1)
    X, y = (np.load(wine_folder / "wine.npz")[name] for name in "Xy")
    models = [
        RectifiedEulerKMeans(3, alpha=alpha, scale="range", n_init=1, random_state=seed).fit(X)
        for alpha in (0.5, 0.9, 5.0)
        for seed in range(3)
    ]
    nmi = np.reshape([100 * normalized_mutual_info(y, model.labels_) for model in models], (3, 3))
    best = nmi.mean(axis=1).argmax()
    rows = results["tables"]["nmi"]
    (row,) = [row for row in rows if (row["protocol"], row["method"]) == ("range", "REK1")]
    assert (row["alpha"], row["mean"]) == ((0.5, 0.9, 5.0)[best], round(nmi[best].mean(), 2))
    assert (row["printed"], row["difference"]) == (49.35, round(row["mean"] - 49.35, 2))
    assert all(
        row["same"] == row["fits"] > 0 < row["printed_rises"]
        for row in results["tables"]["equality"]
    )
    shown = {row["number"]: row["verdict"] for row in results["tables"]["errata"]}
    assert [number for number, verdict in shown.items() if verdict == "shown"] == [
        *range(1, 7),
        9,
        10,
        11,
    ]
    assert [row["found"] for row in results["tables"]["claims"]] == [
        *3 * ["2 of 2 cells"],
        "15 of 15 fits",
    ]
    assert {row["set"] for row in results["tables"]["halves"]} == {"halfmoon", "wine"}


def test_the_command_writes_the_requested_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert (
        status(
            [
                "reproduce",
                "--quick",
                "--only",
                "moons",
                "--only",
                "clusters",
                "--out",
                "here",
                "--json",
            ]
        )
        == 0
    )
    contents = json.loads(capsys.readouterr().out)
    assert list(contents["tables"]) == ["moons", "clusters"]
    kappas = [row["kappa"] for row in contents["tables"]["clusters"]]
    assert len(kappas) == 9
    assert kappas[0] > kappas[-1] > 0  # falls as K grows
    page = (tmp_path / "here" / "index.html").read_text()
    assert page.startswith("<!doctype html>")
    assert f'<td class="number ">{kappas[0]:.6g}</td>' in page


def test_an_unknown_table_is_reported_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert status(["reproduce", "--only", "nothing"]) == 2
    contents = capsys.readouterr().err
    assert contents.startswith("rekmeans: unknown table 'nothing'. Choose from claims, datasets, ")
    assert len(contents.splitlines()) == 1
    assert not list(tmp_path.iterdir())
