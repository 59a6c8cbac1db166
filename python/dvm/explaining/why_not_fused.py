"""`Compiled.why_not_fused`: why two operations are no part of one kernel.

Within a graph the fuser itself is asked again, with its own rules and limits. Between two graphs of
a path the path's steps say what stands there: the outcome, call or value that the host had to have
first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dvm import _dvm
from dvm.explaining.advice import advice_for_rule
from dvm.explaining.inspection import no_path
from dvm.explaining.lines import Answers
from dvm.explaining.operations import Operation, fused_graphs, operations, select

#: step between two graphs -> rule and reason; `{}` is what the step calls
CUTS = {
    "call": ("opaque-call", "the path calls {} in between, which works on whole arrays"),
    "call_random": ("opaque-call", "the path draws from a random generator in between ({})"),
    "guard_truth": ("branch", "the program branches in between, so the first must be known"),
    "guard_value": ("branch", "the program uses a value of the first as a constant"),
    "guard_overlap": ("overlap", "what may share memory is told apart in between"),
    "guard_shared": ("overlap", "what may share memory is told apart in between"),
    "operator": ("host-value", "Python computes with a value of the first in between"),
    "format": ("host-value", "the program prints or formats a value of the first in between"),
}


@dataclass(frozen=True)
class Separation:
    """The answer for one pair of operations.

    fused: whether one Region computes both, so that nothing of them passes through memory.
    rule: the stable name of the fuser's rule: "reduction-ends-region", "different-space" ...
    reason, advice: for a person.
    """

    a: Operation
    b: Operation
    fused: bool
    rule: str
    reason: str
    advice: str

    def __str__(self) -> str:
        verdict = "fused" if self.fused else "not fused"
        text = f"{self.a} and {self.b}: {verdict} [{self.rule}] {self.reason}"
        return text if self.fused else f"{text}\n  what to do: {self.advice}"


def why_not_fused(
    compiled: _dvm.Compiled[..., Any], a: str | int, b: str | int
) -> Answers[Separation]:
    """See `Compiled.why_not_fused`."""
    paths = _dvm.paths(compiled)
    known = operations(paths)
    if not known:
        raise no_path(compiled)
    texts = [text for path in paths for text in fused_graphs(path)]
    answers: dict[tuple[bool, str, str], Separation] = {}
    for first in select(known, a):
        for second in select(known, b):
            if first != second:
                answer = _separation(paths, texts, first, second)
                answers.setdefault((answer.fused, answer.rule, answer.reason), answer)
    return Answers(answers.values())


def _separation(
    paths: list[_dvm.PathRecord], texts: list[str], a: Operation, b: Operation
) -> Separation:
    fused, rule, reason = False, "", ""
    if a.graph < 0 or b.graph < 0:
        called = a if a.graph < 0 else b
        rule, reason = "opaque-call", f"{called.op} is called as it is, with whole arrays"
    elif a.graph == b.graph:
        fused, rule, reason = _dvm.explain_pair(
            texts[a.graph], paths[a.path]["target"], a.node, b.node
        )
    elif a.path != b.path:
        rule, reason = "other-path", "they are computed by different paths of the function"
    else:
        rule, reason = _cut(paths[a.path], *sorted((a.segment, b.segment)))
    return Separation(a, b, fused, rule, reason, "" if fused else advice_for_rule(rule))


def _cut(path: _dvm.PathRecord, first: int, second: int) -> tuple[str, str]:
    """Return what stands between two graphs of one path, the most telling thing first."""
    between = [step for cut in path["cuts"][first + 1 : second + 1] for step in cut]
    for name, (rule, reason) in CUTS.items():
        for step in between:
            if step["step"] == name:
                where = f" ({step['location']})" if step["location"] else ""
                return rule, reason.format(step["callee"]) + where
    return "separate-graphs", "the host has the first before the second begins"
