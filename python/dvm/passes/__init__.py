"""Passes of your own over the graphs that dvm compiles: docs/passes.md.

class ReluSquared(dvm.passes.PatternPass):
    def pattern(self, x):
        return dvm.passes.ops.maximum(x, 0.0) ** 2

    def replacement(self, x):
        return x * dvm.passes.ops.maximum(x, 0.0)

fast = dvm.compile(f, passes=[ReluSquared])
"""

from dvm.passes import ops
from dvm.passes.base import DecomposePass, Node, Note, Pass, PatternPass, pattern
from dvm.passes.pass_set import PassSet, graph_passes, steps
from dvm.passes.values import Value

__all__ = [
    "DecomposePass",
    "Node",
    "Note",
    "Pass",
    "PassSet",
    "PatternPass",
    "Value",
    "graph_passes",
    "ops",
    "pattern",
    "steps",
]
