"""If, Loop and Scan: bodies of the Graph, or what is known while importing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import GraphProto

from dvm import _dvm, errors
from dvm.building.builder import Builder, Size, Tensor, is_same
from dvm.onnx.context import Context
from dvm.onnx.registry import op
from dvm.onnx.values import Known, Refused, Value, sizes_of

#: turns of a loop that are imported one by one, where it has sequences or changes its types
MOST_TURNS = 256


def free_names(graph: GraphProto) -> list[str]:
    """Return what a graph sees from outside, in order."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own |= {t.values.name for t in graph.sparse_initializer}
    found: dict[str, None] = {}
    for node in graph.node:
        names = [n for n in node.input if n]
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                names += free_names(inner)
        found.update(dict.fromkeys(n for n in names if n not in own))
        own |= set(node.output)
    found.update(dict.fromkeys(v.name for v in graph.output if v.name not in own))
    return list(found)


class Outside:
    """What bodies see: known values as they are, tensors handed in."""

    def __init__(self, c: Context, graphs: Sequence[GraphProto]) -> None:
        self.known: dict[str, Value] = {}
        self.handed: dict[str, Tensor] = {}
        for name in dict.fromkeys(n for g in graphs for n in free_names(g)):
            value = c.importer.lookup(c.names, name)
            if isinstance(value, Tensor):
                self.handed[name] = value
            else:
                self.known[name] = value

    def names(self, body: _dvm.Graph, b: Builder) -> dict[str, Value]:
        """Return the values by name in a body, of which the handed ones become arguments."""
        made: dict[str, Value] = dict(self.known)
        for name, tensor in self.handed.items():
            made[name] = b.wrap(body.input(tensor.dtype, list(tensor.shape)))
        return made

    @property
    def nodes(self) -> list[int]:
        return [t.node for t in self.handed.values()]


def _inline(c: Context, graph: GraphProto, given: dict[str, Value]) -> list[Value]:
    """Import a body where it stands."""
    return c.importer.run(graph, {**c.names, **given})


@op("If", raw=["condition"])
def if_(c: Context, condition: Value, then_branch: Any, else_branch: Any) -> tuple[Value, ...]:
    if isinstance(condition, Known):
        chosen = then_branch if bool(condition.array.reshape(-1)[0]) else else_branch
        return tuple(_inline(c, chosen, {}))
    b = c.b
    outside = Outside(c, [then_branch, else_branch])
    bodies, made = [], []
    for graph in (then_branch, else_branch):
        body = b.graph.body()
        try:
            values, inner = c.body(graph, outside.names(body, Builder(body)), body)
        except (Refused, errors.UnsupportedError):
            return tuple(_inline(c, _chosen(c, condition, then_branch, else_branch), {}))
        if any(not isinstance(v, Tensor | Known) for v in values):
            # Sequences are no values of a Graph: the branch is chosen while importing.
            return tuple(_inline(c, _chosen(c, condition, then_branch, else_branch), {}))
        bodies.append(body)
        made.append([inner.tensor(v) for v in values])
    if any(x.rank != y.rank for x, y in zip(*made, strict=True)):
        return tuple(_inline(c, _chosen(c, condition, then_branch, else_branch), {}))
    for body, tensors in zip(bodies, made, strict=True):
        body.outputs = [t.node for t in tensors]
    flag = b.reshape(c.tensor(condition), [])
    then, otherwise = bodies
    nodes = b.graph.branch(flag.node, then, otherwise, outside.nodes)
    return tuple(map(b.wrap, nodes))


def _chosen(c: Context, condition: Value, then: GraphProto, otherwise: GraphProto) -> GraphProto:
    return then if bool(c.structure(condition).reshape(-1)[0]) else otherwise


@op("Loop", raw=["trips", "condition", "carried"])
def loop(c: Context, trips: Value, condition: Value, *carried: Value, body: Any) -> tuple[Any, ...]:
    states = len(carried)
    scans = len(body.output) - 1 - states
    if any(not isinstance(v, Tensor | Known) for v in carried):
        return _unrolled(c, trips, condition, carried, body, scans)
    return _rolled(c, trips, condition, carried, body, scans)


def _unrolled(
    c: Context, trips: Value, condition: Value, carried: Sequence[Value], body: Any, scans: int
) -> tuple[Any, ...]:
    """Turn by turn, while conditions are known."""
    most = MOST_TURNS if trips is None else int(c.structure(trips).reshape(-1)[0])
    goes_on = True if condition is None else bool(c.structure(condition).reshape(-1)[0])
    state, rows = list(carried), [[] for _ in range(scans)]  # type: ignore[var-annotated]
    turn = 0
    while goes_on and turn < most:
        if turn >= MOST_TURNS:
            raise Refused(f"a loop of sequences of more than {MOST_TURNS} turns")
        names = [v.name for v in body.input]
        given = [sizes_of([turn], []), Known(np.array(True), "bool"), *state]
        made = _inline(c, body, dict(zip(names, given, strict=False)))
        goes_on = bool(c.structure(made[0]).reshape(-1)[0])
        state = made[1 : 1 + len(state)]
        for row, value in zip(rows, made[1 + len(state) :], strict=True):
            row.append(c.b.unsqueeze(c.tensor(value), 0))
        turn += 1
    from dvm.onnx.ops.moves import joined

    if any(not row for row in rows):
        raise Refused("a loop of sequences without a turn")
    return (*state, *(joined(c, row, 0) for row in rows))


class Body:
    """The body of a loop, whose carried arrays may change their sizes."""

    def __init__(
        self, c: Context, graph: GraphProto, outside: Outside, state: Sequence[Tensor]
    ) -> None:
        self.c, self.graph, self.outside, self.state = c, graph, outside, state
        self.varying: set[tuple[int, int]] = set()  # carried arrays and axes of other sizes

    def begin(self) -> tuple[_dvm.Graph, Builder, _dvm.Dim, list[Tensor]]:
        """Return an empty body, the number of its turn, and the carried arrays in it."""
        body = self.c.b.graph.body()
        b = Builder(body)
        shared = self.c.importer.shared
        turn = shared.fresh_symbol(body, "turn")
        body.scalar("i64", size=turn)
        inputs = []
        for k, t in enumerate(self.state):
            shape = [
                shared.fresh_symbol(body, "n") if (k, axis) in self.varying else size
                for axis, size in enumerate(t.shape)
            ]
            inputs.append(b.wrap(body.input(t.dtype, shape)))
        return body, b, turn, inputs

    def changes(self, inputs: Sequence[Tensor], made: Sequence[Tensor]) -> bool:
        """Whether results have sizes that a further body has to be free in."""
        more = set()
        for k, (old, new) in enumerate(zip(inputs, made, strict=True)):
            if old.rank != new.rank:
                raise Refused("a loop that changes the rank of what it carries")
            for axis, (m, n) in enumerate(zip(old.shape, new.shape, strict=True)):
                if (k, axis) not in self.varying and not is_same(m, n):
                    more.add((k, axis))
        self.varying |= more
        return bool(more)


def _rolled(
    c: Context, trips: Value, condition: Value, carried: Sequence[Value], graph: Any, scans: int
) -> tuple[Any, ...]:
    b = c.b
    outside = Outside(c, [graph])
    count: Size | None = None
    limit: Tensor | None = None
    if isinstance(trips, Known):
        count = _natural(c, trips.array.reshape(-1)[0])
    elif trips is not None:
        limit = b.reshape(c.tensor(trips), [])
    flag = b.constant(True, "bool") if condition is None else b.reshape(c.tensor(condition), [])
    state = [flag, *map(c.tensor, carried)]
    if limit is not None:
        state.append(limit)
    own = len(carried)
    rows = _row_types(c, graph, outside, state, own, scans)
    if rows is None:
        raise Refused("rows of a loop whose types its own turns decide")
    for row in rows:
        state.append(b.wrap(b.graph.empty(row.dtype, [0, *row.shape])))
    form = Body(c, graph, outside, state)
    for k in range(scans):
        form.varying.add((len(state) - scans + k, 0))
    names = [v.name for v in graph.input]
    while True:
        body, inner, turn, inputs = form.begin()
        seen = outside.names(body, inner)
        stop = inner.logical_not(inputs[0])
        if limit is not None:
            done = inner.ge(inner.number(turn, "i64"), inputs[1 + own])
            stop = inner.logical_or(stop, done)
        body.leave(stop.node, [t.node for t in inputs])
        given: list[Value] = [sizes_of([turn], []), inputs[0], *inputs[1 : 1 + own]]
        seen.update(zip(names, given, strict=False))
        values, importer = c.body(graph, seen, body)
        made = [importer.tensor(v) for v in values]
        made[0] = inner.reshape(made[0], [])
        made[1 : 1 + own] = [
            inner.cast(t, s.dtype) for t, s in zip(made[1 : 1 + own], state[1:], strict=False)
        ]
        tail = [_appended(inner, old, new) for old, new in
                zip(inputs[len(inputs) - scans :], made[1 + own :], strict=True)]  # fmt: skip
        carry = [*made[: 1 + own], *([inputs[1 + own]] if limit is not None else []), *tail]
        if form.changes(inputs, carry):
            continue
        body.outputs = [t.node for t in carry]
        break
    results = b.graph.loop(body, carried=[t.node for t in state], used=outside.nodes, count=count)
    last = [b.wrap(node) for node in results[1:]]
    return (*last[1 : 1 + own], *last[len(last) - scans :])


def _natural(c: Context, size: Any) -> Size:
    if isinstance(size, _dvm.Dim):
        return size if size.is_natural else size.max(0)
    return max(0, min(int(size), 2**62))


def _row_types(
    c: Context, graph: Any, outside: Outside, state: Sequence[Tensor], own: int, scans: int
) -> list[Tensor] | None:
    """Types of what each turn adds to the scan outputs, from a body that is thrown away."""
    if not scans:
        return []
    form = Body(c, graph, outside, state)
    body, inner, turn, inputs = form.begin()
    seen = outside.names(body, inner)
    names = [v.name for v in graph.input]
    given: list[Value] = [sizes_of([turn], []), inputs[0], *inputs[1 : 1 + own]]
    seen.update(zip(names, given, strict=False))
    values, importer = c.body(graph, seen, body)
    return [importer.tensor(v) for v in values[1 + own :]]


def _appended(b: Builder, rows: Tensor, row: Tensor) -> Tensor:
    count = rows.shape[0]
    whole = b.wrap(b.graph.empty(rows.dtype, [count + 1, *rows.shape[1:]]))
    whole = b.update(whole, rows, [0] * rows.rank)
    fitted = b.reshape(b.unsqueeze(row, 0), [1, *rows.shape[1:]])
    return b.update(whole, fitted, [count, *[0] * row.rank])


@op("Scan", since=9)
def scan(
    c: Context, *operands: Tensor, body: Any, num_scan_inputs: int, scan_input_axes: Any = None,
    scan_input_directions: Any = None, scan_output_axes: Any = None,
    scan_output_directions: Any = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    b = c.b
    own = len(operands) - num_scan_inputs
    sources = []
    for k, x in enumerate(operands[own:]):
        axis = c.axis(scan_input_axes[k], x.rank) if scan_input_axes else 0
        first = b.transpose(x, [axis, *(a for a in range(x.rank) if a != axis)])
        backwards = scan_input_directions and scan_input_directions[k]
        sources.append(_reversed(b, first) if backwards else first)
    outputs = len(body.output) - own
    count = sources[0].shape[0]
    outside = Outside(c, [body])
    rows: list[Tensor] = []
    names = [v.name for v in body.input]
    for is_trial in (True, False):
        state = list(operands[:own])
        if not is_trial:
            state += [b.wrap(b.graph.empty(r.dtype, [count, *r.shape])) for r in rows]
        form = Body(c, body, outside, state)
        graph, inner, turn, inputs = form.begin()
        handed = [inner.wrap(graph.input(s.dtype, list(s.shape))) for s in sources]
        seen = outside.names(graph, inner)
        parts = [inner.squeeze(inner.narrow(s, 0, turn, 1), [0]) for s in handed]
        given: list[Value] = [*inputs[:own], *parts]
        seen.update(zip(names, given, strict=True))
        values, importer = c.body(body, seen, graph)
        made = [importer.tensor(v) for v in values]
        rows = made[own:]
        if is_trial:
            continue
        tail = [
            inner.update(old, inner.unsqueeze(row, 0), [turn, *[0] * row.rank])
            for old, row in zip(inputs[own:], rows, strict=True)
        ]
        graph.outputs = [t.node for t in (*made[:own], *tail)]
        used = [*(s.node for s in sources), *outside.nodes]
        results = b.graph.loop(graph, carried=[t.node for t in state], used=used, count=count)
    last = [b.wrap(node) for node in results[1:]]
    made = last[own:]
    for k, t in enumerate(made):
        if scan_output_directions and scan_output_directions[k]:
            t = _reversed(b, t)
        if scan_output_axes and scan_output_axes[k]:
            axis = c.axis(scan_output_axes[k], t.rank)
            order = list(range(1, t.rank))
            order.insert(axis, 0)
            t = b.transpose(t, order)
        made[k] = t
    assert len(made) == outputs
    return (*last[:own], *made)


@op("Scan")
def scan_of_batches(
    c: Context, lengths: Tensor | None, *operands: Tensor, body: Any, num_scan_inputs: int,
    directions: Any = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """With a batch in front, one row of which is scanned at a time."""
    if lengths is not None:
        raise Refused("lengths of sequences")
    b = c.b
    batch = c.fixed(operands[0].shape[0])
    results = []
    for row in range(batch):
        parts = [b.squeeze(b.narrow(x, 0, row, 1), [0]) for x in operands]
        made = scan(
            c, *parts, body=body, num_scan_inputs=num_scan_inputs,
            scan_input_directions=directions,
        )  # fmt: skip
        results.append([b.unsqueeze(t, 0) for t in made])
    from dvm.onnx.ops.moves import joined

    return tuple(joined(c, list(rows), 0) for rows in zip(*results, strict=True))


def _reversed(b: Builder, x: Tensor) -> Tensor:
    starts: list[Size] = [0] * x.rank
    starts[0] = x.shape[0] - 1
    return b.slice(x, starts, x.shape, [-1, *[1] * (x.rank - 1)])
