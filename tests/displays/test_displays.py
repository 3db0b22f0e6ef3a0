"""The artists of the displays match the model and plain NumPy."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine, make_moons
from sklearn.exceptions import NotFittedError

mpl.use("agg")
import matplotlib.pyplot as plt

import rekmeans
from rekmeans import (
    EulerKMeans,
    EulerMap,
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    NeuralGas,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
)
from rekmeans.analysis.summary import summary
from rekmeans.displays import (
    CircleDisplay,
    GraphDisplay,
    HistoryDisplay,
    ProfileDisplay,
    SurfaceDisplay,
    UMatrixDisplay,
)
from rekmeans.displays._style import COLOURS, cluster_colour, cluster_marker


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine():
    X = load_wine(as_frame=True).data
    return RectifiedEulerKMeans(3, random_state=0).fit(X), X


@pytest.fixture(scope="module")
def moons():
    X = make_moons(300, noise=0.1, random_state=0)[0]
    return X, {rule: rule(4, random_state=0).fit(X) for rule in (EulerKMeans, RectifiedEulerKMeans)}


def test_matplotlib_is_imported_with_the_first_display():
    code = (
        "import sys, rekmeans; assert 'matplotlib' not in sys.modules and 'jinja2' not in "
        "sys.modules; "
        "rekmeans.CircleDisplay; assert 'matplotlib' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert rekmeans.ProfileDisplay is ProfileDisplay
    with pytest.raises(AttributeError, match="no attribute 'PieDisplay'"):
        getattr(rekmeans, "PieDisplay")  # noqa: B009


@pytest.mark.parametrize(
    ("library", "use"),
    [
        ("matplotlib", "import rekmeans; rekmeans.CircleDisplay"),
        ("jinja2", "import rekmeans.html_report.html"),
    ],
)
def test_without_a_library_the_error_names_the_extra(library, use):
    code = f"import sys; sys.modules[{library!r}] = None; {use}"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.returncode == 1
    assert finished.stderr.strip().endswith("pip install 'rekmeans[report]'.")


def test_profile_centres_are_relative_to_the_quantiles(wine):
    model, X = wine
    display = ProfileDisplay.from_estimator(model, X, features=[6, 12, 2])
    assert [f["name"] for f in display.features] == ["flavanoids", "proline", "ash"]
    low, high = model.kernel_.scale.bounds
    inside = X.where((low <= X) & (high >= X))
    q05, q95 = (inside.quantile(q).to_numpy()[[6, 12, 2]] for q in (0.05, 0.95))
    for c, line in enumerate(display.marks_):
        assert_allclose(
            line.get_xdata(), (model.cluster_centers_[c, [6, 12, 2]] - q05) / (q95 - q05)
        )
        assert line.get_color() == cluster_colour(c)
    assert display.figure_ is display.ax_.figure


def test_profile_of_many_clusters_is_a_table_of_shades(wine):
    X = wine[1]
    display = ProfileDisplay.from_estimator(RectifiedEulerKMeans(12, random_state=0).fit(X), X)
    (image,) = display.marks_
    shades = np.asarray(image.get_array())
    assert shades.shape == (13, 12, 4)
    f = display.features[0]
    z = 2 * (np.array(f["centres"]) - f["q05"]) / (f["q95"] - f["q05"]) - 1
    assert_allclose(shades[0, :, 3], np.minimum(np.abs(z), 1))
    assert_array_equal(shades[0, :, 0] > 0.5, z > 0)  # red above the middle, blue below


def test_circle_strokes_are_at_the_angles_of_the_mapped_rows(wine):
    model, X = wine
    axes = plt.subplots(1, 2)[1]
    display = CircleDisplay.from_estimator(model, X, features=[6, 11], ax=axes)
    assert list(display.ax_) == list(axes)
    F = EulerMap().fit_transform(X)
    for at, j in enumerate((6, 11)):
        for c in range(3):
            x, y = (v.reshape(-1, 3)[:, 0] for v in display.ticks_[3 * at + c].get_data())
            own = F[model.labels_ == c][:, [j, 13 + j]]
            own = own[(own != 0).any(axis=1)]  # without missing and ignored values
            assert_allclose(np.stack([x, y], axis=1) / np.hypot(x, y)[:, None], own, atol=2e-4)
    (one,) = CircleDisplay.from_estimator(model, X, features=6).circles["features"]
    assert_allclose(np.array(one["centroids"]) @ [1, 1j], model.centroids_[:, 6], atol=1e-6)


def test_circle_bars_of_many_clusters_count_the_rows(wine):
    X = wine[1]
    display = CircleDisplay.from_estimator(
        RectifiedEulerKMeans(12, random_state=0).fit(X), X, features=0
    )
    (bars,) = display.ticks_
    x, y = (v.reshape(-1, 3) for v in bars.get_data())
    length = np.hypot(x[:, 1], y[:, 1]) - np.hypot(x[:, 0], y[:, 0])
    turns = np.array(display.circles["features"][0]["turns"])
    counts = np.bincount((turns * 24).astype(int), minlength=48)
    assert_allclose(length / length.max(), counts[counts > 0] / counts.max())


def test_history_is_the_objective_of_each_pass(wine):
    display = HistoryDisplay.from_estimator(wine[0])
    passes, objective = display.line_.get_data()
    assert_array_equal(objective, wine[0].history_["inertia"])
    assert_array_equal(passes, np.arange(1, len(objective) + 1))


@pytest.mark.parametrize("rule", [EulerKMeans, RectifiedEulerKMeans])
def test_surface_matches_the_predictions(moons, rule):
    X = moons[0]
    model = moons[1][rule]
    display = SurfaceDisplay.from_estimator(model, X)
    x, y = display.grid
    points = np.stack([m.ravel() for m in np.meshgrid(x, y)], axis=1)
    assert_array_equal(display.response.ravel(), model.predict(points))
    assert_allclose(display.rows, X)
    for (p, q), borders in display.borders_.items():
        corners = np.concatenate([path.vertices for path in borders.get_paths()])
        inside = corners[np.isin(model.predict(corners), (p, q))]
        D = model.transform(inside)[:, [p, q]]
        # points on the border are equally far from both centroids
        assert_allclose(D[:, 0], D[:, 1], atol=2e-3)


def test_surface_treats_other_columns_as_missing(wine):
    model, X = wine
    display = SurfaceDisplay.from_estimator(model, X, features=(6, 12))
    grid = np.full((300, 13), np.nan)
    grid[:, 6], grid[:, 12] = display.grid[0], display.grid[1][150]
    with pytest.warns(UserWarning, match="valid feature names"):
        assert_array_equal(display.response[150], model.predict(grid))
    assert display.ax_.get_xlabel() == "flavanoids"


@pytest.fixture(scope="module")
def node_map():
    X, y = load_wine(return_X_y=True)
    return SelfOrganizingMap((4, 5), random_state=0).fit(X), X, y


def test_u_matrix_shows_distances_between_nodes_and_row_counts(node_map):
    model, _, y = node_map
    display = UMatrixDisplay.from_estimator(model, labels=y)
    m = model.centroids_.reshape(4, 5, -1)
    own = model.labels_
    between = [
        np.sqrt((np.abs(m[r, c] - m[s]) ** 2).sum() / 2)
        for r, c, s in ((1, 2, (0, 2)), (1, 2, (2, 2)), (1, 2, (1, 1)), (1, 2, (1, 3)))
    ]
    shown = np.asarray(display.image_.get_array())
    assert_allclose(shown[1, 2], np.mean(between), rtol=1e-6)
    assert_allclose(
        shown[0, 0],
        np.mean([np.sqrt((np.abs(m[0, 0] - m[s]) ** 2).sum() / 2) for s in ((0, 1), (1, 0))]),
    )
    for node in range(20):
        row, column = divmod(node, 5)
        assert display.counts[row, column] == (own == node).sum()
        classes = np.bincount(y[own == node], minlength=3)
        assert display.winners[row, column] == (classes.argmax() if classes.any() else -1)
    drawn = {c: {tuple(p) for p in marks.get_offsets()} for c, marks in enumerate(display.marks_)}
    assert drawn == {c: {(x, y) for y, x in np.argwhere(display.winners == c)} for c in range(3)}
    sizes = np.concatenate([marks.get_sizes() for marks in display.marks_])
    counts = np.concatenate([display.counts[display.winners == c] for c in range(3)])
    assert_allclose(sizes / sizes.max(), counts / counts.max())


def test_u_matrix_counts_other_rows(node_map):
    model, X, _ = node_map
    display = UMatrixDisplay.from_estimator(model, X[:7])
    assert_array_equal(display.counts.ravel(), np.bincount(model.predict(X[:7]), minlength=20))
    assert display.winners is None
    with_empty = np.r_[X[:7], np.full((2, X.shape[1]), np.nan)]
    with pytest.warns(UserWarning, match="2 of 9 rows have no observed value"):
        more = UMatrixDisplay.from_estimator(model, with_empty, labels=np.arange(9) % 2)
    assert_array_equal(more.counts, display.counts)
    assert_array_equal(more.winners >= 0, display.counts > 0)
    with pytest.raises(
        ValueError,
        match=r"^labels must have one label for each of the 7 rows; got an array of shape \(178,\)",
    ):
        UMatrixDisplay.from_estimator(model, X[:7], labels=node_map[2])


def test_graph_joins_the_two_nearest_prototypes_of_rows():
    X = make_moons(300, noise=0.05, random_state=0)[0]
    model = NeuralGas(12, random_state=0).fit(X)
    display = GraphDisplay.from_estimator(model, X)
    D = model.transform(X)
    pairs, rows = np.unique(
        np.sort(np.argsort(D, axis=1)[:, :2], axis=1), axis=0, return_counts=True
    )
    segments = {
        tuple(map(tuple, ends)): w
        for ends, w in zip(
            display.lines_.get_segments(), display.lines_.get_linewidths(), strict=True
        )
    }
    assert len(segments) == len(pairs)
    for (p, q), count in zip(pairs, rows, strict=True):
        width = segments[tuple(model.cluster_centers_[p]), tuple(model.cluster_centers_[q])]
        assert_allclose(width / max(segments.values()), np.sqrt(count / rows.max()))
    assert_allclose(np.stack(display.marks_.get_data(), axis=1), model.cluster_centers_)


@pytest.mark.parametrize("features", [(0, 2), (0,), (-1, 0), ("a", "b")], ids=str)
def test_a_graph_needs_two_columns(features):
    model = NeuralGas(2, random_state=0).fit(np.arange(12.0).reshape(6, 2))
    with pytest.raises(ValueError, match=r"^features must be two column numbers from 0 to 1; got "):
        GraphDisplay.from_estimator(model, features=features)


def test_displays_raise_for_models_that_they_do_not_support(wine):
    model, X = wine
    with pytest.raises(
        TypeError,
        match=r"^UMatrixDisplay supports only SelfOrganizingMap; got RectifiedEulerKMeans",
    ):
        UMatrixDisplay.from_estimator(model)
    with pytest.raises(
        TypeError, match=r"^GraphDisplay supports only NeuralGas; got RectifiedEulerKMeans"
    ):
        GraphDisplay.from_estimator(model)
    for other in (KernelKMeans(3, kernel="rbf"), MahalanobisFuzzyCMeans(3, max_iter=2)):
        fitted = other.set_params(random_state=0).fit(X)
        for display in (*TABLE_DISPLAYS, summary):
            with pytest.raises(
                TypeError,
                match=r"support only the Euler kernel; got a fitted .* with another kernel",
            ):
                getattr(display, "from_estimator", display)(fitted, X)
    with pytest.raises(TypeError, match=r"^reports support only hard clustering, got FuzzyCMeans"):
        summary(FuzzyCMeans(3, random_state=0).fit(X), X)


@pytest.mark.parametrize("rule", ["mean", "rectified"])
def test_kernel_k_means_with_the_euler_kernel_is_drawn_like_euler_k_means(moons, rule):
    twin = {"mean": EulerKMeans, "rectified": RectifiedEulerKMeans}[rule]
    X = moons[0]
    model = KernelKMeans(4, kernel="euler", centroids=rule, random_state=0).fit(moons[0])
    ours, theirs = (SurfaceDisplay.from_estimator(fitted, X) for fitted in (model, moons[1][twin]))
    assert_array_equal(ours.response, theirs.response)
    assert list(ours.sides) == list(theirs.sides)
    for pair, side in ours.sides.items():
        assert_array_equal(side, theirs.sides[pair])


TABLE_DISPLAYS = [CircleDisplay, ProfileDisplay, SurfaceDisplay]  # from_estimator takes a table


@pytest.mark.parametrize("display", [*TABLE_DISPLAYS, HistoryDisplay, UMatrixDisplay, GraphDisplay])
def test_an_unfitted_model_raises(display, wine):
    table = (wine[1],) if display in TABLE_DISPLAYS else ()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        display.from_estimator(RectifiedEulerKMeans(3), *table)


@pytest.mark.parametrize(
    "features", [[], [13], [0, 13], [-1, 0], ["hue", "ash"], [0.5, 1.0], [[0], [1]]], ids=str
)
@pytest.mark.parametrize("display", TABLE_DISPLAYS)
def test_unknown_columns_raise(display, features, wine):
    with pytest.raises(
        ValueError, match=r"^features must be column numbers from 0 to 12, got .*: .*\.$"
    ):
        display.from_estimator(*wine, features=features)


@pytest.mark.parametrize("features", [[3], [0, 1, 2]], ids=str)
def test_a_surface_needs_two_columns(features, wine):
    with pytest.raises(ValueError, match=r"^features must be two column numbers, got \[.*\]"):
        SurfaceDisplay.from_estimator(*wine, features=features)


def test_a_surface_of_one_column_raises():
    X = np.arange(6.0)[:, None]
    with pytest.raises(
        ValueError, match=r"^SurfaceDisplay needs a table with at least two columns, got 1: "
    ):
        SurfaceDisplay.from_estimator(RectifiedEulerKMeans(2, random_state=0).fit(X), X)


@pytest.mark.parametrize(
    "names", [["a"], [f"c{j}" for j in range(14)], "abcdefghijklm", []], ids=len
)
@pytest.mark.parametrize("display", TABLE_DISPLAYS)
def test_names_need_one_name_per_column(display, names, wine):
    with pytest.raises(
        ValueError, match=r"^names must have one name for each of the 13 columns, got "
    ):
        display.from_estimator(*wine, names=names)


def test_clusters_differ_in_colour_or_marker():
    styles = {(cluster_colour(c), cluster_marker(c)) for c in range(60)}
    assert len(styles) == 60
    assert len({cluster_colour(c) for c in range(6)}) == len(COLOURS)
