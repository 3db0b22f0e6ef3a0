"""Records of fits match the estimator, and a continued run ends with the same bytes."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import load_wine

from rekmeans import RectifiedEulerKMeans, clustering_accuracy, normalized_mutual_info
from rekmeans_paper import fit_records, reproduction_cells
from rekmeans_paper.reproduction_cells import Cell
from support.paths import ROOT
from support.reproduction import FEW, run_cells


def run_all(folder, workers=1):
    """Run FEW and return the bytes of the records file."""
    path = folder / "cells.jsonl"
    run_cells(FEW, path, workers)
    return path.read_bytes()


def test_a_record_matches_the_estimator(wine_folder, tmp_path):
    found = run_cells(FEW, tmp_path / "cells.jsonl")
    X, y = load_wine(return_X_y=True)
    model = RectifiedEulerKMeans(
        3, alpha=0.5, scale="range", beyond="wrap", init="random", n_init=1, random_state=2
    )
    model.fit(X.astype(np.float32))
    record = found[Cell("wine", "range", "random", "REK1", 0.5, 0, 2)]
    assert record["acc"] == clustering_accuracy(y, model.labels_)
    assert record["nmi"] == normalized_mutual_info(y, model.labels_)
    assert (record["objective"], record["passes"]) == (model.inertia_, model.n_iter_)
    assert set(found) == set(FEW)


KILLED = """
import sys
from pathlib import Path
from support.reproduction import FEW, run_cells
def slow(done, total, what):
    print(done, flush=True)
    sys.stdin.readline()
run_cells(FEW, Path(sys.argv[1]), 1, slow)
"""


def test_a_killed_run_continues_to_the_same_bytes(wine_folder, tmp_path):
    complete = run_all(tmp_path / "whole")
    path = tmp_path / "killed" / "cells.jsonl"
    here = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdin=-1, stdout=-1, env=here, text=True
    )
    for _ in range(3):
        done = int(process.stdout.readline())
        if done < len(FEW):
            process.stdin.write("\n")
            process.stdin.flush()
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = path.read_bytes()
    assert 0 < len(left.splitlines()) < len(FEW)
    path.write_bytes(left[:-20])  # truncate the last line
    assert len(fit_records.load_records(path, Cell)) == len(left.splitlines()) - 1
    assert run_all(tmp_path / "killed") == complete


def test_the_bytes_do_not_depend_on_the_workers_or_the_order_of_fits(wine_folder, tmp_path):
    complete = run_all(tmp_path / "one")
    path = tmp_path / "two" / "cells.jsonl"
    run_cells(FEW[40:], path)
    run_cells(reversed(FEW), path, 2)
    assert path.read_bytes() == complete


def test_records_of_changed_data_are_recomputed(wine_folder, tmp_path):
    complete = run_all(tmp_path / "run")
    X, y = load_wine(return_X_y=True)
    X[0, 0] += 1
    np.savez(wine_folder / "wine.npz", X=X.astype(np.float32), y=y)
    reproduction_cells._scaled_rows.cache_clear()
    changed = run_all(tmp_path / "run")
    assert changed == run_all(tmp_path / "fresh") != complete
