"""dvm.stance and dvm.set_stance: what a call that no path takes may do, and where that holds."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dvm

pytestmark = pytest.mark.usefixtures("captures_at_its_cost")

Array = np.ndarray[Any, Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def _default() -> Iterator[None]:
    yield
    assert dvm.set_stance("default") == "default"


def double(x: Array) -> Array:
    return x * 2


def captured(function: Any, *arguments: Array) -> Any:
    """Compiled, and captured: at the second call, when it is known what a call takes."""
    f = dvm.compile(function)
    f(*arguments)
    assert (f.stats.captures, f.stats.fallbacks) == (0, 1)
    f(*arguments)
    assert (f.stats.captures, f.stats.fallbacks) == (1, 1)
    return f


def test_force_eager_runs_the_original() -> None:
    f = captured(double, X)
    with dvm.stance("force_eager"):
        assert np.array_equal(f(X), X * 2)
        assert np.array_equal(f(X.astype(np.int64)), X * 2)
    assert (f.stats.eager, f.stats.captures, f.stats.hits) == (2, 1, 0)
    f(X)
    assert (f.stats.eager, f.stats.hits, f.stats.calls) == (2, 1, 5)


def test_fail_on_recompile_raises_and_says_why() -> None:
    f = dvm.compile(double)
    with dvm.stance("fail_on_recompile"), pytest.raises(dvm.CaptureError) as first:
        f(X)
    assert "a call of double would be captured: it is the first" in str(first.value)
    f = captured(double, X)
    with dvm.stance("fail_on_recompile"):
        assert np.array_equal(f(X[:1].copy()), X[:1] * 2)  # another shape is no capture
        with pytest.raises(dvm.CaptureError) as second:
            f(X.astype(np.float64))
    error = second.value
    assert error.code == "DVM-C002"
    assert "argument x: dtype float32 became float64" in str(error)
    assert error.location == f"{__file__}:{double.__code__.co_firstlineno}"
    assert (f.stats.captures, f.stats.eager) == (1, 1)


def test_eager_on_recompile_keeps_known_paths() -> None:
    f = captured(double, X)
    with dvm.stance("eager_on_recompile"):
        f(X)
        assert f(X.astype(np.int32)).dtype == np.int32
    assert (f.stats.hits, f.stats.eager, f.stats.captures) == (1, 1, 1)


def test_a_drop_is_no_recompile() -> None:
    f = captured(lambda x, y: x + y, X, X.copy())
    with dvm.stance("fail_on_recompile"), pytest.raises(ValueError, match="broadcast"):
        f(X, X[:, :2].copy())
    assert f.stats.drops == 1


def test_stances_nest_and_end_with_an_exception() -> None:
    f = dvm.compile(double)

    def fails() -> None:
        with dvm.stance("force_eager"):
            with dvm.stance("default"):
                f(X)
                f(X)
            f(X)
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    f(X)
    assert (f.stats.captures, f.stats.eager, f.stats.hits) == (1, 1, 1)


def test_a_stance_as_a_decorator() -> None:
    f = dvm.compile(double)

    @dvm.stance("force_eager")
    def careful(x: Array) -> Array:
        """Doc."""
        return f(x)

    careful(X)
    careful(X)
    assert careful.__doc__ == "Doc."
    assert (f.stats.eager, f.stats.captures) == (2, 0)


def run_in_thread(action: Any) -> None:
    thread = threading.Thread(target=action)
    thread.start()
    thread.join()


def test_with_is_for_the_thread_and_set_stance_for_all() -> None:
    f = dvm.compile(double)
    with dvm.stance("force_eager"):
        run_in_thread(lambda: f(X))
        run_in_thread(lambda: f(X))
    assert (f.stats.captures, f.stats.eager) == (1, 0)
    assert dvm.set_stance("force_eager") == "default"
    run_in_thread(lambda: f(X))
    with dvm.stance("default"):  # the thread's own goes before the process's
        f(X)
    assert dvm.set_stance("default") == "force_eager"
    assert (f.stats.eager, f.stats.hits) == (1, 1)


def test_an_unknown_stance_is_an_error() -> None:
    for use in (dvm.stance, dvm.set_stance):
        with pytest.raises(dvm.UnsupportedError, match=r"did you mean 'force_eager'\?") as caught:
            use("force_eagre")
        assert caught.value.code == "DVM-U003"


def test_a_stance_that_is_not_entered_is_no_silent_mistake() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dvm.stance("force_eager")
    assert ["dvm.set_stance" in str(w.message) for w in caught] == [True]
