"""Loops as people write them: whether 20 calls are worth what compiling them costs.

    python -m benchmarks.people [--only TEXT] [--calls 40] [--default]

Prints what `benchmarks.scripts` does, of the programs of tests/py/loops. Under `force_capture`;
with --default in the stance that users have.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.scripts.measure import report

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "py"))
from loops.people import PROGRAMS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--default", action="store_true", help="in the default stance")
    options = parser.parse_args()
    programs = {
        each.__name__: (each, each.make)  # type: ignore[attr-defined]
        for each in PROGRAMS
        if options.only in each.__name__
    }
    report(programs, options.calls, "default" if options.default else "force_capture")


if __name__ == "__main__":
    main()
