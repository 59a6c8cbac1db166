"""dvm.compile and the compiled function as a user meets them."""

import functools
import inspect
import os
import weakref
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm

Array = np.ndarray[Any, Any]


def axpy(x: Array, y: Array, a: float = 2.0) -> Array:
    """Compute a * x + y."""
    return a * x + y


X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.ones((2, 3), np.float32)


def test_a_compiled_function_returns_what_the_function_returns() -> None:
    f = dvm.compile(axpy)
    for _ in range(3):
        result = f(X, Y)
        assert type(result) is np.ndarray
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, axpy(X, Y))
    assert f.stats == dvm.Stats(3, 2, 1, 1, 0, 0, 0)
    assert f.fallback_reasons == []


def test_it_is_a_decorator_with_and_without_arguments() -> None:
    @dvm.compile
    def plain(x: Array) -> Array:
        return x + 1

    @dvm.compile(target="ascend910b3", numerics="strict", name="simulated")
    def configured(x: Array) -> Array:
        return x + 1

    np.testing.assert_array_equal(plain(X), X + 1)
    np.testing.assert_array_equal(configured(X), X + 1)
    assert plain.options == dvm.Options("cpu", "default")
    assert configured.options == dvm.Options("ascend910b3", "strict")
    assert "simulated" in repr(configured)


def test_it_looks_like_the_function_it_was_made_from() -> None:
    f = dvm.compile(axpy)
    assert isinstance(f, dvm.Compiled)
    for attribute in functools.WRAPPER_ASSIGNMENTS:
        assert getattr(f, attribute) == getattr(axpy, attribute)
    assert f.__wrapped__ is axpy
    assert inspect.signature(f) == inspect.signature(axpy)
    assert repr(f) == "<dvm.Compiled axpy target=cpu calls=0 captures=0 fallbacks=0>"


def test_compiling_a_compiled_function_starts_from_the_original() -> None:
    f = dvm.compile(axpy)
    g = dvm.compile(f, target="ascend910b1")
    assert g.__wrapped__ is axpy
    assert (f.options.target, g.options.target) == ("cpu", "ascend910b1")


def test_options_and_stats_are_frozen() -> None:
    f = dvm.compile(axpy)
    with pytest.raises(AttributeError):
        f.options.target = "ascend910b1"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        f.stats.calls = 0  # type: ignore[misc]


@pytest.mark.parametrize("thing", [3, "axpy", np.add, len, dict])
def test_what_is_no_python_function_is_a_type_error(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"needs a|takes a function"):
        dvm.compile(thing)


def test_an_unknown_target_is_named_with_the_valid_ones() -> None:
    with pytest.raises(dvm.UnsupportedError) as caught:
        dvm.compile(axpy, target="ascend910")
    error = caught.value
    assert error.code == "DVM-U002"
    assert error.hint == "python -m dvm env lists the targets"
    for target in _dvm.target_names:
        assert target in str(error)
    assert "'ascend910'" in str(error)
    assert "did you mean 'ascend910b" in str(error)


def test_unknown_numerics_are_named_with_the_valid_ones() -> None:
    with pytest.raises(dvm.UnsupportedError, match=r"DVM-U003 .*'strikt'.*did you mean 'strict'"):
        dvm.compile(axpy, numerics="strikt")


def test_a_compiled_function_can_be_collected() -> None:
    def local(x: Array) -> Array:
        return x + 1

    f = dvm.compile(local)
    f(X)
    gone = weakref.ref(f)
    del f, local
    import gc

    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("stage", ["graph", "fused", "tiles", "bytecode"])
@pytest.mark.parametrize("target", _dvm.target_names)
def test_inspect_shows_every_stage(stage: str, target: str) -> None:
    f = dvm.compile(axpy, target=target)
    f(X, Y)
    recorded = f.inspect(stage)
    assert recorded.strip()
    calls = f.stats.calls
    assert f.inspect(stage, X, Y) == recorded
    assert f.stats.calls == calls + 1


def test_inspect_sizes_bytecode_for_the_arguments_given() -> None:
    f = dvm.compile(axpy)
    f(X, Y)
    long = np.ones((4, 5000), np.float32)
    assert f.inspect("bytecode", long, long.copy()) != f.inspect("bytecode")
    assert f.inspect("graph", long, long.copy()) == f.inspect("graph")


def test_inspect_shows_the_path_the_arguments_take() -> None:
    f = dvm.compile(axpy)
    f(X, Y)
    f(X.astype(np.float64), Y.astype(np.float64))
    assert f.inspect("graph").count("# graph ") == 2
    assert "input f64" not in f.inspect("graph", X, Y)
    assert "input f64" in f.inspect("graph", X.astype(np.float64), Y.astype(np.float64))


def test_inspect_of_something_unknown_or_uncompiled_says_so() -> None:
    f = dvm.compile(axpy)
    with pytest.raises(dvm.UnsupportedError, match=r"'byte'.*graph, fused, tiles, bytecode"):
        f.inspect("byte")
    with pytest.raises(dvm.CaptureError, match="axpy has no compiled path: it was not called yet"):
        f.inspect("graph")


@pytest.mark.skipif("CI" not in os.environ and os.cpu_count() == 1, reason="needs a quiet core")
def test_import_costs_little_beyond_numpy(run_python: Any) -> None:
    script = (
        "import time, numpy\nstart = time.perf_counter()\nimport dvm\n"
        "print(time.perf_counter() - start)"
    )
    assert min(float(run_python(script)) for _ in range(5)) < 0.040
