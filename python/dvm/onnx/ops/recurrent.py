"""Recurrent layers: what their steps compute."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dvm.building.builder import Builder, Tensor
from dvm.onnx.context import Context
from dvm.onnx.external import on_lines
from dvm.onnx.ops.activations import FUNCTIONS
from dvm.onnx.ops.moves import joined
from dvm.onnx.ops.recurrent_loop import Layer, Ways
from dvm.onnx.registry import op
from dvm.onnx.values import Known, Refused, Value


@dataclass(frozen=True)
class Activation:
    """A function of one tensor, with what the model gives it."""

    name: str
    given: tuple[tuple[str, float], ...]

    def __call__(self, b: Builder, x: Tensor) -> Tensor:
        made: Tensor = FUNCTIONS[self.name](b, x, **dict(self.given))
        return made


def chosen(
    names: Any, defaults: Sequence[str], count: int, alphas: Any, betas: Any
) -> list[tuple[Activation, ...]]:
    """Return the activations of each direction."""
    names = list(names) if names else list(defaults) * count
    alphas, betas = list(alphas or []), list(betas or [])
    made: list[Activation] = []
    for name in names:
        own = next((f for f in FUNCTIONS if f.lower() == name.lower()), "")
        if not own:
            raise Refused(f"the activation {name!r}")
        given: dict[str, float] = {}
        takes = {"Affine": "ab", "LeakyRelu": "a", "ThresholdedRelu": "a", "ScaledTanh": "ab",
                 "HardSigmoid": "ab", "Elu": "a"}.get(name, "")  # fmt: skip
        if "a" in takes and alphas:
            given["alpha"] = alphas.pop(0)
        if "b" in takes and betas:
            given["beta"] = betas.pop(0)
        made.append(Activation(own, tuple(given.items())))
    each = len(defaults)
    return [tuple(made[k * each : (k + 1) * each]) for k in range(count)]


def _loops(
    direction: str, activations: Sequence[tuple[Activation, ...]]
) -> Iterator[tuple[Ways, tuple[Activation, ...]]]:
    """Directions that compute the same go together."""
    backward = _directions(direction)
    first = 0
    for functions, group in itertools.groupby(activations):
        count = len(list(group))
        yield Ways(first, tuple(backward[first : first + count])), functions
        first += count


def _directions(direction: str) -> list[bool]:
    return {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]


def _of(c: Context, t: Tensor, ways: Ways) -> Tensor:
    """The part of these directions."""
    if t.shape[0] == ways.count:
        return t
    return c.b.narrow(t, 0, ways.first, ways.count)


def _weights(c: Context, value: Value, ways: Ways, rows: int) -> Tensor:
    """Weights by columns, which products of few rows read faster: [ways, 1, columns, rows].

    Those that the model has lie so in memory.
    """
    if isinstance(value, Known) and not value.is_symbolic:
        part = value.array[ways.first : ways.first + ways.count]
        turned = on_lines(np.ascontiguousarray(part.swapaxes(1, 2))[:, None])
        return c.tensor(Known(turned, value.dtype))
    whole = _of(c, c.tensor(value), ways)  # whose rows the model may leave open
    whole = c.b.reshape(whole, [ways.count, 1, rows, whole.shape[2]])
    return c.b.transpose(whole, [0, 1, 3, 2])


def _start(c: Context, t: Tensor | None, ways: Ways, layer: Layer) -> Tensor:
    shape = [ways.count, 1, layer.batch, layer.hidden]
    if t is None:
        return c.b.constant(0, layer.x.dtype, shape)
    return c.b.reshape(_of(c, t, ways), shape)


def _results(
    c: Context, layer: Layer, rows: list[Tensor], lasts: list[list[Tensor]], layout: int
) -> tuple[Tensor, ...]:
    """In the order in which the next layer wants them: all directions of a step side by side."""
    b = c.b
    whole = joined(c, [b.unsqueeze(r, 2) for r in rows], 2)
    whole = b.transpose(whole, [1, 0, 2, 3] if layout else [0, 2, 1, 3])
    ends = [joined(c, ts, 0) for ts in zip(*lasts, strict=True)]
    if layout:
        ends = [b.transpose(e, [1, 0, 2]) for e in ends]
    return (whole, *ends)


def _batch_last(c: Context, x: Tensor, states: Sequence[Tensor | None], layout: int) -> Any:
    if not layout:
        return x, list(states)
    return c.b.transpose(x, [1, 0, 2]), [
        None if s is None else c.b.transpose(s, [1, 0, 2]) for s in states
    ]


def _parts(b: Builder, t: Tensor, hidden: int) -> list[Tensor]:
    """What each gate has of the last axis."""
    count = t.shape[-1]
    assert isinstance(count, int)
    return [b.narrow(t, t.rank - 1, k, hidden) for k in range(0, count, hidden)]


@op("LSTM", raw=["w", "r"])
def lstm(
    c: Context, x: Tensor, w: Value, r: Value, bias: Tensor | None = None,
    lengths: Tensor | None = None, h: Tensor | None = None, cell: Tensor | None = None,
    p: Tensor | None = None, activations: Any = None, activation_alpha: Any = None,
    activation_beta: Any = None, clip: float | None = None, direction: str = "forward",
    hidden_size: int = 0, input_forget: int = 0, layout: int = 0, output_sequence: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    x, (h, cell) = _batch_last(c, x, [h, cell], layout)
    hidden = _hidden(c, r)
    layer = Layer(c, x, hidden, lengths, clip)
    acts = chosen(activations, ["Sigmoid", "Tanh", "Tanh"], len(_directions(direction)),
                  activation_alpha, activation_beta)  # fmt: skip
    rows, lasts = [], []
    for ways, (f, g, last) in _loops(direction, acts):

        def step(
            b: Builder, added: Tensor, old: Sequence[Tensor], given: dict[str, Tensor],
            f: Activation = f, g: Activation = g, last: Activation = last,
        ) -> list[Tensor]:  # fmt: skip
            before, cell = old
            i, o, forget, new = _parts(b, b.add(added, b.matmul(before, given["r"])), hidden)
            peeps: list[Any] = [None, None, None]
            if "p" in given:
                peeps = [b.broadcast(part, cell.shape) for part in _parts(b, given["p"], hidden)]

            def seen(gate: Tensor, peep: Tensor | None, cell: Tensor) -> Tensor:
                gate = gate if peep is None else b.add(gate, b.mul(peep, cell))
                return f(b, layer.clipped(b, gate))

            i = seen(i, peeps[0], cell)
            forget = b.sub(1, i) if input_forget else seen(forget, peeps[2], cell)
            new = g(b, layer.clipped(b, new))
            state = b.add(b.mul(forget, cell), b.mul(i, new))
            o = seen(o, peeps[1], state)
            return [b.mul(o, last(b, state)), state]

        used = {"r": _weights(c, r, ways, 4 * hidden)}
        if p is not None:
            used["p"] = c.b.reshape(_of(c, p, ways), [ways.count, 1, 1, 3 * hidden])
        added = layer.projected(
            ways, _weights(c, w, ways, 4 * hidden), _joint_bias(c, bias, ways, 4 * hidden)
        )
        state = [_start(c, h, ways, layer), _start(c, cell, ways, layer)]
        all_rows, ends = layer.run(ways, added, state, used, step)
        rows += all_rows
        lasts.append(ends)
    return _results(c, layer, rows, lasts, layout)


def _hidden(c: Context, r: Value) -> int:
    assert isinstance(r, Tensor | Known)
    return c.fixed(r.shape[-1])


def _joint_bias(c: Context, bias: Tensor | None, ways: Ways, size: int) -> Tensor | None:
    """Both biases of a direction as one, for they are added to each other."""
    if bias is None:
        return None
    one = _of(c, bias, ways)
    return c.b.add(c.b.narrow(one, 1, 0, size), c.b.narrow(one, 1, size, size))


@op("RNN", raw=["w", "r"])
def rnn(
    c: Context, x: Tensor, w: Value, r: Value, bias: Tensor | None = None,
    lengths: Tensor | None = None, h: Tensor | None = None, activations: Any = None,
    activation_alpha: Any = None, activation_beta: Any = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int = 0, layout: int = 0, output_sequence: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    x, (h,) = _batch_last(c, x, [h], layout)
    hidden = _hidden(c, r)
    layer = Layer(c, x, hidden, lengths, clip)
    acts = chosen(activations, ["Tanh"], len(_directions(direction)), activation_alpha,
                  activation_beta)  # fmt: skip
    rows, lasts = [], []
    for ways, (f,) in _loops(direction, acts):

        def step(
            b: Builder, added: Tensor, old: Sequence[Tensor], given: dict[str, Tensor],
            f: Activation = f,
        ) -> list[Tensor]:  # fmt: skip
            return [f(b, layer.clipped(b, b.add(added, b.matmul(old[0], given["r"]))))]

        used = {"r": _weights(c, r, ways, hidden)}
        added = layer.projected(
            ways, _weights(c, w, ways, hidden), _joint_bias(c, bias, ways, hidden)
        )
        all_rows, ends = layer.run(ways, added, [_start(c, h, ways, layer)], used, step)
        rows += all_rows
        lasts.append(ends)
    return _results(c, layer, rows, lasts, layout)


@op("GRU", raw=["w", "r"])
def gru(
    c: Context, x: Tensor, w: Value, r: Value, bias: Tensor | None = None,
    lengths: Tensor | None = None, h: Tensor | None = None, activations: Any = None,
    activation_alpha: Any = None, activation_beta: Any = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int = 0, layout: int = 0,
    linear_before_reset: int = 0, output_sequence: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    x, (h,) = _batch_last(c, x, [h], layout)
    hidden = _hidden(c, r)
    layer = Layer(c, x, hidden, lengths, clip)
    acts = chosen(activations, ["Sigmoid", "Tanh"], len(_directions(direction)), activation_alpha,
                  activation_beta)  # fmt: skip
    rows, lasts = [], []
    for ways, (f, g) in _loops(direction, acts):

        def step(
            b: Builder, added: Tensor, old: Sequence[Tensor], given: dict[str, Tensor],
            f: Activation = f, g: Activation = g,
        ) -> list[Tensor]:  # fmt: skip
            (before,) = old
            two = 2 * hidden
            r_gates = b.narrow(given["r"], 3, 0, two)
            r_new = b.narrow(given["r"], 3, two, hidden)
            gates = b.add(b.narrow(added, 3, 0, two), b.matmul(before, r_gates))
            own = None
            if "rb" in given:
                bias = given["rb"]
                gates = b.add(gates, b.broadcast(b.narrow(bias, 3, 0, two), gates.shape))
                own = b.broadcast(b.narrow(bias, 3, two, hidden), before.shape)
            z, reset = _parts(b, f(b, layer.clipped(b, gates)), hidden)
            new = b.narrow(added, 3, two, hidden)
            if linear_before_reset:
                past = b.matmul(before, r_new)
                past = past if own is None else b.add(past, own)
                new = b.add(new, b.mul(reset, past))
            else:
                new = b.add(new, b.matmul(b.mul(reset, before), r_new))
                new = new if own is None else b.add(new, own)
            new = g(b, layer.clipped(b, new))
            return [b.add(b.mul(b.sub(1, z), new), b.mul(z, before))]

        used = {"r": _weights(c, r, ways, 3 * hidden)}
        own_bias = None
        if bias is not None:
            both = _of(c, bias, ways)
            own_bias = c.b.narrow(both, 1, 0, 3 * hidden)
            past = c.b.narrow(both, 1, 3 * hidden, 3 * hidden)
            used["rb"] = c.b.reshape(past, [ways.count, 1, 1, 3 * hidden])
        added = layer.projected(ways, _weights(c, w, ways, 3 * hidden), own_bias)
        all_rows, ends = layer.run(ways, added, [_start(c, h, ways, layer)], used, step)
        rows += all_rows
        lasts.append(ends)
    return _results(c, layer, rows, lasts, layout)
