"""Whole-call cost against NumPy, on 16 elements and on shapes never seen before.

Everything is measured in one process, NumPy and dvm interleaved, medians of repeats:

    python benchmarks/calls.py [--json FILE]

* `one op`, `ten ops`: nanoseconds per call on 16 float32 elements and the ratio to NumPy.
* `unseen shapes`: 1000 shapes of a ten-op function, every one new: captures, recaptures, and the
  median bind + tile + encode per region.
* `memory`: growth of the resident set per call over many calls with changing shapes.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dvm
from dvm import _dvm


def one_op(x: Any, y: Any) -> Any:
    return x + y


def ten_ops(x: Any, y: Any) -> Any:
    a = x + y
    a = a * x
    a = a + y
    a = a - x
    a = a * y
    a = a + x
    a = a * x
    a = a - y
    a = a + x
    return a * y


def nanoseconds_per_call(function: Callable[..., Any], args: tuple[Any, ...], calls: int) -> float:
    x, y = args
    start = time.perf_counter_ns()
    for _ in range(calls):
        function(x, y)
    return (time.perf_counter_ns() - start) / calls


def interleaved(
    functions: dict[str, Callable[..., Any]], args: tuple[Any, ...]
) -> dict[str, float]:
    """Median nanoseconds per call of each function, taken in turns."""
    samples: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(31):
        for name, function in functions.items():
            samples[name].append(nanoseconds_per_call(function, args, 2000))
    return {name: statistics.median(values) for name, values in samples.items()}


def small_calls() -> dict[str, Any]:
    args = (np.ones(16, np.float32), np.full(16, 2, np.float32))
    report = {}
    for label, function in (("one op", one_op), ("ten ops", ten_ops)):
        compiled = dvm.compile(function)
        compiled(*args)
        times = interleaved({"numpy": function, "dvm": compiled}, args)
        report[label] = times | {"ratio": times["dvm"] / times["numpy"]}
    return report


def unseen_shapes(count: int) -> dict[str, Any]:
    shapes = random.Random(0).sample(range(1, 200_000), count)
    compiled = dvm.compile(ten_ops)
    split: dict[str, list[float]] = {"bind": [], "tile": [], "encode": []}
    plan: list[float] = []
    compiled(np.ones(7, np.float32), np.ones(7, np.float32))
    for n in shapes:
        x, y = np.ones(n, np.float32), np.full(n, 2, np.float32)
        _, times = _dvm.timed_call(compiled, x, y)
        compiled(x, y)
        for phase, values in split.items():
            values.append(times[phase] / times["regions"])
        plan.append(times["plan"])
    medians = {phase: statistics.median(values) for phase, values in split.items()}
    totals = [sum(phases) for phases in zip(*split.values(), strict=True)]
    stats = compiled.stats
    return medians | {
        "total": statistics.median(totals),
        "plan": statistics.median(plan),
        "captures": stats.captures,
        "recaptures": stats.recaptures,
        "drops": stats.drops,
    }


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * 4096


def memory_slope(calls: int) -> float:
    """Bytes of resident memory gained per call, shapes changing all the time."""
    compiled = dvm.compile(ten_ops)
    arrays = [np.ones(n, np.float32) for n in range(1, 257)]
    for array in arrays * 8:
        compiled(array, array)
    gc.collect()
    before = resident_bytes()
    for i in range(calls):
        array = arrays[i & 255]
        compiled(array, array)
    gc.collect()
    return (resident_bytes() - before) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    parser.add_argument("--calls", type=int, default=1_000_000, help="for the memory slope")
    options = parser.parse_args()
    report = {
        "small": small_calls(),
        "unseen shapes": unseen_shapes(1000),
        "bytes per call": memory_slope(options.calls),
    }
    for label, row in report["small"].items():
        print(
            f"{label:8} numpy {row['numpy']:7.0f} ns  dvm {row['dvm']:7.0f} ns  x{row['ratio']:.2f}"
        )
    row = report["unseen shapes"]
    print(
        f"1000 unseen shapes: captures {row['captures']}, recaptures {row['recaptures']}, "
        f"drops {row['drops']}; per region bind {row['bind']:.0f} + tile {row['tile']:.0f} + "
        f"encode {row['encode']:.0f} ns, median total {row['total']:.0f} ns; "
        f"sizes, checks and outputs {row['plan']:.0f} ns"
    )
    print(f"memory: {report['bytes per call']:.3f} bytes per call over {options.calls} calls")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)


if __name__ == "__main__":
    main()
