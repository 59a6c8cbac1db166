"""The end of a path: its results and its effects (mocks, paper MagPy section 4.2).

Results become Python objects, and the caller's objects get what the program wrote into them.
Everything that can fail is computed before the step `commit`; then come the effects and `return`.
"""

from __future__ import annotations

import contextvars
import types
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from dvm import reasons
from dvm.magpy_capture.objects.derived import base_of, inherited, kind_of
from dvm.magpy_capture.path.graphs import numbers_of
from dvm.magpy_capture.path.ledger import Called, Stored
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    CounterValue,
    DefaultDict,
    DequeValue,
    DictValue,
    FunctionValue,
    Gone,
    Host,
    IdNumber,
    Instance,
    ListValue,
    Literal,
    Method,
    OpenSet,
    OrderedValue,
    RangeValue,
    Sequence,
    SetValue,
    Size,
    SliceValue,
    Tensor,
    Written,
    of_key,
    resolve,
)
from dvm.magpy_capture.values.kinds import class_attribute
from dvm.magpy_capture.walk.layer import WalkPart

#: Steps that can miss: never after `commit`.
FETCHES = (
    *("variable", "cell", "cell_of", "contents", "preset", "attribute", "item", "key", "cached"),
    *("run", "iterate", "raises"),
)

#: Steps that compute nothing, besides guards.
LOOKS = frozenset(
    "argument constant variable cell cell_of contents preset attribute item key shape".split()
)
#: of np.geterr(): what raises nothing, unless a warning does
QUIET_MODES = frozenset({"ignore", "warn", "print"})
ARRAY = ("array", None)  # kind and order of an output that is a new array in C order


class Effects(WalkPart):
    """Materialises what outlives the path. Containers are built after `commit`, arrays before."""

    needs = (
        "arrays followed graph heap host_arrays instances ledger locks memory outputs program "
        "updates views writes"
    )

    def __init__(self) -> None:
        self.built: dict[int, int] = {}  # id of an abstract container -> register
        self.kept: list[Abstract] = []

    # ---- arrays and scalars: before commit

    def prepare(self, value: Abstract, seen: set[int]) -> None:
        """Compute every array and scalar that `value` leads to."""
        value = resolve(value)
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, Tensor):
            self.arrays.object_register(value)
        elif isinstance(value, (Sequence, ListValue, DequeValue)):
            for part in self._parts_that_leave(value):
                self.prepare(part, seen)
        elif isinstance(value, DictValue):
            if isinstance(value, DefaultDict):
                self.prepare(value.factory, seen)
            if value.register >= 0 and not value.changed:
                return
            for key, part in value.stores:
                self.program.register_of(key)
                self.prepare(part, seen)
            for name, part in value.items.items() if value.is_read else ():
                self.prepare(of_key(name), seen)
                self.prepare(part, seen)
        elif isinstance(value, Instance):
            names = value.attributes if value.register < 0 else value.changed
            for name in names:
                if not isinstance(value.attributes[name], Gone):
                    self.prepare(value.attributes[name], seen)
            if value.content is not None and value.register < 0:
                self.prepare(value.content, seen)
        elif isinstance(value, Method):
            self.prepare(value.base, seen)
        elif isinstance(value, SliceValue):
            for part in (value.start, value.stop, value.step):
                self.prepare(part, seen)
        elif isinstance(value, Host):
            self.host_arrays.leaving_host(value)
        elif isinstance(value, (Size, RangeValue, IdNumber)):
            self.program.register_of(value)
        elif isinstance(value, Literal):
            self.literal(value)
        elif isinstance(value, SetValue):
            for key in value.elements if value.register < 0 else ():
                self.prepare(of_key(key), seen)
            for entry in value.log:
                for part in entry.given:
                    self.prepare(part, seen)
        elif isinstance(value, OpenSet):
            for entry in value.log:
                for key in entry.given:
                    self.prepare(of_key(key), seen)
        elif not isinstance(value, FunctionValue):
            raise refuse(reasons.LEAVES_FUNCTION, describe(value))

    @staticmethod
    def _parts_that_leave(value: Sequence | ListValue | DequeValue) -> Iterable[Abstract]:
        """All of what the program made; of the caller's own, what was put into it."""
        if value.register < 0:
            return () if _is_handed_on(value) else value.elements
        if isinstance(value, Sequence):
            return ()
        if _is_replaced(value):
            return value.elements
        return [part for entry in value.log for part in entry.given if not isinstance(part, int)]

    def literal(self, value: Literal) -> int:
        """A register with the object, or with a new one of its value."""
        held = int(self.program.constant(value.object))
        if not value.made:
            return held
        if value.host < 0:
            kind = self.program.constant(type(value.object))
            value.host = int(self.program.step("call", kind, [held], ()))
        return value.host

    # ---- objects: after commit

    def build(self, value: Abstract) -> int:
        """A register with the object itself; each abstract object becomes one object."""
        value = resolve(value)
        if isinstance(value, Tensor):
            return int(self.arrays.object_register(value))
        if isinstance(value, Literal):
            return self.literal(value)
        if isinstance(value, Host):
            return int(self.host_arrays.leaving_host(value))
        if isinstance(value, (Size, RangeValue, SliceValue, IdNumber)):
            return int(self.program.register_of(value))
        if id(value) in self.built:
            return self.built[id(value)]
        self.kept.append(value)
        register = value.made_in if _is_handed_on(value) else getattr(value, "register", -1)
        if register >= 0:
            self.built[id(value)] = register
            return int(register)
        return self._make(value)

    def _make(self, value: Abstract) -> int:
        if isinstance(value, Sequence):
            made = self.program.step("tuple", [self.build(part) for part in value.elements])
            if value.cls is not tuple:
                maker = self.program.constant(value.maker)
                made = self.program.step("call", maker, [made], ())
            self.built[id(value)] = made
            return int(made)
        if isinstance(value, Method):
            base = self.build(value.base)
            if value.bound:
                parts = [self.program.constant(value.function), base]
                binder = self.program.constant(types.MethodType)
                return int(self.program.step("call", binder, parts, ()))
            return int(self.program.step("getattr", base, value.name))
        if isinstance(value, Closure):
            raise refuse(reasons.FUNCTION_MADE_INSIDE_LEAVES_FUNCTION)
        if isinstance(value, SetValue):
            made = self.program.step("set", [self.build(of_key(part)) for part in value.elements])
            self.built[id(value)] = made
            return int(made)
        # These may contain themselves: made empty, then filled.
        if isinstance(value, Instance):
            made = self.built[id(value)] = self._new(value)
            if isinstance(value.content, DictValue):
                self.fill_dict(value.content, made)
            elif isinstance(value.content, ListValue):
                self.extend(list.extend, made, value.content.elements)
            self.fill_instance(value, made, list(value.attributes))
        elif isinstance(value, ListValue):
            if not self._leads_to(value, value):
                made = self.program.step("list", [self.build(part) for part in value.elements])
                self.built[id(value)] = made
            else:
                made = self.built[id(value)] = self.program.step("list", [])
                parts = [self.build(part) for part in value.elements]
                self.program.steps.append(("list_replace", made, parts))
        elif isinstance(value, DequeValue):
            arguments = [
                self.program.step("list", []),
                self.program.constant(value.elements.maxlen),
            ]
            made = self.program.step("call", self.program.constant(deque), arguments, ())
            self.built[id(value)] = made
            self.extend(deque.extend, made, value.elements)
        elif isinstance(value, OrderedValue):
            made = self.built[id(value)] = self.program.step(
                "call", self.program.constant(value.cls), [], ()
            )
            self.fill_dict(value, made)
        elif isinstance(value, DefaultDict):
            is_counter = isinstance(value, CounterValue)
            maker = self.program.constant(Counter if is_counter else defaultdict)
            given = [] if is_counter else [self.build(value.factory)]
            made = self.built[id(value)] = self.program.step("call", maker, given, ())
            self.fill_dict(value, made)
        else:
            made = self.built[id(value)] = self.program.step("dict", [])
            self.fill_dict(value, made)
        return int(made)

    def _new(self, value: Instance) -> int:
        """A new object, empty; of a tuple with its elements, for these cannot change."""
        self.program.check_shared(value.cls)
        base = value.cls if kind_of(value.cls) else base_of(value.cls)
        if base is None:
            return int(self.program.step("instance", value.cls))
        given = [self.program.constant(value.cls)]
        if isinstance(value.content, Sequence):
            given.append(
                self.program.step("tuple", [self.build(part) for part in value.content.elements])
            )
        made = int(self.program.step("call", self.program.constant(base.__new__), given, ()))
        factory = getattr(value.content, "factory", None)
        if factory is not None:
            self.program.steps.append(
                ("set_attribute", made, "default_factory", self.build(factory))
            )
        return made

    def extend(self, method: Any, register: int, parts: Iterable[Abstract]) -> None:
        """Append to a list or a deque, by its own method."""
        self.call(method, [register, self.program.step("list", [*map(self.build, parts)])])

    def call(self, function: Any, registers: list[int], names: tuple[str, ...] = ()) -> None:
        """An effect that is a call."""
        self.program.steps.append(
            ("effect", self.program.register(), self.program.constant(function), registers, names)
        )

    def entries(self, changed: list[Abstract]) -> Iterator[tuple[int, Callable[[], None]]]:
        """What is done behind the commit: its place in the program's order, and what emits it."""
        ledger = self.ledger
        for stored in ledger.stores.values():
            yield stored.order, partial(self.store, stored)
        for called in ledger.called:
            yield called.order, partial(self.call_again, called)
        for value in changed:
            if isinstance(value, DictValue):
                yield value.order, partial(self.fill_dict, value, value.register)
            elif isinstance(value, Instance):
                for name, order in value.changed.items():
                    yield order, partial(self.fill_instance, value, value.register, [name])
            elif not isinstance(value, (SetValue, OpenSet)) and _is_replaced(value):
                yield value.log[-1].order, partial(self.replace, value)
            else:
                for entry in value.log:
                    yield entry.order, partial(self.write_back, value, entry)

    def prepare_stored(self, stored: Stored, seen: set[int]) -> None:
        """Compute its value, and have what it is stored in."""
        if stored.scope == "cell":
            stored.holder = self.followed.cell_register(stored.holder)
        elif stored.scope != "variable":
            self.program.constant(stored.holder)
        self.prepare(stored.value, seen)

    def store(self, stored: Stored) -> None:
        steps, built = self.program.steps, self.build(stored.value)
        if stored.scope == "variable":
            steps.append(("set_variable", stored.holder, stored.name, built))
        elif stored.scope == "cell":
            steps.append(("set_cell", stored.holder, built))
        elif stored.scope == "context":
            self.call(contextvars.ContextVar.set, [self.program.constant(stored.holder), built])
        else:
            holder = self.program.constant(stored.holder)
            steps.append(("set_attribute", holder, stored.name, built))

    def call_again(self, called: Called) -> None:
        registers = [
            each if isinstance(each, int) else self.build(each) for each in called.arguments
        ]
        self.call(called.function, registers, called.names)

    def replace(self, value: ListValue | DequeValue) -> None:
        """All that is in a list of the caller."""
        parts = [self.build(part) for part in value.elements]
        self.program.steps.append(("list_replace", value.register, parts))

    def write_back(
        self, value: ListValue | DequeValue | SetValue | OpenSet, entry: Written
    ) -> None:
        """What was done to a container of the caller, and no more: others may write elsewhere."""
        register = value.register
        if isinstance(value, OpenSet):
            parts = map(self.build, map(of_key, entry.given))
            return self.call(entry.key, [register, *parts])
        if entry.what == "extend":
            kind = deque if isinstance(value, DequeValue) else list
            return self.extend(kind.extend, register, entry.given)
        given = [
            self.program.constant(part) if isinstance(part, int) else self.build(part)
            for part in entry.given
        ]
        if entry.what == "set":
            self.set_item(value, register, self.program.constant(entry.key), *given)
        elif entry.what == "delete":
            self.delete_item(value, register, self.program.constant(entry.key))
        else:
            self.call(entry.key, [register, *given])

    def set_item(self, value: Abstract, register: int, key: int, item: int) -> None:
        """`container[key] = item`; of a subclass as the class in C does it, if it was that."""
        if getattr(value, "owner", None) is not None:
            self.call(value.cls.__setitem__, [register, key, item])
        else:
            self.program.steps.append(("set_item", register, key, item))

    def delete_item(self, value: Abstract, register: int, key: int) -> None:
        if getattr(value, "owner", None) is not None:
            self.call(value.cls.__delitem__, [register, key])
        else:
            self.program.steps.append(("delete_item", register, key))

    def _leads_to(self, start: Abstract, target: Abstract) -> bool:
        stack, seen = list(start.elements), set()
        while stack:
            value = resolve(stack.pop())
            if value is target:
                return True
            if id(value) in seen or getattr(value, "register", -1) >= 0 or _is_handed_on(value):
                continue
            seen.add(id(value))
            if isinstance(value, (Sequence, ListValue)):
                stack.extend(value.elements)
            elif isinstance(value, DictValue):
                stack.extend(value.items.values())
            elif isinstance(value, Instance):
                stack.extend(value.attributes.values())
        return False

    def fill_dict(self, value: DictValue, register: int) -> None:
        if not value.is_read:
            for key, item in value.stores:
                place = self.program.register_of(key)
                self.set_item(value, register, place, self.build(item))
            return
        if value.register >= 0:
            return self._write_items(value, register)
        if value.owner is not None or isinstance(value, OrderedValue):
            for key, item in value.items.items():
                self.set_item(value, register, self._key(key), self.build(item))
            return
        flat: list[int] = []
        for key, item in value.items.items():
            flat += [self._key(key), self.build(item)]
        if flat:
            self.program.steps.append(("dict_fill", register, flat))

    def _key(self, key: Any) -> int:
        return self.build(of_key(key))

    def _write_items(self, value: DictValue, register: int) -> None:
        """What became of the items of one of the caller: somebody may iterate over the others."""
        before = {} if value.cleared else value.initial
        if value.cleared:
            self.call(value.cls.clear, [register])
        order = {key: place for place, key in enumerate(before)}
        stays, last = set(), -1
        for key in value.items:
            if order.get(key, -1) <= last:
                break  # from here on they are new, or were deleted in between
            stays.add(key)
            last = order[key]
        for key in before:
            if key not in stays:
                self.delete_item(value, register, self._key(key))
        for key, item in value.items.items():
            if key not in stays or item is not before[key]:
                self.set_item(value, register, self._key(key), self.build(item))

    def fill_instance(self, value: Instance, register: int, names: list[str]) -> None:
        steps = self.program.steps
        for name in names:
            part = value.attributes[name]
            is_gone = isinstance(part, Gone)
            if is_gone and value.register < 0:
                continue
            # Whether there was one before the program set it nobody knows: then there is.
            built = self.build(Literal(None) if is_gone else part)
            if class_attribute(value.cls, "__setattr__") is inherited(value.cls, "__setattr__"):
                steps.append(("set_attribute", register, name, built))
            else:  # the class's own has run, or was passed by (as in a frozen dataclass)
                setter = self.program.constant(object.__setattr__)
                arguments = [register, self.program.constant(name), built]
                steps.append(("effect", self.program.register(), setter, arguments, ()))
            if is_gone:
                steps.append(("delete_attribute", register, name))

    def finish(self, result: Abstract) -> None:
        """Append the end of the path: computations left, `commit`, effects, `return`."""
        if not self.graph.leaves_modes:
            raise refuse(reasons.ERRSTATE_OUTLIVES_FUNCTION)
        if not self.locks.leaves_locks:
            raise refuse(reasons.LOCK_OUTLIVES_FUNCTION)
        changed = self._changed_objects()
        seen: set[int] = set()
        for value in changed:
            self.prepare(value, seen)
        for stored in self.ledger.stores.values():
            self.prepare_stored(stored, seen)
        for called in self.ledger.called:
            for argument in called.arguments:
                if not isinstance(argument, int):
                    self.prepare(argument, seen)
        self.prepare(result, seen)
        writes, views = self._array_effects()
        self._keep_apart(changed)
        self.views.compute_fallible()
        if changed or writes or self.ledger.stores:
            self.outputs.guard_outputs()
        if writes:
            self.graph.put_segment_last()
        self.program.steps.append(("commit",))
        self.program.steps.extend(writes)
        for _, emit in sorted(self.entries(changed), key=lambda entry: entry[0]):
            emit()
        returned = self.build(result)
        if self.locks.taken:
            self.program.steps.append(("unlock",))
        self.program.steps.append(("return", returned))
        if all(step[0] == "copyto" for step in writes):
            self._name_targets([step[1:] for step in writes], views)
        behind = self.program.steps[self.program.steps.index(("commit",)) :]
        if any(step[0].startswith("guard") or step[0] in FETCHES for step in behind):
            raise refuse(reasons.OBJECT_WOULD_BE_LOOKED_AFTER)

    def _name_targets(self, copies: list[Any], views: set[int]) -> None:
        """Let the segment before `commit` write into arrays of the caller, where nobody can tell.

        If it gives the replay up then, the original must write the same arrays, not having read
        what they hold now: nothing but the segment computes, and no error state raises. That it
        reads none of them either, and that no check comes too late, is asked of the Plan and of the
        call (cpp/capture/replay/targets.h).
        """
        commit = self.program.steps.index(("commit",))
        name, segment, *_ = self.program.steps[commit - 1]
        if not copies or name != "segment" or not set(segment.modes) <= QUIET_MODES:
            return
        for kind, *operands in self.program.steps[: commit - 1]:
            is_view = kind in ("operator", "call") and operands[0] in views  # of what is written
            if kind not in LOOKS and kind[:6] != "guard_" and not is_view:
                return
        made = {register for _, register, kind, order in segment.outputs if (kind, order) == ARRAY}
        named = Counter(numbers_of(self.program.steps[commit:]))
        if all(source in made and named[source] == 1 for _, source in copies):
            segment.targets = {source: target for target, source in copies}

    def _changed_objects(self) -> list[Abstract]:
        """The caller's objects whose own state the program changed; the content of one apart."""
        reached = [value for value in self.heap.reached.values() if not isinstance(value, Tensor)]
        contents = [getattr(value, "content", None) for value in reached]
        return [
            value
            for value in [*reached, *contents]
            if value is not None
            and getattr(value, "register", -1) >= 0
            and getattr(value, "changed", False)
        ]

    def _keep_apart(self, changed: list[Abstract]) -> None:
        """A changed object of the caller is none of the others it reached in another way."""
        for value in changed:
            value = getattr(value, "owner", None) or value
            if isinstance(value, Instance):
                self.instances.guard_own_dict(value)
            for other in self.heap.reached.values():
                if other is not value and type(other) is type(value) and other.register >= 0:
                    if getattr(other, "cls", None) is getattr(value, "cls", None):
                        self.program.guard("guard_same", value.register, other.register, False)
        for stored in self.ledger.changed_attributes():
            for other in self.heap.reached.values():
                if isinstance(other, FunctionValue) and other.object is not stored.holder:
                    owner = self.program.constant(stored.holder)
                    self.program.guard("guard_same", other.register, owner, False)

    def _array_effects(self) -> tuple[list[Any], set[int]]:
        """Steps that write the caller's arrays, in program order, and the views written through."""
        effects: list[Any] = []
        for private in self.memory.private_arrays:
            effects.append(("copyto", private.home, private.register))
        written = [tensor for tensor in self.arrays.external_arrays if tensor.storage.written]
        in_parts = {id(t.storage) for t in written if self.writes.leaves_in_parts(t.storage)}
        views: set[int] = set()
        touched: set[int] = set()  # contents at entry that the steps so far have changed
        late: set[int] = set()  # arrays that lack what was written so far
        for write in self.updates.part_writes:
            storage = write.view.storage
            if id(storage) in in_parts:
                effects.append(self.writes.part_effect(write, late, touched, views))
            else:
                late.add(id(storage))
            touched.add(storage.initial)
        for tensor in written:
            storage = tensor.storage
            value = storage.initial if id(storage) in in_parts else storage.content.read()
            if value == storage.initial:
                continue
            if self.graph.is_anothers(value):  # of the caller: as it was at entry
                value = self.graph.copy_value(value)
            order = None if tensor.order == tuple(range(tensor.rank)) else tensor.order
            storage.uncounted -= 1
            effects.append(("copyto", storage.register, self.graph.leave(value, "array", order)))
        count_writes = self.graph.array_library.count_writes
        for storage in (tensor.storage for tensor in written):
            if count_writes is not None and storage.uncounted != 0:
                given = [storage.register, self.program.constant(storage.uncounted)]
                function = self.program.constant(count_writes)
                effects.append(("effect", self.program.register(), function, given, ()))
        return effects, views


def _is_replaced(value: ListValue | DequeValue) -> bool:
    return any(entry.what == "replace" for entry in value.log)


def _is_handed_on(value: Abstract) -> bool:
    """Whether it is a list that C code has made, which leaves as it is."""
    return isinstance(value, ListValue) and value.register < 0 and value.untouched_register >= 0


__all__ = ["Effects"]
