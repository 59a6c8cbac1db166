"""Reshapes of a graph mean their elements in C order, however what is given lies in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm
from whole import how_many

FORMS = {
    "flat": ("", "f32[n*m*k]", lambda x: x.reshape(-1)),
    "joined": ("", "f32[n*m, k]", lambda x: x.reshape(-1, x.shape[2])),
    "turned": ("transpose", "f32[k*n, m]", lambda x: x.transpose(2, 0, 1).reshape(-1, x.shape[1])),
    "of a slice": ("slice", "f32[m*k]", lambda x: x[0].reshape(-1)),
}
VIEWS = {
    "": "",
    "transpose": "  %1 = transpose(%0) f32[k, n, m] {axes = [2, 0, 1]}\n",
    "slice": "  %1 = slice(%0) f32[1, m, k] {starts = [0, 0, 0], steps = [1, 1, 1]}\n",
}


def compiled(form: str, *, computes: bool, target: str = "cpu") -> dvm.CompiledGraph:
    view, made, _ = FORMS[form]
    viewed = (
        VIEWS[view] or "  %1 = slice(%0) f32[n, m, k] {starts = [0, 0, 0], steps = [1, 1, 1]}\n"
    )
    last = f"  %3 = add(%2, %2) {made}\n  return %3" if computes else "  return %2"
    text = f"graph v1 {{\n  %0 = input f32[n, m, k]\n{viewed}  %2 = reshape(%1) {made}\n{last}\n}}"
    return dvm.CompiledGraph(text, target=target)


LOOP = """graph v1 {
  %0 = input f32[n, m]
  %1 = constant f32[] {value = 0.0}
  %2 = transpose(%0) f32[m, n] {axes = [1, 0]}
  %3 = loop(%1, %2) i64[] {results = 2, count = n*m} do {
    %0 = scalar i64[] {size = k}
    %1 = input f32[]
    %2 = input f32[m, n]
    %3 = reshape(%2) f32[m*n]
    %4 = slice(%3) f32[1] {starts = [k], steps = [1]}
    %5 = reshape(%4) f32[]
    %6 = mul(%1, %1) f32[]
    %7 = add(%6, %5) f32[]
    return %7
  }
  %4 = result(%3) f32[] {index = 1}
  return %4
}"""


@st.composite
def laid_out(draw: Any) -> np.ndarray[Any, Any]:
    """An array of three axes, each in any order, any direction, with gaps or without a stride."""
    shape = draw(st.lists(st.integers(1, 4), min_size=3, max_size=3))
    steps = draw(st.lists(st.sampled_from([1, 1, 2, -1, -2, 0]), min_size=3, max_size=3))
    order = draw(st.permutations(range(3)))
    room = [1 if step == 0 else n * abs(step) for n, step in zip(shape, steps, strict=True)]
    held = np.arange(np.prod(room), dtype=np.float32).reshape([room[axis] for axis in order])
    x = held.transpose(np.argsort(order))
    x = x[tuple(slice(None, None, step or 1) for step in steps)]
    return np.broadcast_to(x, shape)


@pytest.mark.parametrize("computes", [True, False])
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=how_many(40, 1000), deadline=None)
@given(x=laid_out())
def test_inputs_lie_in_any_way(form: str, computes: bool, x: np.ndarray[Any, Any]) -> None:
    f = compiled(form, computes=computes)
    for given_x in (x, np.ascontiguousarray(x), x):
        before = given_x.copy()
        wanted = FORMS[form][2](given_x)
        (got,) = f(given_x)
        np.testing.assert_array_equal(got, 2 * wanted if computes else wanted)
        np.testing.assert_array_equal(given_x, before)


@pytest.mark.parametrize("form", FORMS)
def test_simulated_cores_too(form: str) -> None:
    f = compiled(form, computes=True, target="ascend910b1")
    x = np.arange(120, dtype=np.float32).reshape(4, 5, 6)
    for given_x in (x, x.T, x[::2], x[:, ::-1]):
        np.testing.assert_array_equal(f(given_x)[0], 2 * FORMS[form][2](given_x))


def test_bodies_of_loops_are_given_views() -> None:
    f = dvm.CompiledGraph(LOOP)
    x = np.arange(6, dtype=np.float32).reshape(2, 3) / 8
    for given_x in (x, x.T, x[::-1]):
        wanted = np.float32(0)
        for element in given_x.T.reshape(-1):
            wanted = wanted * wanted + element
        assert f(given_x)[0] == wanted
