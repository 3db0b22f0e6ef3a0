"""All engines, files and ONNX graphs apply the record of a scale in the same way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rekmeans import EulerKMeans, EulerMap, KernelKMeans, RectifiedEulerKMeans, load, save, to_onnx
from rekmeans.assignment import Hard
from rekmeans.centroids import mean, rectified
from rekmeans.engines.native.exact import NativeRows
from rekmeans.engines.reference import ReferenceRows
from rekmeans.kernels.euler import OnCircles
from rekmeans.lloyd import run
from rekmeans.model import Model, Stop
from rekmeans.scales import MAX_INTERVALS, SCALES, Scale
from rekmeans.table import MemoryTable
from rekmeans.table.validation import as_rows
from support.models import euler

BEYOND = ("ignore", "clip", "wrap")
seeds = st.integers(0, 10**6)


def random_scale(rng, d, m, periods=True):
    """Return a scale with up to m intervals per column, some units and some periods.

    Some intervals share an end, others have gaps between them.
    """
    ends = np.sort(rng.uniform(-3, 3, (d, m, 2)).reshape(d, -1), axis=1).reshape(d, m, 2)
    low, high = ends[..., 0].copy(), ends[..., 1].copy()
    low[:, 1:] = np.where(rng.uniform(size=(d, m - 1)) < 0.3, high[:, :-1], low[:, 1:])
    shift = rng.uniform(-1, 1, (d, m))
    unit = rng.uniform(0.5, 3, (d, m))
    for column, count in enumerate(rng.integers(1, m + 1, d)):
        for values in (low, high, shift, unit):
            values[column, count:] = np.nan
    period = np.where(rng.uniform(size=d) < 0.4 * periods, rng.uniform(0.5, 3, d), 0.0)
    return Scale(low, high, shift, unit, period)


def random_table(rng, n, d):
    X = rng.uniform(-4, 4, (n, d)) * (rng.uniform(size=(n, d)) < 0.7)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    X[np.isnan(X).all(axis=1)] = 1.0
    return X


def expected_phase(scale, alpha, beyond, x, row, column):
    """Return the phase of one cell as the record defines it, or None if it is ignored."""
    spans = spans_of(scale, column)

    def holds(value, at):
        return any(low <= value <= high for low, high, *_ in spans_of(scale, at))

    if np.isnan(x):
        return None
    own = [span for span in spans if span[0] <= x <= span[1]]
    if beyond == "wrap":
        shift, unit = spans[0][2:]
    elif own:
        shift, unit = own[0][2:]
    elif beyond == "clip" or not any(holds(value, at) for at, value in enumerate(row)):
        # min returns the first of several equally near intervals
        low, high, shift, unit = min(spans, key=lambda s: abs(min(max(x, s[0]), s[1]) - x))
        x = min(max(x, low), high)
    else:
        return None
    if scale.period[column] > 0:
        return np.fmod(x - shift, scale.period[column]) * (2 / scale.period[column])
    return (x - shift) * (alpha / unit)


def spans_of(scale, column):
    count = int((~np.isnan(scale.low[column])).sum())
    intervals = zip(
        *(values[column] for values in (scale.low, scale.high, scale.shift, scale.unit)),
        strict=True,
    )
    return list(intervals)[:count]


@given(seed=seeds, m=st.sampled_from([1, 2, 5, MAX_INTERVALS]), beyond=st.sampled_from(BEYOND))
@settings(max_examples=40)
def test_phases_match_plain_loops(seed, m, beyond):
    rng = np.random.default_rng(seed)
    scale = random_scale(rng, 3, m)
    X = random_table(rng, 12, 3)
    found = euler(0.7, scale, beyond).coordinates(X)
    for (j, column), x in np.ndenumerate(X):
        expected = expected_phase(scale, 0.7, beyond, x, X[j], column)
        assert np.isnan(found[j, column]) if expected is None else found[j, column] == expected


FORMS = {
    "dense": lambda X: X,
    "sparse": lambda X: as_rows(sparse.csr_array(X)),
    "columns first": np.asfortranarray,
    "mostly zero": lambda X: np.where(
        np.isnan(X) | (np.arange(X.size).reshape(X.shape) % 7 > 0), 0.0, X
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("rule", [mean, rectified])
@given(seed=seeds, m=st.sampled_from([1, 2, 5, MAX_INTERVALS]), kept=st.booleans())
@settings(max_examples=8)
def test_the_native_engine_gives_the_bits_of_the_reference(form, beyond, rule, seed, m, kept):
    rng = np.random.default_rng(seed)
    n, d, k = (700, 12, 4) if form == "mostly zero" else (300, 5, 4)
    X = FORMS[form](random_table(rng, n, d))
    weights = rng.uniform(0.1, 4, n) if seed % 2 else None
    kernel = euler(rng.uniform(0.1, 2), random_scale(rng, d, m), beyond)
    table = MemoryTable(X, weights)
    reference = ReferenceRows(kernel, table)
    native = NativeRows(kernel, table, threads=2, memory_limit=None if kept else 1)
    assert_array_equal(native.map_blocks(np.asarray), reference.F)
    assert_array_equal(native.weights(), reference.weights())
    start = kernel.from_points(rng.uniform(-2, 2, (k, d)))
    model = Model(kernel, Hard(), rule)
    ours, theirs = (run(rows, model, start, Stop(6, 0.0)) for rows in (native, reference))
    assert_array_equal(ours.labels, theirs.labels)
    assert ours.centroids == theirs.centroids
    assert ours.loss == theirs.loss
    assert_array_equal(native.phase_sums(ours.labels, k), reference.phase_sums(ours.labels, k))


@given(seed=seeds, m=st.sampled_from([1, 2, 5, MAX_INTERVALS]))
@settings(max_examples=40)
def test_pre_images_invert_the_record(seed, m):
    """Recover all kept values if the images of the intervals are disjoint, within a turn."""
    rng = np.random.default_rng(seed)
    scale = random_scale(rng, 2, m, periods=False)
    image = np.nan_to_num((scale.high - scale.low) / scale.unit)
    before = np.cumsum(image + 0.1, axis=1) - image  # with a gap of 0.1 before each image
    shift = scale.low - before * scale.unit
    scale = Scale(scale.low, scale.high, shift, scale.unit, scale.period)
    alpha = float((1 / (before[:, -1] + image[:, -1])).min())  # half a turn at most
    kernel = euler(alpha, scale, "ignore")
    at = rng.integers(0, (~np.isnan(scale.low)).sum(axis=1), (20, 2))
    share = rng.uniform(size=(20, 2))
    columns = np.arange(2)
    X = scale.low[columns, at] + share * (scale.high - scale.low)[columns, at]
    U = kernel.preimage(OnCircles(kernel.embed(X)), kernel.coordinates(X))
    assert_allclose(U, X, atol=1e-5)
    assert_allclose(scale.from_units(scale.to_units(X, "ignore")), X, atol=1e-12)


def hours(summary):
    """Return a scale with a period of 24 in the first column, and the range of the others."""
    scale = SCALES["range"](summary)
    period = np.zeros(summary.n_columns)
    period[0] = 24.0
    low, high, shift = (values.copy() for values in (scale.low, scale.high, scale.shift))
    low[0] = -np.inf
    high[0] = np.inf
    shift[0] = 0.0
    return Scale(low, high, shift, scale.unit[:, 0], period)


@pytest.fixture
def day(monkeypatch):
    monkeypatch.setitem(SCALES, "hours", hours)
    rng = np.random.default_rng(1)
    at = np.repeat([23.8, 12.0, 6.0], 40)
    return np.column_stack(
        [np.mod(at + rng.normal(0, 0.7, 120), 24), rng.uniform(size=120)]
    ), np.repeat([0, 1, 2], 40)


@pytest.mark.parametrize("method", [EulerKMeans, RectifiedEulerKMeans])
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_period_joins_midnight(day, method, engine):
    X, y = day
    model = method(3, scale="hours", random_state=0, engine=engine).fit(X)
    pairs = set(zip(y.tolist(), model.labels_.tolist(), strict=True))
    assert len(pairs) == 3  # midnight is one group
    centers = np.sort(model.cluster_centers_[:, 0])
    assert ((centers >= 0) & (centers < 24)).all()
    gaps = np.abs(np.mod(centers - np.sort([23.8, 12.0, 6.0]) + 12, 24) - 12)
    assert (gaps < 0.5).all()
    assert_array_equal(model.predict(X + np.array([24.0, 0.0])), model.labels_)  # a day later


def test_a_period_raises_without_the_euler_kernel(day):
    with pytest.raises(
        ValueError, match="Column 0 has a period, which only the Euler kernel supports"
    ):
        KernelKMeans(3, kernel="rbf", scale="hours").fit(day[0])


def folded_hours(summary):
    """Return a scale with a period in the first column and two intervals in the second."""
    scale = hours(summary)
    gap = np.array([[np.nan], [0.6]])
    low = np.concatenate([scale.low, gap], axis=1)
    high = np.concatenate(
        [np.where([[False], [True]], 0.4, scale.high), np.where(np.isnan(gap), gap, 1.0)], axis=1
    )
    shift = np.concatenate([scale.shift, np.where(np.isnan(gap), gap, 0.15)], axis=1)
    return Scale(low, high, shift, scale.unit[:, 0], scale.period)


@pytest.mark.parametrize("beyond", BEYOND)
def test_model_files_and_onnx_graphs_contain_the_record(day, monkeypatch, tmp_path, beyond):
    onnxruntime = pytest.importorskip("onnxruntime")

    monkeypatch.setitem(SCALES, "folded", folded_hours)
    X = np.concatenate([day[0], [[np.nan, 0.5], [3.0, 0.5], [30.0, np.nan], [-5.0, 0.55]]])
    for model in (
        RectifiedEulerKMeans(3, scale="folded", beyond=beyond, random_state=0).fit(X),
        EulerMap(scale="folded", beyond=beyond).fit(X),
    ):
        save(model, tmp_path / "model.safetensors")
        same = load(tmp_path / "model.safetensors")
        assert_array_equal(same.transform(X), model.transform(X))
        for name in ("low", "high", "shift", "unit", "period"):
            assert_array_equal(
                getattr(same.kernel_.scale, name), getattr(model.kernel_.scale, name)
            )
        to_onnx(model, tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
        if isinstance(model, EulerMap):
            assert_allclose(session.run(["mapped"], {"X": X})[0], model.transform(X), atol=2.0**-22)
            continue
        label, distance = session.run(["label", "distance"], {"X": X})
        assert_array_equal(label, model.predict(X))
        assert_allclose(distance, model.transform(X), atol=1e-6)
