"""The README: its Python block and its commands run and agree, and its links lead to files."""

import re
import shlex
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pyarrow.parquet as pq

from support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_commands_and_the_python_block_run_and_agree(tmp_path):
    namespace = {}
    with redirect_stdout(StringIO()) as printed, warnings.catch_warnings(action="ignore"):
        exec("\n".join(blocks("python")), namespace)
    outputs = blocks("text")
    assert printed.getvalue() == outputs[0]
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    for line in lines:
        command, *arguments = shlex.split(line, comments=True)
        if command in ("python", "rekmeans"):
            start = [sys.executable] if command == "python" else [sys.executable, "-m", "rekmeans"]
            done = subprocess.run(
                [*start, *arguments], cwd=tmp_path, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            if "--demo" in arguments:
                assert outputs[1] in done.stdout
    for labels in ("wine-rekmeans/labels.parquet", "wine-labels.parquet"):
        found = pq.read_table(tmp_path / labels)["cluster"].to_numpy()
        np.testing.assert_array_equal(found, namespace["model"].labels_)
    for written in ("demo-rekmeans/report.html", "wine-report.html", "wine-rekmeans/model.onnx"):
        assert (tmp_path / written).stat().st_size > 1000


def test_every_linked_file_exists():
    places = re.findall(r"\]\(([^)#:]+)\)", README)
    assert "docs/method.md" in places
    assert [place for place in places if not (ROOT / place).is_file()] == []
