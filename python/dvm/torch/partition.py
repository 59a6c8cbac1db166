"""What of a forward pass is kept for the backward pass, and what is computed again in it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._functorch import config
from torch._functorch.compile_utils import fx_graph_cse
from torch._functorch.partitioners import min_cut_rematerialization_partition, must_recompute
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import CheckpointPolicy


def partition(
    joint: GraphModule, joint_inputs: Any, *, num_fwd_outputs: int, **others: Any
) -> tuple[GraphModule, GraphModule]:
    """Split a graph of both passes where the fewest bytes cross, as torch's partitioner does.

    But for two things. Arguments that the backward pass has no use for of its own are not kept for
    it to compute something again of: whoever holds them may have written to them by then, the
    forward pass itself included, and eager torch does not mind such a write. And what is called
    twice is two calls, unless both are sure to give the same.
    """
    joint.graph.eliminate_dead_code()
    joint.graph = _each_computed_once(joint.graph)
    for node in _reading_only_forward(joint.graph, num_fwd_outputs):
        if not must_recompute(node):  # which a user has asked for
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    with config.patch(cse=False):
        parts: tuple[GraphModule, GraphModule] = min_cut_rematerialization_partition(
            joint, joint_inputs, num_fwd_outputs=num_fwd_outputs, **others
        )
    return parts


def _each_computed_once(graph: Graph) -> Graph:
    """Return the graph with one node for all that compute the same.

    torch's own pass knows some of the ops that draw random numbers, and takes all others to give
    the same each time. So for as long as it looks, those that may not do so are called by functions
    that equal no other.
    """
    for node in graph.nodes:
        if node.op == "call_function" and _may_differ(node.target):
            apart = functools.partial(node.target)
            node.target = functools.update_wrapper(apart, node.target, ["__name__"], [])
    merged = fx_graph_cse(graph)
    for node in merged.nodes:
        if isinstance(node.target, functools.partial):
            node.target = node.target.func
    return merged


def _may_differ(target: Any) -> bool:
    """Whether a second call with the same arguments may give, or do, something else."""
    if isinstance(target, torch._ops.OpOverload):
        of_torch = target.namespace in ("aten", "prims")
        return not of_torch or torch.Tag.nondeterministic_seeded in target.tags
    return isinstance(target, torch._ops.OperatorBase)


def _reading_only_forward(graph: Graph, num_fwd_outputs: int) -> Iterator[Node]:
    """What reads elements of arguments of which only the forward pass reads any."""
    (output,) = graph.find_nodes(op="output")
    forward = _needed_for(pytree.tree_leaves(output.args)[:num_fwd_outputs])
    arguments = graph.find_nodes(op="placeholder")
    for argument in (node for node in arguments if isinstance(node.meta["val"], torch.Tensor)):
        readers = list(_readers(argument))
        if all(reader in forward for reader in readers):
            yield from readers


def _needed_for(results: Sequence[Any]) -> set[Node]:
    needed: set[Node] = set()
    left = [result for result in results if isinstance(result, Node)]
    while left:
        node = left.pop()
        if node not in needed:
            needed.add(node)
            left += node.all_input_nodes
    return needed


def _readers(memory: Node) -> Iterator[Node]:
    """What reads elements of a node's memory, also by way of views."""
    for user in memory.users:
        if _is_view(user):
            yield from _readers(user)
        elif user.op == "call_function" and not _is_size(user) and not _writes(user):
            yield user


def _is_view(node: Node) -> bool:
    return node.target is operator.getitem or getattr(node.target, "is_view", False)


def _is_size(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool)


def _writes(node: Node) -> bool:
    """Whether it is a write that AOTAutograd put at the graph's end, which needs no reading."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable
