"""What may change between two calls of a compiled function, and what must not."""

import concurrent.futures
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm

Array = np.ndarray[Any, Any]
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
FACTOR: Any = 2.0
BIAS: Any = np.ones(4, np.float32)


def activation(x: Array) -> Array:
    return np.tanh(x)


def other_activation(x: Array) -> Array:
    return np.abs(x)


ACTIVATION = activation


def check(f: Any, *args: Any, **kwargs: Any) -> None:
    """Call twice, so that the second call may replay; both must agree with the original."""
    for _ in range(2):
        np.testing.assert_allclose(f(*args, **kwargs), f.__wrapped__(*args, **kwargs), rtol=1e-6)


@pytest.fixture
def restore_globals() -> Iterator[None]:
    saved = {name: globals()[name] for name in ("FACTOR", "BIAS", "ACTIVATION")}
    yield
    globals().update(saved)


@pytest.mark.usefixtures("restore_globals")
def test_a_rebound_global_number_array_or_function_is_seen() -> None:
    global FACTOR, BIAS, ACTIVATION

    @dvm.compile
    def f(x: Array) -> Array:
        return ACTIVATION(x) * FACTOR + BIAS

    check(f, X)
    FACTOR = 3.0
    check(f, X)
    BIAS = np.full(4, 7, np.float32)
    check(f, X)
    assert f.stats.recaptures == 0, "numbers and arrays are fetched, not folded"
    ACTIVATION = other_activation
    check(f, X)
    assert f.stats.recaptures == 1
    ACTIVATION = activation
    check(f, X)
    assert f.stats.recaptures == 1, "the first path serves again"
    BIAS = np.ones(4, np.float64)
    check(f, X)
    FACTOR = np.float32(5)
    check(f, X)
    assert f.stats.drops == 0


@pytest.mark.usefixtures("restore_globals")
def test_an_array_reached_by_name_may_change_in_place() -> None:
    f = dvm.compile(lambda x: x + BIAS)
    check(f, X)
    BIAS[:] = 5
    check(f, X)
    assert f.stats.captures == 1


def test_a_closure_variable_is_seen() -> None:
    def make() -> tuple[Any, Callable[[Any], None]]:
        scale: Any = 2.0

        def f(x: Array) -> Array:
            return x * scale

        def rescale(value: Any) -> None:
            nonlocal scale
            scale = value

        return dvm.compile(f), rescale

    f, rescale = make()
    check(f, X)
    rescale(4.0)
    check(f, X)
    rescale(np.full(4, 3, np.float32))
    check(f, X)
    rescale(5)
    check(f, X)


def _tripled(x: Any) -> Any:
    return x * 3


def _inner(x: Any) -> Any:
    return x + 1


def _outer(x: Any) -> Any:
    return _inner(x) * 2


def test_replaced_code_of_the_function_or_of_one_it_calls_is_seen() -> None:
    x = np.arange(4, dtype=np.float32)
    compiled = dvm.compile(_outer)
    for expected in ((x + 1) * 2, x * 6, x * 3):
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x), expected)
        replaced = _inner if _inner.__code__ is not _tripled.__code__ else _outer
        replaced.__code__ = _tripled.__code__
    assert compiled.stats.captures == 3


def _added(x: Any, y: Any) -> Any:
    return x + y


def test_a_report_follows_replaced_code_of_another_signature() -> None:
    def doubled(x: Any) -> Any:
        return x * 2

    x = np.arange(4, dtype=np.float32)
    compiled: Any = dvm.compile(doubled)
    compiled(x)
    doubled.__code__ = _added.__code__
    assert _dvm.timed_call(compiled, x, x) is None
    (miss,) = _dvm.explain_miss(compiled, x, x)  # the old code's paths are gone
    assert miss["text"] == "the code of the function was replaced"


def test_defaults_keywords_and_keyword_only_parameters() -> None:
    @dvm.compile
    def f(x: Array, y: Any = 2.0, *, z: Any = 1.0) -> Array:
        return x * y + z

    check(f, X)
    check(f, X, 3.0)
    check(f, x=X, y=3.0)
    check(f, y=4.0, x=X)
    check(f, X, z=9.0)
    check(f, X, y=X, z=X)
    assert f.stats.fallbacks == 0


def test_wrong_arguments_raise_what_the_function_raises() -> None:
    def f(x: Array, y: Array) -> Array:
        return x + y

    compiled = dvm.compile(f)
    for args, kwargs in [((X,), {}), ((X, X, X), {}), ((X,), {"z": X}), ((X, X), {"x": X})]:
        with pytest.raises(TypeError) as expected:
            f(*args, **kwargs)
        with pytest.raises(TypeError) as actual:
            compiled(*args, **kwargs)
        assert str(actual.value) == str(expected.value)


def test_a_method_is_bound_like_any_function() -> None:
    class Layer:
        def __init__(self) -> None:
            self.weight = 3.0

        @dvm.compile
        def scaled(self, x: Array) -> Array:
            return x * self.weight

        @staticmethod
        @dvm.compile
        def doubled(x: Array) -> Array:
            return x + x

    layer = Layer()
    for _ in range(2):
        np.testing.assert_array_equal(layer.scaled(X), X * 3.0)
        np.testing.assert_array_equal(layer.doubled(X), X + X)
    layer.weight = 4.0
    np.testing.assert_array_equal(layer.scaled(X), X * 4.0)


def test_recursion_through_the_compiled_name() -> None:
    @dvm.compile
    def f(x: Array, n: int) -> Array:
        return x if n == 0 else f(x + 1, n - 1)

    for n in (0, 1, 3, 3):
        np.testing.assert_array_equal(f(X, n), X + n)


def test_a_compiled_function_calls_another() -> None:
    inner = dvm.compile(lambda x: x * 2)
    outer = dvm.compile(lambda x: inner(x) + 1)
    check(outer, X)
    check(outer, X)


def test_exceptions_pass_through_unchanged() -> None:
    class OwnError(Exception):
        pass

    error = OwnError("mine")

    def f(x: Array, fail: bool) -> Array:
        y = x + 1
        if fail:
            raise error
        return y

    compiled = dvm.compile(f)
    for fail in (True, False, True):
        if fail:
            with pytest.raises(OwnError) as caught:
                compiled(X, fail)
            assert caught.value is error
            assert caught.traceback[-1].name == "f"
        else:
            np.testing.assert_array_equal(compiled(X, fail), X + 1)


def test_sizes_that_do_not_fit_raise_numpys_own_error() -> None:
    f = dvm.compile(lambda x, y: x * 2 + y)
    f(np.ones((3, 4)), np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(3,4\)"):
        f(np.ones((3, 4)), np.ones((3, 5)))
    assert f.stats.drops == 1
    assert f.stats.recaptures == 0


def test_one_path_serves_equal_and_broadcasting_sizes() -> None:
    f = dvm.compile(lambda x, y: x * 2 + y)
    check(f, np.ones((3, 4)), np.ones((3, 4)))
    check(f, np.ones((3, 4)), np.ones((1, 4)))
    check(f, np.ones((3, 1)), np.ones((3, 4)))
    check(f, np.ones((0, 4)), np.ones((1, 4)))
    assert (f.stats.captures, f.stats.drops) == (1, 0)


def test_arguments_that_share_memory_do_not_disturb_each_other() -> None:
    f = dvm.compile(lambda x, y: x + y)
    base = np.arange(20, dtype=np.float32)
    check(f, base[:-1], base[1:])
    check(f, base, base)
    before = base.copy()
    result = f(base, base)
    result += 1
    np.testing.assert_array_equal(base, before)


def write_sum(x: Any, target: Any) -> Any:
    target[...] = x + 1
    return target


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.astype(np.float32),
        lambda x: np.sum(x, axis=()),
        lambda x: np.max(x, axis=()),
        lambda x: (x, x + 1),
        lambda x: (x + 1,) * 2,
        lambda x: x.reshape(3, 4),
        lambda x: (x + 1).reshape(4, 3),
        lambda x: x[...],
        lambda x: x.reshape(x.shape),
        lambda x: np.where(x > 9, x, x),
    ],
    ids=range(10),
)
def test_results_share_memory_and_identity_as_numpys_do(function: Any) -> None:
    f = dvm.compile(function)
    f(X)
    actual, expected = (r if isinstance(r, tuple) else (r, r) for r in (f(X), function(X)))
    assert (actual[0] is actual[1]) == (expected[0] is expected[1])
    for one, other in zip(actual, expected, strict=True):
        assert (one is X) == (other is X)
        assert np.shares_memory(one, X) == np.shares_memory(other, X)
        assert one.flags.writeable == other.flags.writeable


@pytest.mark.parametrize("count", [1, 3, 5000])
def test_results_go_into_given_arrays_as_numpy_puts_them_there(count: int) -> None:
    compiled = dvm.compile(write_sum)
    x = np.arange(count, dtype=np.float32)
    for target in (x * 0, np.zeros(count), np.zeros((2, count), np.float32)[:, ::-1], x * 0, x):
        wanted = write_sum(x.copy(), target.copy())
        assert compiled(x.copy(), target) is target
        np.testing.assert_array_equal(target, wanted)
    frozen = x * 0
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(x, frozen)


def test_what_broadcast_arrays_made_warns_when_it_is_written() -> None:
    compiled = dvm.compile(write_sum)
    for _ in range(3):
        _, shared = np.broadcast_arrays(np.ones((1, 1)), np.ones(1))
        with pytest.warns(DeprecationWarning, match="writing to an array"):
            compiled(np.ones((1, 1)), shared)


def test_a_new_axis_of_a_strided_argument_is_replayed() -> None:
    f = dvm.compile(lambda x: x[None] + 1)
    check(f, X[::-1])
    assert f.stats.drops == 0


def test_a_reduced_result_owns_its_memory() -> None:
    f = dvm.compile(lambda x: x.sum(axis=0))
    x = np.ones((3, 4), np.float32)
    for _ in range(2):
        result = f(x)
        assert result.base is None
        assert result.shape == (4,)


def test_results_too_large_for_memory_raise_numpys_own_error() -> None:
    f = dvm.compile(lambda x, y: x * y)
    f(np.ones((2, 1)), np.ones((1, 2)))
    n = 5_000_000
    with pytest.raises(MemoryError, match="Unable to allocate"):
        f(np.broadcast_to(np.ones(1), (n, 1)), np.broadcast_to(np.ones(1), (1, n)))


def test_results_are_new_arrays_that_later_calls_leave_alone() -> None:
    f = dvm.compile(lambda x: x + 1)
    first = f(X)
    kept = first.copy()
    for _ in range(5):
        f(X * 3)
    np.testing.assert_array_equal(first, kept)
    assert first.flags.writeable
    assert first.base is None or first.flags.owndata


def test_a_thousand_unseen_shapes_need_one_capture() -> None:
    @dvm.compile
    def f(x: Array, y: Array) -> Array:
        z = x * y + 1.0
        return z / (np.abs(x) + 2.0) - y

    random = np.random.default_rng(1)
    shapes = {(int(a), int(b)) for a, b in random.integers(1, 120, (1400, 2))}
    assert len(shapes) >= 1000
    for rows, columns in sorted(shapes)[:1000]:
        x = random.random((rows, columns), np.float32)
        y = random.random((rows, columns), np.float32)
        np.testing.assert_array_equal(f(x, y), f.__wrapped__(x, y))
    stats = f.stats
    assert (stats.captures, stats.recaptures, stats.drops, stats.fallbacks) == (1, 0, 0, 0)
    assert stats.hits == 999


def test_threads_share_one_compiled_function() -> None:
    @dvm.compile
    def f(x: Array, y: Array) -> Array:
        return np.tanh(x * y) + np.sum(x, axis=1, keepdims=True)

    arrays = [np.full((n, 7), n / 50, np.float32) for n in range(1, 41)]
    expected = [f.__wrapped__(a, a) for a in arrays]
    start = threading.Barrier(8)

    def work(seed: int) -> int:
        start.wait()
        order = np.random.default_rng(seed).permutation(len(arrays))
        for i in [*order, *order]:
            np.testing.assert_allclose(f(arrays[i], arrays[i]), expected[i], rtol=2e-6)
        return len(order) * 2

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        calls = sum(pool.map(work, range(8)))
    stats = f.stats
    assert stats.calls == calls
    assert stats.hits + stats.misses == calls
    assert (stats.captures, stats.drops) == (1, 0)
    assert stats.fallbacks == stats.misses - 1  # of calls that came while the first was captured
    f(arrays[0], arrays[0])
    assert f.stats.hits == stats.hits + 1


def test_a_trace_function_sees_every_line() -> None:
    import sys

    seen: list[tuple[str, int]] = []

    def tracer(frame: Any, event: str, _arg: Any) -> Any:
        if frame.f_code is activation.__code__:
            seen.append((event, frame.f_lineno))
        return tracer

    def trace(function: Callable[[Any], Any]) -> list[tuple[str, int]]:
        seen.clear()
        previous = sys.gettrace()
        sys.settrace(tracer)
        try:
            function(X)
        finally:
            sys.settrace(previous)
        return list(seen)

    f = dvm.compile(activation)
    plain = trace(activation)
    assert plain
    assert trace(f) == plain  # nothing is known of the function yet
    f(X)
    f(X)
    assert trace(f) == plain
    assert (f.stats.captures, f.stats.hits, f.stats.eager) == (1, 1, 2)
