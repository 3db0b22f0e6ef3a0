"""Fixtures that the tests of this folder share."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import SERVER, Answer, wine_frame


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    answers = str(tmp_path_factory.mktemp("answers")) + os.sep
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=-1,
        stdout=-1,
        text=True,
        env=os.environ | {"ANSWERS": answers},
    )

    def run(*arguments, folder, limit=0):
        print(
            json.dumps([[str(word) for word in arguments], str(folder), limit]),
            file=process.stdin,
            flush=True,
        )
        status = int(process.stdout.readline())
        return Answer(status, *(Path(answers + name).read_text() for name in ("stdout", "stderr")))

    yield run
    process.stdin.close()
    process.wait()


@pytest.fixture
def rekmeans(server, tmp_path):
    """Return a function that runs a command in tmp_path: rekmeans("fit", ...) -> Answer."""
    return lambda *arguments, limit=0: server(*arguments, folder=tmp_path, limit=limit)


@pytest.fixture
def wine(tmp_path):
    """Write wine.csv to tmp_path."""
    wine_frame().to_csv(tmp_path / "wine.csv", index=False)
    return wine_frame()


@pytest.fixture(scope="module")
def outputs(server, tmp_path_factory):
    """Return the folder with the outputs of one fit of wine.csv."""
    folder = tmp_path_factory.mktemp("fitted")
    wine_frame().to_csv(folder / "wine.csv", index=False)
    assert server("fit", "wine.csv", "-k", 3, "--drop", "kind", "-q", folder=folder) == (0, "", "")
    return folder / "wine-rekmeans"


@pytest.fixture
def fitted(wine, outputs, tmp_path):
    """Copy wine.csv and wine-rekmeans to tmp_path."""
    shutil.copytree(outputs, tmp_path / "wine-rekmeans")
    return wine
