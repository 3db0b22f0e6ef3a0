"""ONNX graphs give the labels of predict and the distances of transform."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine

from rekmeans import (
    EulerKMeans,
    EulerMap,
    FuzzyCMeans,
    RectifiedEulerKMeans,
    load,
    save,
    to_onnx,
)
from support.assertions import raises_mentioning
from support.euler import each_clusterer
from support.model_files import DIRTY, IGNORED_ROWS, WINE, dirty, each_map

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


# ONNX

LOW_DIMENSIONAL = {
    "iris": 3,
    "wine": 3,
    "seeds": 3,
    "yeast": 10,
    "pendigits": 10,
    "satimage": 6,
    "letter": 26,
    "isolet": 26,
}
# per column: change of the difference of two squared distances if a feature is rounded differently
TIES = 4 / 2**23


def table(name, shared_set):
    return load_iris().data if name == "iris" else WINE if name == "wine" else shared_set(name)[0]


def outputs(model, path, X):
    """Return the outputs of onnxruntime for the rows, by name."""
    to_onnx(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": np.asarray(X, np.float64)}), strict=True))


@each_clusterer
@pytest.mark.parametrize("beyond", ["ignore", "clip", "wrap"])
@pytest.mark.filterwarnings("ignore:.*no observed value")
def test_a_row_without_an_observed_value_has_the_label_minus_one(clusterer, beyond, tmp_path):
    X = dirty(WINE)
    X[[0, 7]] = np.nan
    model = clusterer(3, random_state=0, beyond=beyond).fit(X)
    X[9] = 1e9  # all values are outside the kept intervals
    out = outputs(model, tmp_path / "m.onnx", X)
    assert_array_equal(out["label"], model.predict(X))
    assert_array_equal(np.flatnonzero(out["label"] == -1), [0, 7])
    assert_allclose(out["distance"], model.transform(X), rtol=1e-12, atol=1e-7)


def assert_labels_but_for_ties(model, out, X):
    """Compare labels with predict up to ties; return how many rows differ, and how many tie."""
    D = np.sort(model.transform(X) ** 2, axis=1)
    margin = D[:, 1] - D[:, 0]
    differ = out["label"] != model.predict(X)
    assert (margin[differ] <= TIES * X.shape[1]).all()
    assert_allclose(out["distance"], model.transform(X), rtol=1e-7, atol=1e-7)
    return int(differ.sum()), int((margin <= TIES * X.shape[1]).sum())


@pytest.mark.parametrize("name", LOW_DIMENSIONAL)
@pytest.mark.filterwarnings(IGNORED_ROWS)
def test_onnx_labels_are_those_of_predict(name, shared_set, tmp_path):
    X = table(name, shared_set)
    for clusterer, scale, beyond in (
        (RectifiedEulerKMeans, "robust", "ignore"),
        (EulerKMeans, "robust", "clip"),
        (RectifiedEulerKMeans, None, "wrap"),
    ):
        params = {
            "alpha": 0.9 if scale else 0.9 / np.ptp(X),
            "scale": scale,
            "beyond": beyond,
            "random_state": 0,
        }
        model = clusterer(
            LOW_DIMENSIONAL[name], init="random", n_init=1, max_iter=20, **params
        ).fit(X)
        for rows in (X, dirty(X)):
            differ, close = assert_labels_but_for_ties(
                model, outputs(model, tmp_path / "model.onnx", rows), rows
            )
            print(
                f"{name} {clusterer.__name__} {beyond}: {differ} of {len(rows)} rows differ, "
                f"{close} in doubt"
            )
            assert differ == 0  # measured on every dataset: none


@each_clusterer
@each_map
@pytest.mark.filterwarnings(IGNORED_ROWS)
def test_onnx_distances_are_those_of_transform(clusterer, scale, beyond, tmp_path):
    model = clusterer(4, scale=scale, beyond=beyond, random_state=0).fit(WINE)
    for rows in (WINE, DIRTY, WINE[:1]):
        out = outputs(model, tmp_path / "model.onnx", rows)
        assert out["label"].dtype == np.int64
        assert_array_equal(out["label"], model.predict(rows))
        # 13 columns: the sums are exact as double too
        assert_array_equal(out["distance"], model.transform(rows))


@each_clusterer
def test_onnx_decides_rows_on_the_border_of_two_clusters_as_predict_does(clusterer, tmp_path):
    """Bisect pairs of rows to neighbouring doubles at the border, where rounding matters most."""
    model = clusterer(3, random_state=0).fit(WINE)
    labels = model.predict(WINE)
    near, far = (WINE[labels == c][:40] for c in (0, 1))
    borders = []
    for _ in range(60):
        middle = (near + far) / 2
        same = (model.predict(middle) == 0)[:, None]
        near, far = np.where(same, middle, near), np.where(same, far, middle)
        borders.append(middle)
    rows = np.concatenate(borders)
    differ, close = assert_labels_but_for_ties(
        model, outputs(model, tmp_path / "model.onnx", rows), rows
    )
    print(f"{clusterer.__name__}: {differ} of {len(rows)} rows differ, {close} in doubt")
    assert close > len(rows) / 4
    assert differ < close / 20


def test_onnx_separates_what_float64_cannot_and_takes_the_first_of_equals(tmp_path):
    """Use equal centroids, and scores of 2^54 that differ by 1, less than the float64 spacing."""
    X = np.random.default_rng(0).random((400, 600))
    model = RectifiedEulerKMeans(2, scale="range", random_state=0).fit(X)
    X[:, 5] = model.cluster_centers_[0, 5]  # so that a grid step changes the score by 1
    model.centroids_ = model.centroids_[[0, 0, 1, 1]]
    model.centroids_[0, 5] += 2.0**-23
    labels = model.predict(X)
    assert set(labels) == {1, 2}
    assert_array_equal(outputs(model, tmp_path / "model.onnx", X)["label"], labels)


@each_map
def test_onnx_maps_as_the_transformer_does(scale, beyond, tmp_path):
    model = EulerMap(scale=scale, beyond=beyond).fit(WINE)
    assert_array_equal(
        outputs(model, tmp_path / "map.onnx", DIRTY)["mapped"], model.transform(DIRTY)
    )


def test_onnx_files_are_checked_named_and_repeatable(tmp_path):
    frame = load_wine(as_frame=True).data
    model = RectifiedEulerKMeans(3, random_state=0).fit(frame)
    to_onnx(model, tmp_path / "one.onnx")
    save(model, tmp_path / "model")
    to_onnx(load(tmp_path / "model"), tmp_path / "two.onnx")
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()
    proto = onnx.load(tmp_path / "one.onnx")
    onnx.checker.check_model(proto, full_check=True)
    props = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(props["feature_names"]) == list(frame.columns)


def test_an_onnx_graph_too_wide_for_its_integers_is_refused(tmp_path):
    model = RectifiedEulerKMeans(1, scale=None, init="random", n_init=1).fit(np.eye(3, 32_768))
    with pytest.raises(ValueError, match="at most 32767 columns, got 32768"):
        to_onnx(model, tmp_path / "one.onnx")
    assert not list(tmp_path.iterdir())


def test_an_estimator_without_a_graph_is_refused(tmp_path):
    with raises_mentioning(ValueError, "only EulerKMeans", "got FuzzyCMeans", "rekmeans.save"):
        to_onnx(FuzzyCMeans(3, random_state=0).fit(WINE), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
