"""Until when a lowering may go on."""

from __future__ import annotations

import math
import time

from dvm.magpy_capture.path.spec import OutOfTime


class Deadline:
    """So many nanoseconds of this thread's time from here on; without an end for None.

    A thread's own clock takes a system call, in which a thread whose slice is used up must wait for
    the others: so it is asked only when the wall's clock says that the time may be over.
    """

    def __init__(self, nanos: int | None) -> None:
        self._end: float = math.inf  # on the thread's clock
        self._next_look: float = math.inf  # on the wall's
        if nanos is not None:
            self._end = time.thread_time_ns() + nanos
            self._next_look = time.monotonic_ns() + nanos

    def check(self) -> None:
        """Raise OutOfTime when it is over."""
        if time.monotonic_ns() < self._next_look:
            return
        left = self._end - time.thread_time_ns()
        if left < 0:
            raise OutOfTime
        self._next_look = time.monotonic_ns() + left


#: for what takes as long as it takes
NEVER = Deadline(None)

__all__ = ["NEVER", "Deadline"]
