"""What commands print: results on stdout, errors as one line on stderr."""

from __future__ import annotations

import os
import sys

#: status of a command that failed
FAILED = 2
#: status of a command whose reader went away, as a shell gives it for SIGPIPE
CLOSED_PIPE = 141


def show(command: str, text: str) -> int:
    """Print a result; return the exit status, which is not 0 where it cannot be written."""
    try:
        print(text, flush=True)
    except BrokenPipeError:  # `| head` has read enough
        _drop_the_rest()
        return CLOSED_PIPE
    except OSError as error:  # a disk that is full
        _drop_the_rest()
        return fail(command, f"what it says cannot be written: {error}")
    return 0


def fail(command: str, error: object) -> int:
    """Print why a command failed; return the exit status."""
    print(f"{command}: {error}".replace("\n", " "), file=sys.stderr)
    return FAILED


def _drop_the_rest() -> None:
    """What is left must not be written at the interpreter's end either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
