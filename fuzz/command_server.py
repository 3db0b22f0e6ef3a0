"""The server process of `fuzz.command`: reads one request per line from stdin and writes one answer
per line to stdout.

Each request runs in a child process.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib.backends.backend_svg  # noqa: F401 - imported once, here
import safetensors.numpy  # noqa: F401
import sklearn.datasets  # noqa: F401

import rekmeans.analysis.summary
import rekmeans.cli.applying
import rekmeans.cli.commands
import rekmeans.cli.fitting
import rekmeans.cli.inspecting
import rekmeans.html_report.html
import rekmeans.io.csv
import rekmeans.io.numpy  # noqa: F401
from rekmeans.cli import main, status

POLL = 0.002  # seconds between checks of a child


def run_child(request: dict[str, Any], folder: Path) -> None:
    """Run the command in this process. Never returns."""
    limits = request["limits"]
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.chdir(request["folder"])
    memory = address_space() + limits["memory"]
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits["file_size"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_size"],) * 2)
    sys.argv[1:] = request["arguments"]
    status = 70
    try:
        main()
    except SystemExit as end:
        status = int(end.code or 0)
        sys.stdout.flush()
    finally:
        os._exit(status)  # a normal exit of the interpreter takes longer than most commands


def wait_for(child: int, limits: dict[str, Any]) -> dict[str, Any]:
    """Wait for a child and return its result. Kill it after the time limit, or when the request
    asks for it.
    """
    started = time.monotonic()
    timed_out = False
    while True:
        ended, code, usage = os.wait4(child, os.WNOHANG)
        seconds = time.monotonic() - started
        if ended:
            memory = usage.ru_maxrss * 1024 - resident()
            status = os.waitstatus_to_exitcode(code)
            return {"status": status, "seconds": seconds, "memory": memory, "timed_out": timed_out}
        is_late = seconds > limits["seconds"]
        if is_late or (limits["kill_after"] is not None and seconds > limits["kill_after"]):
            timed_out = timed_out or is_late
            os.kill(child, signal.SIGKILL)
        time.sleep(POLL)


def address_space() -> int:
    """Return the size of the address space of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def warm_up() -> None:
    """Run two commands that fail, to import the modules that commands import on demand."""
    with redirect_stderr(StringIO()):
        for words in (["fit", "none.csv", "-k", "2"], ["predict", "none.safetensors", "none.csv"]):
            status(words)
    gc.freeze()


def serve(folder: Path) -> None:
    """Answer requests until stdin is closed."""
    warm_up()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            run_child(request, folder)
        print(json.dumps(wait_for(child, request["limits"])), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
