"""Messy files give the same results as clean ones, and the changes are reported."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

N = 120
EMPTY = [4, 50, 51]  # rows without a value
EMPTY_WARNING = "warning: 3 of 123 rows have no observed value and get the label -1."


def write_files(folder):
    """Write plain.csv, and messy.csv with formatted values, ids, text and empty rows."""
    random = np.random.default_rng(0)
    plain = pd.DataFrame(
        {"price": random.uniform(500, 5000, N).round(2), "age": random.integers(18, 90, N) + 0.5}
    )
    plain.loc[::30, "age"] = np.nan
    plain.to_csv(folder / "plain.csv", index=False)
    lines = [
        f'{i + 1000},"${price:,.2f}",{"unknown" if age != age else age},Ulm'
        for i, (price, age) in enumerate(plain.itertuples(index=False))
    ]
    for row in EMPTY:
        lines.insert(row, "" if row % 2 else f"{row},,n/a,Ulm")
    (folder / "messy.csv").write_text("\n".join(["customer_id,price,age,town", *lines]) + "\n")


@pytest.fixture
def answers(tmp_path, rekmeans):
    """Return the JSON output of fits of the plain and the messy file."""
    write_files(tmp_path)
    return [
        json.loads(rekmeans("fit", name, "-k", 3, "--csv", "--json").out)
        for name in ("plain.csv", "messy.csv")
    ]


def test_a_messy_file_gives_the_clusters_of_the_plain_one(answers, tmp_path):
    plain, messy = answers
    assert all(messy[name] == plain[name] for name in ("columns", "sizes", "objective", "passes"))
    assert messy["rows"] == N + len(EMPTY)
    assert messy["rows_without_values"] == len(EMPTY)
    labels = [pd.read_csv(tmp_path / answer["labels"]) for answer in answers]
    assert labels[1]["row"].tolist() == list(range(N + len(EMPTY)))
    assert np.flatnonzero(labels[1]["cluster"] == -1).tolist() == EMPTY
    assert_array_equal(labels[1]["cluster"].drop(EMPTY), labels[0]["cluster"])


def test_what_was_done_is_said_on_the_screen_and_to_machines(answers, tmp_path, rekmeans):
    plain, messy = answers
    assert plain["reading"] == []
    assert messy["skipped"] == {"town": "text", "customer_id": "an id"}
    words = [
        "price ($ and thousands commas in 120 cells)",
        "age (4 cells: 'unknown')",
        "customer_id",
    ]
    assert len(messy["reading"]) == len(words)
    assert all(word in note for word, note in zip(words, messy["reading"], strict=True))
    assert json.loads((tmp_path / messy["summary"]).read_text())["reading"] == messy["reading"]
    ran = rekmeans("fit", "messy.csv", "-k", 3)
    screen = ran.out.splitlines()
    assert [line for line in screen if line in messy["reading"]] == messy["reading"]
    assert ran.err.count(EMPTY_WARNING) == 1


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("memory", [[], ["--memory", "20KB"]], ids=["in memory", "in blocks"])
def test_predict_labels_an_empty_row_with_minus_one(ending, memory, answers, tmp_path, rekmeans):
    plain, messy = answers
    out = f"labels.{ending}"
    ran = rekmeans("predict", plain["model"], "messy.csv", "--out", out, "--json", *memory)
    assert ran.err.count(EMPTY_WARNING) == 1
    answer = json.loads(ran.out)
    assert (answer["rows"], answer["rows_without_values"]) == (N + len(EMPTY), len(EMPTY))
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    assert_array_equal(read(tmp_path / answer["labels"]), pd.read_csv(tmp_path / messy["labels"]))
    assert answer["sizes"] == plain["sizes"]
    assert answer["reading"] == [note for note in messy["reading"] if "ids" not in note]
    report = rekmeans("report", plain["model"], "messy.csv", "--json")
    assert json.loads(report.out)["summary"]["reading"] == answer["reading"]


def test_keep_takes_an_id_and_predict_takes_it_again(tmp_path, rekmeans):
    write_files(tmp_path)
    kept = json.loads(rekmeans("fit", "messy.csv", "-k", 3, "--keep", "customer_id", "--json").out)
    assert kept["columns"] == ["customer_id", "price", "age"]
    answer = json.loads(rekmeans("predict", kept["model"], "messy.csv", "--json").out)
    # rows that had only an id now have a value
    assert (answer["sizes"], answer["rows"]) == (kept["sizes"], N + 3)
    assert "no column nope" in rekmeans("fit", "messy.csv", "-k", 3, "--keep", "nope").err
    assert "--keep" in rekmeans("fit", "--demo", "--keep", "ash").err


def test_a_model_without_names_takes_what_looks_like_an_id(tmp_path, rekmeans):
    X = np.column_stack([np.arange(N), np.random.default_rng(0).normal(size=N)])
    np.save(tmp_path / "t.npy", X)
    pd.DataFrame({"id": np.arange(N), "a": X[:, 1]}).to_csv(tmp_path / "t.csv", index=False)
    fitted = json.loads(rekmeans("fit", "t.npy", "-k", 3, "--json").out)
    assert (
        json.loads(rekmeans("predict", fitted["model"], "t.csv", "--json").out)["sizes"]
        == fitted["sizes"]
    )


def test_a_model_without_names_is_used_on_the_file_that_it_was_fitted_to(tmp_path, rekmeans):
    """The first column counts the rows, and each line ends with a separator."""
    random = np.random.default_rng(0)
    (tmp_path / "t.csv").write_text(
        "".join(f"{i},{x:.3f},\n" for i, x in enumerate(random.normal(size=N)))
    )
    fitted = json.loads(rekmeans("fit", "t.csv", "-k", 3, "--json").out)
    assert fitted["columns"] == ["x0", "x1"]
    assert (
        json.loads(rekmeans("predict", fitted["model"], "t.csv", "--json").out)["sizes"]
        == fitted["sizes"]
    )


def test_notes_on_many_columns_are_few_lines(tmp_path, rekmeans):
    cells = {
        f"a long name of column number {j}": [f"${i * j % 97:,}.5" for i in range(30)]
        for j in range(1, 41)
    }
    texts = {f"count {j}": ["some longer text", *map(str, range(3, 90, 3))] for j in range(40)}
    ids = {f"id {j}": range(30) for j in range(40)}
    same = {f"same {j}": 1 for j in range(40)}
    pd.DataFrame(cells | texts | ids | same).to_csv(tmp_path / "t.csv", index=False)
    screen = rekmeans("fit", "t.csv", "-k", 2).out
    reading = json.loads(rekmeans("fit", "t.csv", "-k", 2, "--json").out)["reading"]
    assert len(reading) == 4
    assert all("and 32 more" in note and len(note) < 900 and note in screen for note in reading)
