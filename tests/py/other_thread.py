"""A thread that wants to run while a call does."""

import sys
import threading
import time
from collections.abc import Callable


def turns_beside(call: Callable[[], object], enough: int = 20) -> int:
    """How often another thread ran during up to 20 calls, no more of them than are needed.

    Nobody hands the interpreter's lock over by itself: the call has to let go of it.
    """
    running, turns, over = threading.Event(), [], threading.Event()

    def other() -> None:
        while not over.is_set():
            time.sleep(0.0002)
            if running.is_set():
                turns.append(1)

    thread = threading.Thread(target=other)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10)
    try:
        for _ in range(20):
            running.set()
            call()
            running.clear()
            if len(turns) > enough:
                break
    finally:
        sys.setswitchinterval(interval)
        over.set()
        thread.join()
    return len(turns)
