"""Models that give other values of theirs."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from dvm import errors


def with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """Return a model whose outputs are these values, without the nodes that none of them needs.

    names: of values; or of nodes, `node:1` being the second output of one.

    Raises UnsupportedError for names that there are not.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    known = {value.name: value for value in (*graph.value_info, *graph.output, *graph.input)}
    outputs = [known.get(name) or onnx.ValueInfoProto(name=name) for name in _values(graph, names)]
    nodes = _needed(graph, [output.name for output in outputs])
    del graph.output[:], graph.node[:]
    graph.output.extend(outputs)
    graph.node.extend(nodes)
    return made


def _values(graph: onnx.GraphProto, names: Sequence[str]) -> list[str]:
    made = {name for node in graph.node for name in node.output if name}
    of_nodes = {
        f"{node.name}:{k}": name
        for node in graph.node
        if node.name
        for k, name in enumerate(node.output)
    }
    for name in names:
        if name not in made and name not in of_nodes:
            raise errors.unknown("unknown_name", "value of the model", name, sorted(made))
    return [name if name in made else of_nodes[name] for name in names]


def _needed(graph: onnx.GraphProto, names: Sequence[str]) -> list[onnx.NodeProto]:
    """Return the nodes that these values are computed by, in their order."""
    needed = set(names)
    kept = []
    for node in reversed(graph.node):
        if needed.isdisjoint(node.output):
            continue
        kept.append(node)
        needed.update(node.input)
        needed.update(_of_bodies(node))
    return kept[::-1]


def _of_bodies(node: onnx.NodeProto) -> set[str]:
    """Names that bodies of a node read, those of their own among them."""
    found: set[str] = set()
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs):
            found.update(output.name for output in body.output)
            for inner in body.node:
                found.update(inner.input)
                found.update(_of_bodies(inner))
    return found
