"""rekmeans commands in processes of their own, under limits of memory, time and file size.

Importing takes longer than most commands: one process imports, and runs each command in a child of
its own.
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
# of address space beyond that of the imports: threads alone take some of it
MOST_MEMORY = 1024 * MEGABYTE
MOST_SECONDS = 60.0  # of a command on a small file; cores may be busy with other things


@dataclass(frozen=True)
class Limits:
    """What a command may take."""

    memory: int = MOST_MEMORY  # bytes of address space beyond the imports
    file_size: int | None = None  # bytes of any file it writes
    seconds: float = MOST_SECONDS
    kill_after: float | None = None  # seconds until it is killed, as by kill -9


@dataclass(frozen=True)
class Answer:
    """What came of a command."""

    status: int  # negative: the signal that ended it
    out: str
    err: str
    seconds: float
    memory: int  # bytes resident at most, beyond the imports

    def refuse_unclean(self, *words: str) -> None:
        """Raise unless it is a success, or one sentence on stderr that has all the words."""
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
        assert len(lines[0]) <= 600, f"a sentence of {len(lines[0])} letters: {lines[0][:300]}"
        missing = [word for word in words if word not in lines[0]]
        assert not missing, f"{missing} is not in {lines[0]!r}"


class CommandServer:
    """A process that has imported rekmeans and runs commands in children."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="rekmeans-fuzz-")
        # others reserve a gigabyte of addresses
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
        assert not answer.pop("timed_out"), f"it ran for more than {limits.seconds:g} seconds"
        return Answer(out=out, err=err, **answer)

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
            self.process.wait()
            self.folder.cleanup()


@cache
def command_server() -> CommandServer:
    """The one server of this process."""
    return CommandServer()
