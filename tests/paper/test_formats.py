"""Files in the formats of the sources are read back exactly, and .Z files unpack as with gzip."""

import hashlib
import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans_paper._formats import unpack_lzw
from rekmeans_paper._origins import FETCHABLE
from support.fake_dataset_server import WRITERS, file_contents, pack_lzw, random_table


@pytest.mark.parametrize("name", FETCHABLE)
def test_a_format_is_read_back_exactly(name):
    X, y = random_table(name)
    read_X, read_y = FETCHABLE[name].layout.table(WRITERS[name](X, y))
    assert_array_equal(read_X, X, strict=True)
    assert_array_equal(read_y, y, strict=True)


@pytest.mark.parametrize("name", FETCHABLE)
def test_real_values_are_read_back_exactly(name, shared_set):
    X, y = shared_set(name)
    step = 10 if name == "isolet" else 1
    read_X, read_y = FETCHABLE[name].layout.table(WRITERS[name](X[::step], y[::step]))
    assert_array_equal(read_X, X[::step].astype(np.float32), strict=True)
    assert_array_equal(read_y, y[::step])


@pytest.mark.parametrize("name", ["seeds", "pendigits", "satimage"])
def test_real_data_written_in_the_format_of_the_source_has_its_checksum(name, shared_set):
    sums = [
        hashlib.sha256(content).hexdigest() for content in file_contents(name, *shared_set(name))
    ]
    assert sums == [file.sha256 for file in FETCHABLE[name].files]


def test_an_error_names_a_ragged_row():
    with pytest.raises(ValueError, match=r"^row 3 has 4 fields, but the first row has 3$"):
        FETCHABLE["seeds"].layout.table("1 2 1\n3 4 2\n\n5 6 7 3\n")


@pytest.mark.parametrize("widest", [10, 12, 16])
@pytest.mark.parametrize("clears", [(), (1, 300, 301, 2000)])
def test_unpacking_agrees_with_gzip(widest, clears):
    rng = np.random.default_rng(widest)
    text = b"a" * 1000 + rng.integers(48, 58, 300_000, np.uint8).tobytes() + b", 26.\n"
    file = pack_lzw(text, widest, clears)
    if shutil.which("gzip"):  # checks our packer
        assert (
            subprocess.run(["gzip", "-dc"], input=file, capture_output=True, check=True).stdout
            == text
        )
    assert unpack_lzw(file) == text


@pytest.mark.parametrize(
    "file", [b"", b"\x1f\x9d", b"\x1f\x8b\x08plain gzip", b"\x1f\x9d\x90\xff\xff\xff\xff"]
)
def test_a_damaged_archive_raises(file):
    with pytest.raises(ValueError, match=r"(not a|damaged) \.Z file"):
        unpack_lzw(file)
