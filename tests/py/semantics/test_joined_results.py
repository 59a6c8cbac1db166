"""Results that do not wait for one another are one graph: what leaves is as if they were not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]


def compiled(f: Callable[..., Any], *args: Any) -> dvm.Compiled[..., Any]:
    c = dvm.compile(f)
    c(*args)
    assert not c.fallback_reasons
    return c


def graphs(c: dvm.Compiled[..., Any]) -> int:
    return c.inspect("graph").count("graph v1")


def array(shape: tuple[int, ...] = (3, 4), start: float = 1) -> Array:
    return np.arange(start, start + np.prod(shape), dtype=np.float32).reshape(shape)


def strides(x: Any) -> list[int]:
    """Those of axes along which there are two elements."""
    a = np.asarray(x)
    return [a.strides[i] for i in range(a.ndim) if a.shape[i] > 1]


def several(x: Array) -> tuple[Any, ...]:
    return x + 1, x.sum(), x.max(axis=0), x.T * 2, x.mean()


def in_place(x: Array, y: Array) -> None:
    x += y
    y *= x


def of_each_other(x: Array) -> tuple[Array, Array]:
    a = np.exp(x)
    return a, a * 2


@pytest.mark.parametrize("f", [several, of_each_other])
def test_results_of_one_call_are_one_graph(f: Callable[..., Any]) -> None:
    c = compiled(f, array())
    assert graphs(c) == 1
    for x in (array(start=-3), array((1, 4)), array((4, 1)), array((3, 8))[:, ::2]):
        for ours, numpys in zip(c(x), f(x), strict=True):
            np.testing.assert_array_almost_equal_nulp(ours, numpys, 4)
            assert type(ours) is type(numpys)
            assert strides(ours) == strides(numpys)
    assert c.stats.drops == 0


def test_results_share_no_memory_unless_the_programs_do() -> None:
    def f(x: Array) -> tuple[Array, ...]:
        a = x * 2
        return a, a[1:], a.reshape(-1), a + 0.0, x * 2, x[1:]

    c = compiled(f, array())
    x = array()
    ours, numpys = c(x), f(x)
    for i, a in enumerate(ours):
        for k, b in enumerate(ours):
            assert np.shares_memory(a, b) == np.shares_memory(numpys[i], numpys[k]), (i, k)
        assert np.shares_memory(a, x) == np.shares_memory(numpys[i], x), i
        assert (a.base is None) == (numpys[i].base is None), i


def test_effects_on_arguments_happen_in_order() -> None:
    c = compiled(in_place, array(), array())
    x, y, p, q = array(), array(start=5), array(), array(start=5)
    c(x, y)
    in_place(p, q)
    np.testing.assert_array_equal(x, p)
    np.testing.assert_array_equal(y, q)


def test_a_warning_of_one_result_gives_all_back_to_the_program() -> None:
    def f(x: Array, y: Array) -> tuple[Array, Array]:
        return x + 1, 1 / y

    c = compiled(f, array(), array())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        a, b = c(array(), array(start=0))
    assert [str(w.message) for w in caught] == ["divide by zero encountered in divide"]
    np.testing.assert_array_equal(a, array() + 1)
    assert b[0, 0] == np.inf


def test_an_error_of_one_result_is_the_programs_own() -> None:
    def f(x: Array, y: Array) -> tuple[Array, Array]:
        return x * 2, x + y

    c = compiled(f, array(), array())
    with pytest.raises(ValueError, match=r"shapes \(3,4\) \(2,4\)"):
        c(array(), array((2, 4)))


def test_error_states_keep_results_apart() -> None:
    def f(x: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore"):
            a = 1 / x
        return a, np.log(x)

    c = compiled(f, array())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        c(array(start=0))
    assert [str(w.message) for w in caught] == ["divide by zero encountered in log"]


def test_a_value_the_host_needs_first_comes_first() -> None:
    def f(x: Array) -> tuple[Array, float, Array]:
        s = float(x.sum())
        return x * s, s, np.ones(int(s), np.float32) + 1

    c = compiled(f, array())
    for x in (array(), array((1, 2)), array((2, 2))):
        for ours, numpys in zip(c(x), f(x), strict=True):
            np.testing.assert_array_equal(ours, numpys)
