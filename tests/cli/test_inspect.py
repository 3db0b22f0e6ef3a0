"""rekmeans inspect, and the columns of a fit with and without --memory."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

N = 90


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "customer_id": np.arange(N) + 1000,
            "a": random.normal(size=N) + 5 * (np.arange(N) % 3),
            "b": random.normal(size=N),
            "price": [f"${x:,.2f}" for x in random.uniform(900, 5000, N)],
            "town": [None, "Ulm", "Bari"] * (N // 3),
        }
    )


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_memory_never_changes_the_columns(name, frame, tmp_path, rekmeans):
    frame.to_csv(tmp_path / name, index=False) if name == "t.csv" else frame.to_parquet(
        tmp_path / name, row_group_size=20
    )
    answers = [
        json.loads(rekmeans("fit", name, "-k", 3, "--json", "--out", f"out{len(more)}", *more).out)
        for more in ((), ("--memory", "20KB"))
    ]
    assert answers[0]["columns"] == answers[1]["columns"] == ["a", "b", "price"]
    for key in ("skipped", "reading", "objective", "sizes", "rows"):
        assert answers[0][key] == answers[1][key]
    labels = [pd.read_parquet(tmp_path / answer["labels"])["cluster"] for answer in answers]
    assert_array_equal(*labels)


def test_every_column_is_shown_with_its_reason(frame, tmp_path, rekmeans):
    long = "a long name of a column " * 5
    frame.assign(**{long: 1.5}).to_csv(tmp_path / "t.csv", index=False)
    shown = rekmeans("inspect", "t.csv").out
    assert all(name in shown for name in (*frame.columns, long.strip()))
    assert "$ and thousands commas in 90 cells" in shown
    answer = json.loads(rekmeans("inspect", "t.csv", "--label", "town", "--json").out)
    columns = {column["column"]: column for column in answer["columns"]}
    kinds = {name: column["kind"] for name, column in columns.items()}
    assert kinds == {
        "customer_id": "id",
        "a": "number",
        "b": "number",
        "price": "number",
        "town": "label",
        long.strip(): "number",
    }
    assert columns["town"]["missing"] == N // 3
    assert columns["a"]["examples"] == [frame["a"].min(), frame["a"].max()]
    # the extent is that of all cells, with and without a thousands comma
    mixed = pd.DataFrame({"p": [f"{x:,.2f}" for x in np.linspace(500, 5000, N)]})
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    answer = json.loads(rekmeans("inspect", "mixed.csv", "--json").out)
    assert answer["columns"][0]["examples"] == [500.0, 5000.0]
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_other_tables_are_inspected(frame, tmp_path, rekmeans):
    np.savez(tmp_path / "t.npz", X=np.eye(3), y=[1, 2, 3])
    answer = json.loads(rekmeans("inspect", "t.npz", "--json").out)
    assert [one["kind"] for one in answer["columns"]] == ["number"] * 3 + ["skipped"]
    (tmp_path / "data").mkdir()
    for number in range(3):
        frame.to_parquet(tmp_path / "data" / f"{number}.parquet")
    shown = rekmeans("inspect", "data").out
    assert "3 of 5 columns are used" not in shown  # the ids of three files repeat
    assert "4 of 5 columns are used" in shown
    assert rekmeans("inspect", "absent.csv").status == 2


def test_late_text_of_another_table_is_missing_also_in_blocks(frame, tmp_path, rekmeans):
    """The blocks of the csv reader have 1 MB; the text comes in the last row of 3 MB."""
    frame[["a", "b"]].to_csv(tmp_path / "t.csv", index=False)
    fitted = json.loads(rekmeans("fit", "t.csv", "-k", 3, "--json").out)
    lines = [f"{i % 7}.25,{i % 5}.125" for i in range(250_000)]
    (tmp_path / "late.csv").write_text("\n".join(["a,b", *lines, "unknown,1.5"]))
    answers = [
        json.loads(rekmeans("predict", fitted["model"], "late.csv", "--json", *more).out)
        for more in ((), ("--memory", "20MB"))
    ]
    assert answers[0]["sizes"] == answers[1]["sizes"]
    assert answers[0]["rows"] == 250_001
