"""Instances of classes of Python: their attributes, their classes' and their own `__dict__`."""

from __future__ import annotations

import enum
import functools
import types
from typing import Any, NamedTuple

from dvm import _dvm, classes, reasons
from dvm.classes import is_mutable_class, mro_of, names_in
from dvm.magpy_capture.objects.derived import SLOTS, field_of, inherited
from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import ITERATED, LOOKED_UP, attributes_of, is_settled
from dvm.magpy_capture.values import (
    Abstract,
    CacheLock,
    DictValue,
    FunctionValue,
    Gone,
    Host,
    Instance,
    Literal,
    Method,
    OwnDict,
    Raised,
    Sequence,
    resolve,
)
from dvm.magpy_capture.values.kinds import (
    MISSING,
    class_attribute,
    is_constant,
    is_constant_of,
    own_attribute,
)

#: What becomes a method where an instance finds it in its class.
BOUND = (types.FunctionType, _dvm.Compiled, functools._lru_cache_wrapper)
#: What is called where an instance finds it in its class.
CALLED = (*BOUND, *SLOTS, staticmethod, classmethod)


class LookUp(NamedTuple):
    """What the classes of an object give where a name is looked up in it.

    getter: their `__getattribute__` in Python, if it is asked and it is known what it finds.
    found: under the name itself. field: the place in a named tuple of which that tells.
    is_data: whether that is a data descriptor, which comes before what the object itself has.
    finder: their `__getattr__`, where nothing is found and it is known what that gives.
    is_constant: whether the user vouches that no object ever rebinds the name.
    """

    getter: Any
    found: Any
    field: int | None
    is_data: bool
    finder: Any
    is_constant: bool


class Instances(ObjectPart):
    """What attributes of instances are by the default rules of the language."""

    needs = "heap ledger meanings program varying"

    def __init__(self) -> None:
        # Not kept by the instances, which these refer to: both would outlive the lowering.
        self._own: dict[Instance, OwnDict] = {}
        self._look_ups: dict[tuple[int, str], LookUp] = {}  # by the id of a class, and a name
        self._guarded: set[tuple[int, str]] = set()  # names in classes, likewise

    def content_of(self, value: Abstract, *methods: str) -> Abstract:
        """The container that an object is, for C code that runs these methods of it.

        The value itself where it is none, or where its class has one of its own.
        """
        value = resolve(value)
        if not isinstance(value, Instance):
            return value
        if "__iter__" in methods:
            walked = class_attribute(value.cls, "__iter__")
            if isinstance(walked, types.FunctionType) and walked in ITERATED:
                self.guard_class(value.cls, "__iter__", walked)
                meaning = ITERATED[walked]
                return meaning(self.meanings.holder(meaning), value)
        if value.content is None:
            return value
        for name in methods:
            if class_attribute(value.cls, name) is not inherited(value.cls, name):
                return value
        for name in methods:
            self.guard_class(value.cls, name, inherited(value.cls, name))
        return value.content

    def mapping_of(self, value: Abstract) -> Abstract:
        """The same, for C code that reads all items: `**value`, dict(value), update(value)."""
        found = self.content_of(value, "__iter__", "keys", "__getitem__")
        return DictValue(self.own_items(found)) if isinstance(found, OwnDict) else found

    @attributes_of(Instance)
    def instance_attribute(self, base: Instance, name: str, seen: Any) -> Abstract:
        """`base.name` by the default rules; a followed property never comes here."""
        if name in base.attributes:
            value = base.attributes[name]
            if isinstance(value, Gone):
                raise refuse(reasons.ATTRIBUTE_DELETED, name)
            return resolve(value)
        if base.cls is functools.partial and name in ("func", "args", "keywords"):
            return self.read(base, name, "getattr", seen)
        if self.ledger.stores:
            self._refuse_if_set(base.cls, name)
        look = self._look_ups.get((id(base.cls), name))
        if look is None:
            look = self._look_ups[id(base.cls), name] = self._look_up(base.cls, name)
        found = look.found
        if look.getter is not None:
            self.guard_class(base.cls, name, found)
            return self.looked_up(look.getter, base, name, seen)
        if name == "__class__":
            self.guard_class(base.cls, name, found)
            return Literal(base.cls)
        if name == "__dict__" and type(seen) is dict:
            if base not in self._own:
                initial = self.heap.snapshots.get(id(seen), seen)
                self._own[base] = OwnDict(base, initial, not base.changed)
            return self._own[base]
        if name == "lock" and base.cls is functools.cached_property:
            return CacheLock()
        if look.field is not None and isinstance(base.content, Sequence):
            self.guard_class(base.cls, name, found)
            return resolve(base.content.elements[look.field])
        if base.register < 0:
            return self.class_value(base, found, name, seen)
        if look.is_data:
            if not isinstance(found, types.MemberDescriptorType):
                raise refuse(reasons.ATTRIBUTE_KIND, name, classes.name_of(type(found)))
            self.guard_class(base.cls, name, found)
            return self.read(base, name, "getattr", seen)
        own = own_attribute(base.object, name)
        if look.finder is not None and own is MISSING:
            self.guard_class(base.cls, "__getattr__", look.finder)
            self.guard_class(base.cls, name, found)
            self.program.guard("guard_lacks", base.register, name)
            return self.looked_up(look.finder, base, name, seen)
        if found is MISSING or own is not MISSING:
            self.guard_class(base.cls, name, found)
            if look.is_constant and is_constant(seen):
                self.program.guard_is(base.register, base.object)
                return Literal(seen)
            # The program may have written it since: a default of the class may have been read.
            hidden = seen is found and own is not seen
            return self.read(base, name, "getattr" if hidden else "attribute", seen)
        self.program.guard("guard_lacks", base.register, name)
        return self.class_value(base, found, name, seen)

    def _look_up(self, cls: type, name: str) -> LookUp:
        """What the classes of an object have for that, as it is guarded where it counts."""
        self.program.kept.append(cls)
        getter = class_attribute(cls, "__getattribute__")
        self.guard_class(cls, "__getattribute__", getter)
        is_known = self.has_meaning(getter)
        if not is_known and getter is not inherited(cls, "__getattribute__"):
            raise refuse(reasons.ATTRIBUTE_OBJECT_OWN_GETATTRIBUTE, name)
        found = class_attribute(cls, name)
        self.guard_descriptor(found)
        is_plain = isinstance(found, CALLED) or name in ("__class__", "__dict__")
        finder = class_attribute(cls, "__getattr__") if found is MISSING else None
        return LookUp(
            getter if is_known and not is_plain else None,
            found,
            field_of(found),
            hasattr(type(found), "__set__"),
            finder if self.has_meaning(finder) else None,
            is_constant_of(cls, name),
        )

    def _refuse_if_set(self, cls: type, name: str) -> None:
        for each in mro_of(cls):
            if self.ledger.stored("attribute", each, name) is not None:
                raise refuse(reasons.CLASS_ATTRIBUTE_PROGRAM_SET, name)

    @staticmethod
    def has_meaning(finder: Any) -> bool:
        """Whether it is known what a `__getattribute__` or `__getattr__` in Python finds."""
        return isinstance(finder, types.FunctionType) and finder in LOOKED_UP

    def looked_up(self, finder: Any, base: Instance, name: str, seen: Any) -> Abstract:
        meaning = LOOKED_UP[finder]
        made: Abstract = meaning(self.meanings.holder(meaning), base, name, seen)
        return made

    def read(self, base: Instance, name: str, step: str, seen: Any) -> Abstract:
        register = base.register

        def fetch() -> int:
            return self.program.step(step, register, name, key=(step, register, name))

        value = self.heap.reach(fetch, seen)
        if isinstance(value, Host) and type(seen) in (int, float) and is_settled(base.cls):
            value = self.varying.number(value.register, seen)
        base.attributes[name] = value
        return value

    def class_value(
        self, base: Instance | Raised | Sequence, found: Any, name: str, seen: Any
    ) -> Abstract:
        """What the class provides under `name`, seen through an instance."""
        if found is MISSING:
            raise refuse(reasons.ATTRIBUTE_OBJECT_TYPE, name, classes.name_of(base.cls))
        if isinstance(found, CALLED):
            self.guard_class(base.cls, name, found)
        if isinstance(found, (*BOUND, *SLOTS)):
            return Method(base, name, found)
        if isinstance(found, staticmethod):
            return Literal(found.__func__)
        if isinstance(found, classmethod):
            return Method(Literal(base.cls), name, found.__func__)
        return self.class_constant(base.cls, name, found, seen)

    def class_constant(self, cls: type, name: str, found: Any, seen: Any) -> Abstract:
        """A plain value stored in a class, fetched on every call.

        seen: what the program read, which it may have replaced since.
        """
        holder = self._shared_holder(cls, name)
        if holder is None:
            if not is_constant(found) and not isinstance(found, types.ModuleType):
                self.program.make_local(found, classes.name_of(cls))  # such as its __annotations__
            return Literal(found)

        def fetch() -> int:
            key = ("class_attribute", id(holder), name)
            return self.program.step(
                "class_attribute", self.program.constant(holder), name, key=key
            )

        self.guard_descriptor(found)
        if hasattr(type(found), "__get__") and not isinstance(found, (type, types.FunctionType)):
            raise refuse(reasons.ATTRIBUTE_KIND, name, classes.name_of(type(found)))
        return self.heap.reach(fetch, seen)

    def _shared_holder(self, cls: type, name: str) -> type | None:
        """Where a look-up leaves the classes that only this call has; None: one of them has it."""
        while self.program.is_local(cls):
            if name in names_in(cls):
                return None
            cls = cls.__base__  # type: ignore[assignment]
        return cls

    def guard_class(self, cls: type, name: str, found: Any) -> None:
        """What the class has under the name is this, on every call."""
        if (id(cls), name) in self._guarded:
            return
        self.program.kept.append(cls)
        self._guarded.add((id(cls), name))
        holder = self._shared_holder(cls, name)
        if holder is not None:
            self.program.guard_name(holder, name, found)

    def compares_plainly(self, kind: type[enum.Enum], *methods: str) -> bool:
        """Whether members of an enumeration are compared, or found by `__hash__`, as others are.

        Where they are, no program runs for it on any call.
        """
        for name in methods:
            found = class_attribute(kind, name)
            if isinstance(found, types.FunctionType) and found is not vars(enum.Enum).get(name):
                return False
            self.guard_class(kind, name, found)
        return True

    def guard_metaclass(self, cls: type, *names: str) -> bool:
        """What the class of a class has under the names stays; whether that is what `type` has.

        What a class is asked for goes there first: attributes, its truth, isinstance.
        """
        kind = type(cls)
        found = {name: class_attribute(kind, name) for name in names}
        if is_mutable_class(kind):
            self.program.guard_type(self.program.constant(cls), cls)
            for name, each in found.items():
                self.guard_class(kind, name, each)
        return all(each is class_attribute(type, name) for name, each in found.items())

    def guard_look_up(self, cls: type, name: str) -> None:
        """`cls.name` finds what the class itself has under the name."""
        if not is_mutable_class(type(cls)):
            return
        if not self.guard_metaclass(cls, "__getattribute__"):
            raise refuse(reasons.ATTRIBUTE_OBJECT_OWN_GETATTRIBUTE, name)
        self.guard_metaclass(cls, name)
        found = class_attribute(type(cls), name)
        self.guard_descriptor(found)
        if found is not MISSING and class_attribute(type(found), "__set__") is not MISSING:
            raise refuse(reasons.ATTRIBUTE_KIND, name, classes.name_of(type(found)))

    def guard_bases(self, cls: type) -> None:
        """The class inherits from what it does now: setting __bases__ makes a new __mro__."""
        while self.program.is_local(cls):
            cls = cls.__base__  # type: ignore[assignment]
        if is_mutable_class(cls):
            holder = self.program.constant(cls)
            order = self.program.step("class_order", holder, key=("class_order", holder))
            self.program.guard_is(order, mro_of(cls))

    def guard_descriptor(self, found: Any) -> None:
        """What a class holds stays the kind of descriptor that it is, or none."""
        kind = type(found)
        if is_mutable_class(kind):
            for method in ("__get__", "__set__", "__delete__"):
                has = class_attribute(kind, method)
                self.guard_class(kind, method, has)

    def guard_lifetime(self, cls: type) -> None:
        """Nothing tells when an object of the class dies."""
        if class_attribute(cls, "__del__") is not MISSING:
            raise refuse(reasons.MAKING_OBJECT_TYPE_DEL, classes.name_of(cls))
        self.guard_class(cls, "__del__", MISSING)

    def guard_own_dict(self, base: Instance) -> None:
        """Its attributes are no items of its own, as after `self.__dict__ = self`."""
        if base.register < 0 or not isinstance(base.content, DictValue):
            return
        if inherited(base.cls, "__dict__") is class_attribute(base.cls, "__dict__"):
            return  # it has none
        if vars(base.object) is base.object:
            raise refuse(reasons.WRITE_INTO_DICT, describe(base))
        key = ("getattr", base.register, "__dict__")
        own = self.program.step("getattr", base.register, "__dict__", key=key)
        self.program.guard("guard_same", own, base.register, False)

    def owns(self, own: OwnDict, name: Any) -> bool:
        """Whether the `__dict__` has the name, which every call of the path agrees on."""
        instance = own.instance
        if type(name) is not str:
            raise refuse(reasons.NAME_DICT_NOT_STR)
        if name in instance.attributes:
            return not isinstance(instance.attributes[name], Gone)
        if instance.register < 0:
            return False
        if name not in own.initial:
            self.program.guard("guard_lacks", instance.register, name)
            return False
        self.read(instance, name, "attribute", own.initial[name])
        return True

    def own_items(self, own: OwnDict) -> dict[Any, Any]:
        """All that the `__dict__` holds, in order."""
        instance = own.instance
        names = list(instance.attributes)
        slots = [
            name for name in names if hasattr(type(class_attribute(instance.cls, name)), "__set__")
        ]
        if slots or not (own.early or instance.register < 0):
            raise refuse(reasons.METHOD_OF_NAMESPACE, "items")
        if instance.register >= 0:
            key = ("getattr", instance.register, "__dict__")
            table = self.program.step("getattr", instance.register, "__dict__", key=key)
            self.program.guard("guard_keys", table, tuple(own.initial), key=(table,))
            for name in own.initial:
                self.owns(own, name)
            names = list(dict.fromkeys([*own.initial, *instance.changed]))
        kept = {name: instance.attributes[name] for name in names}
        if any(isinstance(part, Gone) for part in kept.values()):
            raise refuse(reasons.METHOD_OF_NAMESPACE, "items")
        return kept

    def set_own(self, own: OwnDict, name: Any, value: Abstract) -> None:
        """`instance.__dict__[name] = value`, where setattr would do the same."""
        cls = own.instance.cls
        setter, found = class_attribute(cls, "__setattr__"), class_attribute(cls, name)
        if setter is not inherited(cls, "__setattr__") or hasattr(type(found), "__set__"):
            raise refuse(reasons.WRITE_INTO_DICT, describe(own.instance))
        self.guard_class(cls, "__setattr__", setter)
        self.guard_class(cls, name, found)
        own.instance.change(name, value)

    def set_plainly(self, instance: Instance, name: Any, value: Abstract) -> None:
        """`object.__setattr__(instance, name, value)`: into a slot, or the `__dict__`."""
        if type(name) is not str:
            raise refuse(reasons.ATTRIBUTE_WHOSE_NAME_NOT_STR)
        found = class_attribute(instance.cls, name)
        self.guard_class(instance.cls, name, found)
        slot = isinstance(found, types.MemberDescriptorType)
        if hasattr(type(found), "__set__") and not slot:
            raise refuse(reasons.SETTING_ATTRIBUTE, name, describe(instance))
        instance.change(name, value)

    def own_function(self, value: Abstract) -> Any:
        """The function of Python, compiled perhaps, that has attributes of its own; or None."""
        held = value.object if isinstance(value, (Literal, FunctionValue)) else None
        return held if isinstance(held, (types.FunctionType, _dvm.Compiled)) else None

    def set_of_function(self, base: Abstract, name: str) -> Abstract | None:
        """What the program has set as this attribute of a function."""
        if not self.ledger.stores:
            return None
        change = self.ledger.stored("attribute", self.own_function(base), name)
        return resolve(change.value) if change is not None else None


__all__ = ["Instances"]
