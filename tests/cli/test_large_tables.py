"""Tables larger than memory on the command line give the same results as a fit in memory."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rekmeans import RectifiedEulerKMeans, load
from rekmeans.io.selection import ColumnSelection
from rekmeans.table.file_table import read_table_file
from support.assertions import raises_mentioning
from support.command_line import OUTPUTS, is_input_error
from support.streams import stream_rows

ROWS = stream_rows(900)


@pytest.fixture
def parts(tmp_path):
    """Write a folder of Parquet files with a text column, and return the features of all files."""
    whole = pd.DataFrame(ROWS, columns=["a", "b", "c"]).assign(name="x", more=1.5)
    (tmp_path / "data").mkdir()
    for number, start in enumerate(range(0, 900, 300)):
        whole[start : start + 300].to_parquet(tmp_path / "data" / f"{number}.parquet", index=False)
    return whole[["a", "b", "c"]]


@pytest.mark.parametrize("table", ["data/*.parquet", "data"])
def test_a_fit_of_many_files_is_that_of_their_rows(parts, tmp_path, rekmeans, table):
    answer = rekmeans("fit", table, "-k", 3, "--memory", "20KB", "--drop", "more", "--json")
    assert (answer.status, answer.err) == (0, "")
    expected = RectifiedEulerKMeans(3, random_state=0).fit(parts)
    out = tmp_path / "data-rekmeans"
    result = json.loads(answer.out)
    assert sorted(path.name for path in out.iterdir()) == OUTPUTS
    assert_array_equal(pd.read_parquet(out / "labels.parquet")["cluster"], expected.labels_)
    assert_array_equal(load(out / "model.safetensors").centroids_, expected.centroids_)
    assert (result["rows"], result["objective"], result["columns"]) == (
        900,
        expected.inertia_,
        ["a", "b", "c"],
    )
    assert result["skipped"]["more"] == "dropped"
    assert result["skipped"]["name"] == "text"
    again = rekmeans(
        "predict", out / "model.safetensors", table, "--out", "again.parquet", "--json"
    )
    assert json.loads(again.out)["sizes"] == result["sizes"]
    assert_array_equal(pd.read_parquet(tmp_path / "again.parquet")["cluster"], expected.labels_)


def test_a_large_table_is_described_by_a_sample(parts, tmp_path, rekmeans, monkeypatch):
    from rekmeans.cli import stream

    monkeypatch.setattr(stream, "DESCRIBED_ROWS", 100)
    columns = read_table_file(tmp_path / "data", ColumnSelection(drop=("more",)))
    model = RectifiedEulerKMeans(3, random_state=0).fit(columns)
    table = stream.describe_by_sample(model, columns, columns)
    assert table.X.shape == (100, 3)
    assert table.notes == ["the report shows a random sample of 100 of 900 rows."]
    known = {tuple(row) for row in np.nan_to_num(ROWS).tolist()}
    assert {tuple(row) for row in np.nan_to_num(table.X).tolist()} <= known


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_labels_are_written_while_rows_are_read(parts, tmp_path, rekmeans, ending):
    rekmeans("fit", "data", "-k", 3, "--drop", "more", "--out", "out")
    answer = rekmeans(
        "predict",
        "out/model.safetensors",
        "data",
        "--out",
        f"l.{ending}",
        "--memory",
        "10KB",
        "--json",
    )
    labels = (
        pd.read_parquet(tmp_path / "l.parquet")
        if ending == "parquet"
        else pd.read_csv(tmp_path / "l.csv")
    )
    expected = RectifiedEulerKMeans(3, random_state=0).fit(parts).labels_
    assert_array_equal(labels["cluster"], expected)
    assert_array_equal(labels["row"], np.arange(900))
    assert json.loads(answer.out)["sizes"] == np.bincount(expected).tolist()


def test_rows_are_read_once_to_label_them(tmp_path):
    from rekmeans.cli import stream
    from rekmeans.table.array_blocks import ArrayBlocks

    read = []

    class CountedArray(np.ndarray):
        def __getitem__(self, at):
            read.append(at)
            return np.asarray(super().__getitem__(at))

    model = RectifiedEulerKMeans(3, random_state=0, memory_limit="10KB").fit(ROWS)
    counts = np.zeros(4, int)
    source = ArrayBlocks(ROWS.view(CountedArray))
    labels = np.concatenate(list(stream.predict_blocks(model, source, "abc", counts)))
    assert_array_equal(labels, model.predict(ROWS))
    assert_array_equal(counts, [0, *np.bincount(labels)])
    assert [(at.start, at.stop) for at in read] == [(0, 256), (256, 512), (512, 768), (768, 1024)]


def test_a_bad_row_is_named_by_its_number_in_the_table(parts, tmp_path, rekmeans):
    rekmeans("fit", "data", "-k", 3, "--drop", "more", "--out", "out")
    X = ROWS.copy()
    X[700] = np.inf
    np.save(tmp_path / "bad.npy", X)
    assert is_input_error(
        rekmeans("predict", "out/model.safetensors", "bad.npy", "--memory", "10KB"), "row 700"
    )
    assert not (tmp_path / "bad-labels.parquet").exists()


def test_a_bad_row_of_parquet_is_named_by_its_number_in_the_table(parts, tmp_path, rekmeans):
    rekmeans("fit", "data", "-k", 3, "--drop", "more", "--out", "out")
    bad = parts.copy()
    bad.loc[700, "b"] = np.inf
    bad.to_parquet(tmp_path / "bad.parquet")
    answer = rekmeans("predict", "out/model.safetensors", "bad.parquet", "--memory", "10KB")
    assert is_input_error(answer, "infinity in row 700", "'b'")


@pytest.mark.parametrize("table", ["data/*.parquet", "data", "./data", "**/*.parquet"])
def test_no_file_of_the_table_is_written_over(parts, tmp_path, rekmeans, table):
    rekmeans("fit", "data", "-k", 3, "--drop", "more", "--out", "out")
    (tmp_path / "out" / "labels.parquet").unlink()
    before = {path: path.read_bytes() for path in (tmp_path / "data").iterdir()}
    for command in (("predict", "out/model.safetensors", table, "--out", "data/1.parquet"),):
        assert is_input_error(rekmeans(*command), "both an input and an output")
    assert {path: path.read_bytes() for path in (tmp_path / "data").iterdir()} == before


def test_no_output_becomes_a_part_of_the_table(parts, tmp_path, rekmeans):
    rekmeans("fit", "data", "-k", 3, "--drop", "more", "--out", "out")
    for table, out in (
        ("data", "data/labels.parquet"),
        ("data/*", "data/l.csv"),
        ("**/*.parquet", "l.parquet"),
    ):
        answer = rekmeans("predict", "out/model.safetensors", table, "--out", out)
        assert is_input_error(answer, out, "would become part of the table", "Pass another --out")
    assert is_input_error(
        rekmeans("fit", "data", "-k", 3, "--out", "data"), "would become part of the table"
    )
    assert is_input_error(
        rekmeans("report", "out/model.safetensors", "data", "--out", "data/r.html"),
        "would become part",
    )
    assert len(list((tmp_path / "data").iterdir())) == 3


@pytest.mark.parametrize("table", ["*.parquet", "."])
def test_files_of_this_folder_are_labelled_as_often_as_asked(parts, tmp_path, server, table):
    folder = tmp_path / "data"
    first = server("fit", table, "-k", 3, "--drop", "more", "--json", folder=folder)
    model = Path(json.loads(first.out)["model"])
    answers = [server("predict", model, table, "--json", folder=folder) for _ in range(2)]
    assert [(answer.status, answer.err) for answer in answers] == [(0, ""), (0, "")]
    assert [json.loads(answer.out)["rows"] for answer in answers] == [900, 900]
    assert json.loads(answers[0].out)["labels"] == "../data-labels.parquet"
    assert (tmp_path / "data-labels.parquet").exists()


def test_partitions_of_a_cluster_have_the_rows_in_the_order_of_names(tmp_path):
    from rekmeans.cli import stream

    rows = pd.DataFrame(np.nan_to_num(ROWS), columns=["a", "b", "c"])
    names = sorted(f"part.{number}.parquet" for number in range(12))
    assert names[1:4] == ["part.1.parquet", "part.10.parquet", "part.11.parquet"]
    for number, name in enumerate(names):
        part = rows[75 * number : 75 * (number + 1)]
        (part.astype(np.float32) if number == 3 else part).to_parquet(
            tmp_path / name, row_group_size=20
        )
    expected = rows.copy()
    expected[225:300] = expected[225:300].astype(np.float32)
    for table in (tmp_path, tmp_path / "*.parquet"):
        frame = stream.open_collection(table, ColumnSelection())
        source = read_table_file(table).X
        assert_array_equal(frame.compute(scheduler="synchronous"), expected)
        assert_array_equal(np.concatenate([block.X for block in source.blocks(100)]), expected)


def test_an_array_goes_to_no_cluster(tmp_path, rekmeans):
    np.save(tmp_path / "rows.npy", ROWS)
    answer = rekmeans("fit", "rows.npy", "-k", 3, "--cluster", "tcp://127.0.0.1:1")
    assert is_input_error(answer, "--cluster requires parquet", "rows.npy")
    assert is_input_error(
        rekmeans("fit", "--demo", "--cluster", "tcp://127.0.0.1:1"), "Remove TABLE", "--cluster"
    )


def test_a_cluster_that_does_not_answer_is_named():
    import dask

    from rekmeans.cli import stream

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        raises_mentioning(
            ValueError, "cannot connect to a Dask scheduler at tcp://127.0.0.1:1"
        ) as caught,
        stream.use_cluster("tcp://127.0.0.1:1"),
    ):
        pass
    assert "pass another address" in str(caught.value)


def test_a_report_of_many_files_is_that_of_their_rows(parts, tmp_path, rekmeans):
    rekmeans("fit", "data", "-k", 3, "--drop", "more", "--out", "out")
    answer = rekmeans(
        "report", "out/model.safetensors", "data/*.parquet", "--memory", "20KB", "--json"
    )
    parts.to_parquet(tmp_path / "whole.parquet")
    whole = rekmeans("report", "out/model.safetensors", "whole.parquet", "--json")
    assert (answer.status, answer.err) == (0, "")
    assert (tmp_path / "data-report.html").exists()
    one, two = (json.loads(each.out)["summary"] for each in (answer, whole))
    for name in ("sizes", "features", "kappa", "left_out"):
        assert one[name] == two[name], name


def test_a_report_of_a_large_table_is_of_a_sample(tmp_path, rekmeans):
    np.save(tmp_path / "rows.npy", stream_rows(130_000))
    assert rekmeans("fit", "rows.npy", "-k", 3, "--memory", "3MB", "--out", "out").status == 0
    answer = json.loads(
        rekmeans("report", "out/model.safetensors", "rows.npy", "--memory", "3MB", "--json").out
    )
    assert answer["summary"]["table"]["rows"] == 100_000
    assert answer["summary"]["reading"] == [
        "the report shows a random sample of 100,000 of 130,000 rows."
    ]


def test_an_array_on_disk_is_read_in_blocks(tmp_path, rekmeans):
    np.save(tmp_path / "rows.npy", ROWS)
    result = json.loads(rekmeans("fit", "rows.npy", "-k", 3, "--memory", "10KB", "--json").out)
    assert result["objective"] == RectifiedEulerKMeans(3, random_state=0).fit(ROWS).inertia_


def test_a_checkpoint_is_used_and_goes(wine, tmp_path, rekmeans):
    (tmp_path / "c").write_text("something else")
    assert is_input_error(
        rekmeans("fit", "wine.csv", "-k", 3, "--checkpoint", "c"), "damaged or not a checkpoint"
    )
    (tmp_path / "c").unlink()
    assert rekmeans("fit", "wine.csv", "-k", 3, "--checkpoint", "c").status == 0
    assert not (tmp_path / "c").exists()


def test_what_cannot_be_read_in_blocks_is_refused(parts, wine, tmp_path, rekmeans):
    np.savez(tmp_path / "t.npz", X=ROWS)
    assert is_input_error(rekmeans("fit", "t.npz", "-k", 3, "--memory", "1GB"), "parquet or npy")
    assert is_input_error(
        rekmeans("fit", "data", "-k", 3, "--label", "name"), "--label", "in memory"
    )
    assert is_input_error(rekmeans("fit", "data/*.csv", "-k", 3), "No files match")
    assert is_input_error(
        rekmeans("fit", "data", "-k", 3, "--memory", "much"), "memory_limit must be"
    )
    assert is_input_error(
        rekmeans("fit", "data", "-k", 3, "--drop", "nothing"), "no column nothing"
    )


@pytest.mark.long
def test_a_cluster_is_used_by_its_address(parts, tmp_path, rekmeans):
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        answer = rekmeans(
            "fit", "data/*.parquet", "-k", 3, "--cluster", address, "--drop", "more", "--json"
        )
    assert (
        json.loads(answer.out)["objective"]
        == RectifiedEulerKMeans(3, random_state=0).fit(parts).inertia_
    )
