"""Safetensors files have the same arrays as with the safetensors library; damage raises errors."""

import hashlib
import json
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans.tensor_file import (
    DTYPES,
    MAX_HEADER,
    DamagedFileError,
    read_tensor_file,
    write_tensor_file,
)
from support.assertions import raises_mentioning

numpy_tensors = pytest.importorskip("safetensors.numpy")
from safetensors import safe_open  # noqa: E402

RANDOM = np.random.default_rng(0)
ARRAYS = {
    **{
        name: RANDOM.integers(0, 2 if name == "BOOL" else 99, (2, 3)).astype(dtype)
        for name, dtype in DTYPES.items()
    },
    "nothing": np.empty((0, 4)),
    "a number": np.array(1.5),
    "größe": np.asfortranarray(RANDOM.normal(size=(4, 5))),
    "big-endian": np.arange(5.0).astype(">f8"),
    "three sides": RANDOM.normal(size=(2, 3, 4)),
}


@pytest.fixture
def path(tmp_path):
    write_tensor_file(tmp_path / "file", {"text": "größe 1"}, ARRAYS)
    return tmp_path / "file"


def test_the_safetensors_library_reads_what_is_written(path):
    found = numpy_tensors.load_file(path)
    assert found.keys() == ARRAYS.keys()
    for name, values in ARRAYS.items():
        assert_array_equal(found[name], values, err_msg=name)
        assert found[name].dtype == values.dtype.newbyteorder("=")
    with safe_open(path, framework="numpy") as file:
        assert file.metadata()["text"] == "größe 1"


def test_what_the_safetensors_library_writes_is_read(path):
    arrays = {
        name: np.ascontiguousarray(v, v.dtype.newbyteorder("=")) for name, v in ARRAYS.items()
    }
    arrays["a number"] = ARRAYS["a number"]
    path.write_bytes(numpy_tensors.save(arrays, {"text": "x"}))
    file = read_tensor_file(path)
    assert (file.metadata, file.has_digest) == ({"text": "x"}, False)
    for name, values in ARRAYS.items():
        assert_array_equal(file.arrays[name], values, err_msg=name)


def test_what_is_written_is_read(path):
    file = read_tensor_file(path)
    assert (file.metadata, file.has_digest) == ({"text": "größe 1"}, True)
    assert file.arrays.keys() == ARRAYS.keys()
    for name, values in ARRAYS.items():
        assert_array_equal(file.arrays[name], values, err_msg=name)
        assert file.arrays[name].dtype == values.dtype.newbyteorder("=")
        assert file.arrays[name].flags.writeable


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    file = read_tensor_file(path)
    write_tensor_file(
        tmp_path / "again", file.metadata, {name: file.arrays[name] for name in ARRAYS}
    )
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_text_like_the_place_of_the_digest_stays(tmp_path):
    write_tensor_file(tmp_path / "file", {"a": "0" * 64}, {"0" * 64: np.ones(1)})
    file = read_tensor_file(tmp_path / "file")
    assert (file.metadata, list(file.arrays)) == ({"a": "0" * 64}, ["0" * 64])


def test_every_damaged_byte_and_every_cut_is_refused(tmp_path):
    path = tmp_path / "file"
    arrays = {"a": np.arange(3.0), "b": np.arange(2, dtype=np.int32)}
    write_tensor_file(path, {"text": "x"}, arrays)
    data = path.read_bytes()
    for at in range(len(data)):
        for changed in (data[:at], data[:at] + bytes([data[at] ^ 32]) + data[at + 1 :]):
            path.write_bytes(changed)
            try:
                file = read_tensor_file(path)
            except DamagedFileError:
                continue
            assert not file.has_digest  # its name was damaged, so the reader of the file rejects it
    path.write_bytes(data + b"\0")
    with raises_mentioning(DamagedFileError, "its arrays take 32 bytes, but the file has 33"):
        read_tensor_file(path)


def entries(**changes):
    """Return the header of a file with two arrays of 8 bytes, with some entries changed."""
    one = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    two = {"dtype": "I64", "shape": [1], "data_offsets": [8, 16]}
    return {"one": one | changes, "two": two}


LAYOUTS = {
    "no table": ([], "not a JSON object"),
    "metadata of numbers": (
        {"__metadata__": {"a": 1}},
        "metadata is not a JSON object with string values",
    ),
    "metadata in a list": (
        {"__metadata__": [1]},
        "metadata is not a JSON object with string values",
    ),
    "an entry in a list": ({"one": [1]}, "no type, shape or position"),
    "an entry too many": (entries(run="me"), "no type, shape or position"),
    "an unknown type": (entries(dtype="F8"), "unknown type 'F8'"),
    "a type of a number": (entries(dtype=8), "unknown type '8'"),
    "an overlap": (entries(data_offsets=[8, 16]), "overlap or leave gaps"),
    "a gap": (entries(data_offsets=[0, 0], shape=[0]), "overlap or leave gaps"),
    "a place outside": (entries(data_offsets=[16, 24]), "overlap or leave gaps"),
    "a negative place": (entries(data_offsets=[-8, 0]), "no valid position"),
    "a place that is text": (entries(data_offsets="08"), "no valid position"),
    "three places": (entries(data_offsets=[0, 4, 8]), "no valid position"),
    "ends in disorder": (entries(data_offsets=[8, 0]), "a length that does not match its shape"),
    "a truth as a side": (entries(shape=[True]), "no valid shape"),
    "a real side": (entries(shape=[1.0]), "no valid shape"),
    "many sides": (entries(shape=[1] * 9), "no valid shape"),
    "a giant side": (entries(shape=[2**62]), "a length that does not match its shape"),
    "nothing of giant sides": (
        entries() | {"three": {"dtype": "F64", "shape": [0, 2**62], "data_offsets": [16, 16]}},
        "cannot be read",
    ),
    "a digest that is none": (
        entries() | {"__metadata__": {"sha256": "x"}},
        "not 64 hexadecimal digits",
    ),
    "another digest": (entries() | {"__metadata__": {"sha256": "a" * 64}}, "does not match"),
}


@pytest.mark.parametrize(("header", "words"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_layout_that_lies_is_refused(header, words, tmp_path):
    text = json.dumps(header).encode()
    (tmp_path / "file").write_bytes(len(text).to_bytes(8, "little") + text + bytes(16))
    with pytest.raises(DamagedFileError, match=words):
        read_tensor_file(tmp_path / "file")


def test_a_name_twice_is_refused(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length].replace(b'"F32":', b'"F32": 1, "F32":', 1)
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[8 + length :])
    with raises_mentioning(DamagedFileError, "contains 'F32' twice"):
        read_tensor_file(path)


def test_a_truth_value_of_two_is_refused(tmp_path):
    header = b'{"a": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}'
    (tmp_path / "file").write_bytes(len(header).to_bytes(8, "little") + header + b"\2")
    with raises_mentioning(DamagedFileError, "neither 0 nor 1"):
        read_tensor_file(tmp_path / "file")


def test_a_header_that_no_reader_takes_is_not_written(tmp_path):
    with raises_mentioning(ValueError, f"the limit is {MAX_HEADER}"):
        write_tensor_file(tmp_path / "file", {"a": "x" * MAX_HEADER}, {})
    assert list(tmp_path.iterdir()) == []


def test_the_digest_is_that_of_the_file_with_zeros_in_its_place(path):
    data = path.read_bytes()
    digest = re.search(rb'"sha256": "([0-9a-f]{64})"', data)[1]
    assert hashlib.sha256(data.replace(digest, b"0" * 64, 1)).hexdigest() == digest.decode()
