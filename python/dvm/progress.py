"""Says how far a simulation is, when it takes longer than a moment."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from dvm import _dvm

#: seconds before a terminal is told, and before anything else is: a file gets a line each time that
#: twice as much time has passed
SOON, LATER = 0.5, 2.0
#: what is done to the pieces of work
DOING = {"tiles": "simulating", "operations": "timing"}


class Progress:
    """A context in which simulations of this thread say how far they are, and heed Ctrl-C.

    On a terminal that is one line, which is gone in the end; elsewhere a line now and then.
    """

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self._what = what
        self._stream = stream if stream is not None else sys.stderr
        self._rewrites = self._stream.isatty()
        self._begun = time.monotonic()
        self._next = SOON if self._rewrites else LATER
        self._written = 0
        self._pace = _dvm.Pace(self._tell)

    def __enter__(self) -> Progress:
        self._pace.__enter__()
        return self

    def __exit__(self, *args: object) -> None:
        self._pace.__exit__(*args)
        if self._written:
            self._stream.write("\r" + " " * self._written + "\r")
            self._stream.flush()

    def _tell(self, work: str, done: int, total: int) -> None:
        elapsed = time.monotonic() - self._begun
        if elapsed < self._next:
            return
        text = f"dvm: {DOING[work]} {self._what}, {done:,} of {total:,} {work} ({elapsed:.0f} s)"
        if self._rewrites:
            self._stream.write("\r" + text.ljust(self._written))
            self._written = len(text)
        else:
            self._stream.write(text + "\n")
            self._next = 2 * elapsed
        self._stream.flush()
