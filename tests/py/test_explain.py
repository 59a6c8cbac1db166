"""dvm.explain: every question about a call has its answer in the report."""

import json
import pydoc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def normalise(x: Array) -> Array:
    y = x - np.mean(x, axis=1, keepdims=True)
    return y / np.sqrt(np.mean(y * y, axis=1, keepdims=True) + 1e-5)


def ranked(x: Array) -> Array:
    return np.tanh(np.sort(x))


def evaluates(x: Array) -> Array:
    return x * eval("3")


def test_a_capture_and_a_hit() -> None:
    f = dvm.compile(normalise, name="norm")
    first = dvm.explain(f)(X)
    assert first.function == "norm"
    assert first.outcome == "captured"
    assert first.missed == ["it is the first call"]
    second = dvm.explain(f)(X[:2].copy())
    assert (second.outcome, second.missed, second.path) == ("hit", [], 0)
    assert second.call is not None
    assert second.call.keys() == {"plan", "bind", "tile", "encode", "run", "regions"}
    assert second.call["regions"] == len(second.paths[0]["regions"]) > 0
    assert all(value >= 0 for value in second.call.values())
    path = second.paths[0]
    assert path["decisions"]
    assert {"what", "verdict", "rule", "reason", "cost", "location", "graph"} == set(
        path["decisions"][0]
    )
    assert path["passes"]
    assert path["hits"] == 1
    assert second.summary.endswith(" as 1 kernel") or "kernels" in second.summary
    assert str(second).startswith(f"norm: {second.summary}\n")
    text = str(dvm.explain(f, verbose=True)(X[:2].copy()))
    assert "this call: hit (target cpu, default)" in text
    for piece in ("passes in us", "bind", "encode", "hits 2", *path["regions"]):
        assert piece in text


def test_the_user_line_is_in_the_decisions() -> None:
    report = dvm.explain(normalise)(X)
    lines = [d["location"] for d in report.paths[0]["decisions"] if d["location"]]
    assert lines
    assert all(line.startswith(__file__) for line in lines)


def test_why_a_call_missed() -> None:
    f = dvm.compile(normalise)
    f(X)
    report = dvm.explain(f)(X.astype(np.float64))
    assert report.outcome == "captured"
    assert report.missed == ["argument x: dtype float32 became float64"]
    assert len(report.paths) == 2


def test_opaque_calls_are_named_with_line_and_hint() -> None:
    report = dvm.explain(ranked)(X)
    (call,) = report.paths[0]["opaque_calls"]
    assert call["name"] == "numpy.sort"
    assert call["location"] == f"{__file__}:{ranked.__code__.co_firstlineno + 1}"
    assert call["source"] == "return np.tanh(np.sort(x))"
    assert call["hint"]
    for piece in ("opaque call: numpy.sort", call["source"], call["hint"]):
        assert piece in str(report)
    for piece in (call["name"], call["source"], call["hint"]):
        assert piece in report._repr_html_()


def test_a_fallback_has_line_and_hint() -> None:
    report = dvm.explain(evaluates)(X)
    assert report.outcome == "fallback"
    path = report.paths[0]
    assert path["reason"].startswith("a call of eval")
    assert path["location"].endswith(f":{evaluates.__code__.co_firstlineno + 1}")
    assert path["source"] == 'return x * eval("3")'
    for piece in (path["hint"], path["source"]):
        assert piece in str(report)
    assert report.call is None


def test_a_refusal_is_explained() -> None:
    def f(x: Array) -> Iterator[Array]:
        yield x + 1

    report = dvm.explain(f)(X)
    assert report.outcome == "refused"
    assert report.missed == ["it is a generator function, whose calls compute nothing"]


def test_a_drop_is_explained() -> None:
    f = dvm.compile(lambda x, y: x + y)
    f(X, X.copy())
    explain = dvm.explain(f)
    with pytest.raises(ValueError, match="broadcast"):
        explain(X, X[:2])
    assert f.stats.drops == 1
    wide = dvm.compile(lambda x, n: x * n)
    wide(X, 2)
    report = dvm.explain(wide)(X, 2**70)  # NumPy takes it, a 64-bit plan does not
    assert report.outcome == "drop"
    assert "does not fit what was recorded" in str(report)


def test_keyword_arguments_and_defaults() -> None:
    def f(x: Array, *, a: float = 2.0, b: float = 1.0) -> Array:
        return x * a + b

    assert dvm.explain(f)(x=X, b=3.0).outcome == "captured"


def test_the_dict_is_json_and_the_html_is_escaped() -> None:
    f = dvm.compile(normalise, name="<b>")
    dvm.explain(f)(X)
    report = dvm.explain(f)(X)
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()
    html = report._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<details open>" in html
    assert html.count("<table>") == html.count("</table>") > 2
    assert "runs uncompiled" in dvm.explain(evaluates)(X)._repr_html_()


def test_exceptions_of_the_program_pass_through() -> None:
    def f(_: Array) -> Array:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        dvm.explain(f)(X)


def test_a_function_that_never_replays_says_so() -> None:
    f = dvm.compile(evaluates)
    f(X)
    report = dvm.explain(f)(X)
    assert report.summary.startswith("runs uncompiled because of line ")
    assert "never replayed in 2 calls: " in report.summary
    assert "never replayed in 2 calls: " in repr(f)
    assert report.summary.split(": ")[0] in report._repr_html_()


def test_the_first_sentence_names_what_is_not_compiled() -> None:
    f = dvm.compile(ranked)
    f(X)
    report = dvm.explain(f)(X)
    line = ranked.__code__.co_firstlineno + 1
    assert report.summary == (
        f"1 of 1 line of array work run as 1 kernel; "
        f"line {line} stays NumPy's: numpy.sort is not compiled"
    )
    assert "never replayed" not in repr(f)


def test_help_speaks_of_the_users_function() -> None:
    def scale(x: Array, factor: float = 2.0) -> Array:
        """Scale an array."""
        return x * factor

    text = pydoc.plain(pydoc.render_doc(dvm.compile(scale)))
    assert "factor: float = 2.0" in text
    assert "Scale an array." in text


def test_what_is_no_function_is_told_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"write @staticmethod above @dvm.compile"):
        dvm.compile(staticmethod(normalise))
    with pytest.raises(TypeError, match="not the class dict: compile its methods"):
        dvm.compile(dict)


def test_a_path_on_which_a_call_was_given_up_is_not_said_to_be_taken() -> None:
    f = dvm.compile(evaluates)
    for _ in range(2):
        report = dvm.explain(f)(X)
        assert (report.outcome, report.path) == ("fallback", 0)
        assert "taken by this call" not in str(report)
        assert "where this call was given up" in str(report)
