"""Python objects of the program: reached from its inputs on demand, or made while it ran.

Every object of the caller that the program looked at has one abstract value, found again by
identity, so that aliases stay aliases. Parts that the program did not look at stay unread and are
not guarded (paper MagPy, section 4.1: nodes are created lazily).
"""

from __future__ import annotations

import types
from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from typing import Any

from dvm import _dvm, classes, reasons
from dvm.classes import is_mutable_class
from dvm.magpy_capture.libraries import (
    fits_graph,
    has_equals,
    is_array,
    is_held,
    is_plain_array,
    is_single,
    library_of,
)
from dvm.magpy_capture.objects.derived import base_of, is_plain_tuple
from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.path.spec import HandedOn, refuse
from dvm.magpy_capture.registry import ADOPTS, Meaning
from dvm.magpy_capture.values import (
    Abstract,
    FunctionValue,
    Host,
    Instance,
    Literal,
    OpenSet,
    SetValue,
)
from dvm.magpy_capture.values.kinds import (
    FIXED,
    MISSING,
    NOT_PLAIN,
    SINGLETONS,
    code_behind,
    has_identity,
    is_nan,
    is_package_function,
    is_shared_draw,
)

#: Classes of which a path never stands for one object alone.
VARYING = frozenset({int, float, complex, str, bytes, tuple, list, dict})
#: those of them that have a row of their own
CONTAINERS = frozenset({tuple, list, dict})


class Objects(ObjectPart):
    """The heap of one path."""

    needs = "arrays graph meanings memory program record rules varying"

    def __init__(self, snapshots: dict[int, Any]) -> None:
        self.reached: dict[int, Abstract] = {}  # id of a mutable object -> its value
        self._reached_registers: dict[int, int] = {}
        self.snapshots = snapshots  # id of a container -> its content at first sight
        # ids of classes of Python of which an object was met that is nothing but its attributes
        self._plain: set[int] = set()
        self.handed_on: Any = MISSING  # where this object is reached, that is all there is to it

    def reach(self, fetch: Callable[[], int], seen: Any, name: Any = None) -> Abstract:
        """The value of an object of the caller, found by `fetch` on every call.

        name: (dict, name) when it is a variable of a module, so that functions and modules are
        guarded together.
        """
        if seen is self.handed_on:
            raise HandedOn(fetch())
        seen = self.record.as_it_came(seen)
        kind = type(seen)
        if kind is _dvm.Dropped:  # an item of a container that it held before
            raise refuse(reasons.OBJECT_TELLS_END)
        varies = kind in VARYING or id(kind) in self._plain or is_plain_array(seen)
        if not varies and self._is_fixed(seen, name is not None):
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

    @staticmethod
    def _is_fixed(seen: Any, is_named: bool) -> bool:
        """Whether a path is for calls that have this very object there."""
        if (code := code_behind(seen)) is not None:
            # Many functions of one code close over different things. A name stands for one.
            fixed = is_named and not code.co_freevars
        elif has_equals(seen):
            fixed = is_named
        else:
            fixed = issubclass(type(seen), FIXED) or is_single(seen)
        return fixed or type(seen) in (*SINGLETONS, object) or is_package_function(seen)

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
        self.program.deadline.check()
        kind = type(seen)
        if kind in (int, float, complex):
            self.program.guard_type(register, seen)
            return Host(register, seen, made=not external)
        if id(kind) in self._plain:
            self.program.guard_type(register, seen)
            return Instance(kind, register=register, object=seen)
        if kind in CONTAINERS:
            self.program.guard_type(register, seen)
            return self._adopted(ADOPTS[id(kind)], register, seen, external)
        if fits_graph(seen):
            self.program.guard("guard_signature", register, seen, key=(register,))
            self.graph.meet(library_of(seen))
            if external and id(seen) in self.memory.joint:
                part = self.memory.joined(register, seen, self.reach)
                part.wants_gradient = self.rules.met(seen)
                return part
            sizes = self.rules.known_sizes(register, seen) if sizes is None else sizes
            tensor = self.arrays.tensor_of_array(register, seen, external=external, sizes=sizes)
            tensor.wants_gradient = tensor.storage.wants_gradient = self.rules.met(seen)
            if external:
                self.memory.meet(tensor)
            return tensor
        if is_held(seen):
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
        if is_array(seen) and not library_of(seen).is_foreign(seen):
            raise refuse(reasons.FOREIGN_ARRAY, library_of(seen).name, classes.name_of(kind))
        if (meaning := ADOPTS.get(id(tuple if is_plain_tuple(kind) else kind))) is not None:
            return self._adopted(meaning, register, seen, external)
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
            if not is_array(seen):  # of which some are values of another kind
                self.program.kept.append(kind)
                self._plain.add(id(kind))
            return Instance(kind, register=register, object=seen)
        if is_array(seen):
            return self._adopted(ADOPTS[id(library_of(seen).array)], register, seen, external)
        return Host(register, seen, made=not external)

    def _adopted(self, meaning: Meaning, register: int, seen: Any, external: bool) -> Any:
        """The value of an object of a kind that one of the parts knows."""
        return meaning(self.meanings.holder(meaning), register, seen, external)

    def _adopt_derived(self, register: int, seen: Any, base: type) -> Abstract:
        made = Instance(type(seen), register=register, object=seen)
        if (meaning := ADOPTS.get(id(base))) is not None:
            made.content = self._adopted(meaning, register, seen, True)
            made.content.owner = made
            if base is tuple:
                made.content.cls = tuple
        return made

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
