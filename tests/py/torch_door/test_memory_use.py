"""Memory over many calls, in a process of its own.

Some calls here; `make test-torch` takes 5,000 of each, and more models.
"""

import concurrent.futures
import multiprocessing
from collections.abc import Callable
from typing import Any

import pytest

from torch_door.left_behind import over_calls, peak_of
from whole import WHOLE

# Caches of torch and Python come and go with some hundred objects, however many calls there are.
CALLS = 5000 if WHOLE else 1500
MIB = 1 << 20


def in_a_process(function: Callable[..., Any], *args: Any) -> Any:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *args).result()


MANY = [("mmoe", False), ("mmoe", True), *([("dlrm", False), ("bert", False)] if WHOLE else [])]


@pytest.mark.parametrize(("name", "trains"), MANY)
def test_calls_of_any_shape_leave_nothing_behind(name, trains):
    grown, objects = in_a_process(over_calls, name, trains, CALLS)
    assert grown < 4 * MIB
    assert objects < CALLS / 2


@pytest.mark.parametrize(
    ("name", "batch", "length"),
    [("mmoe", 20000, 8), ("dlrm", 5000, 8), *([("bert", 100, 40)] if WHOLE else [])],
)
def test_inference_takes_no_more_than_eager(name, batch, length):
    ours, eager = (
        in_a_process(peak_of, name, compiles, batch, length) for compiles in (True, False)
    )
    assert ours <= eager + MIB  # which malloc may hold or not
    assert eager > MIB
