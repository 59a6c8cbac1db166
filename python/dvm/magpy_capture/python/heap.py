"""Python objects of the program: reached from its inputs on demand, or made while it ran.

Every object of the caller that the program looked at has one abstract value, found again by
identity, so that aliases stay aliases. Parts that the program did not look at stay unread and are
not guarded (paper MagPy, section 4.1: nodes are created lazily).
"""

from __future__ import annotations

import functools
import gc
import types
from collections import defaultdict, deque
from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from typing import Any

from dvm import _dvm, classes, reasons
from dvm.classes import is_mutable_class
from dvm.magpy_capture.libraries import has_equals, is_array, is_scalar, is_single
from dvm.magpy_capture.part import Part
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.python.derived import (
    base_of,
    is_plain_tuple,
    kind_of,
)
from dvm.magpy_capture.python.kinds import (
    FIXED,
    NOT_PLAIN,
    PURE_TYPES,
    SINGLETONS,
    code_behind,
    has_identity,
    is_nan,
    is_package_function,
    is_shared_draw,
)
from dvm.magpy_capture.python.open_lists import Unknown
from dvm.magpy_capture.values import (
    Abstract,
    DefaultDict,
    DequeValue,
    DictValue,
    FunctionValue,
    Host,
    Instance,
    ListValue,
    Literal,
    OpenSet,
    OrderedValue,
    Sequence,
    SetValue,
    Unread,
)

FACTORY: Any = vars(defaultdict)["default_factory"]


class Objects(Part):
    """The heap of one path."""

    needs = (
        "arrays containers host_arrays lengths library memory open_lists program recorded varying"
    )

    def __init__(self, snapshots: dict[int, Any]) -> None:
        self.reached: dict[int, Abstract] = {}  # id of a mutable object -> its value
        self._reached_registers: dict[int, int] = {}
        self.snapshots = snapshots  # id of a container -> its content at first sight

    def reach(self, fetch: Callable[[], int], seen: Any, name: Any = None) -> Abstract:
        """The value of an object of the caller, found by `fetch` on every call.

        name: (dict, name) when it is a variable of a module, so that functions and modules are
        guarded together.
        """
        seen = self.recorded.as_it_came(seen)
        fixed = issubclass(type(seen), FIXED) or is_single(seen)
        if (code := code_behind(seen)) is not None:
            # Many functions of one code close over different things. A name stands for one.
            fixed = name is not None and not code.co_freevars
        if has_equals(seen):
            fixed = name is not None
        if fixed or type(seen) in (*SINGLETONS, object) or is_package_function(seen):
            if name is not None:
                self.program.guard_name(name[0], name[1], seen)
            else:
                self.program.guard_is(fetch(), seen)
            return Literal(seen)
        register = fetch()
        if id(seen) in self.reached:
            known = self._reached_registers[id(seen)]
            if known != register:
                self.program.guard("guard_same", known, register, True)
            return self.reached[id(seen)]
        value = self.adopt(register, seen, external=True)
        # A number that is met twice may be two of one value in another call, or turn of a loop.
        is_number = isinstance(value, (Literal, Host)) or getattr(value, "is_scalar", False)
        if not is_number or getattr(value, "home", -1) >= 0:
            self.remember(seen, value, register)
        return value

    def remember(self, seen: Any, value: Abstract, register: int) -> None:
        """Where the object is met again, that is its value."""
        self.program.kept.append(seen)
        self.reached[id(seen)] = value
        self._reached_registers[id(seen)] = register

    def adopt(
        self,
        register: int,
        seen: Any,
        *,
        external: bool,
        sizes: SequenceOf[_dvm.Dim] | None = None,
    ) -> Abstract:
        """The value of the object in a register; guards what the lowering relies on.

        sizes: of an array of which nothing else is unknown.
        """
        self.program.check_time()
        kind = type(seen)
        if self.library.fits_graph(seen):
            self.program.guard("guard_signature", register, seen, key=(register,))
            if external and id(seen) in self.memory.joint:
                return self.memory.joined(register, seen)
            tensor = self.arrays.tensor_of_array(register, seen, external=external, sizes=sizes)
            if external:
                self.memory.meet(tensor)
            return tensor
        if is_scalar(seen) and self.library.is_held(seen):
            self.program.guard_type(register, seen)
            return self.arrays.tensor_of_scalar(register, seen)
        if kind is bool and not external:  # only a branch on it steers the program
            self.program.guard_type(register, seen)
            return Host(register, seen)
        if kind in SINGLETONS:
            self.program.guard_is(register, seen)
            return Literal(seen)
        if kind in (str, bytes):
            if external:
                return self.varying.adopt(register, seen)
            self.program.guard_type(register, seen)
            return Host(register, seen)
        if has_equals(seen):
            self.program.guard_type(register, seen)
            return Host(register, seen)
        if kind is types.FunctionType and code_behind(seen) is not None:
            self.program.guard_type(register, seen)
            return FunctionValue(register, seen)
        if issubclass(kind, FIXED) or is_shared_draw(seen) or is_single(seen):
            self.program.guard_is(register, seen)
            return Literal(seen)
        self.program.guard_type(register, seen)
        if kind is tuple or is_plain_tuple(kind):
            return self.adopt_tuple(register, seen, external)
        if kind is deque:
            return self._adopt_deque(register, seen)
        if (row := kind_of(kind)) is not None and row.adopt:
            return getattr(self, row.adopt)(register, seen, external)
        if external and (base := base_of(kind)) is not None:
            return self._adopt_derived(register, seen, base)
        if kind is set and external:
            items = self.snapshots.get(id(seen), seen)
            if any(has_identity(type(item)) for item in items):
                return OpenSet(register, seen, frozenset(items))
            if any(map(is_nan, items)):
                raise refuse(reasons.NAN_CONTAINER)
            self.program.guard("guard_value", register, set(items), key=(register,))
            return SetValue(set(items), register, object=seen)
        if self.is_plain_instance(seen):
            return Instance(kind, register=register, object=seen)
        if is_array(seen):
            return self.host_arrays.host_array_of(register, seen, external)
        return Host(register, seen, made=not external)

    def _adopt_derived(self, register: int, seen: Any, base: type) -> Abstract:
        made = Instance(type(seen), register=register, object=seen)
        row = kind_of(base)
        if row is not None and row.adopt:
            made.content = getattr(self, row.adopt)(register, seen, True)
            made.content.owner = made
            if base is tuple:
                made.content.cls = tuple
        return made

    def adopt_list(self, register: int, seen: list[Any], external: bool = True) -> Abstract:
        if type(unknown := self.snapshots.get(id(seen))) is Unknown:
            return self.open_lists.argument(register, seen, unknown.name)
        items = list(self.snapshots[id(seen)] if id(seen) in self.snapshots else list.copy(seen))
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

    def _adopt_deque(self, register: int, seen: deque[Any]) -> Abstract:
        items = list(self.snapshots.get(id(seen), seen))

        parts: dict[int, Unread] = {}

        def part(place: int) -> Unread:
            if place not in parts:
                parts[place] = self._part("item", register, place, items[place])
            return parts[place]

        def load() -> deque[Any]:
            longest = self.lengths.limit(register, seen)
            self.program.guard("guard_length", register, len(items), key=(register,))
            return deque(map(part, range(len(items))), longest)

        return DequeValue(None, register, seen, load, part, len(items))

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

    def adopt_dict(self, register: int, seen: Any, external: bool = True) -> Abstract:
        return self._adopt_items(DictValue(None), register, seen, external)

    def adopt_ordered(self, register: int, seen: Any, external: bool = True) -> Abstract:
        return self._adopt_items(OrderedValue(None), register, seen, external)

    def adopt_default(self, register: int, seen: Any, external: bool = True) -> Abstract:
        factory = FACTORY.__get__(seen)
        fetch = functools.partial(self.program.step, "getattr", register, "default_factory")
        return self._adopt_items(
            DefaultDict(Unread(lambda: self.reach(fetch, factory), factory), None),
            register,
            seen,
            external,
        )

    def adopt_proxy(self, register: int, seen: Any, external: bool = True) -> Abstract:
        """A mapping proxy, whose content is the dict that it shows, under whatever name."""
        (mapping,) = gc.get_referents(seen)
        if type(mapping) is not dict:
            raise refuse(reasons.PROXY_OF, classes.name_of(type(mapping)))
        shown = self.program.step("call", self.program.constant(gc.get_referents), [register], ())
        made = Instance(type(seen), register=register, object=seen)
        made.content = self.reach(lambda: self.program.step("item", shown, 0), mapping)
        return made

    def _adopt_items(
        self, value: DictValue, register: int, seen: dict[Any, Any], external: bool
    ) -> Abstract:
        items = self.snapshots.get(id(seen))
        if items is None:
            items = dict(value.cls.items(seen))
        own = [key for key in items if type(seen) is dict and has_identity(type(key))]
        for key in items:
            pure = type(key) in PURE_TYPES or isinstance(key, (type, tuple))
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

                parts[key] = Unread(lambda: self.reach(fetch, item), item)
            return parts.get(key)

        def load(stores: list[tuple[Any, Any]]) -> dict[Any, Any]:
            if own:
                return loaded_each(stores)
            self.program.guard("guard_keys", register, tuple(items), key=(register,))
            value.initial = dict(parts)
            return parts | {
                self.program.pin(k, getattr(k, "object", None)).object: v for k, v in stores
            }

        def loaded_each(stores: list[tuple[Any, Any]]) -> dict[Any, Any]:
            listed = self.program.step("iterate", register, len(items))
            for place, key in enumerate(items):
                found = self._part("item", listed, place, key).read()
                name = self.containers.key(
                    self.program.pin(found, key) if isinstance(found, Host) else found
                )
                value.initial[name] = part(name)
            return value.initial | {self.program.pin(k, k.object).object: v for k, v in stores}

        value.load, value.part, value.object, value.size = load, part, seen, len(items)
        value.register = register if external else -1
        if not external:
            len(value.items)  # what a call made is known at once
        return value

    def _part(self, step: str, base: int, index: Any, seen: Any, external: bool = True) -> Unread:
        """A part of a container; text and truths in one that the path computed stay open."""
        self.program.check_time()
        value: list[Abstract] = []
        is_open = not external and type(seen) in (str, bytes, bool)

        def read() -> Abstract:
            if not value:
                key = (step, base, index)
                if is_open:
                    register = self.program.step(step, base, index, key=key)
                    value.append(self.adopt(register, seen, external=False))
                else:
                    value.append(
                        self.reach(lambda: self.program.step(step, base, index, key=key), seen)
                    )
            return value[0]

        return Unread(read, seen)

    @staticmethod
    def is_plain_instance(seen: Any) -> bool:
        """An instance of a Python class whose attributes work as the language's default says."""
        cls = type(seen)
        if cls is types.SimpleNamespace:
            return True
        return is_mutable_class(cls) and not issubclass(cls, NOT_PLAIN)

    def computed(
        self, register: int, seen: Any, sizes: SequenceOf[_dvm.Dim] | None = None
    ) -> Abstract:
        """The value of what a pure host operation made; `sizes` of an array, if known."""
        return self.adopt(register, seen, external=False, sizes=sizes)
