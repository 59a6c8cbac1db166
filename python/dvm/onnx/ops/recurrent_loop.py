"""Loops over the steps of sequences, for the directions of a recurrent layer together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dvm.building.builder import Builder, Size, Tensor, is_same
from dvm.onnx.context import Context
from dvm.onnx.ops.moves import joined

#: given a body's builder, what a step adds, what is carried, and constants: what is carried next
Step = Callable[[Builder, Tensor, Sequence[Tensor], dict[str, Tensor]], list[Tensor]]


@dataclass(frozen=True)
class Ways:
    """Directions of a layer that are one loop: those from `first` on, which are `backward` or not.

    Each turn computes all of them at once. What has steps has these in the order of turns, behind
    an axis of directions; what is of one step has it as an axis of size 1, as rows of steps do.
    """

    first: int
    backward: tuple[bool, ...]

    @property
    def count(self) -> int:
        return len(self.backward)


@dataclass
class Layer:
    """What the three kinds of layers share."""

    c: Context
    x: Tensor  # [steps, batch, inputs]
    hidden: int
    lengths: Tensor | None
    clip: float | None

    @property
    def steps(self) -> Size:
        return self.x.shape[0]

    @property
    def batch(self) -> Size:
        return self.x.shape[1]

    def turned(self, rows: Tensor, is_backward: bool) -> Tensor:
        """Rows of steps in the order of turns, or back."""
        if not is_backward or is_same(self.steps, 0):
            return rows
        starts: list[Size] = [self.steps - 1, *[0] * (rows.rank - 1)]
        return self.c.b.slice(rows, starts, rows.shape, [-1, *[1] * (rows.rank - 1)])

    def projected(self, ways: Ways, w: Tensor, bias: Tensor | None) -> Tensor:
        """Products of all steps at once, and a row of biases for each direction."""
        b = self.c.b
        parts = [b.unsqueeze(self.turned(self.x, way), 0) for way in ways.backward]
        rows = b.reshape(
            joined(self.c, parts, 0), [ways.count, self.steps * self.batch, self.x.shape[2]]
        )
        made = b.matmul(rows, b.reshape(w, [ways.count, self.x.shape[2], w.shape[3]]))
        if bias is not None:
            made = b.add(made, b.broadcast(b.unsqueeze(bias, 1), made.shape))
        return b.reshape(made, [ways.count, self.steps, self.batch, w.shape[3]])

    def run(
        self, ways: Ways, added: Tensor, state: Sequence[Tensor], used: dict[str, Tensor],
        step: Step,
    ) -> tuple[list[Tensor], list[Tensor]]:  # fmt: skip
        """Return the first state after each step, by direction, and the last states.

        The loop carries that state as the rows of all steps, the first of which is what it begins
        with: a turn reads one row and writes the next.
        """
        b, graph = self.c.b, self.c.b.graph
        begin, *others = state
        shape = [ways.count, self.steps + 1, self.batch, self.hidden]
        rows = b.wrap(graph.empty(added.dtype, shape))
        rows = b.update(rows, begin, [0, 0, 0, 0])
        body = graph.body()
        inner = Builder(body)
        turn = self.c.importer.shared.fresh_symbol(body, "step")
        body.scalar("i64", size=turn)
        old_rows, *old = [inner.wrap(body.input(t.dtype, list(t.shape))) for t in (rows, *others)]
        handed = {"added": added, **used}
        if self.lengths is not None:
            handed["lengths"] = b.reshape(self.lengths, [1, 1, self.batch, 1])
        inside = {n: inner.wrap(body.input(t.dtype, list(t.shape))) for n, t in handed.items()}
        before = [inner.narrow(old_rows, 1, turn, 1), *old]
        new = step(inner, inner.narrow(inside["added"], 1, turn, 1), before, inside)
        if self.lengths is not None:
            lives = self._lives(inner, ways, turn, inside["lengths"])
            lives = inner.broadcast(lives, new[0].shape)
            new = [inner.select(lives, n, o) for n, o in zip(new, before, strict=True)]
        made = inner.update(old_rows, new[0], [0, turn + 1, 0, 0])
        body.outputs = [made.node, *(t.node for t in new[1:])]
        nodes = graph.loop(
            body, carried=[rows.node, *(t.node for t in others)],
            used=[t.node for t in handed.values()], count=self.steps,
        )  # fmt: skip
        all_rows, *last = [b.wrap(node) for node in nodes[1:]]
        made_rows = b.narrow(all_rows, 1, 1, self.steps)
        return (
            [
                self._alive(self.turned(b.squeeze(b.narrow(made_rows, 0, k, 1), [0]), way))
                for k, way in enumerate(ways.backward)
            ],
            [b.squeeze(t, [1]) for t in (b.narrow(all_rows, 1, self.steps, 1), *last)],
        )

    def _lives(self, b: Builder, ways: Ways, turn: Size, lengths: Tensor) -> Tensor:
        """Whether the sequence has the step of a turn: [ways, 1, batch, 1]."""
        shape = [1, 1, self.batch, 1]
        places = [self.steps - 1 - turn if way else turn for way in ways.backward]
        each = [
            b.gt(b.cast(lengths, "i64"), b.broadcast(b.number(place, "i64"), shape))
            for place in places
        ]
        if len(each) == 1:
            return each[0]
        shape = [ways.count, 1, self.batch, 1]
        numbers = b.graph.tensor("bool", np.array(ways.backward).reshape(-1, 1, 1, 1))
        is_backward = b.broadcast(b.wrap(numbers), shape)
        return b.select(is_backward, *(b.broadcast(e, shape) for e in reversed(each)))

    def _alive(self, rows: Tensor) -> Tensor:
        """Zeros where a sequence has no such step."""
        if self.lengths is None:
            return rows
        b = self.c.b
        shape = [self.steps, self.batch, 1]
        lengths = b.reshape(b.cast(self.lengths, "i64"), [1, self.batch, 1])
        lives = b.gt(b.broadcast(lengths, shape), b.iota("i64", shape, 0))
        zeros = b.constant(0, rows.dtype, rows.shape)
        return b.select(b.broadcast(lives, rows.shape), rows, zeros)

    def clipped(self, b: Builder, x: Tensor) -> Tensor:
        if not self.clip:
            return x
        low, high = (b.constant(e, x.dtype, x.shape) for e in (-self.clip, self.clip))
        return b.minimum(b.maximum(x, low), high)
