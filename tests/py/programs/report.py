"""Prints a line per program: `PYTHONPATH=tests/py python -m programs.report [part of a name]`."""

import sys
from collections import Counter

from programs.registry import programs
from programs.running import run, shortfalls


def main(wanted: str = "") -> None:
    outcomes: Counter[str] = Counter()
    for program in programs():
        if wanted not in program.name:
            continue
        seen, found = run(program, 0), shortfalls(program)
        wrong = [*seen.differences, *[f"awkward first: {d}" for d in run(program, 1).differences]]
        outcome = "DIFFERS" if wrong else "short" if found else "good"
        outcomes[outcome] += 1
        stats = seen.stats
        counts = f"{stats.captures}/{program.captures} {stats.hits}h {stats.drops}d"
        counts += f" {stats.fallbacks}f"
        print(f"{outcome:8} {program.name:38} {counts:18} {' '.join(sorted(seen.opaque))}")
        details = [*wrong[:3], *found]
        for line in details:
            print(f"         - {line}")
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))


if __name__ == "__main__":
    main(*sys.argv[1:])
