"""Programs on tensors and modules at the edges, each with the calls it is made for.

A case makes its program and its calls anew: `case() -> (program, calls)`, each call a function
without arguments that changes what it likes and returns the arguments of the program. A third part
is a function that gives what the program may change without being given it: tensors, modules,
numbers. A table has programs that need nothing of their own, a line each.
"""

from __future__ import annotations

import copy
import linecache
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Program = Callable[..., Any]
Calls = list[Callable[[], Any]]
Made = tuple[Program, Calls] | tuple[Program, Calls, Callable[[], Any]]
Case = Callable[[], Made]
CASES: dict[str, Case] = {}


def case(make: Case) -> Case:
    subject = make.__module__.rpartition(".")[2]
    name = f"{subject}: {make.__name__}"
    assert name not in CASES
    CASES[name] = make
    return make


def table(subject: str, arguments: str, calls: Calls, text: str, **names: Any) -> None:
    """A case for each line, which is the body of a program, its own lines apart by ` :: `.

    names: what it may use besides.
    """
    for line in filter(None, map(str.strip, text.splitlines())):
        name = f"{subject}: {line}"
        assert name not in CASES
        CASES[name] = lambda line=line: (program_of(line, arguments, names), calls)


def program_of(line: str, arguments: str, names: dict[str, Any]) -> Program:
    body = line.replace(" :: ", "\n    ")
    source = f"def program({arguments}):\n    {body}\n"
    file = f"<{line}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    made: dict[str, Any] = {"torch": torch, "nn": nn, "F": functional, **copied(names)}
    exec(compile(source, file, "exec"), made)
    program: Program = made["program"]
    return program


def copied(names: dict[str, Any]) -> dict[str, Any]:
    """Objects that programs may change, anew for each run, so that no other run sees it."""
    shared = (type, types.FunctionType, types.ModuleType)
    return {k: v if isinstance(v, shared) else copy.deepcopy(v) for k, v in names.items()}


def grid(rows: int = 2, columns: int = 3, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.arange(rows * columns).reshape(rows, columns) - 2).to(dtype) / 2


def each(*arguments: Any) -> Calls:
    """Three calls with copies of these arguments, and no gradients."""
    return [lambda: copy.deepcopy(arguments)] * 3


def calls_of(*steps: Callable[[], Any]) -> Calls:
    """Each step twice."""
    return [step for step in steps for _ in range(2)]


#: of one tensor: another size, and other orders in memory
ONE = calls_of(
    lambda: (grid(),),
    lambda: (grid(4),),
    lambda: (grid(3, 2).t(),),
    lambda: (grid(4, 6)[::2, 1::2],),
)
#: of two that may be one, or lie in each other
TWO = calls_of(
    lambda: (grid(), grid() + 1),
    lambda: (x := grid(), x),
    lambda: (x := grid(), x[:]),
    lambda: (x := grid(3), x.flip(0)),
    lambda: ((x := grid(3))[1:], x[:-1]),
)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(3))
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.second(torch.relu(self.first(x))))


def changing(module: Any, *changes: Callable[[Any], Any], program: Program | None = None) -> Made:
    """Calls before and after each of the changes of the module."""

    def step(change: Callable[[Any], Any] | None) -> Callable[[], Any]:
        def make() -> Any:
            if change is not None:
                change(module)
            return (grid(),)

        return make

    plain = step(None)
    steps = [plain, plain, plain]
    for change in changes:
        steps += [step(change), plain, plain]
    called = program or (lambda _module, x: module(x))
    return (lambda x: called(module, x)), steps, lambda: module


def changed(*changes: Callable[[Layer], Any], program: Program | None = None) -> Made:
    return changing(Layer().eval(), *changes, program=program)


__all__ = [
    "CASES",
    "ONE",
    "TWO",
    "Calls",
    "Case",
    "Layer",
    "Made",
    "Program",
    "calls_of",
    "case",
    "changed",
    "changing",
    "each",
    "grid",
    "table",
]
