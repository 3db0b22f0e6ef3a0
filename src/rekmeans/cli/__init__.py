"""The command-line interface. Exit status: 0, 2 (error, one message on stderr) or 130 (Ctrl-C)."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NoReturn

from ..machine_memory import check_address_space

REFUSED = 2
INTERRUPTED = 130
# errors caused by the input or the machine; any other error is a bug
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError)


def main() -> NoReturn:
    """Run the `rekmeans` command and exit."""
    if hasattr(sys.stdout, "reconfigure"):
        # column names may contain characters that the terminal cannot encode
        sys.stdout.reconfigure(errors="replace")
    sys.exit(status(sys.argv[1:]))


def status(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status."""
    try:
        if absent := [name for name in ("typer", "rich") if find_spec(name) is None]:
            raise ImportError(
                f"the command-line interface requires {' and '.join(absent)}. "
                f"Install with: pip install 'rekmeans[cli]'."
            )
        check_address_space()
        from .commands import app

        with warnings.catch_warnings():
            _show_warnings_as_lines()
            return int(app(arguments, prog_name="rekmeans", standalone_mode=False) or 0)
    except KeyboardInterrupt:
        return _report_interruption(arguments)
    except BrokenPipeError:  # the reader has closed the pipe, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        # raised by typer on Ctrl-C; its class differs between versions
        if type(error).__name__ == "Abort":
            return _report_interruption(arguments)
        if "--debug" in arguments:
            traceback.print_exc()
        if sentence := error_sentence(error):
            print(f"rekmeans: {sentence}", file=sys.stderr)
        return REFUSED


def _report_interruption(arguments: Sequence[str]) -> int:
    """Return the exit status after Ctrl-C, and print how to resume from a checkpoint."""
    if any(argument.split("=")[0] == "--checkpoint" for argument in arguments):
        print(
            "rekmeans: interrupted. Run the same command again to resume from the checkpoint.",
            file=sys.stderr,
        )
    return INTERRUPTED


def error_sentence(error: Exception) -> str:
    """Return the message of an error on one line."""
    if hasattr(error, "format_message"):  # a usage error raised by typer
        text = _one_line(error.format_message()).rstrip(".")
        # without arguments, typer has shown the help
        return f"{text}. See rekmeans --help." if text else ""
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return "; ".join([f"{error.strerror}{where}", *getattr(error, "__notes__", ())]) + "."
    text = _one_line(str(error)) or type(error).__name__
    return (
        text
        if isinstance(error, USER_ERRORS)
        else f"internal error in rekmeans, {type(error).__name__}: {text}. "
        "Run again with --debug for the traceback."
    )


def _one_line(text: str) -> str:
    from .._text import printable_text

    return printable_text(" ".join(text.split()))


def _show_warnings_as_lines() -> None:
    """Print each library warning as one line on stderr. Ignore warnings meant for developers."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", UserWarning)
    # columns have already been matched by name
    warnings.filterwarnings("ignore", "X (does not have|has) .*feature names")
    # the output already contains this note, worded for the command line
    warnings.filterwarnings("ignore", ".*If these values are real, pass beyond=")
    warnings.showwarning = lambda message, *_: print(
        f"warning: {_one_line(str(message))}", file=sys.stderr
    )
