"""A scale from outside the package needs one line to register; invalid scales raise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rekmeans import (
    EulerKMeans,
    EulerMap,
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
    load,
    save,
)
from rekmeans.scales import SCALES, Scale
from support.extension_rows import RANDOM, K, X

# a scale


def two_intervals(summary):
    """Return a scale that keeps the lower and the upper fifth of the range of each column.

    The gap between them is shortened to a tenth of the range.
    """
    low, high = (np.nan_to_num(end) for end in summary.extent)
    width = np.where(high > low, high - low, 1.0)
    fifth = width / 5
    return Scale(
        low=np.stack([low, high - fifth], axis=1),
        high=np.stack([low + fifth, high], axis=1),
        shift=np.stack([low, low + width - fifth * 2.5], axis=1),
        unit=fifth * 2.5,
        period=np.zeros(len(width)),
    )


@pytest.fixture
def folding_scale(monkeypatch):
    monkeypatch.setitem(SCALES, "folded", two_intervals)


EVERY = [
    EulerKMeans(K),
    RectifiedEulerKMeans(K),
    KernelKMeans(K),
    KernelKMeans(K, centroids="mean"),
    FuzzyCMeans(K),
    SelfOrganizingMap((1, K)),
    NeuralGas(K),
    MultipleKernelKMeans(K),
    MahalanobisFuzzyCMeans(K),
]


@pytest.mark.parametrize("estimator", EVERY, ids=lambda estimator: type(estimator).__name__)
def test_auto_and_reference_agree_for_every_estimator_with_a_new_scale(folding_scale, estimator):
    table = RANDOM.permutation(np.concatenate([X, X + 40]))
    fits = []
    for engine in ("auto", "reference"):
        model = estimator.set_params(scale="folded", engine=engine, random_state=0).fit(table)
        assert_array_equal(model.predict(table), model.labels_)
        assert -model.score(table) == model.inertia_
        low, high = model.scale_.low, model.scale_.high
        assert low.shape == (2, 2)
        inside = (model.cluster_centers_[..., None] >= low - 8) & (
            model.cluster_centers_[..., None] <= high + 8
        )
        assert inside.any(axis=-1).all()
        fits.append(model.labels_)
    assert_array_equal(*fits)


def test_a_new_scale_has_an_inverse_and_is_named_in_error_messages(folding_scale):
    table = np.array([[0.0, 1.0], [1.0, 2.0], [9.0, 5.5], [10.0, 6.0], [5.0, 1.5]])
    mapped = EulerMap(scale="folded", beyond="ignore").fit(table)
    F = mapped.transform(table)
    assert_array_equal(F[4, [0, 2]], [0, 0])  # in the gap
    expected = np.where(table == 5.0, np.nan, table)
    assert_allclose(mapped.inverse_transform(F), expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"'robust'.*'folded'; got 'nope'"):
        RectifiedEulerKMeans(K, scale="nope").fit(X)


def keep_unit_interval(summary):
    """Return a scale that keeps only cells between 0 and 1."""
    ones = np.ones(summary.extent[0].size)
    return Scale.of_intervals(0 * ones, ones, 0 * ones, ones)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_scale_that_keeps_no_row_of_the_sample_gives_the_reference_bits(monkeypatch, form):
    monkeypatch.setitem(SCALES, "unit interval", keep_unit_interval)
    random = np.random.default_rng(0)
    # enough cells for starts from a sample of the rows
    table = random.normal(100.0, 1.0, (6000, 20))
    table[:4] = random.random((4, 20))
    table[4, 0] = np.nan
    for clusterer in (EulerKMeans, RectifiedEulerKMeans):
        fits = []
        for engine in ("native", "reference"):
            model = clusterer(
                3, scale="unit interval", beyond="ignore", random_state=0, engine=engine
            )
            with pytest.warns(UserWarning, match=r"\d"):
                fits.append(model.fit(form(table)))
        assert fits[0].inertia_ == fits[1].inertia_
        assert_array_equal(fits[0].labels_, fits[1].labels_)
        assert_array_equal(fits[0].cluster_centers_, fits[1].cluster_centers_)


# invalid scales


def test_a_scale_that_keeps_no_row_raises(monkeypatch):
    ones = np.ones(2)
    monkeypatch.setitem(
        SCALES, "far", lambda summary: Scale.of_intervals(ones * 1e6, ones * 2e6, ones * 1e6, ones)
    )
    for engine in ("native", "reference"):
        for estimator in (RectifiedEulerKMeans(K), KernelKMeans(K), FuzzyCMeans(K)):
            with pytest.raises(ValueError, match="outside the intervals of scale='far'"):
                estimator.set_params(scale="far", engine=engine).fit(X)


BAD_SCALES = {
    "unit of zero": (0.0, 1.0, 0.0, 0.0),
    "unit not a number": (0.0, 1.0, 0.0, np.nan),
    "bounds out of order": (2.0, 1.0, 0.0, 1.0),
    "shift not a number": (0.0, 1.0, np.nan, 1.0),
    "unit next to nothing": (0.0, 1.0, 0.0, 1e-308),
}


@pytest.mark.parametrize("name", BAD_SCALES)
def test_a_function_that_returns_an_invalid_scale_raises(monkeypatch, name):
    values = [np.full(2, value) for value in BAD_SCALES[name]]
    monkeypatch.setitem(SCALES, "bad", lambda summary: Scale.of_intervals(*values))
    with pytest.raises(ValueError, match="a scale must"):
        KernelKMeans(K, kernel="linear", scale="bad").fit(X)


def test_a_scale_of_other_columns_or_of_another_type_raises(monkeypatch):
    monkeypatch.setitem(SCALES, "none", lambda summary: None)
    monkeypatch.setitem(SCALES, "narrow", lambda summary: SCALES["range"](summary).take([0]))
    for name, got in {"none": "None", "narrow": "a Scale of 1"}.items():
        with pytest.raises(
            ValueError, match=f"scale='{name}' must return a Scale of 2 columns; got {got}"
        ):
            RectifiedEulerKMeans(K, scale=name).fit(X)


def test_a_model_loads_if_its_scale_is_not_registered(folding_scale, monkeypatch, tmp_path):
    model = RectifiedEulerKMeans(K, scale="folded", random_state=0).fit(X)
    save(model, tmp_path / "model.safetensors")
    monkeypatch.delitem(SCALES, "folded")
    same = load(tmp_path / "model.safetensors")
    assert_array_equal(same.transform(X), model.transform(X))
    assert same.scale == "folded"
    with pytest.raises(ValueError, match="scale must be one of"):
        same.fit(X)
