"""In the display of kept values, each cell is in a bar or counted as outside."""

import matplotlib

matplotlib.use("agg")

import numpy as np
import pytest

from rekmeans import KeptValuesDisplay, RectifiedEulerKMeans

X = np.random.default_rng(0).normal(size=(1000, 3))
X[:80, 1] += 40  # a group
X[100:140, 2] = np.random.default_rng(1).uniform(20, 900, 40)  # errors
X[:25, 0] = np.nan
X[:, 0] = np.where(np.isnan(X[:, 0]), np.nan, 7.0)  # one value


@pytest.fixture(scope="module")
def model():
    with pytest.warns(UserWarning, match="Ignored .* of column 2 as outliers"):
        return RectifiedEulerKMeans(2, random_state=0).fit(X)


@pytest.mark.parametrize(("feature", "n_intervals"), [(0, 1), (1, 2), (2, 1)])
def test_bars_and_counts_contain_every_cell(model, feature, n_intervals):
    display = KeptValuesDisplay.from_estimator(model, X, feature=feature, names=["a", "b", "c"])
    drawn = sum(bar.get_height() for bars in display.bars_ for bar in bars)
    n_outside = sum(int(text.get_text().split()[0]) for text in display.ax_.texts)
    assert len(display.bars_) == n_intervals
    outside = ~np.isnan(X[:, feature]) & ~model.scale_.inside(X)[:, feature]
    assert n_outside == outside.sum() == sum(display.histogram["left_out"])
    assert drawn + n_outside == np.count_nonzero(~np.isnan(X[:, feature]))
    assert display.ax_.get_title() == "abc"[feature]


def test_counts_match_numpy(model):
    histogram = KeptValuesDisplay.from_estimator(model, X, feature=1).histogram
    for interval in histogram["intervals"]:
        x = X[(X[:, 1] >= interval["low"]) & (X[:, 1] <= interval["high"]), 1]
        theirs = np.histogram(
            x, bins=len(interval["counts"]), range=(interval["low"], interval["high"])
        )[0]
        # an edge may belong to either bin
        assert np.abs(np.cumsum(interval["counts"]) - np.cumsum(theirs)).max() <= 1
    assert histogram["intervals"][1]["low"] > 30
