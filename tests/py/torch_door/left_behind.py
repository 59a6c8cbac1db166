"""What calls take and leave behind: run in a process of its own, which finds this by name."""

import gc
import random
import resource
import sys
from pathlib import Path

import torch

import dvm.torch
from torch_door.models import MODELS


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def peak_of(name: str, compiles: bool, batch: int, length: int) -> int:
    """The most bytes that calls of one shape take beyond what was resident before the first."""
    torch.manual_seed(0)
    make, arguments = MODELS[name]
    module = make().eval()
    call = dvm.torch.compile(module) if compiles else module
    with torch.no_grad():
        for k in (16, 17, 18):  # Dynamo's own guards tell fewer from more
            call(*arguments(k, 2))
        args = arguments(batch, length)
        gc.collect()
        before = resident()
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        for _ in range(5):
            call(*args)
    status = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    return 1024 * peak - before


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
