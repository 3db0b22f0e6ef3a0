"""The command line gives the same results as the library."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rekmeans import (
    EulerKMeans,
    RectifiedEulerKMeans,
    __version__,
    clustering_accuracy,
    load,
    normalized_mutual_info,
)
from rekmeans.cli import bench
from support.command_line import COMMAND, OUTPUTS, Answer, is_input_error


def test_fit_gives_what_the_library_gives(wine, tmp_path):
    done = subprocess.run(
        [*COMMAND, "fit", "wine.csv", "-k", "3", "--label", "kind"],
        cwd=tmp_path,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    X = wine.drop(columns=["kind", "cellar"])
    y = wine["kind"]
    out = tmp_path / "wine-rekmeans"
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    assert sorted(path.name for path in out.iterdir()) == OUTPUTS
    labels = pd.read_parquet(out / "labels.parquet")
    assert_array_equal(labels["cluster"], model.labels_)
    assert_array_equal(labels["row"], np.arange(len(X)))
    stored = load(out / "model.safetensors")
    assert_array_equal(stored.feature_names_in_, X.columns)
    assert_array_equal(stored.transform(X), model.transform(X))
    summary = json.loads((out / "summary.json").read_text())
    assert summary["sizes"] == np.bincount(model.labels_).tolist()
    assert summary["classes"]["accuracy"] == clustering_accuracy(y, model.labels_)
    assert (out / "report.html").read_text().startswith("<!doctype html>")
    text = done.stdout.decode()
    assert f"accuracy {clustering_accuracy(y, model.labels_):.3f}" in text
    assert f"NMI {normalized_mutual_info(y, model.labels_):.3f}" in text
    assert "skipped: cellar (text)" in text


OPTIONS = {
    "eulerk": ("--method eulerk", EulerKMeans()),
    "map": ("--alpha 0.5 --scale range", RectifiedEulerKMeans(alpha=0.5, scale="range")),
    "clip": ("--beyond clip", RectifiedEulerKMeans(beyond="clip")),
    "paper": ("--alpha 0.01 --scale none", RectifiedEulerKMeans(alpha=0.01, scale=None)),
    "starts": ("--seed 7 --starts 3 --threads 1", RectifiedEulerKMeans(n_init=3, random_state=7)),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_reach_the_estimator(name, wine, rekmeans):
    words, model = OPTIONS[name]
    answer = rekmeans(
        "fit", "wine.csv", "-k", 4, "--drop", "kind", "--drop", "ash", "--json", *words.split()
    )
    model.set_params(n_clusters=4, random_state=model.random_state or 0).fit(
        wine.drop(columns=["kind", "cellar", "ash"])
    )
    found = json.loads(answer.out)
    assert answer.err == ""
    assert found["sizes"] == np.bincount(model.labels_, minlength=4).tolist()
    assert found["objective"] == model.inertia_
    assert found["skipped"] == {"kind": "dropped", "ash": "dropped", "cellar": "text"}


def test_json_is_one_object_and_names_the_files(wine, tmp_path, rekmeans):
    answer = rekmeans(
        "fit", "wine.csv", "-k", 3, "--label", "kind", "--out", "here", "--csv", "--json"
    )
    found = json.loads(answer.out)
    assert answer == (0, answer.out, "")
    assert found["labels"] == str(Path("here") / "labels.csv")
    assert len(pd.read_csv(tmp_path / found["labels"])) == found["rows"] == sum(found["sizes"])


def test_demo_needs_no_file(tmp_path, rekmeans):
    answer = rekmeans("fit", "--demo")
    assert answer.status == 0
    assert "3 clusters of 178 rows" in answer.out
    assert sorted(path.name for path in (tmp_path / "demo-rekmeans").iterdir()) == OUTPUTS


def test_predict_takes_columns_by_name(fitted, tmp_path, rekmeans):
    wine = fitted
    model = "wine-rekmeans/model.safetensors"
    other = wine.iloc[::-1, ::-1].assign(more=1.0)
    other.to_csv(tmp_path / "other.csv", index=False)
    answer = rekmeans("predict", model, "other.csv", "--json")
    expected = pd.read_parquet(tmp_path / "wine-rekmeans" / "labels.parquet")["cluster"].to_numpy()[
        ::-1
    ]
    assert answer.err == ""
    assert_array_equal(
        pd.read_parquet(tmp_path / json.loads(answer.out)["labels"])["cluster"], expected
    )
    np.save(tmp_path / "bare.npy", wine.drop(columns=["kind", "cellar"]).to_numpy())
    assert rekmeans("predict", model, "bare.npy", "--out", "bare.csv", "--quiet") == (0, "", "")
    assert_array_equal(pd.read_csv(tmp_path / "bare.csv")["cluster"], expected[::-1])
    other.drop(columns="hue").to_csv(tmp_path / "less.csv", index=False)
    assert is_input_error(rekmeans("predict", model, "less.csv"), "less.csv has no column", "hue")
    other.astype({"hue": str}).assign(hue="red").to_csv(tmp_path / "text.csv", index=False)
    assert is_input_error(rekmeans("predict", model, "text.csv"), "hue (text)")


def test_a_model_without_names_takes_columns_in_order(wine, tmp_path, rekmeans):
    X = wine.drop(columns=["kind", "cellar"])
    np.savez(tmp_path / "w.npz", X=X.to_numpy(), y=wine["kind"].to_numpy())
    fitted = json.loads(rekmeans("fit", "w.npz", "-k", 3, "--label", "y", "--json").out)
    assert fitted["accuracy"] > 0.9
    X.to_parquet(tmp_path / "named.parquet")
    assert rekmeans("predict", fitted["model"], "named.parquet").status == 0
    labels = (
        pd.read_parquet(tmp_path / name)["cluster"]
        for name in (fitted["labels"], "named-labels.parquet")
    )
    assert_array_equal(*labels)
    answer = rekmeans("predict", fitted["model"], "wine.csv")  # the model has no column `kind`
    assert is_input_error(answer, "13 columns of the model, got 14", "--drop")


def test_report_and_export_land_beside(fitted, tmp_path, rekmeans):
    import onnx

    model = "wine-rekmeans/model.safetensors"
    assert (
        rekmeans("report", model, "wine.csv", "--label", "kind").out == "report: wine-report.html\n"
    )
    assert "proline" in (tmp_path / "wine-report.html").read_text()
    assert rekmeans("export", model, "--onnx").out == "onnx: wine-rekmeans/model.onnx\n"
    onnx.checker.check_model(str(tmp_path / "wine-rekmeans" / "model.onnx"))
    assert is_input_error(rekmeans("export", model), "--onnx")


def test_what_is_left_out_is_said_with_the_option_of_the_command_line(tmp_path, rekmeans):
    rows = np.concatenate([np.random.default_rng(0).normal(size=(60, 2)), np.full((2, 2), 1e6)])
    pd.DataFrame(rows, columns=["a", "b"]).to_csv(tmp_path / "far.csv", index=False)
    answer = rekmeans("fit", "far.csv", "-k", 2)
    assert not answer.err
    assert (
        "2 of 62 rows have no kept value and do not influence the centroids. If these values are "
        "real, pass `--beyond clip`." in (" ".join(answer.out.split()))
    )
    left_out = json.loads(rekmeans("fit", "far.csv", "-k", 2, "--json").out)["left_out"]
    assert (left_out["beyond"], left_out["cells"]) == (4, 124)
    assert left_out["notes"][-1].startswith("2 of 62 rows")
    rows[:, 1] = 1e6
    pd.DataFrame(rows[:3], columns=["a", "b"]).to_csv(tmp_path / "few.csv", index=False)
    answer = rekmeans("fit", "few.csv", "-k", 3, "--json")
    assert answer.err.count("\n") == answer.err.count("warning: ")


def test_debug_shows_where(tmp_path, rekmeans):
    answer = rekmeans("fit", "none.csv", "-k", 2, "--debug")
    assert answer.status == 2
    assert "Traceback" in answer.err
    assert answer.err.splitlines()[-1].startswith("rekmeans: ")


def test_help_version_and_completion(tmp_path, rekmeans):
    assert rekmeans("--version").out == f"rekmeans {__version__}\n"
    page = rekmeans("--help").out
    assert all(
        f"│ {name} " in page for name in ("fit", "predict", "report", "export", "engines", "bench")
    )
    assert rekmeans("fit", "--help").status == 0
    asked = {
        "_REKMEANS_COMPLETE": "complete_bash",
        "COMP_WORDS": "rekmeans fit --met",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        COMMAND, cwd=tmp_path, env=os.environ | asked, capture_output=True, text=True
    )
    assert done.stdout.split() == ["--method"]


def test_engines_name_the_instruction_set(rekmeans):
    from rekmeans.engines.native import _core

    found = json.loads(rekmeans("engines", "--json").out)["engines"]
    assert _core.instruction_set(os.environ.get("REKMEANS_ISA", "")) in found["native"]
    assert set(found) == {"torch", "dask", "native", "reference"}
    assert "reference" in rekmeans("engines").out


def test_absent_libraries_are_named(tmp_path):
    run = (
        "import sys; sys.modules[{!r}] = None; from rekmeans.cli import status; "
        "sys.exit(status(['fit', '--demo']))"
    )
    for name in ("typer", "matplotlib"):
        done = subprocess.run(
            [sys.executable, "-c", run.format(name)], cwd=tmp_path, capture_output=True, text=True
        )
        assert is_input_error(
            Answer(done.returncode, done.stdout, done.stderr), name, "pip install 'rekmeans["
        )
    assert list(tmp_path.iterdir()) == []


def test_bench_compares_the_same_clustering(monkeypatch):
    monkeypatch.setattr(bench, "SIZES", ((3000, 4, 5), (2000, 3, 3)))
    for (n, d, k), race in zip(bench.SIZES, bench.races(), strict=True):
        assert race[:3] == (n, d, k)
        assert race.same > 0.999  # float32 rounding may move a row
        assert min(race.sklearn, race.rekmeans) > 0


def test_bench_makes_a_first_fit_at_the_defaults_of_both(monkeypatch):
    monkeypatch.setattr(bench, "FIRST_SIZES", ((400, 12, 2), (900, 16, 3)))
    for size, first in zip(bench.FIRST_SIZES, bench.first_fits(), strict=True):
        assert first[:3] == size
        assert min(first.sklearn, first.rekmeans) > 0
        assert first.rekmeans_score > 0.9
