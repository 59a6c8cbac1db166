"""What many calls leave behind: run in a process of its own, which finds this by name."""

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
