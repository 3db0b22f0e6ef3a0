"""Paths that are not regular files raise a clear error at once in every function."""

import os
import socket

import numpy as np
import pytest

from rekmeans import EulerMap, RectifiedEulerKMeans, load
from rekmeans.io.file_names import check_regular_file
from rekmeans.io.selection import UnreadableFileError
from rekmeans.table.file_table import read_table_file
from support.assertions import raises_mentioning

X = np.random.default_rng(0).normal(size=(30, 2))

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


def pipe(path):
    os.mkfifo(path)


def loop(path):
    path.symlink_to(path)


def folder(path):
    path.mkdir()


def broken_link(path):
    path.symlink_to(path.with_name("absent"))


def bound_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


IRREGULAR = {
    "pipe": (pipe, ValueError, "is a named pipe"),
    "loop": (loop, ValueError, "circular symbolic link"),
    "folder": (folder, IsADirectoryError, "is a folder"),
    "broken link": (broken_link, FileNotFoundError, "does not exist"),
    "socket": (bound_socket, ValueError, "is a socket"),
    "nothing": (lambda path: None, FileNotFoundError, "does not exist"),
}
irregular = pytest.mark.parametrize(("make", "error", "words"), IRREGULAR.values(), ids=IRREGULAR)


@irregular
def test_a_model_is_not_read_from_a_path_that_leads_to_no_file(tmp_path, make, error, words):
    make(path := tmp_path / "model")
    with raises_mentioning(error, path, words, "Pass the path of a file"):
        load(path)


@pytest.mark.parametrize("name", ["X.npy", "X.parquet"])
@pytest.mark.parametrize(
    "estimator", [EulerMap(), RectifiedEulerKMeans(2)], ids=["map", "clusterer"]
)
def test_a_table_is_not_read_from_a_pipe(tmp_path, name, estimator):
    pipe(path := tmp_path / name)
    with raises_mentioning(ValueError, path, "is a named pipe"):
        estimator.fit(path)


def test_the_command_line_reads_no_table_from_a_pipe(tmp_path):
    pipe(path := tmp_path / "X.csv")
    with raises_mentioning(UnreadableFileError, path, "is not a regular file"):
        read_table_file(path)


def test_files_and_links_to_them_are_regular(tmp_path):
    (path := tmp_path / "file").write_text("")
    (link := tmp_path / "link").symlink_to(path)
    check_regular_file(path)
    check_regular_file(str(link))


def test_a_text_that_is_no_path_is_an_error_that_shows_it():
    with raises_mentioning(ValueError, r"'a\x00b' is not a valid path"):
        load("a\0b")
