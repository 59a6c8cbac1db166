"""dvm.annotate(op=...): a function is what its op makes in the graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dvm
import dvm.passes
from dvm import annotating
from dvm.passes import ops

Array = np.ndarray[Any, Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3)
calls: list[str] = []


def norm(x: Array, w: Array, eps: float = 1e-6) -> Array:
    calls.append("norm")
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(eps)) * w


def norm_op(x: Any, w: Any, eps: float = 1e-6) -> Any:
    return x * (1 / ops.sqrt(ops.mean(x * x) + eps)) * w


@pytest.fixture
def annotated_norm() -> Iterator[None]:
    dvm.annotate(norm, op=norm_op)
    yield
    annotating._annotations.pop(norm)


@pytest.mark.usefixtures("annotated_norm")
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_op_takes_the_place_of_calls(order: Any) -> None:
    f = dvm.compile(lambda x, w: norm(x * 2, w, eps=1e-5) + 1)
    rng = np.random.default_rng(0)
    for rows in (3, 2, 7):
        x = np.array(rng.random((rows, 8), np.float32), order=order)
        w = rng.random(8, np.float32)
        calls.clear()
        y = f(x, w)
        assert calls == ["norm"] * (rows == 3)  # while it is captured
        plain = f.__wrapped__(x, w)
        np.testing.assert_allclose(y, plain, rtol=1e-5)
        assert y.strides == plain.strides
    assert (f.stats.captures, f.stats.hits, f.stats.opaque) == (1, 2, 0)
    text = f.inspect("graph")
    assert len(re.findall(r'= sqrt\(.* @ ".*test_annotate_op.py', text)) == 1
    if order == "C":  # with what is around it
        assert len(re.findall(r"^r\d+\(", f.inspect("fused"), re.M)) == 1


@pytest.mark.usefixtures("annotated_norm")
def test_passes_find_what_an_op_makes() -> None:
    class Root(dvm.passes.PatternPass):
        def pattern(self, y: Any) -> Any:
            return ops.sqrt(y)

        def replacement(self, y: Any) -> Any:
            return ops.exp(0.5 * ops.log(y))

    g = dvm.compile(lambda x, w: norm(x, w) + 1, passes=[Root])
    x, w = np.ones((2, 4), np.float32), np.ones(4, np.float32)
    assert np.allclose(g(x, w), 2)
    assert " log(" in g.inspect("dead_code")
    assert " sqrt(" not in g.inspect("dead_code")


@pytest.mark.usefixtures("annotated_norm")
def test_sizes_that_do_not_fit_raise_what_the_function_raises() -> None:
    f = dvm.compile(lambda x, w: norm(x, w) + 1)
    f(np.ones((2, 4), np.float32), np.ones(4, np.float32))
    with pytest.raises(ValueError, match="broadcast"):
        f(np.ones((2, 4), np.float32), np.ones(3, np.float32))


def test_what_an_op_gives_is_new() -> None:
    def copied(x: Array) -> Array:
        return x.copy()

    dvm.annotate(copied, op=lambda x: x)
    f = dvm.compile(lambda x: copied(x))
    f(X)
    x = X.copy()
    f(x)[:] = -1
    assert np.array_equal(x, X)
    assert f.stats.hits == 1


@pytest.mark.parametrize(
    ("op", "gives", "reason"),
    [
        (lambda x: x.no_such, lambda x: x * 2, "raises AttributeError"),
        (lambda x: x, lambda x: float(x.sum()), "is for arrays: it gives float"),
        (
            lambda x: x.sum(),
            lambda x: x * 2,
            "gives float32(2, 1) where the function gives float32(2, 3)",
        ),
        (lambda x: x < 0, lambda x: x * 2, "gives bool(2, 3) where"),
    ],
)
def test_an_op_that_is_none_of_the_function_is_told_of(op: Any, gives: Any, reason: str) -> None:
    def function(x: Array) -> Any:
        return gives(x)

    dvm.annotate(function, op=op)
    f = dvm.compile(lambda x: function(x))
    assert np.array_equal(f(X), gives(X))
    assert reason in f.fallback_reasons[0]


def test_arguments_that_no_op_takes_are_told_of() -> None:
    def function(x: Array, names: Any) -> Array:
        return x * len(names)

    dvm.annotate(function, op=lambda x, names: x * len(names))
    f = dvm.compile(lambda x, names: function(x, names))
    assert np.array_equal(f(X, ["a", "b"]), X * 2)
    assert "whose annotated op is given" in f.fallback_reasons[0]


def test_ops_that_contradict() -> None:
    for more in ({"never": True}, {"writes": "x"}):
        with pytest.raises(dvm.CaptureError, match="cannot be an op of the graph"):
            dvm.annotate(lambda x: x, op=norm_op, **more)
    with pytest.raises(dvm.CaptureError, match="is no function"):
        dvm.annotate(norm, op=3)  # type: ignore[type-var]


def scaled(x: Array, by: Any, shifts: Any = ()) -> Array:
    y = x * by
    for shift in shifts:
        y = y + shift
    return np.asarray(y, x.dtype)


@pytest.fixture
def annotated_scaled() -> Iterator[None]:
    def op(x: Any, by: Any, shifts: Any = ()) -> Any:
        y = x * by
        for shift in shifts:
            y = y + shift
        return y

    dvm.annotate(scaled, op=op)
    yield
    dvm.annotate(scaled, op=False)


#: how a program comes by what it hands over, and calls
HANDED_OVER: dict[str, Any] = {
    "a number": (lambda x, k: scaled(x, k), [(X, 2.5), (X, 3.0), (X + 1, -1.0)]),
    "an int": (lambda x, k: scaled(x, k), [(X, 2), (X, 30), (X, -1)]),
    "a number that is computed": (lambda x, k: scaled(x, k * 2 + 0.5), [(X, 2.5), (X, 3.5)]),
    "an int that is computed": (lambda x, k: scaled(x, k * k - 3), [(X, 2), (X, 1)]),
    "a number of an array": (lambda x: scaled(x, float(x.max())), [(X,), (X * 3,)]),
    "an element": (lambda x: scaled(x, x[0, 1]), [(X,), (X * 3,)]),
    "a size": (lambda x: scaled(x, x.shape[0]), [(X,), (X[:1],)]),
    "sizes": (lambda x: scaled(x, len(x) * 2, x.shape), [(X,), (X[:1],)]),
    "a tuple": (lambda x, k: scaled(x, 2.0, (k, 1.0, x)), [(X, 2.5), (X + 1, 0.5)]),
    "by name": (lambda x, k: scaled(x, shifts=(1, 2), by=k), [(X, 2.5), (X + 1, 0.5)]),
}


@pytest.mark.usefixtures("annotated_scaled")
@pytest.mark.parametrize("kind", HANDED_OVER)
def test_what_an_op_is_given(kind: str) -> None:
    function, given = HANDED_OVER[kind]
    f = dvm.compile(function)
    for arguments in given:
        y, wanted = f(*arguments), function(*arguments)
        assert y.dtype == wanted.dtype
        np.testing.assert_allclose(y, wanted, rtol=1e-6)
    assert not f.fallback_reasons
    assert (f.stats.captures, f.stats.hits, f.stats.opaque) == (1, len(given) - 1, 0)


class Scale:
    """A layer with a method that the graph cannot look into."""

    def __init__(self, by: float) -> None:
        self.by = by

    def of(self, x: Array) -> Array:
        return x * np.float32(self.by)


def test_the_method_of_an_object_has_an_op_and_that_of_a_class_has_not() -> None:
    layer = Scale(3.0)
    dvm.annotate(layer.of, op=lambda x: x * 3.0)
    f = dvm.compile(lambda x: layer.of(x) + 1)
    for x in (X, X + 1):
        assert np.array_equal(f(x), x * 3 + 1)
    assert (f.stats.hits, f.stats.opaque) == (1, 0)

    dvm.annotate(Scale.of, op=lambda self, x: x * self.by)
    other = Scale(2.0)
    g = dvm.compile(lambda x: other.of(x) + 1)
    assert np.array_equal(g(X), X * 2 + 1)
    assert "whose annotated op is given an object of type Scale" in g.fallback_reasons[0]
    dvm.annotate(Scale.of, op=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("leaf", True),
        ("pure", True),
        ("deterministic", True),
        ("fresh", True),
        ("writes", "x"),
        ("never", True),
        ("op", norm_op),
    ],
)
def test_each_property_is_taken_back_by_false(name: str, value: Any) -> None:
    def function(x: Array) -> Array:
        return x

    before = annotating.annotation_of(function)
    dvm.annotate(function, **{name: value})
    said = annotating.annotation_of(function)
    assert said != before
    dvm.annotate(function, **{name: None})
    assert annotating.annotation_of(function) == said
    dvm.annotate(function, **{name: False})
    assert annotating.annotation_of(function) == before
