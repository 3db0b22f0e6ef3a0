"""Invalid tables, models and arguments raise one-line errors and do not change earlier outputs."""

import re
import subprocess
import sys

import numpy as np
import pytest

from rekmeans import FuzzyCMeans, KernelKMeans, save
from support.command_line import OUTPUTS, is_input_error
from support.model_files import write_bytes
from support.tables import file_bytes

BAD_TABLES = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"a,b,c\n", "no rows"),
    "ragged.csv": (b"a,b\n1,2\n3\n", "Expected 2 columns, got 1"),
    "long.csv": (b"a,b\n1,2\n3,4,5\n", "Expected 2 columns, got 3"),
    "binary.csv": (bytes(range(256)) * 20, "not a text file"),
    "high.csv": (bytes(range(128, 256)) * 20, "UTF-8"),
    "text.csv": (b"a,b\nx,y\nz,w\n", "no numeric column", "a (text)"),
    "infinite.csv": (b"a,b\n1,2\n3,inf\n5,6\n", "infinity in line 3", "'b'"),
    "twice.csv": (b"a,a\n1,2\n3,4\n", "unique column names"),
    "hollow.csv": (b"a,b\n,\n\n", "no numeric column", "every value is missing"),
    "ids.csv": (b"id\n4\n9\n", "id (an id)", "--keep"),
    "few.csv": (b"a,b\n1,2\n", "n_clusters=2 requires at least 2 rows"),
    "junk.parquet": (b"PAR1" * 50, "must be a parquet file"),
    "junk.feather": (b"ARROW1" * 50, "cannot be read as feather"),
    "junk.npy": (b"junk" * 50, "npy"),
    "junk.npz": (b"PK\3\4" + b"junk" * 50, "cannot be read as npz"),
    "junk.svm": (b"1 x:y\n", "cannot be read as svm"),
    "t.xlsx": (b"PK", "unsupported file extension", ".parquet"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables_are_refused_and_earlier_outputs_stay(name, tmp_path, rekmeans):
    data, *words = BAD_TABLES[name]
    (tmp_path / name).write_bytes(data)
    out = tmp_path / "out"
    out.mkdir()
    for output in OUTPUTS:
        (out / output).write_bytes(b"earlier " + output.encode())
    before = file_bytes(tmp_path)
    assert is_input_error(rekmeans("fit", name, "-k", 2, "--out", "out"), *words)
    assert file_bytes(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "says"),
    {
        "no -k": (["fit", "wine.csv"], "-k 3"),
        "no table": (["fit", "-k", "3"], "--demo"),
        "demo and table": (["fit", "wine.csv", "--demo"], "--demo"),
        "k = 0": (["fit", "wine.csv", "-k", "0"], "n_clusters"),
        "k = x": (["fit", "wine.csv", "-k", "x"], "'-k'"),
        "alpha": (["fit", "wine.csv", "-k", "2", "--alpha", "-1"], "alpha must be"),
        "method": (["fit", "wine.csv", "-k", "2", "--method", "best"], "eulerk"),
        "starts": (["fit", "wine.csv", "-k", "2", "--starts", "0"], "n_init"),
        "label": (["fit", "wine.csv", "-k", "2", "--label", "colour"], "no column colour"),
        "absent": (["fit", "none.csv", "-k", "2"], "none.csv does not exist"),
        "a folder": (["fit", ".", "-k", "2"], "folder of parquet"),
        "out in a file": (["fit", "wine.csv", "-k", "2", "--out", "wine.csv/out"], "wine.csv is a "
                                                                                   "file"),
        "out is a file": (["fit", "wine.csv", "-k", "2", "--out", "wine.csv"], "wine.csv is a "
                                                                               "file"),
        "no model": (["predict", "none.safetensors", "wine.csv"], "none.safetensors"),
        "a table as model": (["predict", "wine.csv", "wine.csv"], "not a safetensors file"),
        "command": (["cluster"], "cluster"),
        "option": (["fit", "--clutsers", "3"], "--clutsers"),
    }.values(),
    ids=lambda value: "",
)  # fmt: skip
def test_wrong_usage_is_one_sentence(words, says, wine, tmp_path, rekmeans):
    before = file_bytes(tmp_path)
    assert is_input_error(rekmeans(*words), says)
    assert file_bytes(tmp_path) == before


def test_bad_models_are_refused(fitted, tmp_path, rekmeans):
    model = tmp_path / "m.safetensors"
    good = (tmp_path / "wine-rekmeans" / "model.safetensors").read_bytes()
    size = 8 + int.from_bytes(good[:8], "little")
    header = re.sub(rb'(\\"version\\": )3', rb"\g<1>9", good[8:size])
    assert header != good[8:size]
    write_bytes(model, header, good[size:])
    later = model.read_bytes()
    for data, word in {
        good[:-10]: "damaged",
        good[:50]: "damaged",
        later: "version is 9",
        b"": "damaged",
    }.items():
        model.write_bytes(data)
        before = file_bytes(tmp_path)
        assert is_input_error(rekmeans("predict", model, "wine.csv"), "m.safetensors", word)
        assert file_bytes(tmp_path) == before
    assert is_input_error(rekmeans("report", model, "wine.csv"), "m.safetensors", word)
    assert is_input_error(rekmeans("export", model, "--onnx"), "m.safetensors", word)


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (FuzzyCMeans(3, random_state=0), "only hard clustering, got FuzzyCMeans"),
        (KernelKMeans(3, kernel="rbf", random_state=0), "only the Euler kernel"),
    ],
)
def test_models_without_a_report_predict_and_raise_one_error(model, word, tmp_path, rekmeans):
    X = np.random.default_rng(0).normal(size=(60, 2))
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="a,b", comments="")
    save(model.fit(X), tmp_path / "m.safetensors")
    assert rekmeans("predict", "m.safetensors", "t.csv").status == 0
    assert is_input_error(rekmeans("report", "m.safetensors", "t.csv"), word)


@pytest.mark.parametrize("limit", [1 << 10, 1 << 12, 1 << 15])
def test_a_full_disk_leaves_earlier_outputs(limit, fitted, tmp_path, rekmeans):
    """A limit on the size of files interrupts the writing of labels, model or report."""
    before = file_bytes(tmp_path)
    for out in ("wine-rekmeans", "new"):
        answer = rekmeans("fit", "wine.csv", "-k", 2, "--drop", "kind", "--out", out, limit=limit)
        assert is_input_error(answer, "too large")
        assert file_bytes(tmp_path) == before
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is a limit of Linux")
def test_a_limit_of_addresses_that_is_too_low_is_named_with_a_fix():
    code = """
from rekmeans.cli import main
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))
sys.argv = ["rekmeans", "fit", "--demo"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "limited to 700 MiB (RLIMIT_AS)" in done.stderr
    assert "ulimit -v unlimited" in done.stderr
