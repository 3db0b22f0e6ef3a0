"""A loaded model equals the saved one bit for bit, for any answer version."""

import subprocess
import sys
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rekmeans import EulerKMeans, EulerMap, RectifiedEulerKMeans, load, save
from rekmeans.export.model_file import ANSWER_VERSION
from support.assertions import raises_mentioning
from support.euler import each_clusterer
from support.model_files import (
    DIRTY,
    IGNORED_ROWS,
    WINE,
    assert_same,
    each_map,
    read_parts,
    write_parts,
    write_without_digest,
)
from support.paths import DATA

numpy_tensors = pytest.importorskip("safetensors.numpy")


# save and load


@each_clusterer
@each_map
@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.filterwarnings(IGNORED_ROWS)
def test_a_loaded_clusterer_is_the_saved_one_to_the_last_bit(
    clusterer, scale, beyond, engine, tmp_path
):
    table = pd.DataFrame(DIRTY, columns=[f"größe {j}" for j in range(DIRTY.shape[1])])
    weights = np.random.default_rng(1).random(len(table))
    model = clusterer(
        4, alpha=1 / 3, scale=scale, beyond=beyond, engine=engine, n_threads=1, random_state=5
    )
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


def test_an_array_of_starting_points_is_stored(tmp_path):
    init = pd.DataFrame(WINE[[0, 70, 170]] / 3)
    model = RectifiedEulerKMeans(3, init=init).fit(WINE)
    save(model, tmp_path / "one")
    same = load(tmp_path / "one")
    assert_same(same.init, init.to_numpy())
    assert_array_equal(same.fit(WINE).labels_, model.labels_)


def choose_start(X, k, random_state):
    return X[random_state.permutation(len(X))[:k]]


@pytest.mark.parametrize(
    ("name", "value"),
    [("init", choose_start), ("random_state", np.random.RandomState(0))],
    ids=["init", "random_state"],
)
def test_what_a_file_cannot_hold_is_named_and_replaced_by_the_default(name, value, tmp_path):
    model = RectifiedEulerKMeans(3, **{name: value}).fit(WINE)
    with pytest.warns(
        UserWarning, match=f"numbers and text. Stored the default instead: {name}="
    ) as caught:
        save(model, tmp_path / "one")
    assert caught[0].filename == __file__
    same = load(tmp_path / "one")
    assert getattr(same, name) == getattr(RectifiedEulerKMeans(), name)
    assert_array_equal(same.transform(WINE), model.transform(WINE))
    save(same, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_numbers_of_other_classes_are_stored_as_numbers(tmp_path):
    params = {
        "n_clusters": np.int64(3),
        "alpha": Fraction(1, 2),
        "tol": np.float32(0.1),
        "verbose": False,
    }
    save(RectifiedEulerKMeans(**params, random_state=np.uint8(3)).fit(WINE), tmp_path / "one")
    loaded = load(tmp_path / "one").get_params()
    assert {name: loaded[name] for name in params} == params
    assert {type(loaded[name]) for name in ("n_clusters", "random_state")} == {int}


def test_any_reader_of_safetensors_can_open_the_file(tmp_path):
    model = RectifiedEulerKMeans(3, random_state=0).fit(WINE)
    save(model, tmp_path / "one")
    arrays = numpy_tensors.load_file(tmp_path / "one")
    assert_array_equal(arrays["cluster_centers_"], model.cluster_centers_)
    unit = arrays["centroids.f"] / 2**23
    assert_array_equal(unit[:, :13] + 1j * unit[:, 13:], model.centroids_)


READER = """
import sys
import rekmeans
optional = {"safetensors", "onnx", "onnxruntime"}
assert not optional & set(sys.modules), "import rekmeans brings optional libraries"
rekmeans.save(rekmeans.load(sys.argv[1]), sys.argv[2])
"""


def test_another_process_writes_the_same_bytes(tmp_path):
    save(EulerKMeans(3, random_state=0).fit(WINE), tmp_path / "one")
    subprocess.run([sys.executable, "-c", READER, tmp_path / "one", tmp_path / "two"], check=True)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_models_are_saved_and_loaded_without_an_optional_library(tmp_path):
    code = (
        "import sys; sys.modules['safetensors'] = sys.modules['onnx'] = None; "
        "from rekmeans import *; m = EulerMap().fit([[1.], [2.]]); save(m, sys.argv[1]); "
        "print(load(sys.argv[1]).transform([[1.5]]).tolist() == m.transform([[1.5]]).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"


def test_a_missing_library_is_named_with_its_extra():
    code = (
        "import sys; sys.modules['onnx'] = None; from rekmeans import *; m = "
        "EulerMap().fit([[1.], [2.]]); to_onnx(m, 'x')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert "onnx" in last
    assert last.endswith("pip install 'rekmeans[export]'.")


# answer versions


def test_the_answer_version_is_in_the_file_and_its_own_loads_without_a_warning(tmp_path, recwarn):
    save(EulerMap().fit(WINE), tmp_path / "map")
    load(tmp_path / "map")
    assert read_parts(tmp_path / "map")[0]["answer_version"] == ANSWER_VERSION
    assert len(recwarn) == 0


@pytest.mark.parametrize(("version", "expected"), [(1, 1), (7, 7)])
def test_a_model_of_another_answer_version_loads_with_one_warning_and_keeps_it(
    version, expected, saved_file, tmp_path
):
    header, arrays = read_parts(saved_file)
    write_parts(tmp_path / "other", header | {"answer_version": version}, arrays)
    with pytest.warns(UserWarning, match="answer version") as caught:
        model = load(tmp_path / "other")
    assert [str(warning.message) for warning in caught] == [
        f"The model was fitted with answer version {expected}, but this rekmeans has version "
        f"{ANSWER_VERSION}. A new fit of the same table may give different results."
    ]
    assert caught[0].filename == __file__
    assert_array_equal(model.predict(WINE), load(saved_file).predict(WINE))
    for name, values in load(saved_file).history_.items():
        assert_array_equal(model.history_[name], values)
    save(model, tmp_path / "again")
    assert read_parts(tmp_path / "again")[0]["answer_version"] == version
    save(model.fit(WINE), tmp_path / "again")
    assert read_parts(tmp_path / "again")[0]["answer_version"] == ANSWER_VERSION


# files written by the code of earlier format versions

EARLIER = DATA / "models"
ANSWERS = dict(np.load(EARLIER / "answers.npz"))


@pytest.mark.filterwarnings("ignore:The model was fitted with answer version 1")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["EulerKMeans", "RectifiedEulerKMeans", "EulerMap"])
def test_a_file_of_an_earlier_version_gives_the_answers_of_its_time(name, version, tmp_path):
    table = pd.DataFrame(ANSWERS["X"], columns=["a", "b", "c"])
    model = load(EARLIER / f"{name}-{version}.safetensors")
    assert type(model).__name__ == name
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    methods = [key for key in ANSWERS if key.startswith(f"{name}-{version}-")]
    assert methods
    for key in methods:
        assert_array_equal(getattr(model, key.split("-")[-1])(table), ANSWERS[key])
    save(model, tmp_path / "now")
    assert read_parts(tmp_path / "now")[0]["version"] == 3
    assert_same(load(tmp_path / "now"), model)


def without_entry(header, name):
    return {key: value for key, value in header.items() if key != name}


EARLIER_DAMAGE = {
    "an extra entry": (
        lambda h, a: (h | {"run": "me"}, a),
        "run is missing from the header or not a field",
    ),
    "a missing entry": (
        lambda h, a: (without_entry(h, "beyond"), a),
        "beyond is missing from the header",
    ),
    "parameters in a list": (lambda h, a: (h | {"parameters": []}, a), "parameters must be a"),
    "no unit": (lambda h, a: (h, without_entry(a, "unit")), "no valid model: 'unit'"),
    "an extra array": (
        lambda h, a: (h, a | {"x": np.ones(1)}),
        "x is an array that no record uses",
    ),
    "centroids off the grid": (
        lambda h, a: (h, a | {"centroids": a["centroids"] * 2}),
        "outside the circles",
    ),
}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("change", "words"), EARLIER_DAMAGE.values(), ids=EARLIER_DAMAGE)
def test_a_damaged_file_of_an_earlier_version_is_refused(change, words, version, tmp_path):
    parts = read_parts(EARLIER / f"RectifiedEulerKMeans-{version}.safetensors")
    write_without_digest(tmp_path / "same", *parts)
    with pytest.warns(UserWarning, match="answer version 1") if version == 1 else nullcontext():
        load(tmp_path / "same")
    write_without_digest(tmp_path / "bad", *change(*parts))
    with raises_mentioning(ValueError, "contains no valid model", words):
        load(tmp_path / "bad")


def test_a_file_without_a_digest_is_refused(saved_file, tmp_path):
    write_without_digest(tmp_path / "bad", *read_parts(saved_file))
    with raises_mentioning(ValueError, "it has no digest"):
        load(tmp_path / "bad")
