"""Mistakes that people make, and what they are told: what is wrong, and what to write instead."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import errors

Array = np.ndarray[Any, Any]
X = np.ones((4, 8), np.float32)
SIM = "ascend910b3"


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def fallback() -> Any:
    f = dvm.compile(lambda x: x + eval("1"))
    f(X)
    return f


def graph(text: str) -> dvm.CompiledGraph:
    return dvm.CompiledGraph(f"graph v1 {{\n  %0 = input f32[s0]\n  {text}\n  return %1\n}}\n")


MISTAKES: dict[str, tuple[Callable[[], object], type[Exception], tuple[str, ...]]] = {
    "explain(f, x)": (
        lambda: dvm.explain(softmax, X),
        TypeError,
        ("write dvm.explain(f)(x, y), not dvm.explain(f, x, y)",),
    ),
    "explain(f, axis=0)": (lambda: dvm.explain(softmax, axis=0), TypeError, ("explain(f)(x, y)",)),
    "profile(f, x)": (
        lambda: dvm.profile(softmax, X),
        TypeError,
        ("write dvm.profile(f)(x, y), not dvm.profile(f, x, y)",),
    ),
    "what_if on the cpu": (
        lambda: dvm.profile(softmax)(X).what_if(cores=1),
        dvm.UnsupportedError,
        ("what_if", "measured on the cpu", "target='ascend910b"),
    ),
    "tiles on the cpu": (
        lambda: dvm.profile(softmax)(X).tiles(),
        dvm.UnsupportedError,
        ("tiles", "measured on the cpu"),
    ),
    "refused on the cpu": (
        lambda: dvm.profile(softmax)(X).refused(),
        dvm.UnsupportedError,
        ("refused", "measured on the cpu"),
    ),
    "a tile that is text": (
        lambda: dvm.profile(softmax, target=SIM)(X).what_if(tile="a"),
        dvm.UnsupportedError,
        ("a tile of g0.r0 is a whole number from 1 to ", "not 'a'"),
    ),
    "a tile that is no whole number": (
        lambda: dvm.profile(softmax, target=SIM)(X).what_if(tile=1.5),
        dvm.UnsupportedError,
        ("whole number", "not 1.5"),
    ),
    "a tile of a product that is text": (
        lambda: dvm.profile(lambda x: x @ x.T, target=SIM)(X).what_if(tile="a"),
        dvm.UnsupportedError,
        ("rows and columns, as (128, 256)", "not 'a'"),
    ),
    "cores that are text": (
        lambda: dvm.profile(softmax, target=SIM)(X).what_if(cores="all"),
        dvm.UnsupportedError,
        ("cores is a whole number of at least 1, not 'all'",),
    ),
    "slots below one": (
        lambda: dvm.profile(softmax, target=SIM)(X).what_if(slots=0),
        dvm.UnsupportedError,
        ("slots is a whole number of at least 1, not 0",),
    ),
    "one operation to fuse": (
        lambda: dvm.profile(softmax, target=SIM)(X).what_if(fuse="exp"),
        dvm.UnsupportedError,
        ("fuse takes two operations", "not 'exp'"),
    ),
    "overrides of the cpu": (
        lambda: dvm.profile(softmax, profile_overrides={"hbm_bytes": 1.0}),
        dvm.UnsupportedError,
        ("the cpu is measured", "give a target, too: ascend910b1"),
    ),
    "a cache limit with a unit": (
        lambda: dvm.set_cache_limit("1GB"),
        TypeError,
        ("whole number of bytes, such as 1 << 30", "not '1GB'"),
    ),
    "a cache limit that is a float": (
        lambda: dvm.set_cache_limit(1e9),
        TypeError,
        ("whole number of bytes",),
    ),
    "why_not_fused before a call": (
        lambda: dvm.compile(softmax).why_not_fused("exp", "sum"),
        dvm.CaptureError,
        ("softmax has no compiled path: it was not called yet", 'dvm.stance("force_capture")'),
    ),
    "why_not_fused of a fallback": (
        lambda: fallback().why_not_fused("exp", "sum"),
        dvm.CaptureError,
        ("has no compiled path", "a call of eval", "Hint: call it outside"),
    ),
    "inspect before a call": (
        lambda: dvm.compile(softmax).inspect("graph"),
        dvm.CaptureError,
        ("it was not called yet", 'dvm.stance("force_capture")'),
    ),
    "profile of a fallback": (
        lambda: dvm.profile(fallback())(X),
        dvm.CaptureError,
        ("runs uncompiled", "a call of eval", "Hint: call it outside"),
    ),
    "a package that is not there": (
        lambda: dvm.annotate("nosuchpkg", leaf=True),
        dvm.CaptureError,
        ("there is no package 'nosuchpkg'", "Hint: give the name that one imports it by"),
    ),
    "a package without a property": (
        lambda: dvm.annotate("json"),
        dvm.CaptureError,
        ("leaf= can be said", "Hint: dvm.annotate('json', leaf=True)"),
    ),
    "a package within a package": (
        lambda: dvm.annotate("json.decoder", leaf=True),
        dvm.CaptureError,
        ("no top-level name", "dvm.annotate('json', leaf=True)"),
    ),
    "an op that is misspelled": (
        lambda: graph("%1 = mull(%0, %0) f32[s0]"),
        dvm.FormatError,
        ("graph, line 3: unknown op 'mull'; did you mean 'mul'?", "docs/graphs.md"),
    ),
    "an op by NumPy's name": (
        lambda: graph("%1 = multiply(%0, %0) f32[s0]"),
        dvm.FormatError,
        ("unknown op 'multiply'; did you mean 'mul'?",),
    ),
    "a dtype that is misspelled": (
        lambda: graph("%1 = mul(%0, %0) fp32[s0]"),
        dvm.FormatError,
        ("unknown dtype 'fp32'; did you mean 'f32'?",),
    ),
    "a dtype by NumPy's name": (
        lambda: graph("%1 = mul(%0, %0) float32[s0]"),
        dvm.FormatError,
        ("unknown dtype 'float32'; there are bool, i8, ", "f32, f64, bf16"),
    ),
    "a stance": (lambda: dvm.set_stance("eager"), dvm.UnsupportedError, ("valid are default, ",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_what_to_write(name: str) -> None:
    act, kind, says = MISTAKES[name]
    with pytest.raises(kind) as caught:
        act()
    for text in says:
        assert text in str(caught.value)
    if isinstance(caught.value, dvm.Error):
        hint = caught.value.hint
        assert str(caught.value).endswith(f" Hint: {hint}." if hint else ".")


def test_hints_tell_what_to_do_here() -> None:
    """A hint that points back at the message, or at operations that nobody asked for, is none."""
    for act, _, _ in MISTAKES.values():
        with pytest.raises((dvm.Error, TypeError)) as caught:
            act()
        assert "the message lists what there is" not in str(caught.value)
        assert "docs/ops.md for what this version compiles" not in str(caught.value)
        assert not re.search(r"valid are ?\.|\?\.|\. \.", str(caught.value))


def test_a_long_list_of_what_there_is_is_cut() -> None:
    names = [f"name{i}" for i in range(errors.MOST_LISTED + 7)]
    text = str(errors.unknown("unknown_name", "thing", "name5x", names))
    assert "did you mean 'name5'?" in text
    assert text.endswith(f"{names[errors.MOST_LISTED - 1]} and 7 more.")


def test_an_async_function_is_told_of_as_one() -> None:
    async def fetch(x: Array) -> Array:
        return x + 1

    with pytest.warns(RuntimeWarning, match="async function.*call it from the async one"):
        f = dvm.compile(fetch)
    assert f.fallback_reasons == ["it is an async function, whose calls compute nothing"]
    assert "generator" not in f.fallback_reasons[0].advice + f.fallback_reasons[0]


def test_what_is_right_is_not_refused() -> None:
    former = dvm.set_cache_limit(np.int64(1 << 20))  # type: ignore[arg-type]
    assert dvm.set_cache_limit(former) == 1 << 20
    dvm.annotate("json", leaf=True)
    dvm.annotate("json", leaf=False)
    dvm.annotate("nosuchpkg", leaf=False)  # taken back
    profile = dvm.profile(softmax, target=SIM)(X)
    assert profile.what_if(tile=np.int64(2)).ratio > 0
    assert dvm.profile(dvm.compile(softmax, precision="high"), target=SIM)(X).target == SIM
