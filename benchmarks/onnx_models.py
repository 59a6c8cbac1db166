"""Models of torch's exporter, beside onnxruntime: loading, unseen shapes, and many calls.

    python -m benchmarks.onnx_models [NAME ...] [--threads N]

Both run in one process, in turns, with as many threads. The models are those of the tests
(tests/py/onnx_door/models.py), exported on the spot. Memory is measured apart, in a process for
each of both.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CALLS = 200
UNSEEN = 20


def timed(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - begin)


def opened(library: str, path: str, threads: int) -> Callable[..., Any]:
    """Return what calls a model, loaded by one of both libraries."""
    if library == "dvm":
        import dvm.onnx

        return dvm.onnx.load(path)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options)
    names = [value.name for value in session.get_inputs()]
    return lambda *arrays: session.run(None, dict(zip(names, arrays, strict=True)))


def of_calls(name: str, path: str, threads: int) -> dict[str, list[float]]:
    """Return milliseconds of each library: load and first call, unseen shapes, p50, p99."""
    import numpy as np

    from onnx_door.models import CASES

    inputs = CASES[name].inputs
    made: dict[str, list[float]] = {}
    calls = {}
    for library in ("dvm", "onnxruntime"):
        opened(library, path, threads)  # what is imported once is no part of it

        def first(library: str = library) -> None:
            calls[library] = opened(library, path, threads)
            calls[library](*inputs(0))

        made[library] = [timed(first)]
    unseen: dict[str, list[float]] = {library: [] for library in calls}
    every: dict[str, list[float]] = {library: [] for library in calls}
    for k in range(1, CALLS):
        arrays = inputs(k)
        order = list(calls) if k % 2 else list(calls)[::-1]
        for library in order:
            took = timed(lambda library=library, arrays=arrays: calls[library](*arrays))
            every[library].append(took)
            if k <= UNSEEN:
                unseen[library].append(took)
    for library, numbers in every.items():
        made[library] += [
            float(np.median(unseen[library])),
            float(np.median(numbers)),
            float(np.percentile(numbers, 99)),
        ]
    return made


def peak() -> float:
    """Return the most memory that this process has had, in MB; not that of who started it."""
    text = Path("/proc/self/status").read_text("utf-8")
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024


def memory(library: str, path: str, threads: int) -> None:
    """Print the peak memory, in MB, of loading a model and of calls of 50 shapes."""
    import numpy as np

    with np.load(Path(path).with_suffix(".npz")) as saved:
        inputs = [
            [saved[key] for key in sorted(saved) if key.startswith(f"{k}.")] for k in range(50)
        ]
    before = peak()
    call = opened(library, path, threads)
    for arrays in inputs:
        call(*arrays)
    print(peak() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests" / "py"))
    if given.memory:
        return memory(given.memory, given.names[0], given.threads)
    os.environ["DVM_NUM_THREADS"] = str(given.threads)
    import numpy as np
    import onnx

    from onnx_door.models import CASES, exported

    print("milliseconds, dvm / onnxruntime; memory in MB beyond that of the libraries")
    print(f"{'model':10} {'load+first':>15} {'unseen':>13} {'p50':>13} {'p99':>13} {'memory':>13}")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.names or CASES:
            path = str(Path(folder) / f"{name}.onnx")
            onnx.save(exported(name, False), path)
            arrays = {
                f"{k}.{place}": array
                for k in range(50)
                for place, array in enumerate(CASES[name].inputs(k))
            }
            np.savez(Path(path).with_suffix(".npz"), **arrays)
            made = of_calls(name, path, given.threads)
            peaks = [
                float(
                    subprocess.run(
                        [sys.executable, "-m", "benchmarks.onnx_models", path, "--memory", library],
                        cwd=ROOT,
                        capture_output=True, text=True, check=True,
                    ).stdout
                )
                for library in made
            ]  # fmt: skip
            pairs = [*zip(*made.values(), strict=True), tuple(peaks)]
            wide = [15, 13, 13, 13, 13]
            cells = [f"{a:.2f} / {b:.2f}".rjust(w) for (a, b), w in zip(pairs, wide, strict=True)]
            print(f"{name:10} {' '.join(cells)}")
    return None


if __name__ == "__main__":
    main()
