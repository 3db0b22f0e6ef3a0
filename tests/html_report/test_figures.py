"""The figures and the page show the contents of a summary."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from rekmeans import RectifiedEulerKMeans
from rekmeans.analysis.summary import summary
from rekmeans.html_report.figures import (
    all_figures,
    circle_figures,
    classes_figure,
    kappa_figure,
    profile_figures,
    projection_figure,
)
from rekmeans.html_report.html import render_page

ODD = ["<script>alert(1)</script>", "$a_1$", "#202a33", 'x" id="q', "a & b", "数", "-->"]


@pytest.fixture(scope="module")
def drawn_summary(dirty_wine):
    """Return a summary with unusual column names, its figures and its page."""
    X = dirty_wine[0][:, :7]
    model = RectifiedEulerKMeans(3, random_state=0, scale="range").fit(X)
    contents = summary(model, X, names=ODD)
    return contents, all_figures(contents), render_page(contents)


def parts(figure, tag):
    """Return the elements of a figure with a tag, which also checks that it is well-formed."""
    return list(ET.fromstring(figure).iter(tag))


def test_figures_have_a_mark_for_each_item(drawn_summary):
    contents, shown, _ = drawn_summary
    # rows and three centroids
    assert len(parts(shown["map"], "use")) == len(contents["map"]["points"]) + 3
    assert sum(len(parts(figure, "use")) for figure in shown["profile"]) == 3 * 7
    bars = [p for p in parts(shown["sizes"], "path") if "var(--c" in p.get("style", "")]
    assert len(bars) == 3
    for figure, one in zip(shown["circles"], contents["circles"]["features"], strict=True):
        strokes = [
            p.get("d").count("M")
            for p in parts(figure, "path")
            if "stroke-width: 0.9" in p.get("style", "")
        ]
        assert sum(strokes) == sum(t is not None for t in one["turns"])
    assert len(parts(shown["history"], "use")) >= len(contents["history"]["inertia"])
    assert len(shown["circles"]) == 6


def test_names_from_the_table_are_escaped(drawn_summary):
    _, shown, page = drawn_summary
    text = [t.text for figure in shown["profile"] for t in parts(figure, "text")]
    assert set(ODD) <= set(text)
    assert "<script" not in page
    assert "alert(1)" in page


def test_ids_are_unique_and_nothing_external_is_referenced(drawn_summary):
    page = drawn_summary[2]
    names = re.findall(r'<[^>]* id="([^"]+)"', page)
    assert len(names) == len(set(names))
    assert set(re.findall(r'(?:url\(|href=")#([\w-]+)', page)) <= set(names)
    assert not re.findall(r'(?:src|href)="(?!#|data:)', page)


def test_the_page_of_many_clusters_is_smaller_than_a_megabyte():
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 16))
    y = random.integers(0, 26, 4000)
    contents = summary(RectifiedEulerKMeans(26, random_state=0).fit(X), X, y=y)
    assert len(render_page(contents)) < 1_000_000
    assert (
        len(parts(profile_figures(contents)[0], "image"))
        == len(parts(classes_figure(contents), "image"))
        == 1
    )
    assert len(parts(kappa_figure(contents), "use")) >= 2 * 26


def test_the_projection_numbers_the_largest_clusters():
    random = np.random.default_rng(0)
    X = np.concatenate(
        [
            np.repeat(np.arange(50.0)[:, None], 2, axis=1),
            random.permutation(50)[:45, None].repeat(2, 1),
        ]
    )
    contents = summary(RectifiedEulerKMeans(50, random_state=0, scale="range").fit(X), X)
    shown = sorted(np.argsort(-np.array(contents["sizes"]), kind="stable")[:40].tolist())
    assert shown != list(range(40))
    numbers = [t.text.strip() for t in parts(projection_figure(contents), "text")]
    assert [int(t) for t in numbers if t.isdigit()] == shown
    assert "The numbers mark the centroids of the 40 largest of 50 clusters." in render_page(
        contents
    )


@pytest.mark.parametrize("k", [10, 11])
def test_the_caption_explains_marks_without_numbers(k):
    X = np.random.default_rng(0).normal(size=(200, 2))
    contents = summary(RectifiedEulerKMeans(k, random_state=0).fit(X), X)
    numbers = {t.text.strip() for t in parts(circle_figures(contents)[0], "text")}
    numbered = {str(c) for c in range(k)} <= numbers
    assert numbered == (k == 10)
    assert ("too many to number" in render_page(contents)) != numbered
