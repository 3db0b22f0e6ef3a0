"""Tables larger than memory on the command line: what a fit in memory gives, read from many files in blocks."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rekmeans import RectifiedEulerKMeans, load
from support.command_line import OUTPUTS, is_refusal
from support.streams import stream_rows

ROWS = stream_rows(900)


@pytest.fixture
def parts(tmp_path):
    """Parquet files in a folder, with a column of text; the features of all of them."""
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
    out, result = tmp_path / "data-rekmeans", json.loads(answer.out)
    assert sorted(path.name for path in out.iterdir()) == OUTPUTS
    assert_array_equal(pd.read_parquet(out / "labels.parquet")["cluster"], expected.labels_)
    assert_array_equal(load(out / "model.safetensors").centroids_, expected.centroids_)
    assert (result["rows"], result["objective"], result["columns"]) == (900, expected.inertia_, ["a", "b", "c"])
    assert result["skipped"]["more"] == "dropped"
    assert "string" in result["skipped"]["name"]
    again = rekmeans("predict", out / "model.safetensors", table, "--out", "again.parquet", "--json")
    assert json.loads(again.out)["sizes"] == result["sizes"]
    assert_array_equal(pd.read_parquet(tmp_path / "again.parquet")["cluster"], expected.labels_)


def test_a_large_table_is_described_by_a_sample(parts, tmp_path, rekmeans, monkeypatch):
    from rekmeans.cli import stream

    monkeypatch.setattr(stream, "DESCRIBED_ROWS", 100)
    source, columns = stream.open_stream(tmp_path / "data", stream.ColumnSelection(drop=("more",)))
    model = RectifiedEulerKMeans(3, random_state=0).fit(source)
    table = stream.describe_by_sample(model, source, columns)
    assert table.X.shape == (100, 3)
    assert table.notes == ["the report shows 100 of 900 rows, drawn at random."]
    known = {tuple(row) for row in np.nan_to_num(ROWS).tolist()}
    assert {tuple(row) for row in np.nan_to_num(table.X).tolist()} <= known


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_labels_are_written_while_rows_are_read(parts, tmp_path, rekmeans, ending):
    rekmeans("fit", "data", "-k", 3, "--drop", "more", "--out", "out")
    answer = rekmeans("predict", "out/model.safetensors", "data", "--out", f"l.{ending}", "--memory", "10KB", "--json")
    labels = pd.read_parquet(tmp_path / "l.parquet") if ending == "parquet" else pd.read_csv(tmp_path / "l.csv")
    expected = RectifiedEulerKMeans(3, random_state=0).fit(parts).labels_
    assert_array_equal(labels["cluster"], expected)
    assert_array_equal(labels["row"], np.arange(900))
    assert json.loads(answer.out)["sizes"] == np.bincount(expected).tolist()


def test_rows_are_read_once_to_label_them(tmp_path):
    from rekmeans.cli import stream
    from rekmeans.table.block_source import ArrayBlocks

    read = []

    class CountedArray(np.ndarray):
        def __getitem__(self, at):
            read.append(at)
            return np.asarray(super().__getitem__(at))

    model = RectifiedEulerKMeans(3, random_state=0, memory_limit="10KB").fit(ROWS)
    sizes, source = np.zeros(3, int), ArrayBlocks(ROWS.view(CountedArray))
    labels = np.concatenate(list(stream.predict_blocks(model, source, "abc", sizes)))
    assert_array_equal(labels, model.predict(ROWS))
    assert_array_equal(sizes, np.bincount(labels))
    assert [(at.start, at.stop) for at in read] == [(0, 256), (256, 512), (512, 768), (768, 1024)]


def test_a_bad_row_is_named_by_its_number_in_the_table(parts, tmp_path, rekmeans):
    rekmeans("fit", "data", "-k", 3, "--drop", "more", "--out", "out")
    X = ROWS.copy()
    X[700] = np.inf
    np.save(tmp_path / "bad.npy", X)
    assert is_refusal(rekmeans("predict", "out/model.safetensors", "bad.npy", "--memory", "10KB"), "row 700")
    assert not (tmp_path / "bad-labels.parquet").exists()


def test_a_report_of_many_files_is_that_of_their_rows(parts, tmp_path, rekmeans):
    rekmeans("fit", "data", "-k", 3, "--drop", "more", "--out", "out")
    answer = rekmeans("report", "out/model.safetensors", "data/*.parquet", "--memory", "20KB", "--json")
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
    answer = json.loads(rekmeans("report", "out/model.safetensors", "rows.npy", "--memory", "3MB", "--json").out)
    assert answer["summary"]["table"]["rows"] == 100_000
    assert answer["summary"]["reading"] == ["the report shows 100,000 of 130,000 rows, drawn at random."]


def test_an_array_on_disk_is_read_in_blocks(tmp_path, rekmeans):
    np.save(tmp_path / "rows.npy", ROWS)
    result = json.loads(rekmeans("fit", "rows.npy", "-k", 3, "--memory", "10KB", "--json").out)
    assert result["objective"] == RectifiedEulerKMeans(3, random_state=0).fit(ROWS).inertia_


def test_a_checkpoint_is_used_and_goes(wine, tmp_path, rekmeans):
    (tmp_path / "c").write_text("something else")
    assert is_refusal(rekmeans("fit", "wine.csv", "-k", 3, "--checkpoint", "c"), "damaged or something else")
    (tmp_path / "c").unlink()
    assert rekmeans("fit", "wine.csv", "-k", 3, "--checkpoint", "c").status == 0
    assert not (tmp_path / "c").exists()


def test_what_cannot_be_read_in_blocks_is_refused(parts, wine, tmp_path, rekmeans):
    assert is_refusal(rekmeans("fit", "wine.csv", "-k", 3, "--memory", "1GB"), "parquet or npy")
    assert is_refusal(rekmeans("fit", "data", "-k", 3, "--label", "name"), "--label", "in memory")
    assert is_refusal(rekmeans("fit", "data/*.csv", "-k", 3), "names no file")
    assert is_refusal(rekmeans("fit", "data", "-k", 3, "--memory", "much"), "memory_limit must be")
    assert is_refusal(rekmeans("fit", "data", "-k", 3, "--drop", "nothing"), "no column nothing")


@pytest.mark.long
def test_a_cluster_is_used_by_its_address(parts, tmp_path, rekmeans):
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        answer = rekmeans("fit", "data/*.parquet", "-k", 3, "--cluster", address, "--drop", "more", "--json")
    assert json.loads(answer.out)["objective"] == RectifiedEulerKMeans(3, random_state=0).fit(parts).inertia_
