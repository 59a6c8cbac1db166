r"""Threads that compile, call, calibrate, fork and trim at once: `at_once.py [SECONDS]`.

Exits with 1 where a call or a child answers otherwise than NumPy. `test_threads.py` runs it; built
with ThreadSanitizer it looks for data races:

    cmake --preset tsan -DDVM_PYTHON=ON && cmake --build --preset tsan --target _dvm
    ln -sf ../../build/tsan/cpp/bindings/_dvm.*.so python/dvm/
    LD_PRELOAD=$(gcc -print-file-name=libtsan.so) DVM_NUM_THREADS=3 OPENBLAS_NUM_THREADS=1 \
        TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
        PYTHONPATH=python python tests/py/at_once.py 60 --no-children
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dvm
from dvm import _dvm

wrong: list[Any] = []


def chain(x: Any, k: int) -> Any:
    return (np.sin(x) * k).sum() if x[0] > 0 else (x + k).max()


def adds(x: Any, k: int) -> Any:
    y = np.cumsum(x)
    y += k
    return y[-1]


def compare(compiled: Any, plain: Callable[..., Any], random: Any) -> None:
    x = random.normal(size=int(random.integers(1, 3)) * 60_000)
    k = int(random.integers(0, 5))
    got, wanted = compiled(x, k), plain(x, k)
    if not np.allclose(got, wanted):
        wrong.append((plain.__name__, got, wanted))


#: Functions that all threads call.
shared = [(dvm.compile(plain), plain) for plain in (chain, adds)]


def call(random: Any) -> None:
    for compiled, plain in shared:
        compare(compiled, plain, random)


def compile_anew(random: Any) -> None:
    plain = (chain, adds)[int(random.integers(2))]
    compiled = dvm.compile(plain)
    for _ in range(3):
        compare(compiled, plain, random)


def calibrate(_: Any) -> None:
    _dvm.use_calibration(_dvm.calibrate())
    _dvm.reset_costs()


def trim(random: Any) -> None:
    dvm.set_cache_limit(int(random.integers(3)) << 24)
    dvm.clear_cache()
    time.sleep(0.001)


def fork(random: Any) -> None:
    child = os.fork()
    if child == 0:
        if not options.no_children:
            call(random)
        os._exit(len(wrong))
    _, status = os.waitpid(child, 0)
    if status != 0:
        wrong.append(("a child", status))
    time.sleep(0.05)


def main() -> int:
    over = time.monotonic() + options.seconds

    def repeat(work: Callable[[Any], None], seed: int) -> None:
        random = np.random.default_rng(seed)
        try:
            while time.monotonic() < over and not wrong:
                work(random)
                done[work.__name__] = done.get(work.__name__, 0) + 1
        except BaseException as error:
            wrong.append((work.__name__, repr(error)))

    done: dict[str, int] = {}
    call(np.random.default_rng(0))
    works = [call, call, compile_anew, calibrate, trim, fork]
    threads = [threading.Thread(target=repeat, args=(work, i)) for i, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(done, wrong[:3])
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=5)
    parser.add_argument(
        "--no-children", action="store_true", help="they end at once: sanitizers may hang in them"
    )
    options = parser.parse_args()
    sys.exit(main())
