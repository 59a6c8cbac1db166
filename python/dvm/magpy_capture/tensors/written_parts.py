"""Writes into parts of the caller's arrays: each is repeated on the array itself behind `commit`.

Within the path an array that was written has a new value, the old one updated. What nobody reads of
that is never computed: the parts leave the path one by one, in program order, and a read of a part
is made of the updates that it meets. So the cost follows what is written and read.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field

from dvm import _dvm
from dvm.magpy_capture.path.graphs import same_shape
from dvm.magpy_capture.tensors.layer import TensorPart
from dvm.magpy_capture.values import Content, Tensor

#: How many updates a read of a part looks through: each may cost a guard or two on every call.
MOST_UPDATES = 16
#: ops of which the first operand is the memory before, or seen in another way
SPINE = ("update", "reshape", "transpose", "slice")


@dataclass(eq=False)
class PartWrite:
    """A write into `view` of an array of the caller: behind `commit`, or as a part of a new whole.

    value: makes the new content of the view, a graph value.
    original: the array of the caller's, or the view of one, that the value is a copy of.
    key, source: registers of an index and of what is written there, both checked.
    rows: whether the key is places along the first axis, and nothing else.
    content: of the whole array, behind the write.
    """

    view: Tensor
    value: Callable[[], int]
    original: Tensor | None = None
    key: int = -1
    source: int = -1
    rows: bool = False
    content: Content = field(default_factory=Content)


class WrittenParts(TensorPart):
    """Reads of parts of what was updated."""

    needs = "arrays graph program sizes"

    def __init__(self) -> None:
        self.made: dict[int, tuple[list[_dvm.Dim], list[int]]] = {}  # update -> starts, steps
        self.roots: dict[int, int] = {}  # what spine_root has found
        self.unchecked: list[Tensor] = []  # views made with integers, which may be out of bounds
        self.part_writes: list[PartWrite] = []  # all of the path, in program order

    def update_value(
        self, base: int, value: int, starts: SequenceOf[_dvm.Dim], steps: SequenceOf[int]
    ) -> int:
        made = self.graph.node(
            "update",
            (base, value),
            lambda: self.graph.native.update(
                base, value, list(starts), list(steps), at=self.program.at
            ),
            (*starts, *steps),
        )
        self.made[made] = (list(starts), list(steps))
        return made

    def slice_value(
        self,
        value: int,
        starts: SequenceOf[_dvm.Dim],
        steps: SequenceOf[int],
        shape: SequenceOf[_dvm.Dim],
    ) -> int:
        for _ in range(MOST_UPDATES):
            if value not in self.made or self.spine_root(value) not in self.graph.initials:
                break
            base, part = self.graph.ops[value][1]
            at, by = self.made[value]
            counts = self.graph.shape(part)
            equal = list(starts) == at and same_shape(shape, counts)
            if equal and list(steps) == by:
                return part
            if self._is_apart((starts, steps, shape), (at, by, counts)):
                value = base
                continue
            if any(step != 1 for step in (*steps, *by)):
                break
            found = self._patched(base, part, (starts, shape), (at, counts))
            if found is None:
                break
            return found
        return self.graph.sliced_node(value, starts, steps, shape)

    def spine_root(self, value: int) -> int:
        """The value that was updated first, and perhaps seen in another shape between."""
        passed = []
        while value not in self.roots and self.graph.ops[value][0] in SPINE:
            passed.append(value)
            value = self.graph.ops[value][1][0]
        root = self.roots.get(value, value)
        self.roots.update(dict.fromkeys(passed, root))
        return root

    def _is_apart(
        self,
        one: tuple[SequenceOf[_dvm.Dim], SequenceOf[int], SequenceOf[_dvm.Dim]],
        two: tuple[SequenceOf[_dvm.Dim], SequenceOf[int], SequenceOf[_dvm.Dim]],
    ) -> bool:
        """Whether two selections have no element in common, along some axis by their ends."""
        ends = []
        for starts, steps, counts in (one, two):
            axes = []
            for start, step, count in zip(starts, steps, counts, strict=True):
                last = start + (count - 1) * step
                axes.append((start, last) if step > 0 else (last, start))
            ends.append(axes)
        for (low, high), (other_low, other_high) in zip(*ends, strict=True):
            # Asked only where it is so, and so that an equal question comes up again.
            if self._seen_below(high, other_low):
                return self.sizes.is_at_most(high + 1, other_low)
            if self._seen_below(other_high, low):
                return self.sizes.is_at_most(other_high + 1, low)
        return False

    def _seen_below(self, a: _dvm.Dim, b: _dvm.Dim) -> bool:
        return self.sizes.observed(a) < self.sizes.observed(b)

    def _patched(
        self,
        base: int,
        part: int,
        read: tuple[SequenceOf[_dvm.Dim], SequenceOf[_dvm.Dim]],
        written: tuple[SequenceOf[_dvm.Dim], SequenceOf[_dvm.Dim]],
    ) -> int | None:
        """What is read, of the part or of the base and the part; None where it is no rectangle.

        Along each axis what is read must lie within what is written, or the other way about.
        """
        ones = [1] * len(read[0])
        zero = self.graph.size(0)
        of_part, of_read, counts = [], [], []
        inside = True
        for start, count, at, size in zip(*read, *written, strict=True):
            if start == at and count == size:
                of_part.append(zero)
                of_read.append(zero)
                counts.append(count)
            elif self._lies_in(start, count, at, size):
                of_part.append(start - at)
                of_read.append(zero)
                counts.append(count)
            elif self._lies_in(at, size, start, count):
                inside = False
                of_part.append(zero)
                of_read.append(at - start)
                counts.append(size)
            else:
                return None
        piece = part
        if not same_shape(counts, self.graph.shape(part)):
            piece = self.slice_value(part, of_part, ones, counts)
        if inside:
            return piece
        rest = self.slice_value(base, read[0], ones, read[1])
        return self.update_value(rest, piece, of_read, ones)

    def _lies_in(self, start: _dvm.Dim, count: _dvm.Dim, at: _dvm.Dim, size: _dvm.Dim) -> bool:
        """Whether start ... start + count lies in at ... at + size; asked where it is so."""
        first, last = self.sizes.observed(start), self.sizes.observed(start + count)
        if first < self.sizes.observed(at) or last > self.sizes.observed(at + size):
            return False
        return self.sizes.is_at_most(at, start) and self.sizes.is_at_most(start + count, at + size)

    def after(self, before: Content, change: Callable[[int], int]) -> Content:
        """The content of memory behind a write, which nobody may read whole."""

        def make() -> int:
            value = before.read()
            made = len(self.graph.ops)
            changed = change(value)
            content.spine = range(made, len(self.graph.ops))
            return changed

        content = Content(make=make)
        return content

    def check_views(self) -> None:
        """The checks of integers that views were made with, if nothing has read them."""
        for view in self.unchecked:
            if view.unchecked and view.storage.external and self.is_remade(view):
                self.arrays.layout_register(view)
            elif view.unchecked:
                self.arrays.value_of(view)
        self.unchecked.clear()

    def check_view(self, view: Tensor) -> None:
        """The check of its integers happens even if nothing uses the view."""
        view.unchecked = True
        self.unchecked.append(view)

    def is_remade(self, t: Tensor) -> bool:
        """Whether the host can make it of the array that it is a view of."""
        each: Tensor = t
        while each.base is not None:
            if each.remake is None or each.maybe is not None:
                return False
            each = each.base
        return True

    def forgo(self, content: Content) -> None:
        """Do not compute a changed array of which only the parts leave: the host checks them."""
        self.graph.covered.update(content.spine)


__all__ = ["PartWrite", "WrittenParts"]
