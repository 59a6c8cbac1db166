"""The harness sees what it is for: each wrong way to compile is found by a case."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from semantics.world import World, compare, description, difference, floats

Function = Callable[..., Any]


def returns_copies(f: Function) -> Function:
    return lambda *args: copy.deepcopy(f(*args))


def takes_copies(f: Function) -> Function:
    return lambda *args: f(*copy.deepcopy(args))


def remembers(f: Function) -> Function:
    results: dict[Any, Any] = {}
    return lambda *args: results.setdefault(repr(args), f(*args))


def runs_twice(f: Function) -> Function:
    return lambda *args: (f(*args), f(*args))[1]


def returns_scalars_as_arrays(f: Function) -> Function:
    return lambda *args: np.asarray(f(*args))


def loses_warnings(f: Function) -> Function:
    def call(*args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)

    return call


def loses_the_line(f: Function) -> Function:
    def call(*args: Any) -> Any:
        try:
            return f(*args)
        except Exception as error:
            raise error.with_traceback(None) from None

    return call


def returns_contiguous(f: Function) -> Function:
    return lambda *args: np.array(f(*args), order="C")


def loses_the_sign_of_zero(f: Function) -> Function:
    return lambda *args: f(*args) + 0.0


def a_view_of_the_argument(w: World) -> None:
    f = w.compiled(lambda x: x[1:])
    w(f, floats(4))


def a_write_into_the_argument(w: World) -> None:
    f = w.compiled(lambda x: x.fill(3))
    w(f, floats(4))


def a_new_array_each_time(w: World) -> None:
    f = w.compiled(lambda x: x + 1)
    w(f, floats(4))
    w(f, floats(4))


def an_effect(w: World) -> None:
    log: list[int] = w.watch([])
    f = w.compiled(lambda x: log.append(x))
    w(f, 1)


def a_scalar(w: World) -> None:
    w(w.compiled(lambda x: x.sum()), floats(4))


def a_warning(w: World) -> None:
    w(w.compiled(lambda x: 1 / x), np.zeros(3))


def an_error(w: World) -> None:
    w(w.compiled(lambda x: x + floats(3)), floats(4))


def a_transposed_result(w: World) -> None:
    w(w.compiled(lambda x: x.T + 1), floats(4, 3))


def negative_zero(w: World) -> None:
    w(w.compiled(lambda x: -x), np.zeros(3))


PAIRS = [
    (a_view_of_the_argument, returns_copies),
    (a_view_of_the_argument, takes_copies),
    (a_write_into_the_argument, takes_copies),
    (a_new_array_each_time, remembers),
    (an_effect, runs_twice),
    (a_scalar, returns_scalars_as_arrays),
    (a_warning, loses_warnings),
    (a_warning, runs_twice),
    (an_error, loses_the_line),
    (a_transposed_result, returns_contiguous),
    (negative_zero, loses_the_sign_of_zero),
]


@pytest.mark.parametrize(("case", "wrong"), PAIRS)
def test_a_wrong_compiler_is_found(
    case: Callable[[World], None], wrong: Callable[[Function], Function]
) -> None:
    assert compare(case, lambda f: f) is None
    assert compare(case, wrong) is not None


def test_descriptions_tell_shared_memory_and_identity() -> None:
    x, y = floats(4), floats(4)
    assert difference(description(x, x), description(x, y))
    assert difference(description(x, x[1:]), description(x, y[1:]))
    assert difference(description(x[:2], x[1:3]), description(x[:3][:2], x[0:2]))
    assert difference(description([x]), description((x,)))
    assert difference(description(np.float32(1)), description(np.float64(1)))
    assert difference(description({"a": 1, "b": 2}), description({"b": 2, "a": 1}))
    assert difference(description(True), description(1))
    assert not difference(description(float("nan")), description(-float("nan")))
    assert not difference(description([x, x]), description([y, y]))
