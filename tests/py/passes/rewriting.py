"""What passes make of graphs that are written down."""

from typing import Any

import dvm
from dvm import _dvm
from dvm.passes import Pass


class Seen(Pass):
    """Keeps the text of the graph that comes by."""

    text = ""

    def run(self, graph: _dvm.Graph) -> _dvm.Graph:
        self.text = str(graph)
        return graph


def rewritten(graph: Any, *passes: Any) -> str:
    """The graph behind the passes, without what nobody needs."""
    seen = Seen()
    seen.after = "dead_code"
    for each in passes:
        each.after = "sink_reshapes"  # whose text has no unused nodes behind dead_code
    dvm.CompiledGraph(graph, passes=[*passes, seen])
    return seen.text


def graph_of(*lines: str, result: str) -> str:
    """A graph of these lines, which are numbered."""
    numbered = [f"  %{k} = {line}" for k, line in enumerate(lines)]
    return "\n".join(["graph v1 {", *numbered, f"  return {result}", "}"])


def notes_of(graph: Any, *passes: Any) -> list[tuple[str, str]]:
    """Verdicts and rules of what the passes did."""
    made = dvm.CompiledGraph(graph, passes=passes)
    found = made._compiled.describe()["decisions"]
    names = tuple(f"pass {each.title} " for each in passes)
    return [(d["verdict"], d["rule"]) for d in found if d["what"].startswith(names)]
