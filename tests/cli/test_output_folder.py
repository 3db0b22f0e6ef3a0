"""The folder of a fit: new by one rename, replaced file by file, swept after killed runs; csv
without formulas.
"""

import csv
import json
import os
import platform
import subprocess
import sys
import zlib
from hashlib import sha256

import numpy as np
import pytest
from sklearn.datasets import load_wine

from fuzz.command import Limits, command_server
from fuzz.outputs import contents
from rekmeans.atomic import atomic_write, atomic_writes
from rekmeans.io.labels import guard_cell, write_labels

OTHERS = ["labels.csv", "model.safetensors", "report.html"]


def renames(monkeypatch):
    """The targets of all renames from now on, in order."""
    seen = []
    for name in ("rename", "replace"):
        plain = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda old, new, plain=plain: (seen.append(new), plain(old, new))
        )
    return seen


def write_all(paths):
    with atomic_writes(paths) as parts:
        for part in parts:
            part.write_text(part.name)


def test_a_new_folder_appears_by_one_rename(tmp_path, monkeypatch):
    seen = renames(monkeypatch)
    paths = [tmp_path / "far" / "new" / name for name in "cab"]
    write_all(paths)
    assert seen == [tmp_path / "far" / "new"]
    assert sorted(path.name for path in (tmp_path / "far").rglob("*")) == ["a", "b", "c", "new"]
    assert (tmp_path / "far" / "new").stat().st_mode == (tmp_path / "far").stat().st_mode


def test_an_old_folder_is_replaced_file_by_file_in_order(tmp_path, monkeypatch):
    (tmp_path / "mine.txt").write_text("mine")
    seen = renames(monkeypatch)
    paths = [tmp_path / name for name in "cab"]
    write_all(paths)
    assert seen == paths
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c", "mine.txt"]


def test_folders_made_for_nothing_go(tmp_path):
    def fail():
        with atomic_writes([tmp_path / "far" / "new" / "a"]):
            raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - any
        fail()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="must be in one folder"):
        write_all([tmp_path / "a", tmp_path / "b" / "a"])


def dead_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_a_killed_run_left_is_removed_and_nothing_else(tmp_path):
    host = f"{zlib.crc32(platform.node().encode()):08x}"
    leftovers = [
        f".rekmeans-{host}-{dead_process()}-0123abcd",
        f".rekmeans-{host}-{2**70}-0123abcd",
    ]
    strangers = [
        f".rekmeans-{host}-{os.getppid()}-0123abcd",  # it still runs
        f".rekmeans-{'0' * 8}-{dead_process()}-0123abcd",  # on another machine
        ".rekmeans-notes",
        "rekmeans-0-0-0",
    ]
    for name in (*leftovers, *strangers):
        (tmp_path / "out" / name).mkdir(parents=True)
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("half")
    with atomic_write(tmp_path / "out" / "a.txt") as part:
        part.write_text("whole")
    assert {path.name for path in tmp_path.iterdir()} == {*strangers, "out"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*strangers, "a.txt"}


def test_the_summary_has_the_digests_of_the_other_files(tmp_path):
    load_wine(as_frame=True).frame.to_csv(tmp_path / "wine.csv", index=False)
    for _ in range(2):
        answer = command_server().run(
            ["fit", "wine.csv", "-k", 3, "--out", "out", "--csv", "-q"], tmp_path
        )
        assert (answer.status, answer.err) == (0, "")
        out = tmp_path / "out"
        digests = json.loads((out / "summary.json").read_text())["sha256"]
        assert digests == {name: sha256((out / name).read_bytes()).hexdigest() for name in OTHERS}
        (out / "mine.txt").write_text("mine")
    assert sorted(path.name for path in out.iterdir()) == [
        *OTHERS[:1],
        "mine.txt",
        *OTHERS[1:],
        "summary.json",
    ]


FORMULAS = [
    "=1+1",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "-",
    "=",
    "--5",
    "+a",
    "-1e",
    "\uff1d1",
    "-1 ",
]
PLAIN = [
    "a=1",
    "",
    "'=1",
    " =1",
    "-5",
    "+5",
    "-0.5",
    "-.5e-3",
    "1e5",
    "a-b",
    "a\r=1",
    "\N{EN DASH}5",
]


def test_no_text_in_csv_is_a_formula(tmp_path):
    ids = np.array([*FORMULAS, *PLAIN], object)
    write_labels(tmp_path / "l.csv", np.zeros(len(ids), np.int32), ids)
    with (tmp_path / "l.csv").open(newline="") as file:
        cells = [row[0] for row in csv.reader(file)][1:]
    assert cells == [*(f"'{text}" for text in FORMULAS), *PLAIN]
    for number in (-5, -5.5, np.float64(-1), None, float("-inf")):
        assert guard_cell(number) is number


@pytest.mark.parametrize("out", ["new", "out"])
def test_a_full_disk_is_named_and_leaves_no_half_file(out, tmp_path):
    load_wine(as_frame=True).frame.to_csv(tmp_path / "wine.csv", index=False)
    words = ["fit", "wine.csv", "-k", 3, "--csv", "-q", "--out"]
    assert command_server().run([*words, "out"], tmp_path).status == 0
    before = contents(tmp_path)
    answer = command_server().run([*words, out], tmp_path, Limits(file_size=1000))
    assert answer.err == f"rekmeans: File too large: {out}; earlier outputs are unchanged.\n"
    assert contents(tmp_path) == before
