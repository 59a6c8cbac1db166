"""How much two threads slow down when another program takes one of two processors.

    python -m benchmarks.neighbour [--contenders NAME ...] [--seconds 1.0]

A loop in Python, pinned nowhere, is the neighbour; it is stopped and continued in turns, so that
what else disturbs the machine disturbs both sides alike. Three runnable threads on two processors
leave two of them 4/3 of a processor: 1.5 is what a fair share costs, 2 what a single thread would
pay at worst. Libraries whose threads wait for one another pay more. The exit status is 1 where dvm
slows by more than LIMIT.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

THREADS = 2
for variable in ("OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS", "DVM_NUM_THREADS"):
    os.environ[variable] = str(THREADS)

from .peers.contenders import CONTENDERS, present  # noqa: E402
from .peers.measure import seconds_per_call  # noqa: E402
from .peers.workloads import WORKLOADS, Workload  # noqa: E402

LIMIT = 2.2
ROUNDS = 5
CASES = (
    ("cheap k=8", 100_000),
    ("cheap k=8", 4_000_000),
    ("math k=8", 1_000_000),
    ("softmax", 1024),
)


@contextmanager
def busy_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that computes for ever, stopped at first."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        process.send_signal(signal.SIGSTOP)
        yield process
    finally:
        process.kill()
        process.wait()


def slowdown(
    workload: Workload, n: int, name: str, neighbour: subprocess.Popen[bytes], seconds: float
) -> tuple[float, float]:
    """Return microseconds per call alone, and how many times longer a call takes in company.

    By means over many turns of the scheduler: a median would hide the calls that had to wait.
    """
    call, convert = CONTENDERS[name][1](workload)
    arrays = [convert(array) for array in workload.inputs(n)]
    for _ in range(3):
        call(*arrays)
    alone, ratios = [], []
    for _ in range(ROUNDS):
        alone.append(seconds_per_call(call, arrays, seconds))
        neighbour.send_signal(signal.SIGCONT)
        time.sleep(0.05)
        ratios.append(seconds_per_call(call, arrays, seconds) / alone[-1])
        neighbour.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
    return statistics.median(alone) * 1e6, statistics.median(ratios)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.neighbour")
    parser.add_argument("--contenders", nargs="+", default=["dvm", "torch", "jax.jit"])
    parser.add_argument("--seconds", type=float, default=1.0, help="per round and side")
    options = parser.parse_args()
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < THREADS:
        print(f"{THREADS} processors are needed, this process may use {len(processors)}")
        return 0
    os.sched_setaffinity(0, processors[:THREADS])  # the neighbour inherits it
    worst = 0.0
    known = {workload.name: workload for workload in WORKLOADS}
    names = present(options.contenders)
    print(f"{'workload':12}{'n':>9}{'contender':>15}{'us alone':>12}{'in company':>13}")
    with busy_process() as neighbour:
        for label, n in CASES:
            for name in names:
                alone, ratio = slowdown(known[label], n, name, neighbour, options.seconds)
                print(f"{label:12}{n:>9}{name:>15}{alone:>12.1f}{ratio:>12.2f}x", flush=True)
                if name == "dvm":
                    worst = max(worst, ratio)
    print(f"dvm slows by {worst:.2f} at worst; the limit is {LIMIT}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
