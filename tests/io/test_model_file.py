"""Models that travel: a file gives the saved bits back or is refused; ONNX gives the labels of predict."""

import json
import os
import pickle
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from rekmeans import EulerKMeans, EulerMap, RectifiedEulerKMeans, load, save, to_onnx
from rekmeans.io.model_file import ANSWER_VERSION

numpy_tensors = pytest.importorskip("safetensors.numpy")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

CLUSTERERS = [EulerKMeans, RectifiedEulerKMeans]
each_clusterer = pytest.mark.parametrize("clusterer", CLUSTERERS)
each_map = pytest.mark.parametrize(
    ("scale", "beyond"),
    [("robust", "ignore"), ("robust", "clip"), ("range", "wrap"), ("global", "clip"), (None, "wrap")],
)
HIGH_WATER = "ignore:.*rows take no part"  # the warning is another test's matter


def dirty(X, seed=0):
    """X with a tenth of its cells missing, a twentieth wildly off, and some rows of gross errors only."""
    random = np.random.default_rng(seed)
    D = X.copy()
    D[random.random(X.shape) < 0.05] = 1e6
    D[random.random(X.shape) < 0.1] = np.nan
    D[::29] = -1e5
    D[7::29, ::2] = np.nan
    D[np.isnan(D).all(axis=1)] = 0
    return D


WINE = load_wine().data
DIRTY = dirty(WINE)


def assert_same(one, two, name="model"):
    """Equal to the last bit and of the same types, through estimators, dataclasses, dicts and arrays."""
    assert type(one) is type(two), name
    if isinstance(one, np.ndarray):
        assert one.dtype == two.dtype, name
        assert_array_equal(one, two, err_msg=name)
    elif isinstance(one, dict):
        assert one.keys() == two.keys(), name
        for key in one:
            assert_same(one[key], two[key], f"{name}.{key}")
    elif hasattr(one, "__dict__"):
        assert_same(vars(one), vars(two), name)
    else:
        assert one == two or (one != one and two != two), name


# save and load


@each_clusterer
@each_map
@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.filterwarnings(HIGH_WATER)
def test_a_loaded_clusterer_is_the_saved_one_to_the_last_bit(clusterer, scale, beyond, engine, tmp_path):
    table = pd.DataFrame(DIRTY, columns=[f"größe {j}" for j in range(DIRTY.shape[1])])
    weights = np.random.default_rng(1).random(len(table))
    model = clusterer(4, alpha=1 / 3, scale=scale, beyond=beyond, engine=engine, n_threads=1, random_state=5)
    model.fit(table, sample_weight=weights)
    save(model, tmp_path / "one")
    same = load(tmp_path / "one")
    assert_same(model, same)
    assert list(same.feature_names_in_) == list(table.columns)
    for method in ("predict", "transform", "score_samples", "score"):
        assert_array_equal(getattr(same, method)(table), getattr(model, method)(table))
    save(same, str(tmp_path / "two"))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert_same(same.fit(table, sample_weight=weights).labels_, model.labels_)


@each_map
def test_a_loaded_map_is_the_saved_one_to_the_last_bit(scale, beyond, tmp_path):
    model = EulerMap(alpha=0.7, scale=scale, beyond=beyond).fit(DIRTY)
    save(model, tmp_path / "one")
    same = load(tmp_path / "one")
    assert_same(model, same)
    F = model.transform(DIRTY)
    assert_array_equal(same.transform(DIRTY), F)
    assert_array_equal(same.inverse_transform(F), model.inverse_transform(F))
    assert_array_equal(same.get_feature_names_out(), model.get_feature_names_out())
    save(same, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_labels_can_stay_behind(tmp_path):
    model = RectifiedEulerKMeans(3, random_state=0).fit(WINE)
    save(model, tmp_path / "one", labels=False)
    same = load(tmp_path / "one")
    assert not hasattr(same, "labels_")
    assert_array_equal(same.predict(WINE), model.labels_)
    save(same, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_array_of_starting_points_travels(tmp_path):
    init = pd.DataFrame(WINE[[0, 70, 170]] / 3)
    model = RectifiedEulerKMeans(3, init=init).fit(WINE)
    save(model, tmp_path / "one")
    same = load(tmp_path / "one")
    assert_same(same.init, init.to_numpy())
    assert_array_equal(same.fit(WINE).labels_, model.labels_)


def chosen(X, k, random_state):
    return X[random_state.permutation(len(X))[:k]]


@pytest.mark.parametrize(
    ("name", "value"), [("init", chosen), ("random_state", np.random.RandomState(0))], ids=["init", "random_state"]
)
def test_what_a_file_cannot_hold_is_named_and_replaced_by_the_default(name, value, tmp_path):
    model = RectifiedEulerKMeans(3, **{name: value}).fit(WINE)
    with pytest.warns(UserWarning, match=f"numbers and text: stored {name}=") as caught:
        save(model, tmp_path / "one")
    assert caught[0].filename == __file__
    same = load(tmp_path / "one")
    assert getattr(same, name) == getattr(RectifiedEulerKMeans(), name)
    assert_array_equal(same.transform(WINE), model.transform(WINE))
    save(same, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_numbers_of_other_classes_are_stored_as_numbers(tmp_path):
    params = {"n_clusters": np.int64(3), "alpha": Fraction(1, 2), "tol": np.float32(0.1), "verbose": False}
    save(RectifiedEulerKMeans(**params, random_state=np.uint8(3)).fit(WINE), tmp_path / "one")
    loaded = load(tmp_path / "one").get_params()
    assert {name: loaded[name] for name in params} == params
    assert {type(loaded[name]) for name in ("n_clusters", "random_state")} == {int}


def test_any_reader_of_safetensors_can_open_the_file(tmp_path):
    model = RectifiedEulerKMeans(3, random_state=0).fit(WINE)
    save(model, tmp_path / "one")
    arrays = numpy_tensors.load_file(tmp_path / "one")
    assert_array_equal(arrays["cluster_centers"], model.cluster_centers_)
    unit = arrays["centroids"] / 2**23
    assert_array_equal(unit[:, :13] + 1j * unit[:, 13:], model.centroids_)


READER = """
import sys
import rekmeans
assert not {"safetensors", "onnx", "onnxruntime"} & set(sys.modules), "import rekmeans brings optional libraries"
rekmeans.save(rekmeans.load(sys.argv[1]), sys.argv[2])
"""


def test_another_process_writes_the_same_bytes(tmp_path):
    save(EulerKMeans(3, random_state=0).fit(WINE), tmp_path / "one")
    subprocess.run([sys.executable, "-c", READER, tmp_path / "one", tmp_path / "two"], check=True)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(("library", "call"), [("safetensors", "load('x')"), ("onnx", "to_onnx(m, 'x')")])
def test_a_missing_library_is_named_with_its_extra(library, call):
    code = (
        f"import sys; sys.modules[{library!r}] = None; from rekmeans import *; m = EulerMap().fit([[1.], [2.]]); {call}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert library in last
    assert last.endswith("pip install 'rekmeans[export]'.")


# answer versions


def test_the_answer_version_is_in_the_file_and_its_own_loads_in_silence(tmp_path, recwarn):
    save(EulerMap().fit(WINE), tmp_path / "map")
    load(tmp_path / "map")
    assert parts(tmp_path / "map")[0]["answer_version"] == ANSWER_VERSION
    assert len(recwarn) == 0


FIRST_NAMES = {"inertia": "objective", "n_changed": "moved", "n_relocated": "refilled", "seconds": "seconds"}


def first_version(header, arrays):
    """Header and arrays as version 1 of the format had them: one interval a column, no periods, no engine."""
    header = {key: value for key, value in header.items() if key not in ("answer_version", "engine")} | {"version": 1}
    same = {name: arrays[name] for name in ("centroids", "cluster_centers", "unit", "init", "labels")}
    scale = {"centre": arrays["shift"][:, 0], "low": arrays["low"][:, 0], "high": arrays["high"][:, 0]}
    history = {f"history.{old}": arrays[f"history.{new}"] for new, old in FIRST_NAMES.items()}
    return header, same | {name: values.copy() for name, values in (scale | history).items()}


@pytest.mark.parametrize("of_format", [first_version, lambda *parts: parts], ids=["version 1", "version 2"])
@pytest.mark.parametrize(("change", "version"), [({}, 1), ({"answer_version": 1}, 1), ({"answer_version": 7}, 7)])
def test_a_model_of_another_answer_version_loads_with_one_warning_and_keeps_it(
    change, version, of_format, saved, tmp_path
):
    header, arrays = of_format(*parts(saved))
    if of_format is not first_version:
        header["answer_version"] = 1  # version 2 always names it
    rebuilt(tmp_path / "other", header | change, arrays)
    with pytest.warns(UserWarning, match="answer version") as caught:
        model = load(tmp_path / "other")
    assert [str(warning.message) for warning in caught] == [
        f"the model was fitted by answer version {version}, this rekmeans has {ANSWER_VERSION}: "
        "a new fit of the same table may give other bits"
    ]
    assert caught[0].filename == __file__
    assert_array_equal(model.predict(WINE), load(saved).predict(WINE))
    for name, values in load(saved).history_.items():
        assert_array_equal(model.history_[name], values)
    save(model, tmp_path / "again")
    assert parts(tmp_path / "again")[0]["answer_version"] == version
    save(model.fit(WINE), tmp_path / "anew")
    assert parts(tmp_path / "anew")[0]["answer_version"] == ANSWER_VERSION


# refusals


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved clusterer's file."""
    path = tmp_path_factory.mktemp("saved") / "model.safetensors"
    save(RectifiedEulerKMeans(3, init=WINE[:3] + 0.5).fit(WINE), path)
    return path


def parts(path):
    """Header and arrays of a model file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["rekmeans"]), numpy_tensors.load(data)


def rebuilt(path, header, arrays):
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(numpy_tensors.save(arrays, {"rekmeans": text}))
    return path


def refusal(path):
    """The one sentence with which a file is refused."""
    with pytest.raises(ValueError, match=r"load|safetensors") as caught:
        load(path)
    assert type(caught.value) is ValueError
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    assert text.endswith(".")
    return text


HEADERS = {
    "another version": ({"version": 3}, "version 3, this rekmeans reads 1 to 2; update"),
    "no version": ({"version": None}, "version None"),
    "another format": ({"format": "other"}, "not written by rekmeans.save"),
    "a class of another library": ({"estimator": "sklearn.cluster.KMeans"}, "estimator must be one of 'EulerKMeans'"),
    "a class by its path": ({"estimator": "os.system"}, "got 'os.system'"),
    "a class that is a list": ({"estimator": ["EulerKMeans"]}, "estimator must be one of"),
    "the wrong class": ({"estimator": "EulerMap"}, "unknown: engine, inertia, n_iter"),
    "an unknown parameter": (
        {"parameters": {"command": "rm"}},
        "parameters must be those of its version; unknown: command",
    ),
    "a private parameter": ({"parameters": {"__class__": "x"}}, "unknown: __class__"),
    "parameters in a list": ({"parameters": [1]}, "parameters must be a table"),
    "a nested parameter": ({"parameters": {"init": [[1.0]]}}, "parameters must be numbers and text"),
    "a bad parameter": ({"parameters": {"n_clusters": -3}}, "n_clusters must be an integer"),
    "a bad engine": ({"parameters": {"engine": "os"}}, "engine must be one of"),
    "a bad seed": ({"parameters": {"random_state": "x"}}, "random_state must be"),
    "a huge number": ({"parameters": {"tol": 10**400}}, "too large"),
    "alpha that is no number": ({"alpha": float("nan")}, "alpha must be a finite number"),
    "alpha that is text": ({"alpha": "1"}, "alpha must be a finite number"),
    "alpha of zero": ({"alpha": 0}, "alpha must be a finite number"),
    "another beyond": ({"beyond": "explode"}, "beyond must be one of"),
    "too few names": ({"feature_names": ["a"]}, "feature_names must be 13 texts"),
    "names that are numbers": ({"feature_names": list(range(13))}, "feature_names must be 13 texts"),
    "names that are a table": ({"feature_names": {}}, "feature_names a list"),
    "no passes": ({"n_iter": 0}, "n_iter must be an integer of at least 1"),
    "more passes than seen": ({"n_iter": 10**6}, "n_iter=1000000 needs a history as long"),
    "a negative objective": ({"inertia": -1.0}, "inertia must be a finite number"),
    "an answer version that is text": ({"answer_version": "2"}, "answer_version must be an integer"),
    "an answer version that is a list": ({"answer_version": [2]}, "answer_version must be an integer"),
    "an entry too many": ({"run": "me"}, "the header must be those of its version; unknown: run"),
}


@pytest.mark.parametrize(("change", "words"), HEADERS.values(), ids=HEADERS)
def test_a_hostile_header_is_refused(saved, tmp_path, change, words):
    header, arrays = parts(saved)
    if isinstance(change.get("parameters"), dict):
        change = {"parameters": header["parameters"] | change["parameters"]}
    assert words in refusal(rebuilt(tmp_path / "bad", header | change, arrays))


TEXTS = {
    "no JSON": ("{", "header is not JSON"),
    "deep JSON": ("[" * 100_000, "header is not JSON"),
    "null": ("null", "not written by rekmeans.save"),
    "a list": ("[]", "not written by rekmeans.save"),
    "a number of many digits": ('{"format": ' + "9" * 5000 + "}", "header is not JSON"),
}


@pytest.mark.parametrize(("text", "words"), TEXTS.values(), ids=TEXTS)
def test_a_header_that_is_none_is_refused(saved, tmp_path, text, words):
    assert words in refusal(rebuilt(tmp_path / "bad", text, parts(saved)[1]))


def changed(name, value, at=()):
    """arrays -> arrays with `value` in the named one."""

    def change(arrays):
        values = arrays[name].copy()
        values[at] = value
        return arrays | {name: values}

    return change


ARRAYS = {
    "no centroids": (lambda a: {k: v for k, v in a.items() if k != "centroids"}, "missing: centroids"),
    "an array too many": (lambda a: a | {"weights": np.ones(3)}, "unknown: weights"),
    "centroids of another type": (lambda a: a | {"centroids": a["centroids"] / 2.0}, "centroids must be of type I32"),
    "NaN centroids": (lambda a: a | {"centroids": a["centroids"] * np.nan}, "centroids must be of type I32, got F64"),
    "half-width numbers": (lambda a: a | {"shift": a["shift"].astype(np.float16)}, "shift must be of type F64"),
    "centroids off the grid": (changed("centroids", 2**24, (0, 0)), "within 8388608"),
    "the lowest integer": (changed("centroids", -(2**31), (0, 0)), "within 8388608"),
    "no cluster": (lambda a: a | {"centroids": a["centroids"][:0]}, "centroids must be there"),
    "centroids of fewer columns": (
        lambda a: a | {"centroids": a["centroids"][:, :-1].copy()},
        "shape (3, 26), got (3, 25)",
    ),
    "centroids in a row": (lambda a: a | {"centroids": a["centroids"].ravel()}, "centroids must have shape"),
    "a centroid that is a number": (
        lambda a: a | {"centroids": np.array(1, np.int32)},
        "centroids must have",
    ),
    "a shift that is a number": (lambda a: a | {"shift": np.array(1.0)}, "shift must have shape (13, 1), got ()"),
    "no columns": (lambda a: a | {n: a[n][:0] for n in ("shift", "unit", "low", "high", "period")}, "have a column"),
    "no intervals": (lambda a: a | {n: a[n][:, :0] for n in ("shift", "low", "high")}, "1 to 8 intervals"),
    "nine intervals": (lambda a: a | {n: a[n].repeat(9, axis=1) for n in ("shift", "low", "high")}, "8 intervals"),
    "a short scale": (lambda a: a | {"period": a["period"][:5]}, "period must have shape (13,), got (5,)"),
    "few units": (lambda a: a | {"unit": a["unit"][:5]}, "low must have shape (5, 1), got (13, 1)"),
    "a NaN shift": (changed("shift", np.nan, (2, 0)), "shift must have no NaN"),
    "an infinite shift": (changed("shift", np.inf, (2, 0)), "scale must be finite"),
    "a column without interval": (changed("low", np.nan, (2, 0)), "an interval in every column"),
    "a negative period": (changed("period", -1.0, 2), "no negative period"),
    "a unit of zero": (changed("unit", 0.0, 2), "positive units"),
    "a negative unit": (changed("unit", -1.0, 2), "positive units"),
    "bounds out of order": (changed("low", 1e9, 2), "ordered bounds"),
    "NaN pre-images": (changed("cluster_centers", np.nan, (1, 1)), "cluster_centers must have no NaN"),
    "other pre-images": (lambda a: a | {"cluster_centers": a["cluster_centers"][:2]}, "shape (3, 13), got (2, 13)"),
    "histories of two lengths": (lambda a: a | {"history.seconds": np.ones(1)}, "history.seconds must have shape"),
    "a label too high": (changed("labels", 3, 5), "labels must be numbers of its 3 clusters"),
    "a negative label": (changed("labels", -1, 5), "labels must be numbers of its 3 clusters"),
    "starting points for others": (lambda a: a | {"init": a["init"][:2]}, "init must have shape"),
    "NaN starting points": (changed("init", np.nan, (0, 0)), "init must be finite"),
}


@pytest.mark.parametrize(("change", "words"), ARRAYS.values(), ids=ARRAYS)
def test_hostile_arrays_are_refused(saved, tmp_path, change, words):
    header, arrays = parts(saved)
    assert words in refusal(rebuilt(tmp_path / "bad", header, change(arrays)))


FOREIGN = {
    "empty": b"",
    "text": b"a,b\n1,2\n" * 50,
    "pickle": pickle.dumps(np.ones(30)),
    "zip": b"PK\x03\x04" + bytes(200),
    "a header of 2^60 bytes": (2**60).to_bytes(8, "little") + b"{}",
    "a header of -1 bytes": b"\xff" * 8 + b"{}",
    "someone else's safetensors": numpy_tensors.save({"weight": np.ones(3)}),
    "someone else's, described": numpy_tensors.save({"weight": np.ones(3)}, {"format": "pt"}),
}


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_is_refused(data, tmp_path):
    (tmp_path / "bad").write_bytes(data)
    assert "save" in refusal(tmp_path / "bad")


def test_every_truncated_file_is_refused(saved, tmp_path):
    data, bad = saved.read_bytes(), tmp_path / "bad"
    for length in {*range(0, len(data), 37), *range(12), len(data) - 1}:
        bad.write_bytes(data[:length])
        assert "damaged" in refusal(bad)
    bad.write_bytes(data + b"\0")
    assert "damaged" in refusal(bad)


def test_a_damaged_byte_is_a_model_or_one_clear_error(saved, tmp_path):
    """Of a changed byte in a number nobody can tell; all others are refused, and none does worse."""
    data, bad, random = saved.read_bytes(), tmp_path / "bad", np.random.default_rng(0)
    refused, header = 0, int.from_bytes(data[:8], "little") + 8
    places = random.integers(0, header, 600)
    for at in places:
        damaged = bytearray(data)
        damaged[at] ^= 1 << random.integers(8)
        bad.write_bytes(damaged)
        with suppress(ValueError):
            load(bad).predict(WINE[:5])
            continue
        refused += "bad" in refusal(bad)
    assert refused > len(places) / 2


def test_paths_that_are_no_files_keep_their_own_errors(tmp_path):
    model = EulerMap().fit(WINE)
    with pytest.raises(FileNotFoundError, match="absent"):
        load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    for write in (save, to_onnx):
        with pytest.raises(IsADirectoryError, match="is a directory: name a file"):
            write(model, tmp_path)
        with pytest.raises(FileNotFoundError, match="no folder"):
            write(model, tmp_path / "absent" / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [save, to_onnx])
def test_only_fitted_estimators_of_ours_are_written(write, tmp_path):
    with pytest.raises(NotFittedError):
        write(RectifiedEulerKMeans(3), tmp_path / "one")
    with pytest.raises(TypeError, match="got Pipeline: pass one, or pickle"):
        write(make_pipeline(EulerMap()).fit(WINE), tmp_path / "one")
    with pytest.raises(TypeError, match="got EulerMap: pass"):
        write(type("EulerMap", (EulerMap,), {})().fit(WINE), tmp_path / "one")
    assert not list(tmp_path.iterdir())


def test_a_parameter_spoilt_after_the_fit_is_refused_before_writing(tmp_path):
    model = RectifiedEulerKMeans(3, random_state=0).fit(WINE).set_params(alpha="steep")
    with pytest.raises(ValueError, match="alpha must be a finite number"):
        save(model, tmp_path / "one")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [save, to_onnx])
def test_a_disk_that_fills_leaves_the_earlier_file(write, tmp_path):
    write(RectifiedEulerKMeans(2, random_state=0).fit(WINE), tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    model = RectifiedEulerKMeans(3, random_state=0).fit(WINE)
    limits, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(OSError, match="large"):
            write(model, tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert os.listdir(tmp_path) == ["model"]
    assert (tmp_path / "model").read_bytes() == before


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
TIES = 4 / 2**23  # of d: what a feature rounded the other way can change in the difference of two squared distances


def table(name, shared_set):
    return load_iris().data if name == "iris" else WINE if name == "wine" else shared_set(name)[0]


def outputs(model, path, X):
    """What onnxruntime makes of the rows, by name."""
    to_onnx(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": np.asarray(X, np.float64)}), strict=True))


def assert_labels_but_for_ties(model, out, X):
    """Labels of predict, save where the two nearest centroids tie to the grid's rounding; how many differ, and tie."""
    D = np.sort(model.transform(X) ** 2, axis=1)
    margin = D[:, 1] - D[:, 0]
    differ = out["label"] != model.predict(X)
    assert (margin[differ] <= TIES * X.shape[1]).all()
    assert_allclose(out["distance"], model.transform(X), rtol=1e-7, atol=1e-7)
    return int(differ.sum()), int((margin <= TIES * X.shape[1]).sum())


@pytest.mark.parametrize("name", LOW_DIMENSIONAL)
@pytest.mark.filterwarnings(HIGH_WATER)
def test_onnx_labels_are_those_of_predict(name, shared_set, tmp_path):
    X = table(name, shared_set)
    for clusterer, scale, beyond in (
        (RectifiedEulerKMeans, "robust", "ignore"),
        (EulerKMeans, "robust", "clip"),
        (RectifiedEulerKMeans, None, "wrap"),
    ):
        params = {"alpha": 0.9 if scale else 0.9 / np.ptp(X), "scale": scale, "beyond": beyond, "random_state": 0}
        model = clusterer(LOW_DIMENSIONAL[name], init="random", n_init=1, max_iter=20, **params).fit(X)
        for rows in (X, dirty(X)):
            differ, close = assert_labels_but_for_ties(model, outputs(model, tmp_path / "model.onnx", rows), rows)
            print(f"{name} {clusterer.__name__} {beyond}: {differ} of {len(rows)} rows differ, {close} in doubt")
            assert differ == 0  # measured on every set: none


@each_clusterer
@each_map
@pytest.mark.filterwarnings(HIGH_WATER)
def test_onnx_distances_are_those_of_transform(clusterer, scale, beyond, tmp_path):
    model = clusterer(4, scale=scale, beyond=beyond, random_state=0).fit(WINE)
    for rows in (WINE, DIRTY, WINE[:1]):
        out = outputs(model, tmp_path / "model.onnx", rows)
        assert out["label"].dtype == np.int64
        assert_array_equal(out["label"], model.predict(rows))
        assert_array_equal(out["distance"], model.transform(rows))  # 13 columns: the sums are exact as double too


@each_clusterer
def test_onnx_decides_rows_on_the_border_of_two_clusters_as_predict_does(clusterer, tmp_path):
    """Rows halved onto the border, to neighbouring doubles: the worst there are, as there a feature rounds over."""
    model = clusterer(3, random_state=0).fit(WINE)
    labels = model.predict(WINE)
    near, far = (WINE[labels == c][:40] for c in (0, 1))
    seen = []
    for _ in range(60):
        middle = (near + far) / 2
        same = (model.predict(middle) == 0)[:, None]
        near, far = np.where(same, middle, near), np.where(same, far, middle)
        seen.append(middle)
    rows = np.concatenate(seen)
    differ, close = assert_labels_but_for_ties(model, outputs(model, tmp_path / "model.onnx", rows), rows)
    print(f"{clusterer.__name__}: {differ} of {len(rows)} rows differ, {close} in doubt")
    assert close > len(rows) / 4
    assert differ < close / 20


def test_onnx_tells_apart_what_float64_cannot_and_takes_the_first_of_equals(tmp_path):
    """Scores of 2^54 that differ by 1, where float64 counts by 4; and centroids that are equal."""
    X = np.random.default_rng(0).random((400, 600))
    model = RectifiedEulerKMeans(2, scale="range", random_state=0).fit(X)
    X[:, 5] = model.cluster_centers_[0, 5]  # so that a step of the grid there is worth 1
    model.centroids_ = model.centroids_[[0, 0, 1, 1]]
    model.centroids_[0, 5] += 2.0**-23
    labels = model.predict(X)
    assert set(labels) == {1, 2}
    assert_array_equal(outputs(model, tmp_path / "model.onnx", X)["label"], labels)


@each_map
def test_onnx_maps_as_the_transformer_does(scale, beyond, tmp_path):
    model = EulerMap(scale=scale, beyond=beyond).fit(WINE)
    assert_array_equal(outputs(model, tmp_path / "map.onnx", DIRTY)["mapped"], model.transform(DIRTY))


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
