"""Outputs of commands never replace their input and never mix the files of two runs."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from sklearn.datasets import load_wine

from support.tables import file_bytes

pytest.importorskip("typer")
pytest.importorskip("rich")


@pytest.fixture(scope="module")
def fitted_folder(tmp_path_factory):
    """Return a folder with wine.csv and the outputs of its fit."""
    folder = tmp_path_factory.mktemp("fitted")
    frame = load_wine(as_frame=True).frame.rename(columns={"alcohol": "alcohol \U0001f377"})
    frame.to_csv(folder / "wine.csv", index=False)
    run_to_success(
        folder, "fit", "wine.csv", "-k", "3", "--label", "target", "--out", "out", "--csv", "-q"
    )
    return folder


@pytest.fixture
def folder(fitted_folder, tmp_path):
    """Return a copy of this folder."""
    return shutil.copytree(fitted_folder, tmp_path / "copy")


def run_command(folder, *arguments, **options):
    command = [sys.executable, "-m", "rekmeans", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output="stdout" not in options, text=True, **options
    )


def run_to_success(folder, *arguments):
    answer = run_command(folder, *arguments)
    assert answer.returncode == 0, answer.stderr
    return answer


def test_a_command_never_writes_over_what_it_reads(folder):
    (folder / "out" / "model.onnx").write_bytes((folder / "out" / "model.safetensors").read_bytes())
    before = file_bytes(folder)
    for arguments in (
        ("predict", "out/model.safetensors", "wine.csv", "--out", "wine.csv"),
        ("fit", "out/labels.csv", "-k", "2", "--out", "out", "--csv"),
        ("export", "out/model.onnx", "--onnx"),
    ):
        answer = run_command(folder, *arguments)
        assert answer.returncode == 2
        assert "both an input and an output" in answer.stderr
        assert file_bytes(folder) == before


def test_a_second_fit_leaves_no_labels_of_the_first(folder):
    run_to_success(folder, "fit", "wine.csv", "-k", "4", "--label", "target", "--out", "out", "-q")
    assert {path.name for path in (folder / "out").glob("labels.*")} == {"labels.parquet"}


def test_a_fit_without_a_report_leaves_none_of_the_first(folder):
    out = folder / "out"
    before = file_bytes(out)
    fit = ("fit", "wine.csv", "-k", "3", "--label", "target", "--out", "out", "--csv")
    answer = run_to_success(folder, *fit, "--no-report")
    after = file_bytes(out)
    assert before.keys() - after.keys() == {out / "report.html"}
    assert after[out / "labels.csv"] == before[out / "labels.csv"]
    digests = json.loads(after[out / "summary.json"])["sha256"]
    assert digests.keys() == {"labels.csv", "model.safetensors"}
    assert "wrote to out: labels.csv, model.safetensors, summary.json" in answer.stdout


def test_a_summary_that_cannot_be_printed_does_not_fail_the_fit(folder):
    before = file_bytes(folder)
    with open("/dev/full", "w") as full:
        answer = run_command(
            folder,
            "fit",
            "wine.csv",
            "-k",
            "4",
            "--out",
            "out",
            "--csv",
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert file_bytes(folder) != before
    assert "as they were" not in answer.stderr


def test_a_name_that_the_terminal_cannot_print_is_not_a_failure(folder):
    env = os.environ | {"PYTHONIOENCODING": "latin-1"}
    assert (
        run_command(folder, "fit", "wine.csv", "-k", "3", "--out", "other", env=env).returncode == 0
    )


def test_a_reader_may_go_away(folder):
    read, write = os.pipe()
    os.close(read)
    answer = run_command(
        folder, "fit", "wine.csv", "-k", "3", "--out", "other", stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_threads_below_one_are_refused(folder):
    answer = run_command(folder, "predict", "out/model.safetensors", "wine.csv", "--threads", "-5")
    assert answer.returncode == 2
    assert "threads" in answer.stderr
