"""Commands run by one process that has imported rekmeans, and the table that they read."""

import sys
from typing import NamedTuple

from sklearn.datasets import load_wine

OUTPUTS = ["labels.parquet", "model.safetensors", "report.html", "summary.json"]
COMMAND = [sys.executable, "-m", "rekmeans"]

# Importing takes longer than most commands: one process imports, and runs each command in a child
# of its own.
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
            os._exit(end.code)  # tearing the interpreter down takes longer still
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Answer(NamedTuple):
    status: int
    out: str
    err: str


def wine_frame():
    """13 measurements, text, and the class of each wine."""
    frame = load_wine(as_frame=True).frame.rename(columns={"target": "kind"})
    frame.insert(3, "cellar", [f"no. {i % 7}" for i in range(len(frame))])
    return frame


def is_refusal(answer, *words):
    """One sentence on stderr that has all the words, and nothing else."""
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith("rekmeans: ")
    assert answer.err.count("\n") == 1
    assert all(word in answer.err for word in words), answer.err
    return True
