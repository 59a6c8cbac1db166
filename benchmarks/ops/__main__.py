"""dvm's operators against their peers and the machine's limits, taken in turns.

    python -m benchmarks.ops [--only SECTION ...] [--quick] [--threads 1 2]
                             [--json FILE] [--plot FILE]

Whole calls, medians of interleaved blocks; each number of threads is a process of its own that is
pinned to as many processors. What is not installed or not built is named and left out. --quick
runs a few cases of every section once: it says whether they run, not how fast.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peers import pinned

MODULE = "benchmarks.ops"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=MODULE)
    parser.add_argument("--only", nargs="+", default=[], metavar="SECTION")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--pinned", type=Path, help=argparse.SUPPRESS)  # where a child writes
    return parser.parse_args()


def machine() -> dict[str, Any]:
    """Return what runs: dvm's SIMD level, threads, what else did, the kernels OpenBLAS chose."""
    from dvm import _dvm

    load = f"{os.getloadavg()[0]:.1f} in the last minute"
    about = {"simd": _dvm.simd_level(), "threads": _dvm.thread_count(), "load": load}
    try:
        import threadpoolctl
    except ImportError:
        return about | {"openblas": "unknown: threadpoolctl is not installed"}
    pools = threadpoolctl.threadpool_info()
    kernels = [pool["architecture"] for pool in pools if pool["internal_api"] == "openblas"]
    return about | {"openblas": ", ".join(kernels) or "none"}


def run_pinned(args: argparse.Namespace) -> None:
    (threads,) = args.threads
    pinned.pin(threads)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
    from .bench import Bench
    from .report import write_json
    from .sections import chosen

    bench = Bench(threads, args.quick)
    if "torch" not in bench.left_out:
        import torch

        torch.set_grad_enabled(False)
        torch.set_num_threads(threads)
    about = machine()
    print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    for name, reason in bench.left_out.items():
        print(f"left out: {name}: {reason}", flush=True)
    for section in chosen(args.only):
        section.run(bench)
    found = {
        "machine": about,
        "left_out": bench.left_out,
        "figures": bench.figures,
        "notes": bench.notes,
    }
    write_json(args.pinned, found)


def run_all(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what a process for each number of threads found."""
    found = []
    for threads in args.threads:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "found.json"
            own = ["--threads", str(threads), "--pinned", str(file)]
            own += ["--quick"] * args.quick
            own += ["--only", *args.only] if args.only else []
            pinned.run(MODULE, threads, own)
            found.append(json.loads(file.read_text()))
    return found


def main() -> None:
    args = parse()
    if args.pinned:
        run_pinned(args)
        return
    found = run_all(args)
    from . import report
    from .figures import Figure
    from .sections import chosen

    figures = [Figure(**figure) for each in found for figure in each["figures"]]
    notes = {case: text for each in found for case, text in each["notes"].items()}
    verdicts = []
    for section in chosen(args.only):
        own = [figure for figure in figures if figure.section == section.NAME]
        verdicts += section.verdicts(own)
        if tables := getattr(section, "tables", None):
            print(f"\n{tables(own, notes)}")
    print(f"\n{report.table(verdicts)}")
    left_out = {name: why for each in found for name, why in each["left_out"].items()}
    for name, why in left_out.items():
        print(f"left out: {name}: {why}")
    if args.json:
        machines = [each["machine"] for each in found]
        report.write_json(
            args.json,
            {
                "quick": args.quick,
                "machines": machines,
                "left_out": left_out,
                "figures": figures,
                "verdicts": verdicts,
                "notes": notes,
            },
        )
    if args.plot and not report.write_plot(args.plot, figures):
        print("no plot: matplotlib is not installed")


if __name__ == "__main__":
    main()
