"""The paper again: REK1 = REK2 bit for bit, a small reproduction against stored results, runs that continue."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine

from rekmeans import RectifiedEulerKMeans, clustering_accuracy, normalized_mutual_info
from rekmeans.cli import status
from rekmeans.kernels.euler import CircleSums, OnCircles
from rekmeans_paper import angles, fit_records, published, reproduction_cells
from rekmeans_paper import reproduction_plans as plans
from rekmeans_paper import reproduction_tables as tables
from rekmeans_paper.methods import PAPER_METHODS, Case, count_rises, rek1, rek2, rek2_printed, starting_state
from rekmeans_paper.reproduction import REPRODUCTION, reproduce_paper
from rekmeans_paper.reproduction_cells import Cell
from rekmeans_paper.reproduction_plans import SCALINGS, Plan, Protocol
from support.models import euler, scale_of
from support.paths import DATA, ROOT
from support.reproduction import FEW, run_cells

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
    most_clusters=4,
)


@pytest.fixture
def wine_folder(tmp_path, monkeypatch):
    """REKMEANS_DATA is a folder that has wine and nothing else."""
    folder = tmp_path / "data"
    folder.mkdir()
    X, y = load_wine(return_X_y=True)
    np.savez(folder / "wine.npz", X=X.astype(np.float32), y=y)
    monkeypatch.setenv("REKMEANS_DATA", str(folder))
    reproduction_cells._scaled_rows.cache_clear()
    yield folder
    reproduction_cells._scaled_rows.cache_clear()


def wine_case(**changes):
    case = Case(load_wine().data, 3, 0.9, "range", "wrap", "random", 0)
    return replace(case, **changes)


def drawn_case(draw):
    """A small table with copies of rows, more clusters than groups, any map and start."""
    random = np.random.default_rng(draw)
    n, d, k = random.integers(12, 150), random.integers(1, 12), random.integers(1, 9)
    X = random.choice([random.random((n, d)), random.integers(0, 3, (n, d)), random.standard_t(1, (n, d))])
    scaling = SCALINGS[random.choice(["none", "range", "robust"])]
    alpha = float(random.choice([1e-4, 0.1, 0.9, 1.7, 50, 1e4]))
    init = str(random.choice(["random", "k-means++", "circle"]))
    return Case(X, int(k), alpha, scaling.scale, scaling.beyond, init, draw)


# --- the printed figures ---


def test_every_table_of_the_paper_has_its_eleven_sets():
    assert len(published.SETS) == 11
    assert len(published.ALPHAS) == 47 == len(set(published.ALPHAS))
    for measure in ("NMI", "ACC"):
        assert list(published.PUBLISHED[measure]) == ["EulerK", "REK1", "REK2"]
        for printed in published.PUBLISHED[measure].values():
            assert tuple(printed) == published.SETS
            assert all(0 < mean < 100 and 0 <= std < 3 for mean, std in printed.values())
    assert set(published.KAPPA) == {"halfmoon", *published.SETS}


def test_turning_the_columns_back_loses_no_figure_and_touches_nmi_only():
    for method in published.PRINTED_METHODS:
        as_printed, as_read = (
            [look("NMI", method, name) for name in published.SETS]
            for look in (published.printed_value, published.reference_value)
        )
        assert sorted(as_printed) == sorted(as_read)
        assert sum(a != b for a, b in zip(as_printed, as_read, strict=True)) == 3
    assert published.reference_value("ACC", "REK1", "yeast") == published.printed_value("ACC", "REK1", "yeast")
    assert tables.comparison(68.07, "NMI", "REK1", "isolet") == {
        "printed": 52.36, "printed_std": 0.0, "read": 68.07, "difference": 0.0, "verdict": "level",
    }  # fmt: skip


# --- the methods ---


@pytest.mark.parametrize("draw", range(60))
@pytest.mark.filterwarnings("ignore")
def test_rek2_in_angles_ends_where_rek1_ends_to_the_last_digit(draw):
    case = drawn_case(draw)
    ours, plain = rek1(case), rek2(case)
    assert_array_equal(ours.labels, plain.labels)
    assert ours.course == plain.course
    assert (ours.objective, ours.passes, ours.kappa) == (plain.objective, plain.passes, plain.kappa)


@pytest.mark.parametrize("alpha", [0.3, 0.9, 1.9, 300.0])
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_rek2_in_angles_is_rek1_on_wine(alpha, init):
    for seed in range(5):
        case = wine_case(alpha=alpha, init=init, seed=seed)
        assert rek1(case).course == rek2(case).course


@pytest.mark.parametrize("scaling", ["none", "range", "robust"])
@pytest.mark.parametrize("seed", range(3))
def test_wide_counts_give_the_same_bits_dense_and_sparse_by_both_loops(scaling, seed):
    X = np.random.default_rng(seed).poisson(0.14, (80, 400)) * 1.0
    X[0] = 0
    by = SCALINGS[scaling]
    case = Case(X, 4, 0.3, by.scale, by.beyond, "random", seed)
    assert sparse.issparse(angles.prepare_rows(starting_state(case)[0]).rest)
    first, *others = [method(replace(case, X=form)) for method in (rek1, rek2) for form in (X, sparse.csr_array(X))]
    assert len(first.course) > 1
    for other in others:
        assert_array_equal(other.labels, first.labels)
        assert other[1:] == first[1:]


def test_angles_and_quotients_round_to_the_same_grid_points_also_next_to_ties():
    random = np.random.default_rng(0)
    half = (random.integers(-(1 << 22), 1 << 22, 4000) + 0.5) / (1 << 23)  # cosines halfway between two grid points
    turn = np.stack([half, np.sqrt(1 - half**2) * random.choice([-1, 1], 4000)], axis=1)
    near = np.rint(turn * 2.0**52).astype(np.int64)
    far = random.integers(-(1 << 40), 1 << 40, (4000, 2))
    S = np.concatenate([near, near[:, ::-1], far])
    C = np.zeros_like(S, dtype=np.int32)
    sums = CircleSums(mass=np.ones(len(S), np.int64), totals=S, observed=np.ones((len(S), 1), np.int64))
    exact = euler(1.0, scale_of(None, S[:, :1])).rectify(sums, OnCircles(C)).f
    assert_array_equal(angles.rectified_points(S, C), exact)
    blind = angles._grid_points(np.arctan2(S[:, 1:], S[:, :1]) / np.pi, C)
    assert (blind != exact).any()  # an angle alone cannot tell
    assert_array_equal(blind[8000:], exact[8000:])


def test_a_pass_that_leaves_the_objective_as_it_was_is_dropped():
    """Where a mapped row f and its rectified form m differ, a start as far to the other side is as good as m."""
    rows, f = starting_state(Case(np.linspace(0.1, 0.15, 5000)[None], 1, 1.0, None, "wrap", "random", 0))
    m = angles.rectified_points(f.astype(np.int64), f)
    assert (m != f).any()
    course = angles.fit_angles(rows, 2 * f - m)
    assert len(course.objectives) == 1
    assert_array_equal(course.centroids, 2 * f - m)


@pytest.mark.parametrize("seed", range(5))
def test_the_printed_update_raises_the_objective(seed):
    case = wine_case(seed=seed)
    right, printed = rek2(case), rek2_printed(case)
    assert printed.course[0] == right.course[0]  # the same start
    assert count_rises(printed.course) > 0 == count_rises(right.course)


@pytest.mark.parametrize("seed", range(5))
def test_the_printed_update_is_right_where_every_sine_is_negative(seed):
    X = np.random.default_rng(seed).random((60, 4)) - 1.0  # -1 to 0
    case = Case(X, 3, 0.9, None, "wrap", "random", seed)
    right, printed = rek2(case), rek2_printed(case)
    assert_array_equal(printed.labels, right.labels)
    assert printed.course[: len(right.course)] == pytest.approx(right.course, rel=1e-9)


@pytest.mark.parametrize("method", ["EulerK", "REK1", "REK2", "REK2 printed"])
def test_the_objective_is_that_of_the_labels(method):
    """sum_c n_c sum_l (1 - R_cl), or half of 1 - R², of the labels found, by hand."""
    case = wine_case(alpha=0.7)
    outcome = PAPER_METHODS[method](case)
    X = case.X
    Z = np.exp(1j * np.pi * 0.7 * (X - X.min(axis=0)) / np.ptp(X, axis=0))
    loss = 0.0
    for c in np.unique(outcome.labels):
        R = np.abs(Z[outcome.labels == c].mean(axis=0))
        loss += (outcome.labels == c).sum() * (((1 - R**2) / 2) if method == "EulerK" else 1 - R).sum()
    if method == "REK2 printed":
        assert outcome.objective > loss * 1.01  # its centroids are not those of its labels
    else:
        assert outcome.objective == pytest.approx(loss, rel=1e-6)


def test_rows_are_scaled_to_sum_and_length_one_and_an_empty_row_stays():
    X = np.array([[3.0, 4.0], [0.0, 0.0], [-2.0, 2.0]])
    assert plans.row_sums_one(X).tolist() == [[3 / 7, 4 / 7], [0, 0], [-0.5, 0.5]]
    assert plans.row_lengths_one(X).tolist() == [[0.6, 0.8], [0, 0], [-2 / 8**0.5, 2 / 8**0.5]]


# --- the cells ---


def made(folder, workers=1):
    """The bytes of a finished run of FEW."""
    path = folder / "cells.jsonl"
    run_cells(FEW, path, workers)
    return path.read_bytes()


def test_a_record_says_what_the_estimator_found(wine_folder, tmp_path):
    found = run_cells(FEW, tmp_path / "cells.jsonl")
    X, y = load_wine(return_X_y=True)
    model = RectifiedEulerKMeans(3, alpha=0.5, scale="range", beyond="wrap", init="random", n_init=1, random_state=2)
    model.fit(X.astype(np.float32))
    record = found[Cell("wine", "range", "random", "REK1", 0.5, 0, 2)]
    assert record["acc"] == clustering_accuracy(y, model.labels_)
    assert record["nmi"] == normalized_mutual_info(y, model.labels_)
    assert (record["objective"], record["passes"]) == (model.inertia_, model.n_iter_)
    assert set(found) == set(FEW)


KILLED = """
import sys
from pathlib import Path
from support.reproduction import FEW, run_cells
def slow(done, total, what):
    print(done, flush=True)
    sys.stdin.readline()
run_cells(FEW, Path(sys.argv[1]), 1, slow)
"""


def test_a_killed_run_continues_to_the_same_bytes(wine_folder, tmp_path):
    whole = made(tmp_path / "whole")
    path = tmp_path / "killed" / "cells.jsonl"
    here = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdin=-1, stdout=-1, env=here, text=True)
    for _ in range(3):
        done = int(process.stdout.readline())
        if done < len(FEW):
            process.stdin.write("\n")
            process.stdin.flush()
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = path.read_bytes()
    assert 0 < len(left.splitlines()) < len(FEW)
    path.write_bytes(left[:-20])  # and its last line was cut short
    assert len(fit_records.load_records(path, Cell)) == len(left.splitlines()) - 1
    assert made(tmp_path / "killed") == whole


def test_two_workers_and_another_order_leave_the_same_bytes(wine_folder, tmp_path):
    whole = made(tmp_path / "one")
    path = tmp_path / "two" / "cells.jsonl"
    run_cells(FEW[40:], path)
    run_cells(reversed(FEW), path, 2)
    assert path.read_bytes() == whole


def test_records_of_other_data_are_made_anew(wine_folder, tmp_path):
    whole = made(tmp_path / "run")
    X, y = load_wine(return_X_y=True)
    X[0, 0] += 1
    np.savez(wine_folder / "wine.npz", X=X.astype(np.float32), y=y)
    reproduction_cells._scaled_rows.cache_clear()
    changed = made(tmp_path / "run")
    assert changed == made(tmp_path / "fresh") != whole


# --- the whole ---


def test_a_small_reproduction_gives_the_stored_results(wine_folder, tmp_path):
    results = reproduce_paper(tmp_path / "out", SMALL, workers=1)
    told = json.loads((tmp_path / "out" / "results.json").read_text())
    assert told["tables"] == json.loads(json.dumps(results["tables"]))
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"index.html", "results.json", "cells.jsonl", *(f"{name}.csv" for name in REPRODUCTION.tables)} <= names
    drawn = {"half_moons", "surfaces", "surfaces_plane", "starts_circle", "starts_random", "clusters", "alphas_range"}
    assert {f"{name}.{kind}" for name in drawn for kind in ("svg", "png")} <= set(told["figures"]) <= names
    for name in drawn:
        (text, picture) = ((tmp_path / "out" / f"{name}.{kind}").read_bytes() for kind in ("svg", "png"))
        wide, high = map(float, re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups())
        assert picture[:8] == b"\x89PNG\r\n\x1a\n"
        size = np.frombuffer(picture[16:24], ">u4")
        assert_allclose(size, np.array([wide, high]) / 72 * 150, atol=1)  # the same picture at 150 dots an inch
    page = (tmp_path / "out" / "index.html").read_text()
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)|url\((?!#)|@import""", page)  # it fetches nothing
    ours = {
        name: [row for row in rows if not row.get("method", "").startswith("k-means")]  # scikit-learn's bits may change
        for name, rows in told["tables"].items()
        if name != "datasets"
    }
    if os.environ.get("REKMEANS_STORE"):  # set it to store what is found now
        STORED.write_text("\n".join(_stored_lines(ours)) + "\n")
    assert ours == json.loads(STORED.read_text())


def test_the_page_of_the_docs_says_what_the_results_say(wine_folder, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import reproduction as docs

    results = reproduce_paper(tmp_path / "out", SMALL, [*docs.COLUMNS, "nmi", "acc"], workers=1)
    page = docs.page(results)
    (row,) = [r for r in results["tables"]["acc"] if (r["protocol"], r["method"]) == ("range", "REK1")]
    cell = f"{row['mean']:.1f} ± {row['std']:.1f} ({row['mean'] - row['read']:+.1f} to {row['read']:.1f})"
    (line,) = [line for line in page[page.index("### ACC, low") :].splitlines() if cell in line]
    assert line.startswith("| wine |")
    assert line.endswith(f"| {row['verdict']} | {row['alpha']:g} |")
    for name, columns in docs.COLUMNS.items():
        if name != "scaling":
            assert all(docs.table([row], columns).splitlines()[2] in page for row in results["tables"][name])
    assert "undefined" not in page.lower()


def _stored_lines(ours):
    """JSON with a line for each row."""
    for at, (name, rows) in enumerate(ours.items()):
        yield f'{"," if at else "{"} "{name}": ['
        yield ",\n".join(json.dumps(row) for row in rows)
        yield "]"
    yield "}"


def test_the_tables_say_what_their_records_say(wine_folder, tmp_path):
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
    assert all(row["same"] == row["fits"] > 0 < row["printed_rises"] for row in results["tables"]["equality"])
    shown = {row["number"]: row["verdict"] for row in results["tables"]["errata"]}
    assert [number for number, verdict in shown.items() if verdict == "shown"] == [*range(1, 7), 9, 10, 11]
    assert [row["found"] for row in results["tables"]["claims"]] == [*3 * ["2 of 2 cells"], "15 of 15 fits"]
    assert {row["set"] for row in results["tables"]["halves"]} == {"halfmoon", "wine"}


def test_the_command_writes_the_tables_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert status(["reproduce", "--quick", "--only", "moons", "--only", "clusters", "--out", "here", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told["tables"]) == ["moons", "clusters"]
    kappas = [row["kappa"] for row in told["tables"]["clusters"]]
    assert len(kappas) == 9
    assert kappas[0] > kappas[-1] > 0  # falls as K grows
    page = (tmp_path / "here" / "index.html").read_text()
    assert page.startswith("<!doctype html>")
    assert f'<td class="number ">{kappas[0]:.6g}</td>' in page


def test_a_table_that_is_not_there_is_refused_in_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert status(["reproduce", "--only", "nothing"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("rekmeans: there is no table 'nothing': choose from claims, datasets, ")
    assert len(told.splitlines()) == 1
    assert not list(tmp_path.iterdir())
