"""Models of transformers in files: how long until a fresh process has the first result.

    python -m benchmarks.saved_models [--models bert,gpt2] [--processes 5]

Each file is opened by processes without PyTorch. Milliseconds of the thread that calls (others that
compute with it are not counted), the median of the processes: opening, compiling, the first call
and a later one. The results are compared bit by bit with those of the captured model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks import torch_models

import dvm

LENGTH = 32
FRESH = """
import json, sys, time
sys.modules["torch"] = None
import dvm, numpy as np
from dvm.graphs import compiled_of, open_graph

x = np.load(sys.argv[2])
times = [time.thread_time()]
def passed():
    times.append(time.thread_time())
opened = open_graph(sys.argv[1], False)
passed()
graph = compiled_of(opened)
passed()
results = graph(x)
passed()
graph(x)
passed()
with np.load(sys.argv[3]) as expected:
    same = all(y.tobytes() == expected[key].tobytes() for y, key in zip(results, expected.files))
print(json.dumps([same, *[(b - a) * 1e3 for a, b in zip(times, times[1:])]]))
"""


def measure(name: str, processes: int, folder: Path) -> tuple[bool, list[float], int]:
    """Whether bits are the same, what each step takes, and the size of the file."""
    torch.manual_seed(0)
    model, (tokens,) = torch_models.UNSEEN[name]()
    compiled = dvm.compile(model.eval())
    x = tokens[:1, :LENGTH]
    with torch.no_grad():
        dvm.save(compiled, folder / "model.dvm")(tokens)
        with dvm.stance("force_capture"):
            compiled(x)
            result = compiled(x)
    np.save(folder / "x.npy", x.numpy())
    first = [value.numpy() for value in result.values() if isinstance(value, torch.Tensor)]
    np.savez(folder / "y.npz", *first)
    paths = [str(folder / each) for each in ("model.dvm", "x.npy", "y.npz")]
    command = [sys.executable, "-c", FRESH, *paths]
    runs: list[Any] = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for _ in range(processes)
    ]
    times = [statistics.median(step) for step in zip(*(run[1:] for run in runs), strict=True)]
    return all(run[0] for run in runs), times, (folder / "model.dvm").stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=",".join(torch_models.UNSEEN))
    parser.add_argument("--processes", type=int, default=5)
    options = parser.parse_args()
    columns = ("open", "compile", "first call", "in all", "a later call")
    print(f"{'':8}{'MB':>8}" + "".join(f"{column:>14}" for column in columns) + "   bits")
    for name in options.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            same, times, size = measure(name, options.processes, Path(folder))
        opening, compiling, first, later = times
        row = (opening, compiling, first, opening + compiling + first, later)
        told = "same" if same else "OTHER"
        print(f"{name:8}{size / 1e6:8.0f}" + "".join(f"{t:14.1f}" for t in row) + f"   {told}")


if __name__ == "__main__":
    main()
