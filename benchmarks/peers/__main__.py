"""dvm against NumPy, numexpr, torch, torch.compile and jax.jit, in one run, taken in turns.

    python -m benchmarks.peers [--json FILE] [--plot FILE] [--threads 1 2] [--only TEXT]
                               [--contenders NAME ...] [--no-sweep]

Whole calls of warm functions (medians of interleaved blocks), then sweeps of 50 shapes that were
never met, compilation included. Each number of threads is a process of its own that is pinned to
as many processors, so that every library finds the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from . import pinned


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.peers")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="", help="workloads whose name contains this")
    parser.add_argument("--contenders", nargs="+")
    parser.add_argument("--no-sweep", action="store_true")
    parser.add_argument("--pinned", type=Path, help=argparse.SUPPRESS)  # where a child writes
    return parser.parse_args()


def run_pinned(args: argparse.Namespace) -> None:
    """Time everything on as many processors as there are to be threads."""
    (threads,) = args.threads
    pinned.pin(threads)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
    from . import measure, report
    from .contenders import CONTENDERS, present
    from .workloads import WORKLOADS

    names = present(args.contenders or list(CONTENDERS))
    chosen = [w for w in WORKLOADS if args.only in w.name]
    timings = []
    for workload in chosen:
        for n in workload.sizes():
            timings += measure.warm(workload, n, threads, names)
            print(report.table(timings, names).splitlines()[-1], flush=True)
    if not args.no_sweep:
        # The others take seconds for every shape.
        few = [name for name in names if name in ("dvm", "numpy")]
        for workload in chosen:
            timings += measure.sweep(workload, threads, few)
    report.write_json(args.pinned, timings)


def main() -> None:
    args = parse()
    if args.pinned:
        run_pinned(args)
        return
    from . import report
    from .contenders import CONTENDERS
    from .measure import Timing

    timings = []
    for threads in args.threads:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "timings.json"
            own = ["--threads", str(threads), "--pinned", str(file), "--only", args.only]
            own += ["--no-sweep"] * args.no_sweep
            own += ["--contenders", *args.contenders] if args.contenders else []
            pinned.run("benchmarks.peers", threads, own)
            timings += [Timing(**row) for row in json.loads(file.read_text())]
    names = [name for name in CONTENDERS if any(t.contender == name for t in timings)]
    print(report.table(timings, names))
    if args.json:
        report.write_json(args.json, timings)
    if args.plot and not report.write_plot(args.plot, timings):
        print("no plot: matplotlib is not installed")


if __name__ == "__main__":
    main()
