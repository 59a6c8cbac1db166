"""dvm.annotate: each property does its own, and nothing is taken for granted without it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import dvm
from dvm.annotating import NOTHING, annotation_of

Array = np.ndarray[Any, Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def counted(function: Callable[..., Any]) -> Any:
    """A new function each time, which counts its calls in `calls`."""

    def leaf(*args: Any) -> Any:
        leaf.calls += 1  # type: ignore[attr-defined]
        return function(*args)

    leaf.calls = 0  # type: ignore[attr-defined]
    return leaf


def compiled(function: Callable[..., Any], *args: Any) -> dvm.Compiled[..., Any]:
    f = dvm.compile(function)
    f(*args)
    return f


def test_a_pure_leaf_is_one_opaque_call() -> None:
    table = dvm.annotate(counted(lambda x: np.cumsum(x, axis=1) + 1), leaf=True, pure=True)
    f = compiled(lambda x: table(x * 2) * 3, X)
    assert not f.fallback_reasons
    for _ in range(2):
        assert np.array_equal(f(X), (np.cumsum(X * 2, axis=1) + 1) * 3)
    assert (f.stats.hits, f.stats.opaque, table.calls) == (2, 2, 3)
    (call,) = dvm.explain(f)(X).paths[0]["opaque_calls"]
    assert call["name"].endswith("counted.<locals>.leaf")


def test_without_leaf_it_is_followed() -> None:
    def helper(x: Array) -> Array:
        return x + 1

    dvm.annotate(helper, pure=True)
    f = compiled(lambda x: helper(x) * 2, X)
    f(X)
    assert (f.stats.hits, f.stats.opaque) == (1, 0)


def test_a_leaf_that_is_not_pure_is_not_called_in_a_path() -> None:
    log = dvm.annotate(counted(lambda x: x), leaf=True)
    f = compiled(lambda x: log(x) + 1, X)
    assert "which is not annotated pure" in f.fallback_reasons[0]
    f(X)
    assert log.calls == 2  # once per call of the program, as plain


def test_never_lets_the_original_run() -> None:
    def secret(x: Array) -> Array:
        return x * 2

    dvm.annotate(secret, never=True)
    f = compiled(lambda x: secret(x) + 1, X)
    assert "secret is annotated never to be part of a path" in f.fallback_reasons[0]
    assert np.array_equal(f(X), X * 2 + 1)


def test_deterministic_folds_what_is_constant() -> None:
    width = dvm.annotate(counted(lambda name: len(name)), leaf=True, pure=True, deterministic=True)
    f = compiled(lambda x: x * width("narrow"), X)
    f(X)
    assert (width.calls, f.stats.opaque) == (1, 0)
    again = dvm.annotate(counted(lambda name: len(name)), leaf=True, pure=True)
    g = compiled(lambda x: x * again("narrow"), X)
    g(X)
    assert (again.calls, g.stats.opaque) == (2, 1)


def test_deterministic_does_not_fold_what_varies() -> None:
    width = dvm.annotate(counted(lambda n: n + 1), leaf=True, pure=True, deterministic=True)
    f = compiled(lambda x, n: x * width(n), X, 3)
    assert np.array_equal(f(X, 5), X * 6)
    assert width.calls == 2


CACHE = np.zeros((2, 3), np.float32)


def test_a_result_that_is_not_fresh_is_an_object_of_the_program() -> None:
    cached = dvm.annotate(counted(lambda: CACHE), leaf=True, pure=True)

    def f(x: Array) -> Array:
        buffer = cached()
        buffer += x
        return buffer

    g = dvm.compile(f)
    CACHE[...] = 0
    for n in (1, 2, 3):
        assert g(X) is CACHE
        assert np.array_equal(CACHE, n * X)
    assert g.stats.hits == 2


def test_a_fresh_result_shares_nothing() -> None:
    def view(x: Array) -> Array:
        return x[:1]

    dvm.annotate(view, leaf=True, pure=True, fresh=True)
    f = compiled(lambda x: view(x) + 1, X)
    assert "is annotated fresh, but its result is memory of an argument" in f.fallback_reasons[0]
    copy = dvm.annotate(counted(lambda x: x.copy()), leaf=True, pure=True, fresh=True)
    g = compiled(lambda x: copy(x) + 1, X)
    steps = dvm._dvm.paths(g)[0]["steps"]
    assert "guard_overlap" not in steps
    assert not g.fallback_reasons


def fill(out: Array, value: Array) -> None:
    out[...] = value.sum()


def test_what_it_writes_is_written() -> None:
    dvm.annotate(fill, leaf=True, pure=True, writes="out")

    def f(x: Array) -> Array:
        y = x * 2
        fill(y, x)
        fill(value=y, out=x)
        return x + y

    g = dvm.compile(f)
    for _ in range(3):
        x, plain = X.copy(), X.copy()
        assert np.array_equal(g(x), f(plain))
        assert np.array_equal(x, plain)
    assert (g.stats.hits, g.stats.opaque) == (2, 4)
    assert not g.fallback_reasons


def test_an_object_is_passed_on_but_not_after_it_changed() -> None:
    class Model:
        def __init__(self) -> None:
            self.bias = np.ones(3, np.float32)

    size = dvm.annotate(counted(lambda model: float(model.bias.sum())), leaf=True, pure=True)
    model = Model()
    f = compiled(lambda m, x: x * size(m), model, X)
    model.bias += 1
    assert np.array_equal(f(model, X), X * 6)
    assert f.stats.hits == 1

    def writes(m: Model, x: Array) -> Array:
        m.bias += 1
        return x * size(m)

    g = dvm.compile(writes)
    for n in (9, 12):
        assert np.array_equal(g(model, X), X * n)
    assert "of an object, after the program has changed some" in g.fallback_reasons[0]


def test_methods_are_functions_too() -> None:
    class Model:
        scale = 3.0

        @dvm.annotate(leaf=True, pure=True)
        def weight(self, x: Array) -> Array:
            return x * self.scale

    f = compiled(lambda m, x: m.weight(x) + 1, Model(), X)
    assert np.array_equal(f(Model(), X), X * 3 + 1)
    assert (f.stats.hits, f.stats.opaque) == (1, 1)


def test_constant_attributes_are_part_of_the_path() -> None:
    @dvm.annotate(constant=("heads",))
    class Layer:
        def __init__(self, heads: int) -> None:
            self.heads = heads
            self.scale = heads

    layer = Layer(3)
    f = compiled(lambda m, x: x.reshape(m.heads, -1) * m.scale, layer, X)
    assert "reshape(%0) f32[3" in f.inspect("graph")
    assert f(Layer(2), X).shape == (2, 3)  # another instance is another path
    assert f.stats.captures == 2
    layer.scale = 5
    assert np.array_equal(f(layer, X), X.reshape(3, 2) * 5)
    assert f.stats.hits == 1


def test_annotations_add_up_and_are_taken_back() -> None:
    def helper(x: Array) -> Array:
        return x

    assert annotation_of(helper) is NOTHING
    assert dvm.annotate(helper, leaf=True) is helper
    dvm.annotate(helper, pure=True)
    assert (annotation_of(helper).leaf, annotation_of(helper).pure) == (True, True)
    dvm.annotate(helper, leaf=False)
    assert (annotation_of(helper).leaf, annotation_of(helper).pure) == (False, True)
    f = compiled(lambda x: helper(x) + 1, X)
    f(X)
    assert (f.stats.hits, f.stats.opaque) == (1, 0)


def test_the_exceptions_of_a_leaf_are_the_programs() -> None:
    def check(x: Array) -> Array:
        if x.size == 0:
            raise LookupError("nothing here")
        return x * 2

    dvm.annotate(check, leaf=True, pure=True)
    f = compiled(lambda x: check(x) + 1, X)
    with pytest.raises(LookupError, match="nothing here"):
        f(X[:0])
    assert f.stats.drops == 1


@pytest.mark.parametrize(
    ("thing", "properties", "reason"),
    [
        (3, {"pure": True}, "3 is neither a function nor a class"),
        (len, {"never": True, "pure": True}, "never a part of a path and one opaque call"),
        (len, {"constant": ("x",)}, "len is no class"),
        (fill, {"writes": ("result",)}, "fill has no parameter result"),
        (dict, {"pure": True}, "dict is a class, of which only constant= can be said, not pure="),
    ],
)
def test_contradictions_are_errors(thing: Any, properties: Any, reason: str) -> None:
    with pytest.raises(dvm.CaptureError) as caught:
        dvm.annotate(thing, **properties)
    assert caught.value.code == "DVM-C003"
    assert reason in str(caught.value)


def test_one_call_of_scipy_leaves_the_rest_compiled() -> None:
    compiled = dvm.compile(lambda x: scipy.special.logsumexp(x * 2) + 1)
    for n in (5, 6, 7):
        compiled(np.ones(n))
    assert (compiled.stats.captures, compiled.stats.hits, compiled.stats.opaque) == (1, 2, 2)


def test_a_package_may_be_a_leaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_package.py").write_text(
        "calls = []\ndef scale(x):\n    calls.append(len(calls))\n    return x * 3\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    package = importlib.import_module("their_package")
    dvm.annotate(package, leaf=True)
    try:
        compiled = dvm.compile(lambda x: package.scale(x + 1) - 1)
        for n in (3, 4, 5):
            assert (compiled(np.ones(n)) == 5).all()
        assert len(package.calls) == 3
        assert compiled.stats.opaque == 2
    finally:
        dvm.annotate("their_package", leaf=False)
    with pytest.raises(dvm.CaptureError, match="leaf= can be said"):
        dvm.annotate("their_package", pure=True)
