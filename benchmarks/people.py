"""Loops as people write them: whether 20 calls are worth what compiling them costs.

    python -m benchmarks.people [--only TEXT] [--calls 20] [--default]

Prints for each program milliseconds of a plain call, how many captures and hits the calls had, what
they took in all over what as many plain calls take, and milliseconds of the last ones. Under
`force_capture`; with --default in the stance that users have. Calls that change their arguments are
given new ones, outside the clock.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dvm

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "py"))
from loops.people import PROGRAMS


def times_of(function: Callable[..., Any], make: Callable[[int], Any], calls: int) -> list[float]:
    """Milliseconds of each call."""
    taken = []
    for number in range(calls):
        given = make(number)
        begin = time.perf_counter()
        function(*given)
        taken.append(1e3 * (time.perf_counter() - begin))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--default", action="store_true", help="in the default stance")
    options = parser.parse_args()
    stance = "default" if options.default else "force_capture"
    print(f"{'program':<24}{'plain ms':>9}{'captures':>9}{'hits':>6}{'total':>8}{'last ms':>9}")
    warnings.simplefilter("ignore")
    for program in PROGRAMS:
        if options.only not in program.__name__:
            continue
        make = program.make  # type: ignore[attr-defined]
        plain = statistics.median(times_of(program, make, min(options.calls, 9)))
        compiled = dvm.compile(program)
        with dvm.stance(stance):
            taken = times_of(compiled, make, options.calls)
        stats = compiled.stats
        total, last = sum(taken) / (plain * len(taken)), statistics.median(taken[-3:])
        print(
            f"{program.__name__:<24}{plain:9.2f}{stats.captures:9}{stats.hits:6}{total:8.2f}"
            f"{last:9.2f}",
            flush=True,
        )
        for reason in compiled.fallback_reasons:
            print(f"    {reason}")


if __name__ == "__main__":
    main()
