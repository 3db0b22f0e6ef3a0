"""The process behind `fuzz.command`: a request a line on stdin, an answer a line on stdout, each
run in a child.
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
import rekmeans.html_report.html
import rekmeans.io.csv
import rekmeans.io.numpy  # noqa: F401
from rekmeans.cli import main, status

POLL = 0.002  # seconds between looks at a child


def run_child(request: dict[str, Any], folder: Path) -> None:
    """Become the command; never returns."""
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
        os._exit(status)  # tearing the interpreter down takes longer than most commands


def wait_for(child: int, limits: dict[str, Any]) -> dict[str, Any]:
    """The end of a child, which is killed where it takes too long or is to be killed."""
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
    """Bytes of addresses that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def warm_up() -> None:
    """Import what a command imports only when it is called: two that are refused."""
    with redirect_stderr(StringIO()):
        for words in (["fit", "none.csv", "-k", "2"], ["predict", "none.safetensors", "none.csv"]):
            status(words)
    gc.freeze()


def serve(folder: Path) -> None:
    """Answer requests until there are no more."""
    warm_up()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            run_child(request, folder)
        print(json.dumps(wait_for(child, request["limits"])), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
