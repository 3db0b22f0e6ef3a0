"""Input that is not a table raises an error that states how to pass it."""

import dask
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
import zarr
from dask import array, dataframe
from pyarrow import dataset
from scipy import sparse
from sklearn import config_context

from rekmeans import EulerMap, RectifiedEulerKMeans
from rekmeans.engines import read_input
from rekmeans.table.stream_input import find_source
from support.assertions import (
    assert_message_states_fix,
    assert_one_sentence,
    raises_mentioning,
)

X = np.random.default_rng(0).normal(size=(300, 3))
FRAME = pd.DataFrame(X, columns=list("abc"))


def assert_rejected(
    rows, error, *words, estimator=RectifiedEulerKMeans, sample_weight=None, **parameters
):
    with raises_mentioning(error, *words) as caught:
        estimator(**parameters).fit(rows, sample_weight=sample_weight)
    assert_message_states_fix(caught.value)


def damaged(content, whole):
    return {
        "cut off": whole[:1000],
        "without its header": whole[:60],
        "empty": b"",
        "something else": b"hello world, not an array",
    }[content]


@pytest.mark.parametrize("content", ["cut off", "without its header", "empty", "something else"])
def test_a_damaged_npy_file(content, tmp_path):
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "x.npy").write_bytes(damaged(content, (tmp_path / "x.npy").read_bytes()))
    assert_rejected(
        tmp_path / "x.npy", ValueError, "x.npy must be a .npy file of numbers", "np.save"
    )


def test_npy_files_of_other_things(tmp_path):
    np.save(tmp_path / "objects.npy", X.astype(object))
    assert_rejected(
        tmp_path / "objects.npy",
        ValueError,
        "objects.npy must be a .npy file of numbers",
        "objects",
    )
    np.savez(tmp_path / "x.npz", X=X)
    (tmp_path / "x.npz").rename(tmp_path / "several.npy")
    assert_rejected(tmp_path / "several.npy", ValueError, "a single array")


def test_readers_of_files(tmp_path):
    FRAME.to_parquet(tmp_path / "x.parquet")
    data = dataset.dataset(tmp_path / "x.parquet")
    assert_rejected(data.scanner(), TypeError, "pyarrow dataset", "Scanner")
    assert_rejected(next(data.get_fragments()), TypeError, "pyarrow dataset", "Fragment")
    assert_rejected(
        pyarrow.parquet.ParquetFile(tmp_path / "x.parquet"),
        TypeError,
        "got a ParquetFile",
        "Pass the path",
    )
    assert_rejected(
        [str(tmp_path / "x.parquet")] * 2, TypeError, "a list of 2 paths", "Pass a glob pattern"
    )
    assert_rejected((tmp_path / "x.parquet",), TypeError, "a tuple of 1 paths")
    assert_rejected(
        (block for block in [X]),
        TypeError,
        "got a generator",
        "function that returns a new iterator",
    )
    assert_rejected(
        zarr.open_group(tmp_path / "g.zarr", mode="w"), TypeError, "zarr array", "Group"
    )


def test_blocks_of_other_things():
    for block, kind in ((X.tolist(), "list"), (None, "NoneType"), (X[0], "ndarray")):
        for blocks in ([block], [X, block]):
            assert_rejected(
                lambda blocks=blocks: iter(blocks), TypeError, "blocks of rows", f"got {kind}"
            )
    for blocks in ([sparse.csr_array(X)], [X, sparse.csr_array(X)]):
        assert_rejected(lambda blocks=blocks: iter(blocks), TypeError, "dense blocks", "sparse")
    twice = pd.DataFrame(X, columns=["a", "b", "a"])
    assert_rejected(lambda: iter([twice]), ValueError, "unique column names")
    assert_rejected(lambda: iter([X]), ValueError, "one weight per row", "2.0", sample_weight=2.0)


def test_other_collections_of_dask():
    frame = dataframe.from_pandas(FRAME, npartitions=2)
    assert_rejected(dask.delayed(X), TypeError, "got a Delayed", "from_delayed")
    assert_rejected(frame["a"], TypeError, "2-D dask.array or a dask.dataframe", "Series")
    assert_rejected(
        dataframe.concat([frame, frame[["a"]]], axis=1), ValueError, "unique column names"
    )
    for rows in (array.from_array(X, chunks=(150, 3)), frame):
        weights = array.ones((300, 1), chunks=(150, 1))
        assert_rejected(rows, ValueError, "sample_weight must be 1-D", "2-D", sample_weight=weights)


def test_a_method_that_needs_rows_in_memory_says_what_it_takes(tmp_path):
    np.save(tmp_path / "x.npy", X)
    FRAME.to_parquet(tmp_path / "x.parquet")
    euler = EulerMap().fit(X)
    for rows, words in (
        (str(tmp_path / "x.npy"), "got the path"),
        (lambda: iter([X]), "got a function"),
        (dataset.dataset(tmp_path / "x.parquet"), "FileSystemDataset"),
        (array.from_array(X), "a Dask"),
    ):
        with raises_mentioning(TypeError, words):
            euler.inverse_transform(rows)
    assert_rejected(array.from_array(X), TypeError, "a Dask", estimator=EulerMap)


@pytest.mark.parametrize("name", ["", ".", "/", "folder"])
def test_a_checkpoint_is_a_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert_rejected(
        X,
        ValueError,
        "checkpoint must be the path of a file",
        f"got the directory {name!r}",
        checkpoint=name,
    )


def test_a_file_that_goes_while_it_is_read(tmp_path):
    for number in range(3):
        FRAME.to_parquet(tmp_path / f"{number}.parquet")
    source = find_source(tmp_path, None)
    (tmp_path / "1.parquet").unlink()
    with raises_mentioning(FileNotFoundError, "a file is missing", "1.parquet") as caught:
        read_input(RectifiedEulerKMeans(), source, fitting=True)
    assert_one_sentence(caught.value)


def test_integers_of_one_file_are_rounded_beside_floats_as_in_memory(tmp_path):
    frames = FRAME, FRAME.assign(a=2**60 + 1), FRAME
    for number, frame in enumerate(frames):
        frame.to_parquet(tmp_path / f"{number}.parquet")
    model = RectifiedEulerKMeans(3, random_state=0, scale="range")
    labels = model.fit(tmp_path).labels_
    np.testing.assert_array_equal(labels, model.fit(pd.concat(frames, ignore_index=True)).labels_)


def test_a_container_does_not_gather_the_rows_of_dask():
    rows = array.from_array(X, chunks=(100, 3))
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    assert isinstance(model.transform(rows), array.Array)
    with (
        config_context(transform_output="pandas"),
        raises_mentioning(ValueError, "'pandas'", "would load all rows"),
    ):
        model.transform(rows)
    model.set_output(transform="pandas")
    with raises_mentioning(ValueError, "would load all rows", "transform='default'") as caught:
        model.transform(rows)
    assert_message_states_fix(caught.value)
    assert isinstance(model.transform(X), pd.DataFrame)


def test_what_the_command_line_writes_into_a_folder_is_not_read_as_its_table(tmp_path):
    FRAME.to_parquet(tmp_path / "0.parquet")
    (tmp_path / "0-rekmeans").mkdir()
    (tmp_path / "0-rekmeans" / "model.safetensors").write_text("a model")
    assert read_input(RectifiedEulerKMeans(), tmp_path, fitting=True).n_rows == len(FRAME)
