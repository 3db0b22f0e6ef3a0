"""rekmeans commands in separate processes, with limits on memory, time and file size.

Importing takes longer than most commands. A server process therefore imports everything once and
runs each command in a child process.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

MEGABYTE = 1 << 20
# bytes of address space beyond that of the imports; threads alone need some of it
MAX_MEMORY = 1024 * MEGABYTE
MAX_SECONDS = 60.0  # for a command on a small file; other processes may use the cores


@dataclass(frozen=True)
class Limits:
    """The resource limits of a command."""

    memory: int = MAX_MEMORY  # bytes of address space beyond the imports
    file_size: int | None = None  # maximum size in bytes of each file that the command writes
    seconds: float = MAX_SECONDS
    kill_after: float | None = None  # seconds before the command is killed with SIGKILL


@dataclass(frozen=True)
class Answer:
    """The exit status, output and resource use of a command."""

    status: int  # if negative, the signal that ended the command
    out: str
    err: str
    seconds: float
    memory: int  # peak resident bytes beyond those of the imports

    def reject_unclean(self, *words: str) -> None:
        """Raise unless the command succeeded, or failed with a one-line error with these words."""
        text = f"status {self.status}, {self.err[-400:]!r}"
        assert self.status in (0, 2), text
        lines = [line for line in self.err.splitlines() if not line.startswith("warning: ")]
        assert "Traceback" not in self.err, text
        assert all(
            line.isprintable() for line in [*self.err.splitlines(), *self.out.splitlines()]
        ), text
        assert "internal error in rekmeans" not in self.err, text
        if self.status == 0:
            assert not lines, text
            return
        assert len(lines) == 1, text
        assert lines[0].startswith("rekmeans: "), text
        assert len(lines[0]) <= 600, f"a message of {len(lines[0])} characters: {lines[0][:300]}"
        missing = [word for word in words if word not in lines[0]]
        assert not missing, f"{missing} is not in {lines[0]!r}"


class CommandServer:
    """A process that has imported rekmeans and runs each command in a child process."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="rekmeans-fuzz-")
        # the other allocators reserve a gigabyte of address space
        environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}
        words = [sys.executable, "-m", "fuzz.command_server", self.folder.name]
        root = Path(__file__).resolve().parents[1]
        self.process = subprocess.Popen(
            words, stdin=-1, stdout=-1, text=True, env=environment, cwd=root
        )
        atexit.register(self.close)

    def run(self, arguments: Sequence[Any], folder: Path, limits: Limits = Limits()) -> Answer:
        """Run `rekmeans arguments` in a folder."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {
            "arguments": [str(word) for word in arguments],
            "folder": str(folder),
            "limits": vars(limits),
        }
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        out, err = (
            (Path(self.folder.name) / name).read_text(errors="replace") for name in ("out", "err")
        )
        assert not answer.pop("timed_out"), f"timeout after {limits.seconds:g} seconds"
        return Answer(out=out, err=err, **answer)

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
            self.process.wait()
            self.folder.cleanup()


@cache
def command_server() -> CommandServer:
    """Return the server of this process."""
    return CommandServer()
