"""Damaged, foreign and hostile model files are refused in one sentence, and a failed write leaves
the earlier file.
"""

import os
import pickle
import resource
import signal
from contextlib import suppress

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from rekmeans import EulerMap, RectifiedEulerKMeans, load, save, to_onnx
from support.model_files import WINE, read_parts, write_parts

numpy_tensors = pytest.importorskip("safetensors.numpy")


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
    "a class of another library": (
        {"estimator": "sklearn.cluster.KMeans"},
        "estimator must be one of 'EulerKMeans'",
    ),
    "a class by its path": ({"estimator": "os.system"}, "got 'os.system'"),
    "a class that is a list": ({"estimator": ["EulerKMeans"]}, "estimator must be one of"),
    "the wrong class": ({"estimator": "EulerMap"}, "unknown: engine, inertia, n_iter"),
    "an unknown parameter": (
        {"parameters": {"command": "rm"}},
        "parameters must be those of its version; unknown: command",
    ),
    "a private parameter": ({"parameters": {"__class__": "x"}}, "unknown: __class__"),
    "parameters in a list": ({"parameters": [1]}, "parameters must be a table"),
    "a nested parameter": (
        {"parameters": {"init": [[1.0]]}},
        "parameters must be numbers and text",
    ),
    "a bad parameter": ({"parameters": {"n_clusters": -3}}, "n_clusters must be an integer"),
    "a bad engine": ({"parameters": {"engine": "os"}}, "engine must be one of"),
    "a bad seed": ({"parameters": {"random_state": "x"}}, "random_state must be"),
    "a huge number": ({"parameters": {"tol": 10**400}}, "too large"),
    "alpha that is no number": ({"alpha": float("nan")}, "alpha must be a finite number"),
    "alpha that is text": ({"alpha": "1"}, "alpha must be a finite number"),
    "alpha of zero": ({"alpha": 0}, "alpha must be a finite number"),
    "another beyond": ({"beyond": "explode"}, "beyond must be one of"),
    "too few names": ({"feature_names": ["a"]}, "feature_names must be 13 texts"),
    "names that are numbers": (
        {"feature_names": list(range(13))},
        "feature_names must be 13 texts",
    ),
    "names that are a table": ({"feature_names": {}}, "feature_names a list"),
    "no passes": ({"n_iter": 0}, "n_iter must be an integer of at least 1"),
    "more passes than seen": ({"n_iter": 10**6}, "n_iter=1000000 needs a history as long"),
    "a negative objective": ({"inertia": -1.0}, "inertia must be a finite number"),
    "an answer version that is text": (
        {"answer_version": "2"},
        "answer_version must be an integer",
    ),
    "an answer version that is a list": (
        {"answer_version": [2]},
        "answer_version must be an integer",
    ),
    "an entry too many": ({"run": "me"}, "the header must be those of its version; unknown: run"),
}


@pytest.mark.parametrize(("change", "words"), HEADERS.values(), ids=HEADERS)
def test_a_hostile_header_is_refused(saved_file, tmp_path, change, words):
    header, arrays = read_parts(saved_file)
    if isinstance(change.get("parameters"), dict):
        change = {"parameters": header["parameters"] | change["parameters"]}
    assert words in refusal(write_parts(tmp_path / "bad", header | change, arrays))


TEXTS = {
    "no JSON": ("{", "header is not JSON"),
    "deep JSON": ("[" * 100_000, "header is not JSON"),
    "null": ("null", "not written by rekmeans.save"),
    "a list": ("[]", "not written by rekmeans.save"),
    "a number of many digits": ('{"format": ' + "9" * 5000 + "}", "header is not JSON"),
}


@pytest.mark.parametrize(("text", "words"), TEXTS.values(), ids=TEXTS)
def test_a_header_of_another_type_is_refused(saved_file, tmp_path, text, words):
    assert words in refusal(write_parts(tmp_path / "bad", text, read_parts(saved_file)[1]))


def with_value(name, value, at=()):
    """arrays -> arrays with `value` in the named one."""

    def change(arrays):
        values = arrays[name].copy()
        values[at] = value
        return arrays | {name: values}

    return change


ARRAYS = {
    "no centroids": (
        lambda a: {k: v for k, v in a.items() if k != "centroids"},
        "missing: centroids",
    ),
    "an array too many": (lambda a: a | {"weights": np.ones(3)}, "unknown: weights"),
    "centroids of another type": (
        lambda a: a | {"centroids": a["centroids"] / 2.0},
        "centroids must be of type I32",
    ),
    "NaN centroids": (
        lambda a: a | {"centroids": a["centroids"] * np.nan},
        "centroids must be of type I32, got F64",
    ),
    "half-width numbers": (
        lambda a: a | {"shift": a["shift"].astype(np.float16)},
        "shift must be of type F64",
    ),
    "centroids off the grid": (with_value("centroids", 2**24, (0, 0)), "outside the circles"),
    "the lowest integer": (with_value("centroids", -(2**31), (0, 0)), "outside the circles"),
    "no cluster": (lambda a: a | {"centroids": a["centroids"][:0]}, "it has no centroids"),
    "centroids of fewer columns": (
        lambda a: a | {"centroids": a["centroids"][:, :-1].copy()},
        "shape (3, 26), got (3, 25)",
    ),
    "centroids in a row": (
        lambda a: a | {"centroids": a["centroids"].ravel()},
        "centroids must have shape",
    ),
    "a centroid that is a number": (
        lambda a: a | {"centroids": np.array(1, np.int32)},
        "centroids must have",
    ),
    "a shift that is a number": (
        lambda a: a | {"shift": np.array(1.0)},
        "shift must have shape (13, 1), got ()",
    ),
    "no columns": (
        lambda a: a | {n: a[n][:0] for n in ("shift", "unit", "low", "high", "period")},
        "have a column",
    ),
    "no intervals": (
        lambda a: a | {n: a[n][:, :0] for n in ("shift", "low", "high")},
        "1 to 8 intervals",
    ),
    "nine intervals": (
        lambda a: a | {n: a[n].repeat(9, axis=1) for n in ("shift", "low", "high")},
        "8 intervals",
    ),
    "a short scale": (
        lambda a: a | {"period": a["period"][:5]},
        "period must have shape (13,), got (5,)",
    ),
    "few units": (lambda a: a | {"unit": a["unit"][:5]}, "low must have shape (5, 1), got (13, 1)"),
    "a NaN shift": (with_value("shift", np.nan, (2, 0)), "shift must have no NaN"),
    "an infinite shift": (with_value("shift", np.inf, (2, 0)), "scale must be finite"),
    "a column without interval": (with_value("low", np.nan, (2, 0)), "an interval in every column"),
    "a negative period": (with_value("period", -1.0, 2), "a period must be"),
    "a unit of zero": (with_value("unit", 0.0, 2), "positive units"),
    "a negative unit": (with_value("unit", -1.0, 2), "positive units"),
    "bounds out of order": (with_value("low", 1e9, 2), "ordered bounds"),
    "NaN pre-images": (
        with_value("cluster_centers", np.nan, (1, 1)),
        "cluster_centers must have no NaN",
    ),
    "other pre-images": (
        lambda a: a | {"cluster_centers": a["cluster_centers"][:2]},
        "shape (3, 13), got (2, 13)",
    ),
    "histories of two lengths": (
        lambda a: a | {"history.seconds": np.ones(1)},
        "history.seconds must have shape",
    ),
    "a label too high": (with_value("labels", 3, 5), "labels must be numbers of its 3 clusters"),
    "a negative label": (with_value("labels", -1, 5), "labels must be numbers of its 3 clusters"),
    "starting points for others": (lambda a: a | {"init": a["init"][:2]}, "init must have shape"),
    "NaN starting points": (with_value("init", np.nan, (0, 0)), "init must be finite"),
}


@pytest.mark.parametrize(("change", "words"), ARRAYS.values(), ids=ARRAYS)
def test_hostile_arrays_are_refused(saved_file, tmp_path, change, words):
    header, arrays = read_parts(saved_file)
    assert words in refusal(write_parts(tmp_path / "bad", header, change(arrays)))


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


def test_every_truncated_file_is_refused(saved_file, tmp_path):
    data = saved_file.read_bytes()
    bad = tmp_path / "bad"
    for length in {*range(0, len(data), 37), *range(12), len(data) - 1}:
        bad.write_bytes(data[:length])
        assert "damaged" in refusal(bad)
    bad.write_bytes(data + b"\0")
    assert "damaged" in refusal(bad)


def test_a_damaged_byte_is_a_model_or_one_clear_error(saved_file, tmp_path):
    """A changed byte inside a number cannot be detected; all others are refused, and none does
    worse.
    """
    data = saved_file.read_bytes()
    bad = tmp_path / "bad"
    random = np.random.default_rng(0)
    refused = 0
    header = int.from_bytes(data[:8], "little") + 8
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
