"""Many calls with changing shapes, branches and scalars: does anything grow, leak or go quiet?

    python benchmarks/soak.py [--calls 100000] [--seed 0]

Ten functions take turns. After a warm-up that has seen every path:

* resident memory is sampled and fitted by a line: bytes per call;
* references to the arguments, the module's objects and the results are counted;
* objects that the garbage collector tracks are counted, and blocks of Python's allocator;
* every hundredth call is compared with the plain function.

At last a function with more than 64 paths must say once that it gives up, and stay right. The exit
status is 1 if any of that is not as it should be.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dvm

Array = np.ndarray[Any, Any]

WEIGHTS = np.linspace(0.0, 1.0, 8)
SETTINGS = {"scale": 2.0, "history": []}
#: Growth that is noise of the allocator rather than a leak, in bytes per call.
FLAT = 4.0
#: Two dtypes, two types of k, a few outcomes of a branch.
MOST_PATHS = 20


@dataclass
class Counter:
    total: float = 0.0
    calls: int = 0
    last: Array | None = field(default=None, repr=False)


COUNTER = Counter()


def normalise(x: Array, k: float) -> Array:
    centred: Array = x - x.mean(axis=-1, keepdims=True)
    return centred * k


def branch_on_data(x: Array, k: float) -> Array:
    if x.sum() > 0:
        return np.sqrt(np.abs(x)) + k
    return -x


def branch_on_size(x: Array, k: float) -> Any:
    if x.shape[0] > 8:
        return x[::2] + x[: 2 * (x.shape[0] // 2) : 2].sum(), k
    return x, k


def loop(x: Array, k: float) -> Array:
    total = np.zeros_like(x)
    for i in range(3):
        total += x * i + k
    return total


def converge(x: Array, _: float) -> Array:
    while x.size and np.abs(x).max() > 4:
        x = x / 2
    return x


def write(x: Array, k: float) -> Array:
    x[..., 0] = k
    x[..., 1:] += 1
    return x[..., ::-1]


def containers(x: Array, k: float) -> dict[str, Any]:
    parts = [x[:1], x[1:]]
    parts.append(x * k)
    return {"joined": np.concatenate(parts), "first": parts[0], "sizes": [len(p) for p in parts]}


def attributes(x: Array, k: float) -> float:
    COUNTER.calls += 1
    COUNTER.total += float(x.sum())
    COUNTER.last = x
    return COUNTER.calls * k


def globals_and_scalars(x: Array, k: float) -> Any:
    scaled = x * SETTINGS["scale"] + WEIGHTS.sum()
    return scaled, float(k) ** 2, int(x.shape[-1]), scaled.max(initial=0)


def raising(x: Array, k: float) -> Array:
    if k > 1.4:
        raise ValueError(f"k is {k}")
    return x + k


FUNCTIONS: list[Callable[[Array, float], Any]] = [
    normalise, branch_on_data, branch_on_size, loop, converge, write, containers, attributes,
    globals_and_scalars, raising,
]  # fmt: skip


def outcome(function: Callable[..., Any], x: Array, k: float) -> Any:
    try:
        return function(x, k)
    except ValueError as error:
        return str(error)


def leaves(value: Any) -> list[Any]:
    """Return the numbers, texts and arrays within containers, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def close(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    return np.allclose(one, other, rtol=1e-5, atol=1e-6)


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * 4096


class Soak:
    """The calls, and what is counted around them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.compiled = [dvm.compile(f) for f in FUNCTIONS]
        rng = np.random.default_rng(seed)
        self.pool = [
            rng.integers(-9, 9, size=(rows, columns)).astype(dtype)
            for rows in (1, 2, 3, 7, 16, 33)
            for columns in (1, 2, 5, 8)
            for dtype in (np.float64, np.float32)
        ]
        self.calls = 0
        self.compared = 0
        self.wrong: list[str] = []

    def call(self) -> None:
        which = self.random.randrange(len(FUNCTIONS))
        x = self.random.choice(self.pool)
        k = self.random.choice((0.5, 1.0, 1.5, 2))
        given = x.copy()
        self.calls += 1
        if self.calls % 100:
            outcome(self.compiled[which], given, k)
            return
        x = x.copy()
        state = (COUNTER.calls, COUNTER.total)
        made = outcome(self.compiled[which], given, k)
        COUNTER.calls, COUNTER.total = state
        plain = outcome(FUNCTIONS[which], x, k)
        self.compared += 1
        for one, other in zip(leaves((made, given)), leaves((plain, x)), strict=True):
            if np.shape(one) != np.shape(other) or not close(one, other):
                self.wrong.append(f"{FUNCTIONS[which].__name__}, call {self.calls}: {one} {other}")
                break

    def references(self) -> dict[str, int]:
        """Return reference counts that no call may change."""
        held: dict[str, object] = {
            "WEIGHTS": WEIGHTS, "SETTINGS": SETTINGS, "COUNTER": COUNTER, "None": None,
            "float64": np.dtype(np.float64), "float32": np.dtype(np.float32), "ndarray": np.ndarray,
            "np.add": np.add,
        }  # fmt: skip
        held |= {f"pool[{i}]": array for i, array in enumerate(self.pool)}
        held |= {f.__name__: f for f in FUNCTIONS}
        return {name: sys.getrefcount(value) for name, value in held.items()}

    def fresh_results(self) -> list[str]:
        """Return what holds a result or an argument besides this caller."""
        kept = []
        x = np.ones((3, 5))
        for function, compiled in zip(FUNCTIONS, self.compiled, strict=True):
            for _ in range(3):
                counts = []
                for f in (function, compiled):
                    given = x.copy()
                    result = f(given, 1.0)
                    items = result if isinstance(result, tuple) else (result,)
                    counts.append([sys.getrefcount(v) for v in items if isinstance(v, np.ndarray)])
                    counts[-1].append(sys.getrefcount(given))
                    del given, result, items
                if counts[0] != counts[1]:
                    kept.append(f"{function.__name__}: plain {counts[0]}, compiled {counts[1]}")
        return kept


def slope(samples: list[tuple[int, int]]) -> float:
    calls, sizes = np.array(samples, dtype=float).T
    return float(np.polyfit(calls, sizes, 1)[0])


def many_paths(x: Array, k: int) -> Array:
    """Take one of a hundred paths."""
    for i in range(100):
        if k == i:
            return x + i
    return x


def path_limit() -> list[str]:
    """Return what is wrong with a function of more than 64 paths."""
    compiled = dvm.compile(many_paths)
    x = np.arange(4.0)
    wrong = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(3):
            for k in range(100):
                if not np.array_equal(compiled(x, k), x + k):
                    wrong.append(f"path {k} is wrong")
    said = [str(w.message) for w in warned]
    if len(said) != 1:
        wrong.append(f"{len(said)} warnings instead of one: {said[:3]}")
    if not compiled.fallback_reasons:
        wrong.append("no reason is given")
    print(f"path limit: {said[:1]}; {compiled.stats}; reasons {compiled.fallback_reasons[-1:]}")
    return wrong


def run(calls: int, seed: int) -> list[str]:
    """Make the calls and print the figures; return what is not as it should be."""
    soak = Soak(seed)
    for _ in range(max(calls // 10, 3000)):
        soak.call()
    gc.collect()
    references, objects, blocks = soak.references(), len(gc.get_objects()), sys.getallocatedblocks()
    samples = []
    started = time.perf_counter()
    for i in range(calls):
        soak.call()
        if i % (calls // 50 or 1) == 0:
            samples.append((i, resident_bytes()))
    seconds = time.perf_counter() - started
    gc.collect()
    growth = slope(samples)
    more_objects = len(gc.get_objects()) - objects
    more_blocks = sys.getallocatedblocks() - blocks
    changed = {
        name: (count, now)
        for (name, count), now in zip(
            references.items(), soak.references().values(), strict=True
        )
        if abs(now - count) > (100 if name in ("None", "float64", "float32", "ndarray") else 0)
    }  # fmt: skip
    kept = soak.fresh_results()
    print(f"calls {calls} in {seconds:.1f} s, {soak.compared} compared with NumPy")
    print(f"resident memory: {growth:+.2f} bytes per call "
          f"({(samples[-1][1] - samples[0][1]) / 1024:+.0f} KiB in all)")  # fmt: skip
    print(f"tracked objects: {more_objects:+d}; allocated blocks: {more_blocks:+d}")
    print(f"reference counts changed: {changed or 'none'}")
    print(f"results and arguments held: {kept or 'none'}")
    for compiled in soak.compiled:
        stats = compiled.stats
        share = stats.hits / max(stats.calls, 1)
        print(f"  {compiled.__name__:20} replayed {share:6.1%}  captures {stats.captures}  "
              f"{(compiled.fallback_reasons or [''])[0].rpartition('/')[2][:70]}")  # fmt: skip
    wrong = soak.wrong[:5] + kept + path_limit()
    for compiled in soak.compiled:
        if compiled.stats.captures > MOST_PATHS:
            wrong.append(f"{compiled.__name__} was captured {compiled.stats.captures} times")
    if growth > FLAT:
        wrong.append(f"resident memory grows by {growth:.2f} bytes per call")
    if more_objects > 50 or more_blocks > 500:
        wrong.append(f"{more_objects} objects and {more_blocks} blocks more than before")
    if changed:
        wrong.append(f"reference counts changed: {changed}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong = run(options.calls, options.seed)
    for line in wrong:
        print("WRONG:", line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
