"""A process that imports rekmeans once and runs commands, and the table that they read."""

import sys
from typing import NamedTuple

from sklearn.datasets import load_wine

OUTPUTS = ["labels.parquet", "model.safetensors", "report.html", "summary.json"]
COMMAND = [sys.executable, "-m", "rekmeans"]

# Importing takes longer than most commands, so one process imports and forks a child per command.
SERVER = """
import gc, json, os, resource, sys
from rekmeans.cli import main
import rekmeans.cli.applying, rekmeans.cli.commands, rekmeans.cli.fitting
import rekmeans.html_report.html, rekmeans.io.csv, safetensors.numpy
gc.freeze()
for line in sys.stdin:
    arguments, folder, limit = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for number, name in ((1, "stdout"), (2, "stderr")):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(os.environ["ANSWERS"] + name, flags), number)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        sys.argv[1:] = arguments
        try:
            main()
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code)  # skips the slow shutdown of the interpreter
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Answer(NamedTuple):
    status: int
    out: str
    err: str


def wine_frame():
    """Return wine with 13 measurements, a column of text and the class."""
    frame = load_wine(as_frame=True).frame.rename(columns={"target": "kind"})
    frame.insert(3, "cellar", [f"no. {i % 7}" for i in range(len(frame))])
    return frame


def is_input_error(answer, *words):
    """Check that the answer is exit code 2 and one line on stderr with all the words."""
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith("rekmeans: ")
    assert answer.err.count("\n") == 1
    assert all(word in answer.err for word in words), answer.err
    return True
