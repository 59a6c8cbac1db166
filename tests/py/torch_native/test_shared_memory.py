"""Arguments that share memory of which one is written, and writes that tensors are not told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dvm
from torch_native.observing import observe

Pair = tuple[torch.Tensor, torch.Tensor]


def grid(rows: int, columns: int = 3) -> torch.Tensor:
    return torch.arange(float(rows * columns)).reshape(rows, columns).clone()


def overlapping(rows: int) -> Pair:
    whole = grid(rows + 1)
    return whole[1:], whole[:-1]


PAIRS: dict[str, Callable[[int], Pair]] = {
    "the same": lambda rows: (x := grid(rows), x),
    "all in a row": lambda rows: (x := grid(rows), x.view(-1)),
    "all but the first": lambda rows: (x := grid(rows), x[1:]),
    "every second": lambda rows: (x := grid(rows), x[::2, 1:]),
    "overlapping": overlapping,
    "halves": lambda rows: (x := grid(2 * rows), x[rows:]),
}


def write_and_read(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.add_(1)
    return y * 2


def write_both(x: torch.Tensor, y: torch.Tensor) -> Any:
    y.mul_(3)
    x[0] = 7
    y -= 1
    return x.sum(), y, x


@pytest.mark.parametrize("program", [write_and_read, write_both])
@pytest.mark.parametrize("kind", PAIRS)
def test_arguments_that_share_memory(program: Any, kind: str) -> None:
    compiled = dvm.compile(program)
    with torch.no_grad(), dvm.stance("force_capture"):
        for rows in (3, 3, 4, 4, 3):
            found = observe(compiled, [*PAIRS[kind](rows)])
            assert not (text := found.difference(observe(program, [*PAIRS[kind](rows)]))), text
    assert compiled.stats.hits >= 3
    assert compiled.stats.fallbacks == 0, compiled.fallback_reasons


def test_calls_that_share_memory_otherwise_are_told_apart() -> None:
    compiled = dvm.compile(write_both)
    with torch.no_grad(), dvm.stance("force_capture"):
        for _ in range(2):
            for make in PAIRS.values():
                found = observe(compiled, [*make(3)])
                assert not (text := found.difference(observe(write_both, [*make(3)]))), text
            found = observe(compiled, [grid(3), grid(3)])
            wanted = observe(write_both, [grid(3), grid(3)])
            assert not (text := found.difference(wanted)), text
    assert compiled.stats.hits >= len(PAIRS)


DATA = {
    "a number": "x.data.add_(1)",
    "another tensor": "x.data.copy_(y * 2)",
    "parts": "x.data[0].add_(1); x.data[:, 1] = 5",
    "counted and not": "x.add_(1); x.data.mul_(2); x.sub_(y)",
    "what is there": "x.data.copy_(x.data)",
    "before another": "x.data.add_(1); y.add_(x)",
    "what is the program's own": "x = x + 1; x.data.mul_(2)",
}


@pytest.mark.parametrize("kind", DATA)
def test_writes_into_data_are_done_and_not_counted(kind: str) -> None:
    made: dict[str, Any] = {}
    exec(f"def program(x, y):\n    {DATA[kind]}\n    return x * 2, x", made)
    compiled = dvm.compile(made["program"])
    with torch.no_grad(), dvm.stance("force_capture"):
        for rows in (3, 2, 4):
            found = observe(compiled, [grid(rows), grid(rows)])
            wanted = observe(made["program"], [grid(rows), grid(rows)])
            assert not (text := found.difference(wanted)), text
    assert compiled.stats.hits == 2
    assert compiled.stats.fallbacks == 0, compiled.fallback_reasons


def test_weights_may_be_written_through_their_data() -> None:
    ours, plain = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    plain.load_state_dict(ours.state_dict())

    def program(module: Any, x: torch.Tensor) -> torch.Tensor:
        module.weight.data.mul_(0.5)
        made: torch.Tensor = module(x)
        return made

    compiled = dvm.compile(program)
    with torch.no_grad(), dvm.stance("force_capture"):
        for rows in (3, 2, 4):
            found = observe(compiled, [ours, grid(rows)])
            assert not (text := found.difference(observe(program, [plain, grid(rows)]))), text
    assert compiled.stats.hits == 2


def test_parts_are_written_into_the_result_itself():
    def stacked(x, y):
        return torch.stack([x + 1, y])

    x, y = torch.rand(3, 4), torch.rand(3, 4)
    compiled = dvm.compile(stacked)
    with torch.no_grad(), dvm.stance("force_capture"):
        compiled(x, y)
        with torch.autograd.profiler.profile(use_cpu=True) as seen:
            made = compiled(x, y)
    assert not {"aten::clone", "aten::copy_"} & {each.name for each in seen.function_events}
    assert compiled.stats.hits == 1
    torch.testing.assert_close(made, torch.cat([x + 1, y]).reshape(2, 3, 4))
