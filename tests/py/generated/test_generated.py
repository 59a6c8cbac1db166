"""Generated programs behave compiled as they do plain (see the package's docstring)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generated.choices import drawn, seeded
from generated.compare import difference
from generated.program import Program, generate
from generated.shrink import shrink
from whole import how_many

#: how many programs the tests run
PROGRAMS = how_many(300, 5000)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    return generate(drawn(draw))


def check(program: Program, name: str) -> None:
    """Fail with the smallest program that differs."""
    found = difference(program)
    if found:
        program, found = shrink(program, found)
        pytest.fail(f"{name}, call {found.call}: {found.kind}\n{found.text}\n{program}")


@settings(
    max_examples=PROGRAMS // 6,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(programs())
def test_a_program_behaves_compiled_as_it_does_plain(program: Program) -> None:
    check(program, "drawn")


@pytest.mark.parametrize("part", range(5))
def test_many_programs_behave_compiled_as_they_do_plain(part: int) -> None:
    """Seeded programs, which are cheaper to draw than Hypothesis's."""
    for index in range(PROGRAMS // 6):
        check(generate(seeded((part, index))), f"{part}, {index}")


Function = Callable[..., Any]


def copies_its_result(f: Function) -> Function:
    return lambda *args: np.array(f(*args))


def works_on_copies(f: Function) -> Function:
    return lambda *args: f(*[np.copy(a) for a in args])


def forgets_the_memory_order(f: Function) -> Function:
    return lambda *args: np.ascontiguousarray(f(*args))


def widens(f: Function) -> Function:
    return lambda *args: f(*args).astype("f8")


def swallows_warnings(f: Function) -> Function:
    def quiet(*args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)

    return quiet


def reuses_its_buffer(f: Function) -> Function:
    kept: list[Any] = []

    def reusing(*args: Any) -> Any:
        kept.append(f(*args))
        np.copyto(kept[0], kept[-1])
        return kept[0]

    return reusing


def loses_an_exception(f: Function) -> Function:
    def lossy(*args: Any) -> Any:
        try:
            return f(*args)
        except ValueError as error:
            raise ValueError("wrong") from error

    return lossy


@pytest.mark.parametrize(
    ("faulty", "body", "kind"),
    [
        (copies_its_result, "return x", "identity"),
        (copies_its_result, "return x[1:]", "sharing"),
        (works_on_copies, "x += 1\nreturn x * 2", "mutation"),
        (forgets_the_memory_order, "return (x + 1).T", "contiguous"),
        (widens, "return x.astype('f4')", "dtype"),
        (swallows_warnings, "return x / 0", "warning"),
        (reuses_its_buffer, "return x + 1", "later"),
        (loses_an_exception, "return x.reshape(7)", "exception"),
    ],
)
def test_the_comparison_sees(
    faulty: Callable[[Function], Function], body: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [f"arguments = (np.arange(6.0).reshape(3, 2) + {i},)" for i in range(2)]
    program = Program(("x",), (), tuple(body.splitlines()), tuple(calls), 0.0, 0.0, True)
    monkeypatch.setattr("generated.compare.dvm.compile", lambda f: f)
    assert difference(program) is None
    monkeypatch.setattr("generated.compare.dvm.compile", faulty)
    found = difference(program)
    assert found is not None
    assert found.kind == kind
