"""What the plots of the documentation show, measured by the benchmarks beside this.

Each is a run of one of them in a process of its own, pinned to one processor, in which all that are
compared take turns.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.peers import pinned

ROUNDS = 31
WORKLOADS = ("cheap k=8", "math k=8", "softmax", "layer norm")
COMPILERS = ["eager", "native", "dvm", "inductor"]
MODELS = (
    *("bert", "distilbert", "gpt2", "llama", "resnet"),
    *("mobilenet", "unet", "lstm", "dlrm", "mmoe"),
)
PACKAGES = ("numpy", "torch", "jax", "numexpr")


def machine() -> dict[str, Any]:
    """What it was measured on."""
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),  # of other work, which moves all figures a little
    }
    for row in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        name, _, value = row.partition(":")
        if name.strip() == "model name":
            found["model"] = value.strip()
        if name.strip() == "flags":
            have = set(value.split())
            told = {"avx2": "AVX2", "avx512f": "AVX-512", "amx_bf16": "AMX"}
            found["has"] = ", ".join(text for flag, text in told.items() if flag in have)
    return found | {name: metadata.version(name) for name in PACKAGES}


def apart(name: str) -> Any:
    """What MEASURED has under the name, called in a process that is pinned to one processor."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "figures.json")
        pinned.run("benchmarks.plots.measuring", 1, [name, str(file)])
        return json.loads(file.read_text("utf-8"))


def of_peers() -> list[dict[str, Any]]:
    """Whole calls of each contender, by the benchmark that pins itself."""
    found = []
    for workload in WORKLOADS:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "figures.json")
            chosen = ["--threads", "1", "--no-sweep", "--only", workload, "--json", str(file)]
            pinned.run("benchmarks.peers", 1, chosen)
            found += json.loads(file.read_text("utf-8"))
    return found


def of_models() -> list[dict[str, Any]]:
    import torch
    from benchmarks import torch_models

    return [torch_models.compare(name, COMPILERS, False, torch.float32) for name in MODELS]


def of_unseen() -> list[dict[str, Any]]:
    from benchmarks import torch_models

    return torch_models.unseen("gpt2", COMPILERS)


def of_lazy() -> dict[str, list[tuple[int, float]]]:
    from benchmarks import lazy

    found: dict[str, list[tuple[int, float]]] = {}
    for script in (lazy.filtered, lazy.diffused):
        for size in (16, 100, 1000, 10_000, 100_000, 1_000_000):
            if script is lazy.diffused and size <= 100:
                continue  # each step takes two elements away
            numpy, own = lazy.compare(script, size, ROUNDS if size < 1e6 else 9)
            found.setdefault(script.__name__, []).append((size, numpy / own))
    return found


def of_loops() -> dict[str, float]:
    from benchmarks import loops

    programs = loops.PROGRAMS | loops.NUMBERS
    return {name: loops.ratio_of(name, each, 64, 100, 9) for name, each in programs.items()}


def of_calls() -> dict[str, float]:
    from benchmarks import calls

    return {name: report["ratio"] for name, report in calls.small_calls().items()}


MEASURED: dict[str, Callable[[], Any]] = {
    "peers": of_peers,
    "unseen": of_unseen,
    "models": of_models,
    "lazy": of_lazy,
    "loops": of_loops,
    "calls": of_calls,
}


def main(name: str, file: str) -> None:
    if name != "peers":  # which does so itself, and whose children could not undo it
        pinned.pin(1)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
    warnings.simplefilter("ignore")
    Path(file).write_text(json.dumps(MEASURED[name]()), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
