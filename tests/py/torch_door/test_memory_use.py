"""Memory over many calls, in a process of its own.

Some calls here; `make test-torch` takes 5,000 of each, and more models.
"""

import concurrent.futures
import gc
import multiprocessing
import os
import random
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import dvm.torch
from torch_door.models import MODELS

WHOLE = bool(os.environ.get("DVM_TEST_WHOLE"))
# Caches of torch and Python come and go with some hundred objects, however many calls there are.
CALLS = 5000 if WHOLE else 1500
MIB = 1 << 20


def in_a_process(function: Callable[..., Any], *args: Any) -> Any:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *args).result()


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def over_calls(name: str, trains: bool, calls: int) -> tuple[int, int]:
    """What memory and how many Python objects so many calls leave behind, after half as many."""
    torch.manual_seed(0)
    draw = random.Random(0)
    make, arguments = MODELS[name]
    module = make().train(trains)
    compiled = dvm.torch.compile(module)
    seen = []
    with torch.set_grad_enabled(trains):
        for k in range(calls + calls // 2):
            if k == calls // 2:
                gc.collect()
                seen.append((resident(), sys.getallocatedblocks()))
            made = compiled(*arguments(draw.randint(2, 24), draw.randint(2, 40)))
            made = made if isinstance(made, torch.Tensor) else made[0]
            if trains:
                module.zero_grad()
                made.square().mean().backward()
        gc.collect()
        seen.append((resident(), sys.getallocatedblocks()))
    return seen[-1][0] - seen[0][0], seen[-1][1] - seen[0][1]


MANY = [("mmoe", False), ("mmoe", True), *([("dlrm", False), ("bert", False)] if WHOLE else [])]


@pytest.mark.parametrize(("name", "trains"), MANY)
def test_calls_of_any_shape_leave_nothing_behind(name, trains):
    grown, objects = in_a_process(over_calls, name, trains, CALLS)
    assert grown < 4 * MIB
    assert objects < CALLS / 2
