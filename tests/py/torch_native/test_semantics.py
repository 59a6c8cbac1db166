"""What programs on tensors and modules do at the edges, compiled beside themselves in eager torch.

Each case (cases/) is run plain and compiled: in the default stance and where each call that is new
is captured. All that can be seen of a call is compared, call by call; what is not compiled has a
reason.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import dvm
from torch_native.cases import CASES, Case, Program
from torch_native.observing import Seen, observe

for _file in sorted(Path(__file__).with_name("cases").glob("[a-z]*.py")):
    importlib.import_module(f"torch_native.cases.{_file.stem}")
#: case -> hits and reasons, once it was run
became: dict[str, tuple[int, list[str]]] = {}


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Warnings that torch gives once a process are given each time."""
    grads, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(always)
    torch.set_grad_enabled(grads)
    torch.set_default_dtype(dtype)


def seen_of(make: Case, run: Callable[[Program], Program]) -> list[Seen]:
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)
    program, calls, *rest = make()
    beside = rest[0] if rest else list
    tried = run(program)
    found = []
    for number, call in enumerate(calls):
        torch.manual_seed(number)
        arguments = call()
        found.append(observe(tried, list(arguments), beside))
    return found


def compare(name: str, stance: str) -> tuple[dvm.Compiled[..., object], bool]:
    """The program, compiled, and whether some call of it returns."""
    compiled = []
    wanted = seen_of(CASES[name], lambda program: program)
    with dvm.stance(stance):
        found = seen_of(CASES[name], lambda p: compiled.append(dvm.compile(p)) or compiled[0])
    for call, (one, other) in enumerate(zip(found, wanted, strict=True)):
        difference = one.difference(other)
        assert not difference, f"call {call}: {difference}"
    return compiled[0], not all(each.error for each in wanted)


@pytest.mark.parametrize("name", CASES)
def test_a_program_does_what_it_does_in_eager_torch(name: str) -> None:
    compare(name, "default")
    program, returns = compare(name, "force_capture")
    reasons = [str(reason) for reason in program.fallback_reasons]
    became[name] = program.stats.hits, reasons
    assert program.stats.captures or reasons or not returns


def test_most_cases_are_compiled() -> None:
    """Last of the cases, so that it can tell of them; alone it has nothing to tell."""
    if len(became) < len(CASES):
        pytest.skip("a process among several meets a part of the cases, and tells of none")
    never = [(name, reasons) for name, (hits, reasons) in became.items() if not hits]
    print(f"{len(CASES)} cases, {len(CASES) - len(never)} compiled; not so:")
    for name, reasons in never:
        print(f"  {name}: {reasons[0].rpartition(': ')[2] if reasons else 'raises'}")
    assert len(never) < len(CASES) / 3
