"""Scripts as people write them, in the default stance: whether 20 calls are worth their capture.

    taskset -c 0 python -m benchmarks.scripts [--only TEXT] [--calls 40] [--force]

Each is called with other arguments each time, made outside the clock; in turns, a plain call with
the same arguments, and what both give is compared. Prints ms of a plain call, captures, hits, what
the first 20 calls take over the plain ones, what those from 21 on do, and whether it is ahead by
call 20. Times are the thread's. --force: under `force_capture`.
"""

from __future__ import annotations

import argparse
import functools

from benchmarks.scripts.measure import report
from benchmarks.scripts.programs import SCRIPTS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="scripts with this in their name")
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--force", action="store_true")
    options = parser.parse_args()
    programs = {
        name: (each.function, functools.partial(each.arguments, size=each.size))
        for name, each in SCRIPTS.items()
        if options.only in name
    }
    report(programs, options.calls, "force_capture" if options.force else "default")


if __name__ == "__main__":
    main()
