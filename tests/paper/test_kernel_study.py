"""The kernel study on half-moons, end to end, compared with separate fits."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem

from rekmeans import EulerKMeans, KernelKMeans, normalized_mutual_info, representation_score
from rekmeans.cli import status
from rekmeans_paper import datasets, kernel_study, kernel_study_fits
from rekmeans_paper.fit_records import fingerprint_datasets, run_fits
from rekmeans_paper.kernel_study import KERNEL_STUDY, study_kernels
from rekmeans_paper.kernel_study_fits import KernelPlan, add_gross_errors
from rekmeans_paper.kernel_study_tables import KERNEL_TABLES, breaking_share

TINY = KernelPlan(
    sets=(datasets.MOONS,),
    error_sets=(datasets.MOONS,),
    rows=120,
    starts=1,
    rectification_starts=1,
    draws=1,
    alphas=(0.3, 1.8),
    multiples=(0.25, 4.0),
    clusters=(2, 10),
    steep=2.0,
    shares=(0.1, 0.4),
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Run the study in this process and return its folder and results."""
    pytest.importorskip("jinja2")
    folder = tmp_path_factory.mktemp("kernel_study")
    return folder, study_kernels(folder, TINY, workers=1)


@pytest.fixture(scope="module")
def moons():
    """Return the sample of half-moons that the study uses."""
    data = datasets.half_moons()
    sample = np.random.default_rng(0).permutation(len(data.X))[:120]
    return data.X[sample].astype(float), data.y[sample]


def test_the_folder_contains_the_page_the_tables_and_the_figures(study):
    folder, results = study
    wanted = {
        "index.html",
        "results.json",
        *results["figures"],
        *(f"{name}.csv" for name in KERNEL_TABLES),
    }
    assert {path.name for path in folder.iterdir()} == wanted
    assert json.loads((folder / "results.json").read_text()) == json.loads(json.dumps(results))
    page = (folder / "index.html").read_text()
    assert all(f"<h2>{table.title}</h2>" in page for table in KERNEL_TABLES.values())
    assert page.count("<figure>") == len(results["figures"]) / 2
    assert "reproduced" not in page
    assert all(
        (folder / name).read_bytes()[1:4] == b"PNG"
        for name in results["figures"]
        if name.endswith("png")
    )
    with (folder / "robustness.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["nmi"]) for row in rows] == [
        row["nmi"] for row in results["tables"]["robustness"]
    ]


def row(results, table, **wanted):
    (match,) = [
        row
        for row in results["tables"][table]
        if all(row[name] == value for name, value in wanted.items())
    ]
    return match


@pytest.mark.parametrize(("kernel", "width"), [("euler", 1.8), ("rbf", 4.0), ("laplace", 0.25)])
def test_deviation_and_score_equal_those_of_a_separate_fit(study, moons, kernel, width):
    X, _ = moons
    auto = KernelKMeans(2, kernel=kernel, beyond="clip", random_state=0).fit(X)
    steep = {"alpha": width} if kernel == "euler" else {"gamma": width * auto.gamma_}
    model = KernelKMeans(
        2, kernel=kernel, centroids="mean", beyond="clip", random_state=0, **steep
    ).fit(X)
    found = row(study[1], "widths", kernel=kernel, width=width)
    assert found["kappa"] == pytest.approx(model.deviation_.mean(), rel=1e-5)
    assert found["score"] == pytest.approx(representation_score(model, X), rel=1e-5)


def test_an_explicit_map_uses_the_same_gamma_and_rows(study, moons):
    X, y = moons
    gamma = KernelKMeans(2, kernel="laplace", beyond="clip", random_state=0).fit(X).gamma_
    scale = KernelKMeans(2, kernel="linear", beyond="clip", random_state=0).fit(X).kernel_
    F = Nystroem("laplacian", gamma=gamma, n_components=120, random_state=0).fit_transform(
        scale.embed(X)
    )
    labels = KMeans(2, n_init=1, random_state=0).fit_predict(F)
    found = row(study[1], "rectification", method="laplace Nystroem", width=1.0)
    assert found["nmi"] == pytest.approx(normalized_mutual_info(y, labels), rel=1e-5)


def test_rows_in_which_every_cell_is_an_error_are_not_scored(study, moons):
    X, y = moons
    dirty, clean = add_gross_errors(X, "rows", 0.4, 0)
    with pytest.warns(UserWarning, match="no kept value"):
        labels = EulerKMeans(2, n_init=3, random_state=0).fit(dirty).labels_
    found = row(
        study[1], "robustness", method="EulerK", beyond="ignore", errors_in="rows", share=0.4
    )
    assert found["nmi"] == pytest.approx(normalized_mutual_info(y[clean], labels[clean]), abs=1e-6)
    assert_array_equal(dirty[clean], X[clean])
    assert 0.2 < 1 - clean.mean() < 0.6


def test_every_method_has_every_share_and_the_clean_fit_counts_for_both_kinds(study):
    rows = study[1]["tables"]["robustness"]
    assert len(rows) == len(kernel_study_fits.ROBUST) * 2 * 3
    for method in {row["method"] for row in rows}:
        clean = [
            row["nmi"]
            for row in rows
            if row["method"] == method and row["share"] == 0 and row["beyond"] != "wrap"
        ]
        assert len(clean) == 2
        assert clean[0] == clean[1]


@pytest.mark.parametrize(
    ("course", "where"),
    [
        ({0.0: 0.8, 0.1: 0.41, 0.2: 0.39, 0.3: 0.5}, "20%"),
        ({0.0: 0.8, 0.2: 0.1, 0.1: 0.1}, "10%"),
        ({0.0: 0.8, 0.1: 0.4}, "never"),  # half is not below half
    ],
)
def test_a_method_breaks_where_it_first_falls_below_half(course, where):
    assert breaking_share(course) == where


def test_the_claims_hold_on_half_moons(study):
    claims = {row["claim"]: row for row in study[1]["tables"]["claims"]}
    for claim in (
        "means deviate less as the kernel flattens",
        "means deviate less as the number of clusters grows",
    ):
        assert claims[claim]["verdict"] == "holds"
        assert claims[claim]["of"] == 3
    assert claims["the representation score lies between 0 and 1"]["of"] == 12


def test_two_workers_give_the_same_records():
    fits = [
        kernel_study_fits.KernelFit(datasets.MOONS, "gross errors", method, share=0.1)
        for method in ("REK", "rectified RBF, wrap")
    ]
    kind = KERNEL_STUDY.fit_kind(replace(TINY, rows=90))
    present = fingerprint_datasets([datasets.MOONS])[0]
    assert run_fits(fits, kind, present, workers=2) == run_fits(fits, kind, present, workers=1)


def test_nothing_is_written_if_one_file_cannot_be_written(tmp_path):
    (tmp_path / "breaks.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"breaks\.csv is a directory"):
        study_kernels(tmp_path, TINY, ["breaks"], workers=1)
    assert [path.name for path in tmp_path.iterdir()] == ["breaks.csv"]


def test_an_unknown_table_raises_before_anything_runs(tmp_path):
    with pytest.raises(ValueError, match=r"unknown table 'nmi'\. Choose from claims, "):
        study_kernels(tmp_path, TINY, ["nmi"])


def test_the_command_computes_the_requested_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(kernel_study, "KERNEL_STUDY", replace(KERNEL_STUDY, quick=TINY))
    out = tmp_path / "there"
    assert (
        status(
            [
                "reproduce",
                "--kernels",
                "--quick",
                "--only",
                "clusters",
                "--out",
                str(out),
                "--workers",
                "1",
            ]
        )
        == 0
    )
    assert {path.name for path in out.iterdir()} >= {
        "index.html",
        "clusters.csv",
        "deviation_clusters.png",
    }
    assert str(out / "index.html") in capsys.readouterr().out.replace("\n", "")
