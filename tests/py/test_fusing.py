"""why_not_fused: the fuser's own answer for any two operations, named as explain prints them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from dvm.explaining import advice

ROOT = Path(__file__).resolve().parents[2]
Array = np.ndarray[Any, Any]
X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def compiled(function: Any, *args: Any) -> dvm.Compiled[..., Any]:
    f = dvm.compile(function)
    f(*args)
    assert not f.fallback_reasons
    return f


def rule(f: dvm.Compiled[..., Any], a: str | int, b: str | int) -> str:
    (answer,) = f.why_not_fused(a, b)
    return answer.rule


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_what_is_fused_says_so() -> None:
    f = compiled(softmax, X)
    (answer,) = f.why_not_fused("sub", "exp")
    assert answer.fused
    assert "fused [same-" in str(answer)
    assert not answer.advice


def test_rows_are_one_region() -> None:
    f = compiled(softmax, X)
    for pair in (("max", "sub"), ("exp", "sum"), ("sum", "div"), ("max", "div")):
        assert f.why_not_fused(*pair)[0].fused


def columns(x: Array) -> Array:
    return x - x.max(axis=0, keepdims=True)


def test_a_reduction_of_columns_ends_a_region() -> None:
    f = compiled(columns, X)
    (answer,) = f.why_not_fused("max", "sub")
    assert (answer.fused, answer.rule) == (False, "reduction-ends-region")
    assert answer.advice == advice.RULES["reduction-ends-region"]
    assert answer.a.location == f"{__file__}:{columns.__code__.co_firstlineno + 1}"
    for piece in ("max", "not fused", "needs the whole result of max", "what to do"):
        assert piece in str(answer)


def test_a_pair_without_an_edge_is_asked_again() -> None:
    f = compiled(lambda x: (np.exp(x), np.sum(np.tanh(x), axis=0)), X)
    assert rule(f, "exp", "tanh") == "reduction-alone"
    g = compiled(lambda x: np.exp(x).sum(axis=0) + np.tanh(x).max(), X)
    assert rule(g, "exp", "tanh") in ("reduction-axes", "reduction-space")


def test_results_share_a_graph_unless_the_host_has_one_before_the_other_begins() -> None:
    class Box:
        x = X

    f = compiled(lambda x: (np.exp(x), np.tanh(x)), X)
    assert f.why_not_fused("exp", "tanh")[0].fused
    g = compiled(lambda x: (np.exp(x).sum().item(), np.tanh(Box.x)), X)
    assert rule(g, "exp", "tanh") == "separate-graphs"


def test_an_opaque_call_stands_between() -> None:
    def f(x: Array) -> Array:
        y = x * 2
        z = np.sort(y)
        return z + 1

    g = compiled(f, X)
    (answer,) = g.why_not_fused("mul", "add")
    assert answer.rule == "opaque-call"
    assert "numpy.sort" in answer.reason
    assert f":{f.__code__.co_firstlineno + 2}" in answer.reason
    assert rule(g, "sort", "add") == "opaque-call"
    assert rule(g, "y = x * 2", "return z + 1") == "opaque-call"
    first = f.__code__.co_firstlineno
    assert rule(g, first + 1, f":{first + 3}") == "opaque-call"
    assert rule(g, f"test_fusing.py:{first + 1}", f"add:{first + 3}") == "opaque-call"


def test_a_branch_stands_between() -> None:
    def f(x: Array) -> Array:
        s = x.sum()
        if s > 0:
            x = x * s
        return x

    g = compiled(f, X)
    assert rule(g, "sum", "mul") == "branch"
    g(-X)
    assert len(g.why_recompiled()) == 1


def test_nodes_are_named_as_explain_prints_them() -> None:
    f = dvm.compile(softmax)
    dvm.explain(f)(X)
    report = dvm.explain(f)(X)
    regions = report.paths[0]["regions"]
    assert all(name.startswith("g0.r") for name in regions)
    first, *_, last = [operation.split()[0] for ops in regions.values() for operation in ops]
    assert f.why_not_fused(first, last)
    assert f.why_not_fused(f"g0:{first}", f"g0:{last}") == f.why_not_fused(first, last)
    for name, ops in regions.items():
        for one, other in itertools.pairwise(ops):
            (answer,) = f.why_not_fused(one, other)
            assert answer.fused, name
    for decision in report.paths[0]["decisions"]:
        if " -> " not in decision["what"]:
            continue
        a, b = decision["what"].removeprefix("fuse ").split(" -> ")
        (answer,) = f.why_not_fused(a, b)
        assert answer.fused == (decision["verdict"] == "yes")
        if not answer.fused:
            assert (answer.rule, answer.reason) == (decision["rule"], decision["reason"])


def test_a_view_and_a_scan_are_no_work_on_tiles() -> None:
    f = compiled(lambda x: (x * 2).ravel()[::2] + 1, X)
    assert {answer.rule for answer in f.why_not_fused("mul", "add")} <= advice.RULES.keys()
    g = compiled(lambda x: np.cumsum(x * 2, axis=1) + 1, X)
    assert rule(g, "scan", "add") == "whole-array"


def test_an_unknown_operation_is_an_error_that_lists_them() -> None:
    f = compiled(softmax, X)
    with pytest.raises(dvm.UnsupportedError, match="there is no operation 'matmul'") as caught:
        f.why_not_fused("matmul", "exp")
    assert caught.value.code == "DVM-U003"
    assert "g0:%" in str(caught.value)


def test_every_rule_of_the_fuser_has_its_advice() -> None:
    """Rules are written where they are decided; each has a row here."""
    import re

    decided = ("fuser/factors.cpp", "fuser/fuse.cpp", "fuser/grouping.cpp")
    text = "".join(
        (ROOT / "cpp" / name).read_text("utf-8")
        for name in (*decided, "core/graph/region_budget.h")
    )
    before = r"(?:Refusal\{|refusal = \{|return \{|\{&RegionBudget::\w+,)"
    written = set(re.findall(before + r'\s*"([a-z]+(?:-[a-z]+)*)"', text))
    assert {"reduction-ends-region", "different-space", "cycle", "tensor-limit"} <= written
    assert written <= advice.RULES.keys()
    from dvm.explaining.why_not_fused import CUTS

    own = {rule for rule, _ in CUTS.values()} | {"other-path", "separate-graphs"}
    assert advice.RULES.keys() - written <= own | {"opaque-call"}


def test_two_products_are_that_whatever_their_shapes() -> None:
    """Advice about the shapes would be of no use: those of keys and scores differ."""

    def attention(x: Array, wq: Array, wk: Array, wv: Array) -> Any:
        q, k, v = x @ wq, x @ wk, x @ wv
        scores = q @ np.swapaxes(k, -1, -2) / 8
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) @ v

    weights = [np.ones((256, 64), np.float32) for _ in range(3)]
    f = compiled(attention, np.ones((256, 256), np.float32), *weights)
    answers = f.why_not_fused("matmul", "attention")
    assert {answer.rule for answer in answers} == {"two-products"}
