"""Progress on a terminal, and Ctrl-C."""

import os
import pty
import re
import select
import signal
import subprocess
import time

import numpy as np
import pandas as pd
from distributed import LocalCluster

from support.command_line import COMMAND


def on_terminal(words, folder, until=None):
    """(exit status, output on a terminal of 150 columns);

    Ctrl-C is pressed once `until` is in the output.
    """
    ours, theirs = pty.openpty()
    size = {"COLUMNS": "150", "TERM": "xterm"}
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | size,
    )
    os.close(theirs)
    output = b""
    end = time.monotonic() + 60
    while (
        time.monotonic() < end and select.select([ours], [], [], max(0, end - time.monotonic()))[0]
    ):
        try:
            data = os.read(ours, 1 << 16)
        except OSError:  # the terminal was closed
            break
        output += data
        if until is not None and re.search(until, output):
            process.send_signal(signal.SIGINT)
            until = None
        if not data:
            break
    os.close(ours)
    return process.wait(timeout=30), output.decode()


def test_a_terminal_sees_starts_and_passes(tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(20_000, 8)))
    status, output = on_terminal(
        ["fit", "t.npy", "-k", "12", "--starts", "2", "--out", "out"], tmp_path
    )
    assert status == 0
    assert re.search(r"start 1/2 +pass \d+ .*objective [\d.e+]+ +rows changed [\d,]+", output)
    assert "start 2/2" in output
    assert "12 clusters of 20,000 rows" in output


def test_a_terminal_sees_how_far_a_large_table_is_read(tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(60_000, 8)))
    command = ["fit", "t.npy", "-k", "12", "--memory", "200KB", "--out", "out"]
    status, output = on_terminal(command, tmp_path)
    assert status == 0
    assert re.search(
        r"pass \d+ .*objective [\d.e+]+ +rows changed [\d,]+ +rows read [\d,]+ of 60,000", output
    )
    assert re.search(r"initializing .*rows read", output)


def test_a_terminal_sees_how_many_partitions_of_a_cluster_are_done(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60_000, 8))
    for number in range(4):
        part = pd.DataFrame(rows[number::4], columns=list("abcdefgh"))
        part.to_parquet(tmp_path / f"{number}.parquet", index=False)
    with LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster:
        command = [
            "fit",
            "*.parquet",
            "-k",
            "12",
            "--cluster",
            cluster.scheduler_address,
            "--out",
            "out",
        ]
        status, output = on_terminal(command, tmp_path)
    assert status == 0
    assert re.search(
        r"pass \d+ .*objective [\d.e+]+ +rows changed [\d,]+ +partitions done \d of 4", output
    )
    assert re.search(r"initializing .*partitions done", output)


def test_ctrl_c_leaves_nothing(tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(20_000, 8)))
    status, output = on_terminal(
        ["fit", "t.npy", "-k", "50", "--starts", "100"], tmp_path, until=rb"pass \d+"
    )
    assert status == 130
    assert "Traceback" not in output
    assert [path.name for path in tmp_path.iterdir()] == ["t.npy"]
