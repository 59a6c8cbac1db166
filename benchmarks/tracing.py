"""What recording costs per instruction, against the untraced run.

    python benchmarks/tracing.py [--json FILE]

Every row is one function that does little else than the interpreter's own work, so that the
difference between the two runs is the recorder: nanoseconds per opcode, the least of many runs,
for what a shared machine adds is no part of it.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from typing import Any

from dvm import _dvm


def loop(n: int) -> int:
    """Arithmetic on locals in a while loop."""
    i = total = 0
    while i < n:
        total = total + i * 2 - 1
        if total > 1000:
            total = total % 7
        i += 1
    return total


def elements(n: int) -> int:
    """List elements in a for loop."""
    xs = [0] * 8
    for i in range(n):
        xs[i & 7] = xs[(i + 1) & 7] + i
    return xs[0]


def shuffle_locals(n: int) -> int:
    """Loads, stores and jumps, nearly no event."""
    a, b, c = 1, 2, 3
    while n:
        a, b = b, a
        b, c = c, b
        c, a = a, c
        a, b, c = c, a, b
        n -= 1
    return a


def helper(x: int) -> int:
    return x + 1


def calls(n: int) -> int:
    """Followed calls."""
    total = 0
    for _ in range(n):
        total = helper(total)
    return total


def measure(function: Callable[[int], Any], n: int, repeats: int) -> dict[str, float]:
    """Nanoseconds per opcode of the recorded and of the plain run."""
    opcodes = _dvm.record(function, n)["opcodes"]
    plain, recorded = [], []
    for _ in range(repeats):
        start = time.perf_counter_ns()
        function(n)
        plain.append((time.perf_counter_ns() - start) / opcodes)
        recorded.append(_dvm.record(function, n)["nanoseconds"] / opcodes)
    return {
        "opcodes": opcodes,
        "plain": min(plain),
        "recorded": min(recorded),
        "added": min(recorded) - min(plain),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the numbers to this file")
    options = parser.parse_args()
    gc.disable()  # it would walk over what the benchmark itself keeps
    rows = {f.__name__: measure(f, 1000, 401) for f in (loop, elements, shuffle_locals, calls)}
    print(f"{'':16}{'opcodes':>10}{'plain':>10}{'recorded':>10}{'added':>10}  [ns per opcode]")
    for name, row in rows.items():
        print(
            f"{name:16}{row['opcodes']:10.0f}{row['plain']:10.1f}{row['recorded']:10.1f}"
            f"{row['added']:10.1f}"
        )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()
