"""why_recompiled: each capture after the first and each drop, in the user's words."""

from __future__ import annotations

import gc
import re
import types
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from dvm.explaining import advice

Array = np.ndarray[Any, Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3)
SCALE: Any = np.float32(2)


class Model:
    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.parts = [X, X]

    def __call__(self, x: Array) -> Array:
        return x + 1 if self.mode == "up" else x - 1


def helper(x: Array) -> Array:
    return x * 2


def only(f: dvm.Compiled[..., Any]) -> Any:
    """The one reason of the one recompilation."""
    (recompilation,) = f.why_recompiled()
    (reason,) = recompilation.reasons
    return reason


def test_one_path_has_nothing_to_tell() -> None:
    f = dvm.compile(helper)
    f(X)
    f(X[:1].copy())
    assert f.why_recompiled() == ()
    assert str(f.why_recompiled()) == ""


def test_wanted_seen_line_and_advice() -> None:
    f = dvm.compile(helper)
    f(X)
    f(X.astype(np.int64))
    (recompilation,) = f.why_recompiled()
    assert (recompilation.kind, recompilation.path, recompilation.call) == ("capture", 1, 2)
    reason = only(f)
    assert reason.guard == "guard_signature"
    assert reason.what == "argument x"
    assert (reason.wanted, reason.seen) == ("dtype float32", "dtype int64")
    assert reason.location == f"{__file__}:{helper.__code__.co_firstlineno + 1}"
    assert reason.source == "return x * 2"
    assert reason.advice == advice.GUARDS["guard_signature"]
    text = str(f.why_recompiled())
    for piece in ("call 2 was captured as path 1", reason.text, reason.source, reason.advice):
        assert piece in text


def test_an_attribute_is_named_as_the_user_writes_it() -> None:
    f = dvm.compile(lambda model, x: model(x))
    f(Model("up"), X)
    f(Model("down"), X)
    reason = only(f)
    assert reason.text == "argument model.mode: 'up' became 'down'"
    assert reason.source == 'return x + 1 if self.mode == "up" else x - 1'


def test_what_many_paths_missed_is_printed_once() -> None:
    f = dvm.compile(lambda x: x * 2)
    for rank in range(7):
        f(np.ones((2,) * rank))
    f(np.ones((2, 2), np.float32))
    *_, by_rank, by_dtype = f.why_recompiled()
    text = str(by_dtype)
    assert len(by_dtype.reasons) == 7
    assert text.count("dtype float64 became float32 (7 paths)") == 1
    assert text.count("what to do: ") == 1
    lines = str(by_rank).splitlines()
    assert [line for line in lines if "became 6" in line] == [
        f"  argument x: rank {rank} became 6" for rank in range(3)
    ]
    assert "  likewise 3 more paths" in lines
    assert len(str(f.why_recompiled()).splitlines()) < 60


def test_a_branch_names_its_line() -> None:
    def f(x: Array) -> Array:
        if x.sum() > 0:
            x = x * 2
        return x

    compiled = dvm.compile(f)
    compiled(X)
    compiled(-X)
    reason = only(compiled)
    assert (reason.guard, reason.wanted, reason.seen) == ("guard_truth", "true", "false")
    assert reason.location == f"{__file__}:{f.__code__.co_firstlineno + 1}"
    assert reason.source == "if x.sum() > 0:"


def test_a_rebound_global_and_replaced_code() -> None:
    global helper
    f = dvm.compile(lambda x: helper(x))
    f(X)
    before = helper
    helper = lambda x: x * 3  # noqa: E731
    f(X)
    helper = before
    reason = only(f)
    assert reason.text == "global helper was rebound"
    assert reason.wanted == "function helper"
    assert reason.seen.endswith("<lambda>")

    def g(x: Array) -> Array:
        return x + 1

    changing = dvm.compile(g)
    changing(X)
    g.__code__ = (lambda x: x + 2).__code__
    changing(X)
    assert only(changing).text == "the code of the function was replaced"
    assert changing.why_recompiled()[0].path == 0


def test_paths_of_replaced_code_are_freed() -> None:
    def version(k: int) -> types.FunctionType:
        scope: dict[str, Any] = {}
        exec(f"def f(x):\n    return x * {k}.5 + x", scope)
        function: types.FunctionType = scope["f"]
        return function

    f = version(0)
    compiled = dvm.compile(f)
    codes = []
    for k in range(1, 6):
        f.__code__ = version(k).__code__
        codes.append(weakref.ref(f.__code__))
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X), X * (k + 0.5) + X)
    gc.collect()
    assert [code() is None for code in codes] == [True] * 4 + [False]
    assert compiled.stats.captures == 5
    # What is told of them stays.
    assert "the code of the function was replaced" in str(compiled.why_recompiled()[0])


def test_code_replaced_while_it_runs() -> None:
    """A call within the replay replaces the code: the paths of the old one stay until it ends."""

    def replaces() -> None:
        f.__code__ = other.__code__
        compiled(X)

    def f(x: Array, call: Any) -> Array:
        y = x * 2
        call()
        return y + 1

    def other(x: Array, call: Any = None) -> Array:
        return x * 3 if call is not None else x * 4

    f.__defaults__ = (None,)
    kept = f.__code__
    dvm.annotate(replaces, leaf=True)
    compiled = dvm.compile(f)
    compiled(X, int)
    for _ in range(3):
        f.__code__ = kept
        np.testing.assert_array_equal(compiled(X, replaces), X * 2 + 1)
        np.testing.assert_array_equal(compiled(X, replaces), X * 3)


def test_a_fallback_is_told_too() -> None:
    def f(x: Array, n: Any) -> Any:
        return x * n if n is not None else x * eval("3")

    compiled = dvm.compile(f)
    compiled(X, 2.0)
    compiled(X, None)
    (recompilation,) = compiled.why_recompiled()
    assert recompilation.kind == "fallback"
    assert "ends uncompiled" in str(recompilation)


def test_drops_are_counted_where_they_happen() -> None:
    f = dvm.compile(lambda x, y: (x + y) * 2)
    f(X, X.copy())
    for _ in range(3):
        with pytest.raises(ValueError, match="broadcast"):
            f(X, X[:, :2].copy())
    (recompilation,) = f.why_recompiled()
    assert (recompilation.kind, recompilation.count, recompilation.call) == ("drop", 3, 2)
    (reason,) = recompilation.reasons
    assert reason.text == "sizes or memory layouts do not fit together as recorded"
    assert reason.location.startswith(__file__)
    assert reason.advice == advice.DROPS["sizes"]
    assert f.stats.drops == 3


def test_a_warning_drops_and_says_so() -> None:
    f = dvm.compile(lambda x: 1 / x)
    f(X + 1)
    with pytest.warns(RuntimeWarning, match="divide"):
        f(X)
    assert only(f).text == "NumPy warns of a floating-point error here"
    assert only(f).advice == advice.DROPS["numpy_warns"]


def test_asking_why_runs_no_code_of_the_users() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise AssertionError("nobody asked")

        def __len__(self) -> int:
            raise AssertionError("nobody asked")

        def __eq__(self, other: object) -> bool:
            raise AssertionError("nobody asked")

        __hash__ = None  # type: ignore[assignment]

    f = dvm.compile(lambda x, _: x + 1 if _ is None else x)
    f(X, None)
    f(X, Loud())
    g = dvm.compile(lambda x, items: x if items else x + 1)
    g(X, [1, 2])
    g(X, ())
    assert len(f.why_recompiled()) + len(g.why_recompiled()) == 2


GUARDS = {name for name, category, *_ in _dvm.step_table if category in ("guard", "choice")}


def test_every_drop_has_its_advice() -> None:
    rows = (Path(__file__).parents[2] / "cpp/capture/path/refusals.def").read_text()
    named = set(re.findall(r"^DVM_REFUSAL\((\w+),", rows, re.MULTILINE))
    assert named | {"raises"} == advice.DROPS.keys()


def test_every_guard_has_its_advice() -> None:
    assert GUARDS | {"code"} == advice.GUARDS.keys()
