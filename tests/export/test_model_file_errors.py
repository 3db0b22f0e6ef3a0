"""Damaged, foreign and hostile model files raise one-line errors.

A failed write does not change the earlier file.
"""

import os
import pickle
import resource
import signal

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from rekmeans import EulerMap, RectifiedEulerKMeans, load, save, to_onnx
from support.model_files import WINE, read_parts, write_parts

numpy_tensors = pytest.importorskip("safetensors.numpy")


def error_message(path):
    """Return the one-line error for a file."""
    with pytest.raises(ValueError, match=r"valid model|safetensors") as caught:
        load(path)
    assert type(caught.value) is ValueError
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    assert text.endswith(".")
    return text


def kernel(**fields):
    """Return a function that changes fields of the kernel in a header."""

    def change(header):
        known = header["kernel"]["fields"]
        return header | {"kernel": {"record": "Euler", "fields": known | fields}}

    return change


def scale(**fields):
    """Return a function that changes fields of the scale in a header."""

    def change(header):
        known = header["kernel"]["fields"]["scale"]["fields"]
        return kernel(scale={"record": "Scale", "fields": known | fields})(header)

    return change


def attribute(name, value):
    """Return a function that changes an attribute in a header."""
    return lambda header: header | {"attributes": header["attributes"] | {name: value}}


HEADERS = {
    "another version": (
        {"version": 4},
        "version is 4, but this rekmeans reads versions 1 to 3; upgrade",
    ),
    "no version": ({"version": None}, "version is None"),
    "another format": ({"format": "other"}, "not written by rekmeans.save"),
    "a class of another library": (
        {"estimator": "sklearn.cluster.KMeans"},
        "estimator must be one of 'EulerKMeans'",
    ),
    "a class by its path": ({"estimator": "os.system"}, "got 'os.system'"),
    "a class that is a list": ({"estimator": ["EulerKMeans"]}, "estimator must be one of"),
    "the wrong class": ({"estimator": "EulerMap"}, "parameters must match the format version"),
    "a class without centroids": (
        {"estimator": "EulerKMeans", "centroids": None},
        "that no record uses",
    ),
    "an unknown parameter": (
        {"parameters": {"command": "rm"}},
        "parameters must match the format version; unknown: command",
    ),
    "a private parameter": ({"parameters": {"__class__": "x"}}, "unknown: __class__"),
    "parameters in a list": ({"parameters": [1]}, "parameters and attributes must be JSON objects"),
    "a nested parameter": (
        {"parameters": {"random_state": [[1.0]]}},
        "random_state must be",
    ),
    "a record as a parameter": (
        {"parameters": {"init": {"record": "OnCircles", "fields": {"f": 1}}}},
        "f of OnCircles has the wrong type int",
    ),
    "a bad parameter": ({"parameters": {"n_clusters": -3}}, "n_clusters must be an integer"),
    "a bad engine": ({"parameters": {"engine": "os"}}, "engine must be one of"),
    "a bad seed": ({"parameters": {"random_state": "x"}}, "random_state must be"),
    "a huge number": ({"parameters": {"tol": 10**400}}, "an integer has 1329 bits"),
    "alpha that is NaN": (kernel(alpha=float("nan")), "alpha must be a finite number"),
    "alpha that is text": (kernel(alpha="1"), "alpha of Euler has the wrong type str"),
    "alpha of zero": (kernel(alpha=0), "alpha must be a finite number"),
    "an unknown beyond": (kernel(beyond="explode"), "beyond must be one of"),
    "an extra field": (kernel(command="rm"), "Euler has no field command"),
    "no scale": (kernel(scale=None), "scale of Euler has the wrong type NoneType"),
    "a unit that is text": (scale(unit="1"), "unit of Scale has the wrong type str"),
    "a kernel that is text": ({"kernel": "Euler"}, "is an array that no record uses"),
    "a kernel of another type": (
        lambda header: header | {"kernel": header["kernel"] | {"record": "Linear"}},
        "Linear has no field alpha",
    ),
    "a kernel that the parameters do not name": (
        lambda header: (
            header
            | {
                "kernel": {
                    "record": "Linear",
                    "fields": {"scale": header["kernel"]["fields"]["scale"]},
                }
            }
        ),
        "parameters select the kernel Euler, but it was fitted with Linear",
    ),
    "a class outside the registry": (
        {"kernel": {"record": "Popen", "fields": {"args": ["touch", "ran"]}}},
        "'Popen' is not a record type of this file",
    ),
    "an unknown encoding": (
        {"kernel": {"pickle": "gASV"}},
        "a value has the unknown encoding 'pickle'",
    ),
    "a missing array": (kernel(alpha={"array": "x"}), "a record is malformed: 'x'"),
    "too few names": ({"feature_names": ["a"]}, "feature_names must be 13 strings"),
    "names that are numbers": (
        {"feature_names": list(range(13))},
        "feature_names must be 13 strings",
    ),
    "names that are a table": ({"feature_names": {}}, "feature_names must be a list"),
    "no passes": (attribute("n_iter_", 0), "n_iter_ must be an integer of at least 1"),
    "more passes than recorded": (
        attribute("n_iter_", 10**6),
        "n_iter_=1000000 requires at least as many history",
    ),
    "a negative objective": (attribute("inertia_", -1.0), "inertia_ must be a finite number"),
    "an attribute of another class": (attribute("graph_", 1), "unknown: graph_"),
    "a method": (attribute("predict", 1), "unknown: predict"),
    "an attribute of another type": (attribute("n_iter_", [1]), "n_iter_ must be an integer"),
    "another number of columns": (
        {"n_features": 12},
        "the scale has 13 columns, but the model has 12",
    ),
    "a schema": ({"schema": {}}, "schema"),
    "an answer version that is text": (
        {"answer_version": "2"},
        "answer_version must be an integer",
    ),
    "an answer version that is a list": (
        {"answer_version": [2]},
        "answer_version must be an integer",
    ),
    "an extra entry": ({"run": "me"}, "the header must match the format version; unknown: run"),
}


@pytest.mark.parametrize(("change", "words"), HEADERS.values(), ids=HEADERS)
def test_a_hostile_header_is_refused(saved_file, tmp_path, change, words):
    header, arrays = read_parts(saved_file)
    if callable(change):
        change = change(header)
    if isinstance(change.get("parameters"), dict):
        change = change | {"parameters": header["parameters"] | change["parameters"]}
    assert words in error_message(write_parts(tmp_path / "bad", header | change, arrays))


TEXTS = {
    "no JSON": ("{", "header is not JSON"),
    "deep JSON": ("[" * 100_000, "header is not JSON"),
    "null": ("null", "not written by rekmeans.save"),
    "a list": ("[]", "not written by rekmeans.save"),
    "a number of many digits": ('{"format": ' + "9" * 5000 + "}", "header is not JSON"),
}


@pytest.mark.parametrize(("text", "words"), TEXTS.values(), ids=TEXTS)
def test_a_header_of_another_type_is_refused(saved_file, tmp_path, text, words):
    assert words in error_message(write_parts(tmp_path / "bad", text, read_parts(saved_file)[1]))


def with_value(name, value, at=()):
    """Return a function that writes `value` to the named array."""

    def change(arrays):
        values = arrays[name].copy()
        values[at] = value
        return arrays | {name: values}

    return change


def with_scale(**changes):
    """Return a function that changes some arrays of the scale."""

    def change(arrays):
        names = {name: f"kernel.scale.{name}" for name in changes}
        return arrays | {names[name]: changes[name](arrays[names[name]]) for name in changes}

    return change


def scale_value(name, value, at):
    return with_value(f"kernel.scale.{name}", value, at)


def with_centroids(change):
    """Return a function that changes the arrays of the centroids."""
    return lambda arrays: arrays | {"centroids.f": change(arrays["centroids.f"])}


ARRAYS = {
    "no centroids": (
        lambda a: {k: v for k, v in a.items() if k != "centroids.f"},
        "a record is malformed: 'centroids.f'",
    ),
    "an extra array": (
        lambda a: a | {"weights": np.ones(3)},
        "weights is an array that no record uses",
    ),
    "centroids of another type": (with_centroids(lambda f: f / 2.0), "f is float64 of shape"),
    "NaN centroids": (with_centroids(lambda f: f * np.nan), "f is float64 of shape"),
    "numbers of half the precision": (
        with_scale(shift=lambda v: v.astype(np.float32)),
        "shift must be of type float64, got float32",
    ),
    "centroids off the grid": (with_value("centroids.f", 2**24, (0, 0)), "outside the circles"),
    "the lowest integer": (with_value("centroids.f", -(2**31), (0, 0)), "outside the circles"),
    "no cluster": (with_centroids(lambda f: f[:0]), "it has no centroids"),
    "centroids of fewer columns": (
        with_centroids(lambda f: f[:, :-1].copy()),
        "f is int32 of shape (3, 25), not int32 of shape (3, 26)",
    ),
    "centroids in a row": (with_centroids(np.ravel), "f is int32 of shape (78,)"),
    "a centroid that is a number": (
        with_centroids(lambda f: np.array(1, np.int32)),
        "len() of unsized object",
    ),
    "a shift that is a number": (
        with_scale(shift=lambda v: np.array(1.0)),
        "(d, m) with m from 1 to 24",
    ),
    "no columns": (
        with_scale(**dict.fromkeys(("shift", "unit", "low", "high", "period"), lambda v: v[:0])),
        "left_out must be a share for each column",
    ),
    "no intervals": (
        with_scale(**dict.fromkeys(("shift", "unit", "low", "high"), lambda v: v[:, :0])),
        "m from 1 to 24",
    ),
    "25 intervals": (
        with_scale(
            **dict.fromkeys(("shift", "unit", "low", "high"), lambda v: v.repeat(25, axis=1))
        ),
        "m from 1 to 24",
    ),
    "a short scale": (with_scale(period=lambda v: v[:5]), "(d, m) with m from 1 to 24"),
    "few units": (with_scale(unit=lambda v: v[:5]), "(d, m) with m from 1 to 24"),
    "a NaN shift": (scale_value("shift", np.nan, (2, 0)), "a scale must be finite"),
    "an infinite shift": (scale_value("shift", np.inf, (2, 0)), "a scale must be finite"),
    "a column without interval": (
        scale_value("low", np.nan, (2, 0)),
        "an interval for every column",
    ),
    "a negative period": (scale_value("period", -1.0, 2), "a period must be"),
    "a unit of zero": (scale_value("unit", 0.0, 2), "positive units"),
    "a negative unit": (scale_value("unit", -1.0, 2), "positive units"),
    "bounds out of order": (scale_value("low", 1e9, 2), "ordered bounds"),
    "NaN pre-images": (
        with_value("cluster_centers_", np.nan, (1, 1)),
        "cluster_centers_ must not contain NaN",
    ),
    "infinite pre-images": (
        with_value("cluster_centers_", np.inf, (1, 1)),
        "cluster_centers_ must be finite",
    ),
    "other pre-images": (
        lambda a: a | {"cluster_centers_": a["cluster_centers_"][:2]},
        "shape (3, 13), got (2, 13)",
    ),
    "histories of two lengths": (
        lambda a: a | {"history_.seconds": np.ones(1)},
        "history_.seconds must have shape",
    ),
    "a label too high": (with_value("labels_", 3, 5), "labels_ must be between -1 and 2"),
    "a negative label": (with_value("labels_", -2, 5), "labels_ must be between -1 and 2"),
    "starting points for others": (
        lambda a: a | {"parameters.init": a["parameters.init"][:2]},
        "init must have shape",
    ),
    "NaN starting points": (
        with_value("parameters.init", np.nan, (0, 0)),
        "init must be finite",
    ),
}


@pytest.mark.parametrize(("change", "words"), ARRAYS.values(), ids=ARRAYS)
def test_hostile_arrays_are_refused(saved_file, tmp_path, change, words):
    header, arrays = read_parts(saved_file)
    assert words in error_message(write_parts(tmp_path / "bad", header, change(arrays)))


FOREIGN = {
    "empty": b"",
    "text": b"a,b\n1,2\n" * 50,
    "pickle": pickle.dumps(np.ones(30)),
    "zip": b"PK\x03\x04" + bytes(200),
    "a header of 2^60 bytes": (2**60).to_bytes(8, "little") + b"{}",
    "a header of -1 bytes": b"\xff" * 8 + b"{}",
    "a safetensors file of another program": numpy_tensors.save({"weight": np.ones(3)}),
    "a safetensors file of another program, with metadata": numpy_tensors.save(
        {"weight": np.ones(3)}, {"format": "pt"}
    ),
}


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_is_refused(data, tmp_path):
    (tmp_path / "bad").write_bytes(data)
    assert "save" in error_message(tmp_path / "bad").lower()


def test_every_truncated_file_is_refused(saved_file, tmp_path):
    data = saved_file.read_bytes()
    bad = tmp_path / "bad"
    for length in {*range(0, len(data), 37), *range(12), len(data) - 1}:
        bad.write_bytes(data[:length])
        assert "damaged" in error_message(bad)
    bad.write_bytes(data + b"\0")
    assert "damaged" in error_message(bad)


def test_every_damaged_byte_is_refused(saved_file, tmp_path):
    data = saved_file.read_bytes()
    bad = tmp_path / "bad"
    random = np.random.default_rng(0)
    for at in random.integers(0, len(data), 600):
        damaged = bytearray(data)
        damaged[at] ^= 1 << random.integers(8)
        bad.write_bytes(damaged)
        assert "Save" in error_message(bad)


def test_paths_that_are_not_files_keep_their_own_errors(tmp_path):
    model = EulerMap().fit(WINE)
    with pytest.raises(FileNotFoundError, match="absent"):
        load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    for write in (save, to_onnx):
        with pytest.raises(IsADirectoryError, match="is a directory: pass a file"):
            write(model, tmp_path)
        with pytest.raises(FileNotFoundError, match="does not exist"):
            write(model, tmp_path / "absent" / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [save, to_onnx])
def test_only_fitted_estimators_of_ours_are_written(write, tmp_path):
    with pytest.raises(NotFittedError):
        write(RectifiedEulerKMeans(3), tmp_path / "one")
    with pytest.raises(TypeError, match=r"got Pipeline\. Pass one, or use pickle"):
        write(make_pipeline(EulerMap()).fit(WINE), tmp_path / "one")
    with pytest.raises(TypeError, match=r"got EulerMap\. Pass"):
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
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(OSError, match="large"):
            write(model, tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert os.listdir(tmp_path) == ["model"]
    assert (tmp_path / "model").read_bytes() == before
