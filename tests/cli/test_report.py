"""Reports written by commands, for other tables than that of the fit, and with skipped columns."""

import json
import re
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rekmeans import RectifiedEulerKMeans, clustering_accuracy, normalized_mutual_info, save
from rekmeans.analysis.summary import summary
from rekmeans.cli import main
from rekmeans.html_report.html import render_page


@pytest.fixture(scope="module")
def wine():
    """Return the wine table with its classes, and a model of its measurements."""
    frame = load_wine(as_frame=True).frame.rename(columns={"target": "kind"})
    return frame, RectifiedEulerKMeans(3, random_state=0).fit(frame.drop(columns="kind"))


@pytest.fixture
def answer(monkeypatch, capsys):
    """Return a function that runs a command and returns its JSON: answer("report", ...)."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["rekmeans", *map(str, words), "--json"])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        assert (end.value.code, printed.err) == (0, "")
        return json.loads(printed.out)

    return run


@pytest.fixture
def report_of(wine, tmp_path, answer):
    """Return a function that reports on a table and returns the summary and the page."""
    save(wine[1], tmp_path / "model.safetensors")

    def run(frame):
        frame.to_csv(tmp_path / "table.csv", index=False)
        found = answer(
            "report", tmp_path / "model.safetensors", tmp_path / "table.csv", "--label", "kind"
        )
        return found["summary"], Path(found["report"]).read_text(encoding="utf-8")

    return run


def tables(frame):
    """Yield other tables of the same wines by name."""
    yield "shuffled", frame.sample(frac=1, random_state=0)
    yield "fewer rows", frame.iloc[:50]
    yield (
        "some classes missing",
        frame.assign(kind=frame["kind"].astype("Int64").where(frame.index % 3 > 0)),
    )


@pytest.mark.parametrize("at", range(3), ids=["shuffled", "fewer rows", "some classes missing"])
def test_scores_are_those_of_this_tables_rows(at, wine, report_of):
    _, other = list(tables(wine[0]))[at]
    known = other["kind"].notna().to_numpy()
    y = other["kind"][known].astype(int)
    labels = wine[1].predict(other.drop(columns="kind"))[known]
    contents, text = report_of(other)
    assert contents["classes"]["accuracy"] == clustering_accuracy(y, labels) > 0.9
    assert contents["classes"]["nmi"] == normalized_mutual_info(y, labels)
    counts = [[int(((y == a) & (labels == c)).sum()) for c in range(3)] for a in np.unique(y)]
    assert contents["classes"]["counts"] == counts
    assert contents["classes"]["unknown"] == (~known).sum()
    assert f"<dd>{contents['classes']['accuracy']:.1%}</dd>" in text


def test_classes_that_are_all_missing_give_no_score(wine, report_of):
    contents, text = report_of(wine[0].assign(kind=np.nan))
    assert contents["classes"] is None
    assert "accuracy" not in text


def test_another_table_does_not_get_the_numbers_of_the_fit(wine, report_of):
    contents, text = report_of(wine[0].iloc[:2])
    assert not contents["own_fit"]
    assert contents["history"] == {}
    assert "assigns 2 rows with 13 columns to 3 clusters" in text
    assert "model fitted on another table" in text
    assert not any(
        words in text
        for words in ("iteration time", "iterations</dt>", "after each iteration", "same table")
    )
    contents, text = report_of(wine[0])
    assert contents["own_fit"]
    assert contents["method"]["passes"] == wine[1].n_iter_
    assert "divided 178 rows with 13 columns into 3 clusters" in text
    assert "same table and settings" in text


def test_the_page_names_the_columns_left_out_and_why(wine, tmp_path, answer):
    frame = wine[0].assign(cellar="no. 1", nothing=np.nan, **{"<b>": "x"})
    frame.to_csv(tmp_path / "wine.csv", index=False)
    found = answer(
        "fit", tmp_path / "wine.csv", "-k", 3, "--drop", "kind", "--out", tmp_path / "out"
    )
    contents = json.loads(Path(found["summary"]).read_text(encoding="utf-8"))
    text = Path(found["report"]).read_text(encoding="utf-8")
    line = unescape(re.search(r"Skipped columns?: (.*?)\.</p>", text)[1])
    assert line.split(", ") == [f"{name} ({why})" for name, why in contents["skipped"].items()]
    assert {"kind", "cellar", "nothing", "<b>"} == set(contents["skipped"])
    assert "<b>" not in text


def test_many_columns_left_out_are_counted(wine):
    contents = summary(wine[1], wine[0].drop(columns="kind"))
    assert "Skipped column" not in render_page(contents)
    text = render_page(contents | {"skipped": {f"c{j}": "text" for j in range(100)}})
    assert "c39 (text) and 60 more.</p>" in text
