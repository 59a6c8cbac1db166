"""Making containers, iterating, branching: what a recorded one of each means."""

from __future__ import annotations

import sys
import types
from typing import Any

from dvm import reasons
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    DictValue,
    End,
    Host,
    Instance,
    IteratorValue,
    ListValue,
    Literal,
    RangeValue,
    Sequence,
    SetItems,
    SetValue,
    SliceValue,
    resolve,
)
from dvm.magpy_capture.values.kinds import class_attribute, has_one_text
from dvm.magpy_capture.walk.layer import WalkPart
from dvm.magpy_capture.walk.recorded import Operands


class FlowEvents(WalkPart):
    """Events that build values, and those that steer the program."""

    needs = (
        "caller containers identity indexing instances lookups loop_policy operator_events "
        "program python record recorded sets"
    )

    def __init__(self) -> None:
        self._taken: dict[int, int] | None = None

    # ---- building

    def on_tuple(self, name: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        parts = [self.recorded.value(node) for node in operands]
        if name == "constant":
            seen = self.record.seen(result)
            return Sequence(parts, register=self.program.constant(seen), object=seen)
        return Sequence(parts)

    def on_list(self, _n: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        return ListValue(
            [self.recorded.value(node) for node in operands], object=self.record.seen(result)
        )

    def on_set(self, _n: str, operands: Operands, *_: Any) -> Abstract:
        made = {self.identity.key(self.recorded.value(node)) for node in operands}
        return SetValue(made, in_order=True)

    def on_dict(self, _n: str, operands: Operands, *_: Any) -> Abstract:
        pairs = [self.recorded.value(node) for node in operands]
        keys = [self.identity.key(key) for key in pairs[::2]]
        return DictValue(dict(zip(keys, pairs[1::2], strict=True)))

    def on_string(self, _n: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        parts = [self.recorded.value(node) for node in operands]
        if all(isinstance(part, Literal) for part in parts):
            return Literal(self.record.seen(result))
        register = self.program.step("string", [self.program.register_of(part) for part in parts])
        return Host(register, self.record.seen(result))

    def on_format(self, name: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        parts = [self.recorded.value(node) for node in operands]
        if not all(self.sets.is_shown(part) for part in parts):
            raise refuse(reasons.FORMATTING, describe(parts[0]))
        if all(isinstance(part, Literal) and has_one_text(part.object) for part in parts):
            return Literal(self.record.seen(result))
        spec = self.program.register_of(parts[1]) if len(parts) > 1 else -1
        return Host(
            self.program.step("format", self.program.register_of(parts[0]), name, spec),
            self.record.seen(result),
        )

    def on_slice(self, name: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        parts = [self.recorded.value(node) for node in operands]
        made = SliceValue(parts[0], parts[1], parts[2] if len(parts) > 2 else Literal(None))
        if name == "constant":
            made.register = self.program.constant(self.record.seen(result))
        return made

    def on_list_append(self, _n: str, operands: Operands, *_: Any) -> None:
        self.recorded.value(operands[0]).append(self.recorded.value(operands[1]))

    def on_list_extend(self, _n: str, operands: Operands, *_: Any) -> None:
        for part in self.containers.each(self.recorded.value(operands[1])):
            self.recorded.value(operands[0]).elements.append(part)

    def on_set_add(self, _n: str, operands: Operands, *_: Any) -> None:
        self.recorded.value(operands[0]).elements.add(
            self.indexing.plain(self.recorded.value(operands[1]))
        )

    def on_set_update(self, _n: str, operands: Operands, *_: Any) -> None:
        for part in self.containers.each(self.recorded.value(operands[1])):
            self.recorded.value(operands[0]).elements.add(self.identity.key(part))

    def on_map_add(self, _n: str, operands: Operands, *_: Any) -> None:
        target, key, value = (self.recorded.value(node) for node in operands)
        target.items[self.identity.key(key)] = value

    def on_dict_update(self, _n: str, operands: Operands, *_: Any) -> None:
        target, source = (self.recorded.value(node) for node in operands)
        source = self.instances.mapping_of(source)
        if not isinstance(source, DictValue):
            raise refuse(reasons.STARS_OF, describe(source))
        target.items.update(source.items)

    on_dict_merge = on_dict_update

    def on_list_to_tuple(self, _n: str, operands: Operands, *_: Any) -> Abstract:
        return Sequence(list(self.recorded.value(operands[0]).elements))

    def on_function(
        self, _n: str, operands: Operands, keywords: list[str], result: int, _f: bool
    ) -> Abstract:
        parts = dict(zip(keywords, operands[1:], strict=True))
        defaults, named = (
            self.recorded.value(parts[name]) if name in parts else None
            for name in ("defaults", "kwdefaults")
        )
        made = self.recorded.closures[id(self.record.seen(result))] = Closure(
            self.record.seen(result), defaults, named
        )
        return made

    def on_import(self, name: str, _o: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        module = self.record.seen(result)
        top = name if sys.modules.get(name) is module else name.partition(".")[0]
        if sys.modules.get(top) is not module:
            raise refuse(reasons.IMPORT, name)
        self.program.guard_name(sys.modules, top, module)
        return Literal(module)

    def on_import_from(
        self, name: str, operands: Operands, _k: Any, result: int, _f: bool
    ) -> Abstract:
        return self.lookups.attribute(
            self.recorded.value(operands[0]), name, self.record.seen(result)
        )

    # ---- iteration

    def on_iter(
        self, _n: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.recorded.dispatched(operands)
        base, seen = self.recorded.value(operands[0]), self.record.seen(result)
        if type(seen) is types.GeneratorType and isinstance(base, Instance):
            found = class_attribute(base.cls, "__iter__")
            self.instances.guard_class(base.cls, "__iter__", found)
            return self.caller.begun(Literal(found), [base], {}, seen)
        if self.loop_policy.is_rolled_over(result, base):
            return base if isinstance(base, IteratorValue) else self.containers.iterator(base)
        return self._left_early(result, base) or self.containers.iterator(base)

    def _left_early(self, iterator: int, base: Abstract) -> IteratorValue | None:
        """An iterator over a range that the program left before its end.

        However far the range goes beyond, the program does not ask.
        """
        base = resolve(base)
        if not isinstance(base, RangeValue) or isinstance(resolve(base.stop), Literal):
            return None
        count = self._items_taken().get(iterator, 0)
        if count == 0:
            return None
        start, step = self.indexing.integer(base.start), self.indexing.integer(base.step)
        items = range(start, start + count * step, step)
        beyond = self.operator_events.comparison(
            "<" if step > 0 else ">", Literal(items[-1]), base.stop, True
        )
        self.python.outcome(beyond, True)
        parts = map(Literal, items)
        return IteratorValue(lambda: next(parts, End))

    def _items_taken(self) -> dict[int, int]:
        """How many items the program took of each iterator that it did not exhaust."""
        if self._taken is not None:
            return self._taken
        taken: dict[int, int] = {}
        ended = set()
        for kind, name, operands, *_ in self.record.events:
            if kind == "next":
                taken[operands[0]] = taken.get(operands[0], 0) + 1
                if name == "exhausted":
                    ended.add(operands[0])
        self._taken = {each: count for each, count in taken.items() if each not in ended}
        return self._taken

    def on_next(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.recorded.dispatched(operands)
        iterator = self.recorded.value(operands[0])
        if not isinstance(iterator, IteratorValue):
            raise refuse(reasons.ITERATION_OVER, describe(iterator))
        if isinstance(iterator, SetItems) and name != "exhausted":
            if (seen := self.record.seen(result)) not in iterator.left:
                raise refuse(reasons.ITERATION_WENT_OTHERWISE_EXPECTED)
            return Literal(iterator.take(seen))
        item = iterator.pull()
        if (item is End) != (name == "exhausted"):
            raise refuse(reasons.ITERATION_WENT_OTHERWISE_EXPECTED)
        return None if item is End else item

    def unpacked(self, name: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        index, _, total = name.partition("/")
        before, star, after = total.partition("*")
        base = self.recorded.value(operands[0])
        if isinstance(base, IteratorValue):
            base = self.recorded.values[operands[0]] = Sequence(
                self.containers.elements(base)
            )  # which ends it
        parts = self.containers.elements(base)
        if not star:
            if len(parts) != int(total):
                raise refuse(reasons.UNPACKING_ANOTHER_LENGTH_RECORDED)
            return resolve(parts[int(index)])
        first, last = int(before), int(after)
        if len(parts) < first + last:
            raise refuse(reasons.UNPACKING_ANOTHER_LENGTH_RECORDED)
        if int(index) == first:
            return ListValue(parts[first : len(parts) - last], object=self.record.seen(result))
        place = int(index)
        if place > first:
            place = len(parts) - last + (place - first - 1)
        return resolve(parts[place])

    # ---- branches and contexts

    def on_branch(
        self, name: str, operands: Operands, keywords: list[str], _r: int, followed: bool
    ) -> None:
        if followed:
            return self.recorded.dispatched(operands)
        value, taken = self.recorded.value(operands[0]), keywords[0] == "1"
        if name == "none":
            return None  # a value of the path is known to be None or known not to be
        self.python.outcome(value, taken)
        return None

    def on_with_enter(
        self, _n: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        manager = self.recorded.value(operands[0])
        if followed:
            if isinstance(manager, Instance):
                found = class_attribute(manager.cls, "__enter__")
                self.instances.guard_class(manager.cls, "__enter__", found)
            return None
        return self.lookups.enter_context(manager, self.record.seen(result))
