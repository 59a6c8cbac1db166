"""Containers of the caller, and those that C code made: their parts are read when asked for."""

from __future__ import annotations

import enum
import functools
import gc
import types
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any

from dvm import classes, reasons
from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import adopts
from dvm.magpy_capture.values import (
    Abstract,
    DefaultDict,
    DequeValue,
    DictValue,
    Host,
    Instance,
    ListValue,
    OrderedValue,
    Sequence,
    Unread,
)
from dvm.magpy_capture.values.kinds import PURE_TYPES, has_identity, is_nan

FACTORY: Any = vars(defaultdict)["default_factory"]


@dataclass(frozen=True)
class Unknown:
    """The snapshot of a list of which nobody knows what it held when the program looked.

    name: of the variable.
    """

    name: str


class Adopted(ObjectPart):
    """How each kind of container is read."""

    needs = "heap identity instances program"

    @adopts(list)
    def adopt_list(self, register: int, seen: list[Any], external: bool = True) -> Abstract:
        if type(unknown := self.heap.snapshots.get(id(seen))) is Unknown:
            return _unknown_list(register, seen, unknown.name)
        items = list(
            self.heap.snapshots[id(seen)] if id(seen) in self.heap.snapshots else list.copy(seen)
        )
        parts: dict[int, Unread] = {}

        def part(place: int) -> Unread:
            if place not in parts:
                parts[place] = self._part("item", register, place, items[place], external)
            return parts[place]

        def load() -> list[Abstract]:
            self.program.guard("guard_length", register, len(items), key=(register,))
            return [part(place) for place in range(len(items))]

        if external:
            return ListValue(None, register, seen, load, part, len(items))
        return ListValue(None, object=seen, load=load, size=len(items), made_in=register)

    @adopts(deque)
    def adopt_deque(self, register: int, seen: deque[Any], external: bool = True) -> Abstract:
        items = list(self.heap.snapshots.get(id(seen), seen))

        parts: dict[int, Unread] = {}

        def part(place: int) -> Unread:
            if place not in parts:
                parts[place] = self._part("item", register, place, items[place])
            return parts[place]

        def load() -> deque[Any]:
            longest = self.limit(register, seen)
            self.program.guard("guard_length", register, len(items), key=(register,))
            return deque(map(part, range(len(items))), longest)

        return DequeValue(None, register, seen, load, part, len(items))

    def limit(self, register: int, seen: deque[Any]) -> int | None:
        """How many elements a deque keeps."""
        key = ("getattr", register, "maxlen")
        longest = self.program.step("getattr", register, "maxlen", key=key)
        self.program.guard("guard_value", longest, seen.maxlen, key=(longest,))
        return seen.maxlen

    @adopts(tuple)
    def adopt_tuple(self, register: int, seen: Any, external: bool = True) -> Abstract:
        items = tuple.__getitem__(seen, slice(None))

        def part(place: int) -> Unread:
            if place not in parts:
                parts[place] = self._part("item", register, place, items[place])
            return parts[place]

        def load() -> list[Abstract]:
            self.program.guard("guard_length", register, len(items), key=(register,))
            return [part(place) for place in range(len(items))]

        parts: dict[int, Unread] = {}
        made = Sequence(None, type(seen), register, seen, load, part, len(items))
        # What a call made has as many on each call, mostly; texts choose what is done, one by one.
        if not external or any(type(item) is str for item in items):
            len(made.elements)
        return made

    @adopts(dict)
    def adopt_dict(self, register: int, seen: Any, external: bool = True) -> Abstract:
        return self._adopt_items(DictValue(None), register, seen, external)

    @adopts(OrderedDict)
    def adopt_ordered(self, register: int, seen: Any, external: bool = True) -> Abstract:
        return self._adopt_items(OrderedValue(None), register, seen, external)

    @adopts(defaultdict)
    def adopt_default(self, register: int, seen: Any, external: bool = True) -> Abstract:
        factory = FACTORY.__get__(seen)
        fetch = functools.partial(self.program.step, "getattr", register, "default_factory")
        return self._adopt_items(
            DefaultDict(Unread(lambda: self.heap.reach(fetch, factory), factory), None),
            register,
            seen,
            external,
        )

    @adopts(types.MappingProxyType)
    def adopt_proxy(self, register: int, seen: Any, external: bool = True) -> Abstract:
        """A mapping proxy, whose content is the dict that it shows, under whatever name."""
        (mapping,) = gc.get_referents(seen)
        if type(mapping) is not dict:
            raise refuse(reasons.PROXY_OF, classes.name_of(type(mapping)))
        shown = self.program.step("call", self.program.constant(gc.get_referents), [register], ())
        made = Instance(type(seen), register=register, object=seen)
        made.content = self.heap.reach(lambda: self.program.step("item", shown, 0), mapping)
        return made

    def _adopt_items(
        self, value: DictValue, register: int, seen: dict[Any, Any], external: bool
    ) -> Abstract:
        items = self.heap.snapshots.get(id(seen))
        if items is None:
            items = dict(value.cls.items(seen))
        own = [key for key in items if type(seen) is dict and has_identity(type(key))]
        for key in items:
            pure = type(key) in PURE_TYPES or isinstance(key, (type, tuple))
            if isinstance(key, enum.Enum):
                pure = pure or self.instances.compares_plainly(type(key), "__hash__", "__eq__")
            if not pure and not (own and has_identity(type(key))):
                raise refuse(reasons.DICT_KEY_TYPE, classes.name_of(type(key)))
            if is_nan(key):
                raise refuse(reasons.NAN_CONTAINER)
        parts: dict[Any, Any] = {
            k: self._part("key", register, k, item)
            for k, item in items.items()
            if not (own and has_identity(type(k)))
        }

        def part(key: Any) -> Any:
            if own and isinstance(key, Instance) and key not in parts and key.object in items:
                item = items[key.object]
                given = [register, self.program.register_of(key)]

                def fetch() -> int:
                    return self.program.step(
                        "call", self.program.constant(dict.__getitem__), given, ()
                    )

                parts[key] = Unread(lambda: self.heap.reach(fetch, item), item)
            return parts.get(key)

        initial = value.initial  # the value itself would be kept alive by what it holds

        def load(stores: list[tuple[Any, Any]]) -> dict[Any, Any]:
            if own:
                return loaded_each(stores)
            self.program.guard("guard_keys", register, tuple(items), key=(register,))
            initial.update(parts)
            return parts | {
                self.program.pin(k, getattr(k, "object", None)).object: v for k, v in stores
            }

        def loaded_each(stores: list[tuple[Any, Any]]) -> dict[Any, Any]:
            listed = self.program.step("iterate", register, len(items))
            for place, key in enumerate(items):
                found = self._part("item", listed, place, key).read()
                name = self.identity.key(
                    self.program.pin(found, key) if isinstance(found, Host) else found
                )
                initial[name] = part(name)
            return initial | {self.program.pin(k, k.object).object: v for k, v in stores}

        value.load, value.part, value.object, value.size = load, part, seen, len(items)
        value.register = register if external else -1
        if not external:
            len(value.items)  # what a call made is known at once
        return value

    def _part(self, step: str, base: int, index: Any, seen: Any, external: bool = True) -> Unread:
        """A part of a container; text and truths in one that the path computed stay open."""
        self.program.deadline.check()
        value: list[Abstract] = []
        is_open = not external and type(seen) in (str, bytes, bool)

        def read() -> Abstract:
            if not value:
                key = (step, base, index)
                if is_open:
                    register = self.program.step(step, base, index, key=key)
                    value.append(self.heap.adopt(register, seen, external=False))
                else:
                    value.append(
                        self.heap.reach(lambda: self.program.step(step, base, index, key=key), seen)
                    )
            return value[0]

        return Unread(read, seen)


def _unknown_list(register: int, seen: list[Any], name: str) -> ListValue:
    """A variable of a loop that its turns append to."""

    def load() -> list[Any]:
        raise refuse(reasons.LOOP_VARIABLE, name, "a list that its turns fill and look through")

    made = ListValue(object=seen)
    made.open(register, load)
    return made


__all__ = ["Adopted", "Unknown"]
