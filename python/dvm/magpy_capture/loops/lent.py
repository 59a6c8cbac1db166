"""Arrays that a loop writes in place though the path has not come to its end yet.

A loop is lent arrays of the caller's: it writes into them at once, what was there is kept, and
comes back where the call is given up (cpp/capture/replay/undo.h). A turn of it lends them to the
loops within. So nothing is copied in and back, whatever part of them is written. What was written
before is put into them first, what still reads them is computed first, and behind the loop they
hold another content. Where the path needs the one before after all, it is lowered again with a copy
for that loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.loops.layer import LoopPart
from dvm.magpy_capture.path.graphs import FREE
from dvm.magpy_capture.values import Content, Storage, Tensor

if TYPE_CHECKING:
    from dvm.magpy_capture.values import Abstract


class LentArrays(LoopPart):
    """Which arrays a loop of the path is lent, and what that means for their contents."""

    needs = "graph program updates views writes"

    def __init__(self, variables: int | None) -> None:
        self._variables = variables  # of the loop of which the path is a turn; None: it is none

    def may_lend(self, value: Abstract) -> bool:
        """Whether it is an array of the caller's that can hold its present content.

        A turn has only those to lend that its loop has been lent: variables.
        """
        if not isinstance(value, Tensor) or value.is_scalar or value.base is not None:
            return False
        storage = value.storage
        variables = range(self._variables or 0)
        places = (self.program.known_steps.get(("argument", i)) for i in variables)
        return (
            storage.external
            and (self._variables is None or storage.register in places)
            and not storage.in_copy
            and all(write.key < 0 for write in self.updates.part_writes)
        )

    def lend(self, values: list[Tensor], loop: int, read_behind: list[Abstract]) -> None:
        """Steps before the loop that begins with that event: from then on it may write them.

        read_behind: what the program reads behind it, as it was before it.
        """
        storages = [value.storage for value in values]
        puts = self._puts(values)
        self.views.compute_fallible()
        self._compute_readers(storages, read_behind)
        for storage in storages:
            self.program.guard("guard_writeable", storage.register, True)
            self.program.steps.append(("lend", storage.register))
            self.graph.overwritten[storage.initial] = loop
        self.program.steps.extend(puts)

    def take_back(self, value: Tensor) -> None:
        """Behind the loop nothing is known of what it holds."""
        storage = value.storage
        content = self.graph.input_value(storage.register, storage.object, value.order, value.shape)
        if not value.contiguous:
            self.graph.scattered.add(content)
        self.graph.initials.add(content)
        storage.initial, storage.content = content, Content(content)
        storage.writes.clear()
        storage.version += 1

    def _puts(self, values: list[Tensor]) -> list[tuple[str, int, int]]:
        """The steps that bring the arrays up to what the path has written into them."""
        updates = self.updates
        own = {id(value.storage) for value in values}
        in_parts = {id(v.storage) for v in values if self.writes.leaves_in_parts(v.storage)}
        puts: list[tuple[str, int, int]] = []
        late: set[int] = set()  # arrays that lack what was written so far
        touched: set[int] = set()  # contents that the steps so far have changed
        for write in updates.part_writes:
            storage = write.view.storage
            if id(storage) in in_parts:
                _, place, source = self.writes.part_effect(write, late, touched, set())
                puts.append(("put", place, source))
            else:
                late.add(id(storage))
            touched.add(storage.initial)
        for value in values:
            if id(value.storage) not in late:
                continue
            content = value.storage.content.read()
            if self.graph.is_home(self.graph.root(content)):
                content = self.graph.copy_value(content)
            order = None if value.order == tuple(range(value.rank)) else value.order
            value.storage.uncounted -= 1
            puts.append(("put", value.storage.register, self.graph.leave(content, "array", order)))
        updates.part_writes = [w for w in updates.part_writes if id(w.view.storage) not in own]
        return puts

    def _compute_readers(self, storages: list[Storage], read_behind: list[Abstract]) -> None:
        """Compute what has been read of the arrays so far, also for writes that wait."""
        read: list[int] = []
        for write in self.updates.part_writes:  # into other arrays
            if write.original is not None and write.original.storage in storages:
                write.original = None
            if write.original is None:
                read.append(write.value())
        for each in read_behind:
            if isinstance(each, Tensor) and each.base is None and not each.storage.external:
                read.append(each.storage.content.read())
        readers = self.graph.compute_readers({storage.initial for storage in storages})
        for value in dict.fromkeys(read):
            if value in readers and self.graph.ops[value][0] in FREE:
                self.graph.keep(value)


__all__ = ["LentArrays"]
