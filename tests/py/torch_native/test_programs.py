"""Drawn programs on tensors, compiled, beside themselves in eager torch: all that can be seen.

Calls differ in sizes, dtypes and layouts, in which arguments lie in one memory, and in what was
done to the module between them. Results may be those of other roundings (rounding.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch

import dvm
from generated.choices import Choices, seeded
from torch_native.observing import Seen, observe
from torch_native.operands import LAYOUTS, values
from torch_native.programs import CHANGES, COLUMNS, Layers, function_of, written
from torch_native.rounding import Rounded, is_within
from whole import how_many

PROGRAMS = how_many(12, 400)
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


def history(
    seed: int, compile_program: Callable[[Any], Any], mode: Callable[[], Any] = nullcontext
) -> Iterator[Seen]:
    """What is seen of each call of a program that is drawn, and in whose modes it is called."""
    choices = seeded(("torch", seed))
    has_module = choices.chance(40)
    torch.manual_seed(seed)
    module = Layers().eval() if has_module else None
    source = written(choices, has_module)
    program = compile_program(function_of(source, f"<torch program {seed}>", module))
    stance = "default" if seed % 8 == 7 else "force_capture"
    columns = COLUMNS if has_module or choices.chance(60) else 0
    form = 0
    for call in range(CALLS):
        if module is not None and call > 2 and choices.chance(40):
            torch.manual_seed(call)
            choices.pick(CHANGES)(module)
        form = form if choices.chance(60) else choices.integer(0, 10**9)
        drawn = choices.integer(0, 10**9)
        given = arguments(
            seeded((seed, form)), seeded((seed, drawn)), columns or 3 + call % 2, call
        )
        enabled = choices.chance(10)
        torch.manual_seed(call)
        with torch.set_grad_enabled(enabled), dvm.stance(stance), mode():
            seen = observe(program, given, lambda: module)
        yield seen


def difference(seed: int) -> tuple[str, Any]:
    """What a program does differently in some call, and the compiled program."""
    compiled: list[Any] = []

    def compile_program(program: Any) -> Any:
        compiled.append(dvm.compile(program))
        return compiled[0]

    calls = zip(history(seed, compile_program), history(seed, lambda program: program), strict=True)
    for call, (found, wanted) in enumerate(calls):

        def again(number: int, call: int = call) -> Seen:
            runs = history(seed, lambda program: program, lambda: Rounded(number))
            return next(itertools.islice(runs, call, None))

        if (text := found.difference(wanted)) and not is_within(found, wanted, again):
            source = written(choices := seeded(("torch", seed)), choices.chance(40))
            return f"seed {seed}, call {call}: {text}\n{source}", compiled[0]
    return "", compiled[0]


@pytest.mark.parametrize("part", range(4))
def test_a_program_does_what_it_does_in_eager_torch(part: int) -> None:
    for seed in range(part, PROGRAMS, 4):
        found, _ = difference(seed)
        assert not found, found


def test_most_programs_are_compiled() -> None:
    """Else the test above would test nothing."""
    programs = [difference(seed)[1] for seed in range(8)]
    assert sum(program.stats.hits > 0 for program in programs) >= 3
