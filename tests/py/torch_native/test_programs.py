"""Drawn programs on tensors, compiled, beside themselves in eager torch: all that can be seen.

Calls differ in sizes, dtypes and layouts, in which arguments lie in one memory, and in what was
done to the module between them.
"""

from __future__ import annotations

import copy
import os
from typing import Any

import pytest
import torch

import dvm
from generated.choices import Choices, seeded
from torch_native.observing import observe
from torch_native.operands import LAYOUTS, values
from torch_native.programs import CHANGES, COLUMNS, Layers, function_of, written

PROGRAMS = int(os.environ.get("DVM_TORCH_PROGRAMS", "16"))
CALLS = 8


def arguments(form: Choices, choices: Choices, columns: int, call: int) -> list[Any]:
    """x, y, v, flag; two sets of them that are drawn alike are equal.

    form: their dtype, layout and how they lie to each other; choices: rows and values.
    """
    dtype = form.pick((torch.float32,) * 6 + (torch.float64, torch.bfloat16))
    layout = LAYOUTS[0] if call < 2 else form.pick((LAYOUTS[0], *LAYOUTS[:4]))
    kind = form.weighted(
        {"apart": 16, "same": 1, "view": 1, "overlapping": 1, "row": 1, "detached": 1}
    )
    rows = choices.pick((3, 2, 3, 1, 5, 0, 4)) if call > 1 else 3
    size, seed = (rows, columns), choices.integer(0, 10**6)
    x = layout(lambda shape: values(shape, dtype, seed), size)
    y = layout(lambda shape: values(shape, dtype, seed + 1), size)
    v = values((columns,), dtype, seed + 2)
    if kind == "same":
        y = x
    elif kind == "view":
        y = x[:]
    elif kind == "detached":
        y = x.detach()
    elif kind == "overlapping":
        whole = values((rows + 1, columns), dtype, seed)
        x, y = whole[1:], whole[:-1]
    elif kind == "row" and rows:
        v = x[0]
    return [x, y, v, choices.chance(50)]


def difference(seed: int) -> tuple[str, Any]:
    """What a program does differently in some call, and the compiled program."""
    choices = seeded(("torch", seed))
    has_module = choices.chance(40)
    torch.manual_seed(seed)
    ours = Layers().eval() if has_module else None
    plain = copy.deepcopy(ours)
    source = written(choices, has_module)
    compiled = dvm.compile(function_of(source, f"<torch program {seed}>", ours))
    eager = function_of(source, f"<torch program {seed}>", plain)
    stance = "default" if seed % 8 == 7 else "force_capture"
    columns = COLUMNS if has_module or choices.chance(60) else 0
    form = 0
    for call in range(CALLS):
        if ours is not None and plain is not None and call > 2 and choices.chance(40):
            change = choices.pick(CHANGES)
            for module in (ours, plain):
                torch.manual_seed(call)
                change(module)
        form = form if choices.chance(60) else choices.integer(0, 10**9)
        drawn = choices.integer(0, 10**9)
        given = [
            arguments(seeded((seed, form)), seeded((seed, drawn)), columns or 3 + call % 2, call)
            for _ in range(2)
        ]
        enabled = choices.chance(10)
        with torch.set_grad_enabled(enabled), dvm.stance(stance):
            torch.manual_seed(call)
            wanted = observe(eager, given[0], lambda: plain)
            torch.manual_seed(call)
            found = observe(compiled, given[1], lambda: ours).difference(wanted)
        if found:
            return f"seed {seed}, call {call}: {found}\n{source}", compiled
    return "", compiled


@pytest.mark.parametrize("part", range(4))
def test_a_program_does_what_it_does_in_eager_torch(part: int) -> None:
    for seed in range(part, PROGRAMS, 4):
        found, _ = difference(seed)
        assert not found, found


def test_most_programs_are_compiled() -> None:
    """Else the test above would test nothing."""
    programs = [difference(seed)[1] for seed in range(8)]
    assert sum(program.stats.hits > 0 for program in programs) >= 3
