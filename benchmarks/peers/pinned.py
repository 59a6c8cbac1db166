"""Processes that time things on as many processors as there are to be threads.

A number of threads is a process of its own, pinned before any library is imported, so that every
library finds the same machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "DVM_NUM_THREADS")
# They make OpenBLAS run the kernels of a processor that is named, which may be another than this:
# a machine that sets them for an old library would slow that of a new NumPy.
CHOSEN_KERNELS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def run(module: str, threads: int, arguments: Sequence[str]) -> None:
    """Run a module that calls pin(); raises CalledProcessError where it fails."""
    environment = {k: v for k, v in os.environ.items() if k not in CHOSEN_KERNELS}
    environment |= dict.fromkeys(THREADS, str(threads))
    subprocess.run([sys.executable, "-m", module, *arguments], check=True, env=environment)


def pin(threads: int) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
