"""The command line, run as commands: answers against the library's own, refusals in one sentence, nothing half done."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_wine

from rekmeans import EulerKMeans, RectifiedEulerKMeans, __version__, clustering_accuracy, load, normalized_mutual_info
from rekmeans.cli import bench
from support.tables import file_bytes

OUTPUTS = ["labels.parquet", "model.safetensors", "report.html", "summary.json"]
COMMAND = [sys.executable, "-m", "rekmeans"]

# Importing takes longer than most commands: one process imports, and runs each command in a child of its own.
SERVER = """
import gc, json, os, resource, sys
from rekmeans.cli import main
import rekmeans.cli.commands, rekmeans.html_report.html, rekmeans.io.csv, safetensors.numpy
gc.freeze()
for line in sys.stdin:
    arguments, folder, limit = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(os.environ["ANSWERS"] + name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        sys.argv[1:] = arguments
        try:
            main()
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code)  # tearing the interpreter down takes longer still
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Answer(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    answers = str(tmp_path_factory.mktemp("answers")) + os.sep
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=-1, stdout=-1, text=True, env=os.environ | {"ANSWERS": answers}
    )

    def run(*arguments, folder, limit=0):
        print(json.dumps([[str(word) for word in arguments], str(folder), limit]), file=process.stdin, flush=True)
        status = int(process.stdout.readline())
        return Answer(status, *(Path(answers + name).read_text() for name in ("stdout", "stderr")))

    yield run
    process.stdin.close()
    process.wait()


@pytest.fixture
def rekmeans(server, tmp_path):
    """rekmeans("fit", ...) -> Answer, run in tmp_path."""
    return lambda *arguments, limit=0: server(*arguments, folder=tmp_path, limit=limit)


def wine_frame():
    """13 measurements, text, and the class of each wine."""
    frame = load_wine(as_frame=True).frame.rename(columns={"target": "kind"})
    frame.insert(3, "cellar", [f"no. {i % 7}" for i in range(len(frame))])
    return frame


@pytest.fixture
def wine(tmp_path):
    """wine.csv in tmp_path."""
    wine_frame().to_csv(tmp_path / "wine.csv", index=False)
    return wine_frame()


@pytest.fixture(scope="module")
def outputs(server, tmp_path_factory):
    """The outputs of one fit of wine.csv."""
    folder = tmp_path_factory.mktemp("fitted")
    wine_frame().to_csv(folder / "wine.csv", index=False)
    assert server("fit", "wine.csv", "-k", 3, "--drop", "kind", "-q", folder=folder) == (0, "", "")
    return folder / "wine-rekmeans"


@pytest.fixture
def fitted(wine, outputs, tmp_path):
    """wine.csv and wine-rekmeans in tmp_path."""
    shutil.copytree(outputs, tmp_path / "wine-rekmeans")
    return wine


def refused(answer, *words):
    """One sentence on stderr that has all the words, and nothing else."""
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith("rekmeans: ")
    assert answer.err.count("\n") == 1
    assert all(word in answer.err for word in words), answer.err
    return True


def test_fit_gives_what_the_library_gives(wine, tmp_path):
    done = subprocess.run(
        [*COMMAND, "fit", "wine.csv", "-k", "3", "--label", "kind"], cwd=tmp_path, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    X, y, out = wine.drop(columns=["kind", "cellar"]), wine["kind"], tmp_path / "wine-rekmeans"
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    assert sorted(path.name for path in out.iterdir()) == OUTPUTS
    labels = pd.read_parquet(out / "labels.parquet")
    assert_array_equal(labels["cluster"], model.labels_)
    assert_array_equal(labels["row"], np.arange(len(X)))
    stored = load(out / "model.safetensors")
    assert_array_equal(stored.feature_names_in_, X.columns)
    assert_array_equal(stored.transform(X), model.transform(X))
    summary = json.loads((out / "summary.json").read_text())
    assert summary["sizes"] == np.bincount(model.labels_).tolist()
    assert summary["classes"]["accuracy"] == clustering_accuracy(y, model.labels_)
    assert (out / "report.html").read_text().startswith("<!doctype html>")
    text = done.stdout.decode()
    assert f"accuracy {clustering_accuracy(y, model.labels_):.3f}" in text
    assert f"NMI {normalized_mutual_info(y, model.labels_):.3f}" in text
    assert "skipped: cellar (text)" in text


OPTIONS = {
    "eulerk": ("--method eulerk", EulerKMeans()),
    "map": ("--alpha 0.5 --scale range", RectifiedEulerKMeans(alpha=0.5, scale="range")),
    "clip": ("--beyond clip", RectifiedEulerKMeans(beyond="clip")),
    "paper": ("--alpha 0.01 --scale none", RectifiedEulerKMeans(alpha=0.01, scale=None)),
    "starts": ("--seed 7 --starts 3 --threads 1", RectifiedEulerKMeans(n_init=3, random_state=7)),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_reach_the_estimator(name, wine, rekmeans):
    words, model = OPTIONS[name]
    answer = rekmeans("fit", "wine.csv", "-k", 4, "--drop", "kind", "--drop", "ash", "--json", *words.split())
    model.set_params(n_clusters=4, random_state=model.random_state or 0).fit(
        wine.drop(columns=["kind", "cellar", "ash"])
    )
    found = json.loads(answer.out)
    assert answer.err == ""
    assert found["sizes"] == np.bincount(model.labels_, minlength=4).tolist()
    assert found["objective"] == model.inertia_
    assert found["skipped"] == {"kind": "asked to drop", "ash": "asked to drop", "cellar": "text"}


def test_json_is_one_object_and_names_the_files(wine, tmp_path, rekmeans):
    answer = rekmeans("fit", "wine.csv", "-k", 3, "--label", "kind", "--out", "here", "--csv", "--json")
    found = json.loads(answer.out)
    assert answer == (0, answer.out, "")
    assert found["labels"] == str(Path("here") / "labels.csv")
    assert len(pd.read_csv(tmp_path / found["labels"])) == found["rows"] == sum(found["sizes"])


def test_demo_needs_no_file(tmp_path, rekmeans):
    answer = rekmeans("fit", "--demo")
    assert answer.status == 0
    assert "3 clusters of 178 rows" in answer.out
    assert sorted(path.name for path in (tmp_path / "demo-rekmeans").iterdir()) == OUTPUTS


def test_predict_takes_columns_by_name(fitted, tmp_path, rekmeans):
    wine, model = fitted, "wine-rekmeans/model.safetensors"
    other = wine.iloc[::-1, ::-1].assign(more=1.0)
    other.to_csv(tmp_path / "other.csv", index=False)
    answer = rekmeans("predict", model, "other.csv", "--json")
    expected = pd.read_parquet(tmp_path / "wine-rekmeans" / "labels.parquet")["cluster"].to_numpy()[::-1]
    assert answer.err == ""
    assert_array_equal(pd.read_parquet(tmp_path / json.loads(answer.out)["labels"])["cluster"], expected)
    np.save(tmp_path / "bare.npy", wine.drop(columns=["kind", "cellar"]).to_numpy())
    assert rekmeans("predict", model, "bare.npy", "--out", "bare.csv", "--quiet") == (0, "", "")
    assert_array_equal(pd.read_csv(tmp_path / "bare.csv")["cluster"], expected[::-1])
    other.drop(columns="hue").to_csv(tmp_path / "less.csv", index=False)
    assert refused(rekmeans("predict", model, "less.csv"), "less.csv has no column hue")
    other.astype({"hue": str}).assign(hue="red").to_csv(tmp_path / "text.csv", index=False)
    assert refused(rekmeans("predict", model, "text.csv"), "hue (text)")


def test_a_model_without_names_takes_columns_in_order(wine, tmp_path, rekmeans):
    X = wine.drop(columns=["kind", "cellar"])
    np.savez(tmp_path / "w.npz", X=X.to_numpy(), y=wine["kind"].to_numpy())
    fitted = json.loads(rekmeans("fit", "w.npz", "-k", 3, "--label", "y", "--json").out)
    assert fitted["accuracy"] > 0.9
    X.to_parquet(tmp_path / "named.parquet")
    assert rekmeans("predict", fitted["model"], "named.parquet").status == 0
    labels = (pd.read_parquet(tmp_path / name)["cluster"] for name in (fitted["labels"], "named-labels.parquet"))
    assert_array_equal(*labels)
    answer = rekmeans("predict", fitted["model"], "wine.csv")  # kind is one column too many
    assert refused(answer, "13 columns of the model, got 14", "--drop")


def test_report_and_export_land_beside(fitted, tmp_path, rekmeans):
    import onnx

    model = "wine-rekmeans/model.safetensors"
    assert rekmeans("report", model, "wine.csv", "--label", "kind").out == "report: wine-report.html\n"
    assert "proline" in (tmp_path / "wine-report.html").read_text()
    assert rekmeans("export", model, "--onnx").out == "onnx: wine-rekmeans/model.onnx\n"
    onnx.checker.check_model(str(tmp_path / "wine-rekmeans" / "model.onnx"))
    assert refused(rekmeans("export", model), "--onnx")


BAD_TABLES = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"a,b,c\n", "no rows"),
    "ragged.csv": (b"a,b\n1,2\n3\n", "Expected 2 columns, got 1"),
    "long.csv": (b"a,b\n1,2\n3,4,5\n", "Expected 2 columns, got 3"),
    "binary.csv": (bytes(range(256)) * 20, "no text"),
    "high.csv": (bytes(range(128, 256)) * 20, "UTF-8"),
    "text.csv": (b"a,b\nx,y\nz,w\n", "no numeric column", "a (text)"),
    "infinite.csv": (b"a,b\n1,2\n3,inf\n5,6\n", "infinity in row 1", "'b'"),
    "twice.csv": (b"a,a\n1,2\n3,4\n", "different column names"),
    "hollow.csv": (b"a,b\n1,2\n,\n3,4\n5,6\n", "row 1", "only NaN"),
    "few.csv": (b"a,b\n1,2\n", "n_clusters=2 needs at least 2 rows"),
    "junk.parquet": (b"PAR1" * 50, "cannot be read as parquet"),
    "junk.feather": (b"ARROW1" * 50, "cannot be read as feather"),
    "junk.npy": (b"junk" * 50, "npy"),
    "junk.npz": (b"PK\3\4" + b"junk" * 50, "cannot be read as npz"),
    "junk.svm": (b"1 x:y\n", "cannot be read as svm"),
    "t.xlsx": (b"PK", "ends in no known way", ".parquet"),
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
    assert refused(rekmeans("fit", name, "-k", 2, "--out", "out"), *words)
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
        "a folder": (["fit", ".", "-k", "2"], "is a folder"),
        "out in a file": (["fit", "wine.csv", "-k", "2", "--out", "wine.csv/out"], "wine.csv is a file"),
        "out is a file": (["fit", "wine.csv", "-k", "2", "--out", "wine.csv"], "wine.csv is a file"),
        "no model": (["predict", "none.safetensors", "wine.csv"], "none.safetensors"),
        "a table as model": (["predict", "wine.csv", "wine.csv"], "no safetensors file"),
        "command": (["cluster"], "cluster"),
        "option": (["fit", "--clutsers", "3"], "--clutsers"),
    }.values(),
    ids=lambda value: "",
)  # fmt: skip
def test_wrong_usage_is_one_sentence(words, says, wine, tmp_path, rekmeans):
    before = file_bytes(tmp_path)
    assert refused(rekmeans(*words), says)
    assert file_bytes(tmp_path) == before


def test_bad_models_are_refused(fitted, tmp_path, rekmeans):
    model = tmp_path / "m.safetensors"
    good = (tmp_path / "wine-rekmeans" / "model.safetensors").read_bytes()
    later = re.sub(rb'(\\"version\\": )2', rb"\g<1>9", good)
    assert later != good
    for data, word in {good[:-10]: "damaged", good[:50]: "damaged", later: "version 9", b"": "damaged"}.items():
        model.write_bytes(data)
        before = file_bytes(tmp_path)
        assert refused(rekmeans("predict", model, "wine.csv"), "m.safetensors", word)
        assert file_bytes(tmp_path) == before
    assert refused(rekmeans("report", model, "wine.csv"), "m.safetensors", word)
    assert refused(rekmeans("export", model, "--onnx"), "m.safetensors", word)


@pytest.mark.parametrize("limit", [1 << 10, 1 << 12, 1 << 15])
def test_a_full_disk_leaves_earlier_outputs(limit, fitted, tmp_path, rekmeans):
    """No file may grow beyond the limit: labels, the model or the report stop half-way."""
    before = file_bytes(tmp_path)
    for out in ("wine-rekmeans", "new"):
        answer = rekmeans("fit", "wine.csv", "-k", 2, "--drop", "kind", "--out", out, limit=limit)
        assert refused(answer, "too large")
        assert file_bytes(tmp_path) == before
    assert not (tmp_path / "new").exists()


def test_warnings_are_lines(tmp_path, rekmeans):
    rows = np.concatenate([np.random.default_rng(0).normal(size=(60, 2)), np.full((2, 2), 1e6)])
    pd.DataFrame(rows, columns=["a", "b"]).to_csv(tmp_path / "far.csv", index=False)
    answer = rekmeans("fit", "far.csv", "-k", 2, "--json")
    assert answer.err.startswith("warning: 2 of 62 rows take no part")
    assert answer.err.count("\n") == 1


def test_debug_shows_where(tmp_path, rekmeans):
    answer = rekmeans("fit", "none.csv", "-k", 2, "--debug")
    assert answer.status == 2
    assert "Traceback" in answer.err
    assert answer.err.splitlines()[-1].startswith("rekmeans: ")


def on_terminal(words, folder, until=None):
    """(exit status, what a terminal of 150 columns saw); Ctrl-C is pressed once it has seen `until`."""
    ours, theirs = pty.openpty()
    size = {"COLUMNS": "150", "TERM": "xterm"}
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | size
    )
    os.close(theirs)
    seen, end = b"", time.monotonic() + 60
    while time.monotonic() < end and select.select([ours], [], [], max(0, end - time.monotonic()))[0]:
        try:
            data = os.read(ours, 1 << 16)
        except OSError:  # the terminal was left
            break
        seen += data
        if until is not None and re.search(until, seen):
            process.send_signal(signal.SIGINT)
            until = None
        if not data:
            break
    os.close(ours)
    return process.wait(timeout=30), seen.decode()


def test_a_terminal_sees_starts_and_passes(tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(20_000, 8)))
    status, seen = on_terminal(["fit", "t.npy", "-k", "12", "--starts", "2", "--out", "out"], tmp_path)
    assert status == 0
    assert re.search(r"start 1/2 +pass \d+ .*objective [\d.e+]+ +rows changed [\d,]+", seen)
    assert "start 2/2" in seen
    assert "12 clusters of 20,000 rows" in seen


def test_ctrl_c_leaves_nothing(tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(20_000, 8)))
    status, seen = on_terminal(["fit", "t.npy", "-k", "50", "--starts", "100"], tmp_path, until=rb"pass \d+")
    assert status == 130
    assert "Traceback" not in seen
    assert [path.name for path in tmp_path.iterdir()] == ["t.npy"]


def test_help_version_and_completion(tmp_path, rekmeans):
    assert rekmeans("--version").out == f"rekmeans {__version__}\n"
    page = rekmeans("--help").out
    assert all(f"│ {name} " in page for name in ("fit", "predict", "report", "export", "engines", "bench"))
    assert rekmeans("fit", "--help").status == 0
    asked = {"_REKMEANS_COMPLETE": "complete_bash", "COMP_WORDS": "rekmeans fit --me", "COMP_CWORD": "2"}
    done = subprocess.run(COMMAND, cwd=tmp_path, env=os.environ | asked, capture_output=True, text=True)
    assert done.stdout.split() == ["--method"]


def test_engines_tell_the_instructions(rekmeans):
    from rekmeans.engines.native import _core

    found = json.loads(rekmeans("engines", "--json").out)["engines"]
    assert _core.isa(os.environ.get("REKMEANS_ISA", "")) in found["native"]
    assert set(found) == {"native", "reference"}
    assert "reference" in rekmeans("engines").out


def test_absent_libraries_are_named(tmp_path):
    run = "import sys; sys.modules[{!r}] = None; from rekmeans.cli import status; sys.exit(status(['fit', '--demo']))"
    for name in ("typer", "safetensors"):
        done = subprocess.run([sys.executable, "-c", run.format(name)], cwd=tmp_path, capture_output=True, text=True)
        assert refused(Answer(done.returncode, done.stdout, done.stderr), name, "pip install 'rekmeans[")
    assert list(tmp_path.iterdir()) == []


def test_bench_compares_the_same_clustering(monkeypatch):
    monkeypatch.setattr(bench, "SIZES", ((3000, 4, 5), (2000, 3, 3)))
    for (n, d, k), race in zip(bench.SIZES, bench.races(), strict=True):
        assert race[:3] == (n, d, k)
        assert race.same > 0.999  # float32 rounding may move a row
        assert min(race.sklearn, race.rekmeans) > 0
