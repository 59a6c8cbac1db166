"""Memory over many calls, in a process of its own.

Some calls here; `make test-torch` takes 5,000 of each, and more models.
"""

import concurrent.futures
import multiprocessing
import os
from collections.abc import Callable
from typing import Any

import pytest

from torch_door.left_behind import over_calls

WHOLE = bool(os.environ.get("DVM_TEST_WHOLE"))
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
