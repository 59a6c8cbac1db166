"""Corners of NumPy's meaning where a replay could quietly differ from the program itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]


def normal(*shape: int) -> Array:
    return np.random.default_rng(1).normal(size=shape)


def test_an_exception_of_a_product_is_caught_where_the_program_catches_it() -> None:
    def product_or_none(x: Array, y: Array) -> Any:
        try:
            return x @ y
        except ValueError:
            return None

    f = dvm.compile(product_or_none)
    f(normal(3, 3), normal(3, 3))
    assert f(normal(3, 3), normal(4, 4)) is None


def test_a_product_into_an_array_is_not_taken_for_a_pure_one() -> None:
    def overwriting(x: Array, out: Array) -> Any:
        before = out + 1
        np.matmul(x, x, out)
        return before, out + 1

    f = dvm.compile(overwriting)
    x = np.arange(9.0).reshape(3, 3)  # of which products are exact
    for _ in range(3):
        before, after = f(x, np.zeros((3, 3)))
        np.testing.assert_array_equal(before, np.ones((3, 3)))
        np.testing.assert_array_equal(after, x @ x + 1)


def test_the_identity_of_arrays_is_asked_on_every_call() -> None:
    f = dvm.compile(lambda x, y: x + 1 if x is y else x + 2)
    x, y = normal(3), normal(3)
    for a, b, added in ((x, x, 1), (x, y, 2), (y, y, 1)):
        np.testing.assert_array_equal(f(a, b), a + added)


def halved(x: Array) -> Array:
    return x / 2


class Plain:
    """Objects and a class that are equal to themselves alone."""

    method = halved


class EqualToAll:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


COMPARED = (halved, lambda x: x, np.sin, np.add, Plain, EqualToAll, Plain(), None, 3, "text", np)


def test_functions_classes_and_objects_are_equal_to_themselves_alone() -> None:
    def told_apart(x: Array, a: Any, b: Any) -> Any:
        if a == b:
            x = x + 1
        if a != halved:
            x = x + 2
        if b == Plain.method and Plain.method != None:  # noqa: E711
            x = x + 4
        return x

    f, x = dvm.compile(told_apart), normal(3)
    for _ in range(2):
        for a, b in itertools.product(COMPARED, repeat=2):
            np.testing.assert_array_equal(f(x, a, b), told_apart(x, a, b))
    assert f.stats.hits > 0
    one, other = EqualToAll(), EqualToAll()
    np.testing.assert_array_equal(f(x, one, other), told_apart(x, one, other))
    functions = dvm.compile(told_apart)
    for _ in range(3):
        for a, b in itertools.product((halved, normal), repeat=2):
            np.testing.assert_array_equal(functions(x, a, b), told_apart(x, a, b))
    assert functions.stats.fallbacks == 0, functions.fallback_reasons
    assert functions.stats.captures == 4


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x + 1, x + 1),
        lambda x: (x.astype("f8"), x.astype("f8"), x),
        lambda x: (np.sum(x, 0), np.sum(x, 0, keepdims=True)),
    ],
)
def test_equal_results_are_arrays_of_their_own(function: Callable[..., Any]) -> None:
    f = dvm.compile(function)
    f(normal(3, 4))
    results = f(normal(3, 4))
    assert f.stats.hits == 1
    for i, one in enumerate(results):
        for other in results[:i]:
            assert not np.shares_memory(one, other)


def test_one_scalar_returned_twice_is_one_object() -> None:
    def twice(x: Array) -> Any:
        total = np.sum(x)
        return total, total

    f = dvm.compile(twice)
    f(normal(3))
    one, other = f(normal(3))
    assert f.stats.hits == 1
    assert one is other


def test_an_integer_outside_of_the_dtype_is_compared_as_it_is() -> None:
    f = dvm.compile(lambda x: x < 2**40)
    for _ in range(2):
        assert f(np.arange(5, dtype=np.int32)).all()


def test_a_fractional_ddof_is_not_truncated() -> None:
    f = dvm.compile(lambda x: np.var(x, ddof=0.5))
    for _ in range(2):
        np.testing.assert_allclose(f(normal(5)), np.var(normal(5), ddof=0.5))


def test_keyword_only_parameters_are_not_taken_by_position() -> None:
    def scaled(x: Array, *, k: float = 1) -> Array:
        return x * k

    f: Any = dvm.compile(scaled)
    f(normal(3))
    with pytest.raises(TypeError, match="positional"):
        f(normal(3), 3)


def test_unused_operations_still_raise() -> None:
    def unused_sum(x: Array, y: Array) -> Array:
        x + y
        return x + 1

    f = dvm.compile(unused_sum)
    f(normal(3, 3), normal(3, 3))
    with pytest.raises(ValueError, match="broadcast"):
        f(normal(3, 3), normal(4, 3))


def test_a_maximum_of_nothing_raises_even_where_nothing_would_be_returned() -> None:
    f = dvm.compile(lambda x: np.max(x, axis=0))
    f(normal(3, 4))
    with pytest.raises(ValueError, match="zero-size array"):
        f(np.zeros((0, 0)))


@pytest.mark.parametrize(
    ("function", "captured", "later"),
    [
        (lambda x: x.T + 1, normal(1, 5), normal(3, 5)),
        (lambda x: x + 2.0, normal(4, 4).T[:1], normal(4, 4).T[:3]),
        (lambda x: x * 2, np.broadcast_to(normal(4), (6, 4)), np.asfortranarray(normal(6, 4))),
        (lambda x: np.sum(x, axis=0), normal(2, 3, 1).T, normal(2, 3, 4).T),
    ],
)
def test_results_keep_numpys_memory_order(
    function: Callable[..., Any], captured: Array, later: Array
) -> None:
    f = dvm.compile(function)
    f(captured)
    assert f(later).strides == function(later).strides


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x: np.where(x > 0), (normal(4),)),
        (lambda x: np.sum(x, axis=0), (np.array(3.0),)),
        (lambda x: np.expand_dims(x, (0, 1)) + 1, (normal(3),)),
        (lambda x: x.transpose(0) + 1, (normal(3),)),
        (lambda x: np.var(x, 0, None), (normal(3),)),
        (lambda x: x == 2**70, (np.arange(3),)),
        (lambda x, n: x[n:] + 1, (normal(3), 2**70)),
        (lambda x, n: n is x, (normal(3), 2)),
    ],
)
def test_what_is_not_understood_falls_back_quietly(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    f = dvm.compile(function)
    for _ in range(3):  # a warning would be an error here
        np.testing.assert_equal(f(*arguments), function(*arguments))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(4, dtype=np.int8),
        np.arange(4, dtype=np.complex64),
        np.arange(4).astype(">i8"),
        np.frombuffer(bytes(33), np.uint8)[1:].view(np.int32),
        np.ma.array([1.0, 2.0]),
        np.array([1, 2.5], dtype=object),
        np.arange(4, dtype=np.longlong),
        np.zeros(3, dtype="i1,f4")["f1"],
    ],
    ids=lambda array: f"{type(array).__name__}-{array.dtype}",
)
def test_arrays_never_meet_a_path_of_another_kind(array: Array) -> None:
    f = dvm.compile(lambda x: x + 1)
    for given in (array, np.arange(4), array, np.arange(4), array):
        result, expected = f(given), given + 1
        assert type(result) is type(expected)
        assert result.dtype.char == expected.dtype.char
        np.testing.assert_array_equal(result, expected)
