"""What memory costs: new outputs against ready ones, growth over many calls, and the demo's peak.

    python -m benchmarks.memory [--calls 10000]

* `new outputs`: an addition whose results are new arrays of 8 MiB and more, each of which lives
  until the next one is there, over the time of `np.add` into an array that was touched before. Both
  are bound by memory, and run on one thread; what is above 1 is the price of new memory. Bar: 1.15.
* `growth`: bytes by which the resident set grows over calls with changing shapes, between two
  moments when the pool is empty. Bar: none but noise.
* `path`: what one captured path keeps, for each operation of 300. Bar: 1.5 KiB.
* `demo`: the largest resident set of examples/demo.py's encoder, plain and compiled, each in a
  process of its own. Bar: NumPy's. The sentences alone are told apart: they need no memory to speak
  of, and what is seen is what the code of dvm's capture takes.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("DVM_NUM_THREADS", "1")

import numpy as np

import dvm

MIB = 1 << 20
RATIO_LIMIT = 1.15
GROWTH_LIMIT = 2 * MIB
PATH_LIMIT = 1.5 * 1024
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def add(x: Any, y: Any) -> Any:
    return x + y


def chain(x: Any, y: Any) -> Any:
    return np.maximum(x * y + x, y) - x


def milliseconds(call: Callable[..., Any], *args: Any, calls: int) -> float:
    start = time.perf_counter()
    result = None
    for _ in range(calls):
        result = call(*args)  # the former result dies only now
    spent = time.perf_counter() - start
    del result
    return spent / calls * 1e3


def outputs() -> bool:
    """New arrays against given ones, taken in turns."""
    good = True
    print(f"{'output MiB':>10}{'given ms':>10}{'NumPy, new':>12}{'dvm, new':>10}")
    compiled = dvm.compile(add)
    for mib in (8, 16, 64, 256):
        n = mib * MIB // 4
        x, y = np.full(n, 0.5, np.float32), np.full(n, 0.25, np.float32)
        out = np.zeros(n, np.float32)
        contenders: dict[str, tuple[Any, ...]] = {
            "given": (np.add, x, y, out),
            "numpy": (add, x, y),
            "dvm": (compiled, x, y),
        }
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(9):
            for name, (call, *args) in contenders.items():
                times[name].append(milliseconds(call, *args, calls=max(2, 64 // mib)))
        given, plain, ours = (statistics.median(times[name]) for name in contenders)
        print(f"{mib:>10}{given:>10.2f}{plain / given:>11.2f}x{ours / given:>9.2f}x", flush=True)
        good &= ours / given <= RATIO_LIMIT
    return good


def resident() -> int:
    """Bytes, once everything that can be given back has been."""
    gc.collect()
    dvm.clear_cache()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def growth(calls: int) -> bool:
    """Ten thousand calls with shapes of all sizes, some of them met again, most not."""
    compiled = dvm.compile(chain)
    rng = random.Random(0)
    base = np.ones(3_000_000, np.float32)

    def some(count: int) -> None:
        for _ in range(count):
            n = int(10 ** rng.uniform(0, 6.4))
            compiled(base[:n], base[-n:])

    some(calls // 10)
    before = resident()
    some(calls)
    grown = resident() - before
    print(f"{calls} calls with changing shapes: the resident set grew by {grown / 1024:.0f} KiB")
    return grown <= GROWTH_LIMIT


class Allocated(ctypes.Structure):
    """mallinfo2's answer (glibc)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def path(operations: int = 300, functions: int = 10) -> bool:
    """Bytes of malloc that captured paths keep; Python's own small objects are not among them."""
    source = "def f(x, y):\n" + "    x = x * 1.5 + y\n" * (operations // 2) + "    return x\n"
    code = compile(source, "<path>", "exec")
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Allocated

    def allocated() -> int:
        gc.collect()
        info = mallinfo()
        return int(info.uordblks + info.hblkhd)

    def captured() -> Any:
        scope: dict[str, Any] = {}
        exec(code, scope)
        compiled = dvm.compile(scope["f"])
        for _ in range(2):
            compiled(np.ones(100), np.ones(100))
        return compiled

    kept = [captured()]
    before = allocated()
    kept += [captured() for _ in range(functions)]
    each = (allocated() - before) / functions / operations
    print(f"a path of {operations} operations keeps {each / 1024:.2f} KiB for each")
    return each <= PATH_LIMIT


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, {examples!r})
from demo import PAGES, pages, sentences, spread
from text_encoder import TextEncoder, tokenize
encode = TextEncoder.encode
if {compiled}:
    import dvm
    encode = dvm.compile(encode)
encoder = TextEncoder()
for texts in spread(sentences(), 400), spread(pages(), PAGES):
    for text in texts * 2:
        encode(encoder, tokenize(text))
    # What getrusage tells of a child begins with its parent's.
    status = Path("/proc/self/status").read_text().splitlines()
    print(next(line for line in status if line.startswith("VmHWM")).split()[1])
"""


def peaks() -> dict[str, list[float]]:
    """Return the demo's peaks in MiB: behind the sentences alone, and behind whole pages too.

    Both sides import the demo, and with it dvm; only one of them uses it.
    """
    found = {}
    for name, compiled in (("numpy", False), ("dvm", True)):
        script = CHILD.format(examples=str(EXAMPLES), compiled=compiled)
        run = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        )
        found[name] = [int(peak) / 1024 for peak in run.stdout.split()]
    return found


def demo() -> bool:
    found = peaks()
    for k, what in enumerate(("sentences alone", "and whole pages")):
        print(
            f"peak of the demo's encoder, {what}: {found['dvm'][k]:.1f} MiB compiled, "
            f"{found['numpy'][k]:.1f} MiB plain"
        )
    return found["dvm"][-1] <= found["numpy"][-1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.memory")
    parser.add_argument("--calls", type=int, default=10_000)
    options = parser.parse_args()
    good = [growth(options.calls), path(), demo(), outputs()]
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
