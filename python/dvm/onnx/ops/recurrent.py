"""Recurrent layers, as loops over the steps of sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dvm.building.builder import Builder, Size, Tensor
from dvm.onnx.context import Context
from dvm.onnx.ops.activations import FUNCTIONS
from dvm.onnx.ops.moves import joined, pieces
from dvm.onnx.ops.products import multiplied
from dvm.onnx.registry import op
from dvm.onnx.values import Refused

Activation = Callable[[Builder, Tensor], Tensor]
#: given a body's builder, what a step adds, what is carried, and constants: what is carried next
Step = Callable[[Context, Builder, Tensor, Sequence[Tensor], dict[str, Tensor]], list[Tensor]]


@dataclass
class Layer:
    """What the three kinds of layers share."""

    c: Context
    x: Tensor  # [steps, batch, inputs]
    hidden: int
    lengths: Tensor | None
    clip: float | None

    @property
    def batch(self) -> Size:
        return self.x.shape[1]

    def projected(self, x: Tensor, w: Tensor, bias: Tensor | None) -> Tensor:
        """Products of all steps at once."""
        b = self.c.b
        w = b.reshape(w, [w.shape[0], x.shape[-1]])
        made = multiplied(self.c, x, b.transpose(w, [1, 0]))
        return b.add(made, b.broadcast(bias, made.shape)) if bias is not None else made

    def run(
        self, x: Tensor, state: Sequence[Tensor], used: dict[str, Tensor], step: Step,
        is_backward: bool,
    ) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
        """Return the first state of all steps, and the last states; x has what steps add."""
        b, graph = self.c.b, self.c.b.graph
        steps = x.shape[0]
        rows = b.wrap(graph.empty(x.dtype, [steps, self.batch, self.hidden]))
        body = graph.body()
        inner = Builder(body)
        turn = self.c.importer.shared.fresh_symbol(body, "step")
        body.scalar("i64", size=turn)
        place = steps - 1 - turn if is_backward else turn
        old_rows = inner.wrap(body.input(rows.dtype, list(rows.shape)))
        old = [inner.wrap(body.input(t.dtype, list(t.shape))) for t in state]
        handed = {"x": x, **used}
        if self.lengths is not None:
            handed["lengths"] = b.reshape(self.lengths, [self.batch])
        inside = {n: inner.wrap(body.input(t.dtype, list(t.shape))) for n, t in handed.items()}
        added = inner.squeeze(inner.narrow(inside["x"], 0, place, 1), [0])
        new = step(self.c, inner, added, old, inside)
        row = new[0]
        if self.lengths is not None:
            shape = row.shape
            lengths = inner.cast(inner.unsqueeze(inside["lengths"], 1), "i64")
            lives = inner.gt(inner.broadcast(lengths, shape), inner.number(place, "i64", shape))
            row = inner.select(lives, row, inner.constant(0, row.dtype, shape))
            new = [inner.select(lives, n, o) for n, o in zip(new, old, strict=True)]
        made = inner.update(old_rows, inner.unsqueeze(row, 0), [place, 0, 0])
        body.outputs = [made.node, *(t.node for t in new)]
        nodes = graph.loop(
            body, carried=[rows.node, *(t.node for t in state)],
            used=[t.node for t in handed.values()], count=steps,
        )  # fmt: skip
        all_rows, *last = [b.wrap(node) for node in nodes[1:]]
        return all_rows, last

    def clipped(self, b: Builder, x: Tensor) -> Tensor:
        if not self.clip:
            return x
        low, high = (b.constant(e, x.dtype, x.shape) for e in (-self.clip, self.clip))
        return b.minimum(b.maximum(x, low), high)


def chosen(
    names: Any, defaults: Sequence[str], count: int, alphas: Any, betas: Any
) -> list[list[Activation]]:
    """Return the activations of each direction."""
    names = list(names) if names else list(defaults) * count
    alphas, betas = list(alphas or []), list(betas or [])
    made: list[Activation] = []
    for name in names:
        function = FUNCTIONS.get(next((f for f in FUNCTIONS if f.lower() == name.lower()), ""))
        if function is None:
            raise Refused(f"the activation {name!r}")
        given: dict[str, float] = {}
        takes = {"Affine": "ab", "LeakyRelu": "a", "ThresholdedRelu": "a", "ScaledTanh": "ab",
                 "HardSigmoid": "ab", "Elu": "a"}.get(name, "")  # fmt: skip
        if "a" in takes and alphas:
            given["alpha"] = alphas.pop(0)
        if "b" in takes and betas:
            given["beta"] = betas.pop(0)
        made.append(lambda b, x, f=function, g=given: f(b, x, **g))  # type: ignore[misc]
    each = len(defaults)
    return [made[k * each : (k + 1) * each] for k in range(count)]


def _directions(direction: str) -> list[bool]:
    return {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]


def _of(c: Context, t: Tensor | None, k: int) -> Tensor | None:
    """The part of a direction."""
    return None if t is None else c.b.squeeze(c.b.narrow(t, 0, k, 1), [0])


def _weights(c: Context, t: Tensor, k: int, rows: int) -> Tensor:
    """The part of a direction, whose rows the model may leave open."""
    part = c.b.squeeze(c.b.narrow(t, 0, k, 1), [0])
    return c.b.reshape(part, [rows, part.shape[1]])


def _start(c: Context, t: Tensor | None, k: int, layer: Layer) -> Tensor:
    made = _of(c, t, k)
    if made is None:
        return c.b.constant(0, layer.x.dtype, [layer.batch, layer.hidden])
    return c.b.reshape(made, [layer.batch, layer.hidden])


def _results(
    c: Context, rows: list[Tensor], lasts: list[list[Tensor]], layout: int
) -> tuple[Tensor, ...]:
    b = c.b
    whole = joined(c, [b.unsqueeze(r, 1) for r in rows], 1)
    ends = [joined(c, [b.unsqueeze(t, 0) for t in ts], 0) for ts in zip(*lasts, strict=True)]
    if layout:
        whole = b.transpose(whole, [2, 0, 1, 3])
        ends = [b.transpose(e, [1, 0, 2]) for e in ends]
    return (whole, *ends)


def _batch_last(c: Context, x: Tensor, states: Sequence[Tensor | None], layout: int) -> Any:
    if not layout:
        return x, list(states)
    return c.b.transpose(x, [1, 0, 2]), [
        None if s is None else c.b.transpose(s, [1, 0, 2]) for s in states
    ]


def _product(c: Context, b: Builder, x: Tensor, r: Tensor) -> Tensor:
    return b.matmul(x, b.transpose(r, [1, 0]))


@op("LSTM")
def lstm(
    c: Context, x: Tensor, w: Tensor, r: Tensor, bias: Tensor | None = None,
    lengths: Tensor | None = None, h: Tensor | None = None, cell: Tensor | None = None,
    p: Tensor | None = None, activations: Any = None, activation_alpha: Any = None,
    activation_beta: Any = None, clip: float | None = None, direction: str = "forward",
    hidden_size: int = 0, input_forget: int = 0, layout: int = 0, output_sequence: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    x, (h, cell) = _batch_last(c, x, [h, cell], layout)
    hidden = c.fixed(r.shape[-1])
    layer = Layer(c, x, hidden, lengths, clip)
    ways = _directions(direction)
    acts = chosen(activations, ["Sigmoid", "Tanh", "Tanh"], len(ways), activation_alpha,
                  activation_beta)  # fmt: skip
    rows, lasts = [], []
    for k, is_backward in enumerate(ways):
        f, g, last = acts[k]

        def step(
            c: Context, b: Builder, added: Tensor, old: Sequence[Tensor],
            given: dict[str, Tensor], f: Any = f, g: Any = g, last: Any = last,
        ) -> list[Tensor]:  # fmt: skip
            before, cell = old
            gates = b.add(added, _product(c, b, before, given["r"]))
            i, o, forget, new = (b.narrow(gates, 1, n * hidden, hidden) for n in range(4))
            peeps: list[Any] = [None, None, None]
            if "p" in given:
                peeps = [
                    b.broadcast(b.narrow(given["p"], 0, n * hidden, hidden), cell.shape)
                    for n in range(3)
                ]

            def seen(gate: Tensor, peep: Tensor | None, cell: Tensor) -> Tensor:
                gate = gate if peep is None else b.add(gate, b.mul(peep, cell))
                made: Tensor = f(b, layer.clipped(b, gate))
                return made

            i = seen(i, peeps[0], cell)
            forget = b.sub(1, i) if input_forget else seen(forget, peeps[2], cell)
            new = g(b, layer.clipped(b, new))
            state = b.add(b.mul(forget, cell), b.mul(i, new))
            o = seen(o, peeps[1], state)
            return [b.mul(o, last(b, state)), state]

        used = {"r": _weights(c, r, k, 4 * hidden)}
        if p is not None:
            used["p"] = _some(_of(c, p, k))
        added = layer.projected(
            x, _weights(c, w, k, 4 * hidden), _joint_bias(c, bias, k, 4 * hidden)
        )
        state = [_start(c, h, k, layer), _start(c, cell, k, layer)]
        all_rows, ends = layer.run(added, state, used, step, is_backward)
        rows.append(all_rows)
        lasts.append(ends)
    return _results(c, rows, lasts, layout)


def _some(t: Tensor | None) -> Tensor:
    assert t is not None
    return t


def _joint_bias(c: Context, bias: Tensor | None, k: int, size: int) -> Tensor | None:
    """Both biases of a direction as one, for they are added to each other."""
    one = _of(c, bias, k)
    if one is None:
        return None
    first, second = pieces(c, one, 0, [size, size])
    return c.b.add(first, second)


@op("RNN")
def rnn(
    c: Context, x: Tensor, w: Tensor, r: Tensor, bias: Tensor | None = None,
    lengths: Tensor | None = None, h: Tensor | None = None, activations: Any = None,
    activation_alpha: Any = None, activation_beta: Any = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int = 0, layout: int = 0, output_sequence: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    x, (h,) = _batch_last(c, x, [h], layout)
    hidden = c.fixed(r.shape[-1])
    layer = Layer(c, x, hidden, lengths, clip)
    ways = _directions(direction)
    acts = chosen(activations, ["Tanh"], len(ways), activation_alpha, activation_beta)
    rows, lasts = [], []
    for k, is_backward in enumerate(ways):
        (f,) = acts[k]

        def step(
            c: Context, b: Builder, added: Tensor, old: Sequence[Tensor],
            given: dict[str, Tensor], f: Any = f,
        ) -> list[Tensor]:  # fmt: skip
            made = b.add(added, _product(c, b, old[0], given["r"]))
            return [f(b, layer.clipped(b, made))]

        used = {"r": _weights(c, r, k, hidden)}
        added = layer.projected(x, _weights(c, w, k, hidden), _joint_bias(c, bias, k, hidden))
        all_rows, ends = layer.run(added, [_start(c, h, k, layer)], used, step, is_backward)
        rows.append(all_rows)
        lasts.append(ends)
    return _results(c, rows, lasts, layout)


@op("GRU")
def gru(
    c: Context, x: Tensor, w: Tensor, r: Tensor, bias: Tensor | None = None,
    lengths: Tensor | None = None, h: Tensor | None = None, activations: Any = None,
    activation_alpha: Any = None, activation_beta: Any = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int = 0, layout: int = 0,
    linear_before_reset: int = 0, output_sequence: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    x, (h,) = _batch_last(c, x, [h], layout)
    hidden = c.fixed(r.shape[-1])
    layer = Layer(c, x, hidden, lengths, clip)
    ways = _directions(direction)
    acts = chosen(activations, ["Sigmoid", "Tanh"], len(ways), activation_alpha, activation_beta)
    rows, lasts = [], []
    for k, is_backward in enumerate(ways):
        f, g = acts[k]

        def step(
            c: Context, b: Builder, added: Tensor, old: Sequence[Tensor],
            given: dict[str, Tensor], f: Any = f, g: Any = g,
        ) -> list[Tensor]:  # fmt: skip
            (before,) = old
            two, one = [2 * hidden, hidden], hidden
            r_gates, r_new = (
                b.slice(given["r"], [s, 0], [n, one]) for s, n in ((0, two[0]), (two[0], one))
            )
            gates = b.add(b.narrow(added, 1, 0, 2 * hidden), _product(c, b, before, r_gates))
            bias = given.get("rb")
            if bias is not None:
                gates = b.add(gates, b.broadcast(b.narrow(bias, 0, 0, 2 * hidden), gates.shape))
            gates = f(b, layer.clipped(b, gates))
            z, reset = b.narrow(gates, 1, 0, hidden), b.narrow(gates, 1, hidden, hidden)
            own = None
            if bias is not None:
                own = b.broadcast(b.narrow(bias, 0, 2 * hidden, hidden), before.shape)
            new = b.narrow(added, 1, 2 * hidden, hidden)
            if linear_before_reset:
                past = _product(c, b, before, r_new)
                past = past if own is None else b.add(past, own)
                new = b.add(new, b.mul(reset, past))
            else:
                new = b.add(new, _product(c, b, b.mul(reset, before), r_new))
                new = new if own is None else b.add(new, own)
            new = g(b, layer.clipped(b, new))
            return [b.add(b.mul(b.sub(1, z), new), b.mul(z, before))]

        used = {"r": _weights(c, r, k, 3 * hidden)}
        own_bias = None
        if bias is not None:
            own_bias, past_bias = pieces(c, _some(_of(c, bias, k)), 0, [3 * hidden, 3 * hidden])
            used["rb"] = past_bias
        added = layer.projected(x, _weights(c, w, k, 3 * hidden), own_bias)
        all_rows, ends = layer.run(added, [_start(c, h, k, layer)], used, step, is_backward)
        rows.append(all_rows)
        lasts.append(ends)
    return _results(c, rows, lasts, layout)
