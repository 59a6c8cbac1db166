"""What capture costs: before the first call (import), on it (capture), on all others (guards).

    python benchmarks/capture.py [--json FILE]

* `import`: milliseconds `import dvm` takes after `import numpy`, in fresh processes.
* `recording`: nanoseconds per bytecode instruction which a recorded call takes beyond a plain one,
  for a loop over integers, for one that calls methods, and for the demo's text encoder, where
  every array stays alive until the recording ends, so that none is in the cache when it is written.
* `capture`: milliseconds which the capturing call of the encoder takes beyond a plain call; `first`
  is the first capture of a process, which also imports the lowering.
* `guards`: nanoseconds per further array, scalar or attribute that a call's path depends on: the
  slope over functions that read 0 to 8 of them. What Python itself takes to pass an argument is in
  it; a function which reads 5 attributes of 200 must cost what one does that has only these 5.

Times of short calls are the least of many, which other programs disturb least; those of captures
are the processor's time of this thread.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for the encoder, as in the demo

import numpy as np

import dvm
from dvm import _dvm

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

IMPORT = """
import time
import numpy
start = time.thread_time()
import dvm
print(time.thread_time() - start)
"""

FIRST_CAPTURE = f"""
import sys, time
import dvm
sys.path.insert(0, {str(EXAMPLES)!r})
from text_encoder import TextEncoder, tokenize
encoder = TextEncoder()
tokens = tokenize("Names refer to objects, and names are introduced by binding operations.")
for _ in range(5):
    start = time.thread_time()
    TextEncoder.encode(encoder, tokens)
    plain = time.thread_time() - start
start = time.thread_time()
dvm.compile(TextEncoder.encode)(encoder, tokens)
print(time.thread_time() - start - plain)
"""


def in_fresh_processes(source: str, count: int) -> float:
    """Median of the seconds which `count` runs of `source` print.

    They find byte code, as an installed package has it: a first run writes it and does not count.
    """
    command = [sys.executable, "-c", source]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        runs = [float(subprocess.check_output(command, env=environment)) for _ in range(count + 1)]
    return statistics.median(runs[1:])


def encoder_call() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The demo's encoder as a function, and arguments for it."""
    sys.path.insert(0, str(EXAMPLES))
    from text_encoder import TextEncoder, tokenize

    tokens = tokenize("Names refer to objects, and names are introduced by binding operations.")
    return TextEncoder.encode, (TextEncoder(), tokens)


def count_up(n: int) -> int:
    total = 0
    for i in range(n):
        total = total + i * 2 - 1
    return total


class Counter:
    """Adds by way of two methods."""

    def __init__(self) -> None:
        self.step = 1

    def next(self, value: int) -> int:
        return value + self.step

    def count(self, n: int) -> int:
        total = 0
        for _ in range(n):
            total = self.next(total)
        return total


def recording_cost(function: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Nanoseconds per instruction that recording adds to a call."""
    plain, recorded = [], []
    opcodes = 0
    for _ in range(300):
        start = time.perf_counter_ns()
        function(*args)
        plain.append(time.perf_counter_ns() - start)
        recording = _dvm.record(function, *args)
        recorded.append(recording["nanoseconds"])
        opcodes = recording["opcodes"]
    return float(min(recorded) - min(plain)) / opcodes


def capture_times(count: int) -> dict[str, float]:
    """Milliseconds of captures of the demo's encoder beyond its own run."""
    function, args = encoder_call()
    plain, captured = [], []
    for _ in range(count):
        start = time.thread_time()
        function(*args)
        plain.append(time.thread_time() - start)
        start = time.thread_time()
        compiled = dvm.compile(function)
        compiled(*args)
        captured.append(time.thread_time() - start)
    return {
        "first": 1e3 * in_fresh_processes(FIRST_CAPTURE, 5),
        "later": 1e3 * (statistics.median(captured) - statistics.median(plain)),
        "plain": 1e3 * statistics.median(plain),
        "captured": compiled.stats.captures,
    }


def nanoseconds_per_call(function: Callable[..., Any], args: tuple[Any, ...]) -> float:
    start = time.perf_counter_ns()
    for _ in range(2000):
        function(*args)
    return (time.perf_counter_ns() - start) / 2000


def define(parameters: list[str], body: list[str]) -> Callable[..., Any]:
    """A function of x and `parameters` that does `body` and returns x + x."""
    lines = [f"def function({', '.join(['x', *parameters])}):", *body, "return x + x"]
    scope: dict[str, Any] = {}
    exec("\n    ".join(lines), scope)
    function: Callable[..., Any] = scope["function"]
    return function


class Record:
    """An object with the attributes a0, a1, ..."""

    def __init__(self, attributes: int):
        for i in range(attributes):
            setattr(self, f"a{i}", True)


def reader(kind: str, reads: int, attributes: int = 8) -> tuple[Callable[..., Any], list[Any]]:
    """A function whose path depends on `reads` things of a kind, and its arguments after x."""
    names = [f"a{i}" for i in range(reads)]
    if kind == "array":
        return define(names, [f"{name}.ndim" for name in names]), [np.ones(3) for _ in names]
    if kind == "scalar":
        return define(names, [f"if {name}: pass" for name in names]), [True for _ in names]
    body = [f"if record.{name}: pass" for name in names]
    return define(["record"], body), [Record(attributes)]


def compiled_calls(cases: dict[Any, tuple[Callable[..., Any], list[Any]]]) -> dict[Any, float]:
    """Nanoseconds of a compiled call of each case, taken in turns; nan if it fell back."""
    x = np.ones(16, np.float32)
    calls = {key: (dvm.compile(function), (x, *rest)) for key, (function, rest) in cases.items()}
    samples: dict[Any, list[float]] = {key: [] for key in calls}
    for _ in range(31):
        for key, (function, args) in calls.items():
            samples[key].append(nanoseconds_per_call(function, args))
    compiled = {key: not function.fallback_reasons for key, (function, _) in calls.items()}
    return {key: min(values) if compiled[key] else float("nan") for key, values in samples.items()}


def guard_costs() -> dict[str, float]:
    counts = range(9)
    report = {}
    for kind in ("array", "scalar", "attribute"):
        times = compiled_calls({n: reader(kind, n) for n in counts})
        report[kind] = statistics.linear_regression(counts, list(times.values())).slope
    both = compiled_calls({n: reader("attribute", 5, attributes=n) for n in (5, 200)})
    return report | {"5 of 5": both[5], "5 of 200": both[200]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    options = parser.parse_args()
    report = {
        "import ms": 1e3 * in_fresh_processes(IMPORT, 11),
        "recording ns": {
            "loop": recording_cost(count_up, (100,)),
            "methods": recording_cost(Counter.count, (Counter(), 100)),
            "encoder": recording_cost(*encoder_call()),
        },
        "capture ms": capture_times(11),
        "guards ns": guard_costs(),
    }
    capture, guards = report["capture ms"], report["guards ns"]
    recording = report["recording ns"]
    print(f"import dvm: {report['import ms']:.1f} ms after numpy")
    print(
        f"recording: {recording['loop']:.0f} ns an instruction of a loop, "
        f"{recording['methods']:.0f} ns of method calls, "
        f"{recording['encoder']:.0f} ns of the text encoder"
    )
    print(
        f"capture of the text encoder: {capture['first']:.1f} ms in a new process, "
        f"{capture['later']:.1f} ms later, beyond its own {capture['plain']:.2f} ms"
        + ("" if capture["captured"] else " (it falls back)")
    )
    print(
        f"guards: array {guards['array']:.1f} ns, scalar {guards['scalar']:.1f} ns, attribute "
        f"{guards['attribute']:.1f} ns; a call that reads 5 attributes of 5: "
        f"{guards['5 of 5']:.0f} ns, of 200: {guards['5 of 200']:.0f} ns"
    )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)


if __name__ == "__main__":
    main()
