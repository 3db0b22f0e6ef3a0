"""Numbers and names as text."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rekmeans import EulerKMeans, RectifiedEulerKMeans
from rekmeans.analysis.number_format import format_number, shorten_name
from rekmeans.analysis.summary import summary
from rekmeans.html_report.figures import history_figure
from rekmeans.html_report.html import render_page


def edge_tables():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    hole, far = X.copy(), X.copy()
    hole[:, 1], far[:5] = np.nan, 1e7
    yield "one row", RectifiedEulerKMeans(1), X[:1]
    yield "constant", RectifiedEulerKMeans(1), np.ones((5, 2))
    yield "k = n", RectifiedEulerKMeans(6), X[:6]
    yield "one column", EulerKMeans(2), X[:, :1]
    yield "a column of NaN", RectifiedEulerKMeans(3), hole
    yield "far rows", RectifiedEulerKMeans(3), far
    yield "bare map, many turns", EulerKMeans(3, scale=None, alpha=5.0), X
    yield "40 clusters", RectifiedEulerKMeans(40), X
    yield "100 columns", RectifiedEulerKMeans(2), random.normal(size=(30, 100))


@pytest.mark.filterwarnings("ignore:.*take no part")
@pytest.mark.parametrize(("model", "X"), [pytest.param(m, X, id=name) for name, m, X in edge_tables()])
def test_edge_tables_have_a_report_too(model, X):
    told = summary(model.fit(X), X)
    assert sum(told["sizes"]) == len(X)
    assert len(told["map"]["points"]) == len(X)
    assert np.isfinite(told["map"]["points"]).all()
    assert all(0 <= f["separation"] <= 1 for f in told["features"])
    assert f"<dd>{len(X)}</dd>" in render_page(told)


def test_a_model_without_its_history_is_reported_without_it():
    X = load_wine().data
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    whole = summary(model, X)
    for name in ("history_", "labels_", "n_iter_", "inertia_"):
        delattr(model, name)
    told = summary(model, X)
    assert told["method"]["passes"] is None
    assert history_figure(told) is None
    ours = dict.fromkeys(("own_fit", "history", "method", "repeat"), 0)
    assert (told | ours) == (whole | ours)
    assert "after each pass" not in render_page(told)


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [(3.0, 2.95, "3.00"), (1103.2, 943, "1,103"), (0.29, 0.41, "0.290"), (-2.5, None, "\N{MINUS SIGN}2.5"),
     (-0.001, 3.0, "0.00"), (12345.6, None, "12,346"), (None, 1.0, "\N{EN DASH}"), (1e-9, 1e-9, "1e\N{MINUS SIGN}09")],
)  # fmt: skip
def test_numbers_for_people(value, width, text):
    assert format_number(value, width) == text


def test_long_names_keep_both_ends():
    assert shorten_name("a rather long column name number 17", 20) == "a rather long…ber 17"
    assert shorten_name("short", 20) == "short"
