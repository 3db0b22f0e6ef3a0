"""Malicious model files raise a short error and run no code.

Examples are repeated names, megabytes of text, and false sizes.
"""

import json

import numpy as np
import pytest

from rekmeans import RectifiedEulerKMeans, load, save
from support.model_files import write_bytes

ROWS = np.random.default_rng(0).normal(size=(30, 3))
LONG = "n" * 10**6


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Return the header of a model file as text, and the bytes after it."""
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    save(RectifiedEulerKMeans(2, random_state=0).fit(ROWS), path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return data[8 : 8 + length].decode(), data[8 + length :]


def error_message(path, header, blob, length=None):
    """Return the error message for a file with this header."""
    write_bytes(path, header.encode(), blob, length)
    with pytest.raises(ValueError, match=r"m\.safetensors") as refused:
        load(path)
    sentence = str(refused.value)
    assert len(sentence) <= 300
    assert "\n" not in sentence
    return sentence


def with_inner(header, **values):
    """Return the header with changed values in the part written by rekmeans."""
    outer = json.loads(header)
    inner = json.loads(outer["__metadata__"]["rekmeans"]) | values
    metadata = outer["__metadata__"] | {"rekmeans": json.dumps(inner)}
    return json.dumps(outer | {"__metadata__": metadata})


def with_attribute(header, name, value):
    """Return the header with another value of an attribute."""
    outer = json.loads(header)
    attributes = json.loads(outer["__metadata__"]["rekmeans"])["attributes"]
    return with_inner(header, attributes=attributes | {name: value})


CHANGES = {
    "an array twice": (
        lambda h: h.replace('"labels_":', '"labels_":{},"labels_":'),
        "'labels_' twice",
    ),
    "metadata twice": (
        lambda h: h.replace('"__metadata__":', '"__metadata__":{},"__metadata__":'),
        "twice",
    ),
    "an entry twice": (
        lambda h: h.replace(r"{\"format\":", r"{\"version\":1,\"format\":"),
        "'version' twice",
    ),
    "a long array": (lambda h: h.replace('"labels_"', f'"{LONG}"'), "malformed: 'labels_'"),
    "a long array more": (
        lambda h: h.replace(
            '"labels_":',
            f'"{LONG}":{{"dtype":"F64","shape":[0],"data_offsets":[0,0]}},"labels_":',
        ),
        "is an array that no record uses",
    ),
    "a long type": (lambda h: h.replace('"F64"', f'"{LONG}"', 1), "unknown type 'nnn"),
    "a long estimator": (lambda h: with_inner(h, estimator=LONG), "estimator must be one of"),
    "a long engine": (
        lambda h: with_attribute(h, "engine_", LONG),
        "engine_ must be text of at most 200",
    ),
    "a long parameter": (
        lambda h: with_inner(h, parameters={"scale": LONG}),
        "text of at most 200",
    ),
    "a long record": (
        lambda h: with_inner(h, kernel={"record": LONG, "fields": {}}),
        "is not a record type of this file",
    ),
    "a long version": (lambda h: with_inner(h, version=10**4000), "version is 1000"),
    "a long answer version": (lambda h: with_inner(h, answer_version=10**4000), "at most 1000000"),
    "repeated names": (
        lambda h: with_inner(h, feature_names=["a", "b", "a"]),
        "feature_names must be unique",
    ),
    "a negative side": (
        lambda h: h.replace('"shape": [3]', '"shape": [-3]'),
        "has no valid shape",
    ),
    "a giant side": (
        lambda h: h.replace('"shape": [3]', f'"shape": [{2**62}]'),
        "has a length that does not match its shape",
    ),
    "no entries": (lambda h: "[]", "not a JSON object"),
    "many values": (lambda h: '{"a":[' + "{}," * 6_000_000 + "0]}", "longer than 16 MB"),
}


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)
def test_a_hostile_header_is_a_short_sentence(change, words, parts, tmp_path):
    header, blob = parts
    changed = change(header)
    assert changed != header
    assert words in error_message(tmp_path / "m.safetensors", changed, blob)


@pytest.mark.parametrize("length", [0, 1, 2**64 - 1, 2**60, 100_000_000])
def test_a_length_that_lies_is_refused(length, parts, tmp_path):
    assert "damaged" in error_message(tmp_path / "m.safetensors", *parts, length=length)


def test_offsets_that_lie_are_refused(parts, tmp_path):
    header, blob = parts
    entries = json.loads(header)
    for ends in ([8, 0], [0, 2**40], [0, 2**63], [-8, 0], [0], "x"):
        entries["labels_"]["data_offsets"] = ends
        assert "damaged" in error_message(tmp_path / "m.safetensors", json.dumps(entries), blob)


def test_infinite_points_are_refused(parts, tmp_path):
    header, blob = parts
    low, _ = json.loads(header)["cluster_centers_"]["data_offsets"]
    infinite = blob[:low] + np.array([np.inf]).tobytes() + blob[low + 8 :]
    assert "cluster_centers_ must be finite" in error_message(
        tmp_path / "m.safetensors", header, infinite
    )


def test_names_that_no_file_may_have_are_refused_when_it_is_written(tmp_path):
    model = RectifiedEulerKMeans(2, random_state=0).fit(ROWS)
    model.feature_names_in_ = np.array(["a", "b", "c" * (9 << 20)], object)
    with pytest.raises(ValueError, match="column names take more than 8 MB"):
        save(model, tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []
