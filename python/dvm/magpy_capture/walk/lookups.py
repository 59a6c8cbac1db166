"""Attributes and subscripts, and what `with` enters: by what kind of value they are of."""

from __future__ import annotations

import enum
import operator
import types
from collections import OrderedDict
from typing import Any

from dvm import classes, reasons
from dvm.annotating import is_packaged
from dvm.classes import is_mutable_class, mro_of, names_in
from dvm.magpy_capture.libraries import (
    ELEMENTWISE,
    EQUALS,
    FUNCTION_TYPES,
    GENERATORS,
    is_array,
    is_fact,
    is_scalar,
    library_of,
)
from dvm.magpy_capture.meanings.python.contexts import CaughtWarnings, Expected
from dvm.magpy_capture.meanings.python.locks import is_lock
from dvm.magpy_capture.objects.derived import SLOTS
from dvm.magpy_capture.objects.instances import BOUND
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import (
    ATTRIBUTES_OF,
    ATTRIBUTES_OF_ARRAYS,
    ENTERED,
    attributes_of,
    of_kind,
)
from dvm.magpy_capture.tensors.indexing import index_parts
from dvm.magpy_capture.values import (
    Abstract,
    CacheLock,
    Closure,
    Converter,
    DefaultDict,
    DequeValue,
    DictValue,
    Flags,
    FlatValue,
    FunctionValue,
    Host,
    Instance,
    ListValue,
    Literal,
    Method,
    OpenSet,
    OrderedValue,
    OwnDict,
    Partial,
    Sequence,
    SetValue,
    Size,
    SliceValue,
    SuperValue,
    Tensor,
    resolve,
)
from dvm.magpy_capture.values.kinds import MISSING, class_attribute, is_constant
from dvm.magpy_capture.walk.calls import is_user_class
from dvm.magpy_capture.walk.layer import WalkPart
from dvm.magpy_capture.walk.methods import IMMUTABLE

#: attributes of a function that its code gives it
OF_CODE = frozenset({"__doc__", "__name__", "__qualname__"})

#: Values whose methods are looked up without further ado
KNOWN_METHODS = (
    *(ListValue, DictValue, DequeValue, SetValue, OpenSet, Size, OwnDict, CacheLock),
    *(CaughtWarnings, Expected),
)


#: What becomes a method of an instance when it is looked up, and no more.
METHODS = (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
#: attributes that tell how an array lies in memory, and whose
LAYOUT = frozenset({"flags", "strides", "base", "data", "ctypes", "__array_interface__"})


class Lookups(WalkPart):
    """The meaning of looking into a value."""

    needs = (
        "annotated containers contexts graph heap host_arrays host_operations indexing instances "
        "ledger locks meanings opaque outputs packages program rules varying writes"
    )

    # ---- attributes

    def attribute(self, base: Abstract, name: str, seen: Any) -> Abstract:
        base = self.program.by_identity(base)
        if isinstance(base, Instance) and is_packaged(base.cls):
            if (made := self.packages.package_property(base, name, seen)) is not None:
                return made
            value = self.plain_attribute(base, name, seen)
            self.annotated.keep_apart_from_kept(value, seen)
            return value
        return self.plain_attribute(base, name, seen)

    def plain_attribute(self, base: Abstract, name: str, seen: Any) -> Abstract:
        if (changed := self.instances.set_of_function(base, name)) is not None:
            return changed
        meaning = (
            ATTRIBUTES_OF_ARRAYS[base.library.name]
            if isinstance(base, Tensor)
            else of_kind(ATTRIBUTES_OF, type(base))
        )
        if meaning is None:
            raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))
        made: Abstract = meaning(self.meanings.holder(meaning), base, name, seen)
        return made

    @attributes_of(*KNOWN_METHODS)
    def attribute_of_known(self, base: Any, name: str, seen: Any) -> Abstract:
        """A method, or the one attribute that a container has besides."""
        if isinstance(base, DequeValue) and name == "maxlen":
            return Literal(base.elements.maxlen)
        if isinstance(base, DefaultDict) and name == "default_factory":
            return resolve(base.factory)
        if isinstance(base, OrderedValue) and not hasattr(OrderedDict, name):
            raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))
        return Method(base, name)

    @attributes_of(Partial)
    def attribute_of_partial(self, base: Partial, name: str, seen: Any) -> Abstract:
        parts = {
            "func": base.function,
            "args": Sequence(base.positional),
            "keywords": DictValue(base.named),
        }
        if name not in parts:
            raise refuse(reasons.ATTRIBUTE_PARTIAL, name)
        return parts[name]

    @attributes_of(Sequence)
    def attribute_of_sequence(self, base: Sequence, name: str, seen: Any) -> Abstract:
        # Of a named tuple, or of one in C.
        fields = getattr(base.cls, "_fields", ()) or getattr(base.cls, "__match_args__", ())
        if name in fields:
            return resolve(base.elements[fields.index(name)])
        found = class_attribute(base.cls, name)
        if not is_mutable_class(base.cls) or isinstance(found, SLOTS):
            return Method(base, name)
        return self.instances.class_value(base, found, name, seen)

    @attributes_of(SliceValue, Converter, Method, Closure)
    def one_of_few(self, base: Any, name: str, seen: Any) -> Abstract:
        """Attributes of values that have no others here."""
        if isinstance(base, SliceValue) and name in ("start", "stop", "step"):
            return resolve(getattr(base, name))
        if isinstance(base, Converter) and name in ("wrap", "as_arrays"):
            return Method(base, name)
        if isinstance(base, Method) and name == "__self__":
            return resolve(base.base)
        if isinstance(base, Method) and name in ("__name__", "__func__"):
            return Literal(seen)
        if isinstance(base, Closure) and name in base.attributes:
            return resolve(base.attributes[name])
        if isinstance(base, Closure) and name in OF_CODE and isinstance(seen, str | None):
            return Literal(seen)
        raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))

    @attributes_of(FunctionValue)
    def attribute_of_function(self, base: FunctionValue, name: str, seen: Any) -> Abstract:
        return self.heap.reach(lambda: self.program.step("getattr", base.register, name), seen)

    @attributes_of(Literal)
    def attribute_of_literal(self, base: Literal, name: str, seen: Any) -> Abstract:
        if is_fact(base.object):
            return self.literal_attribute(base, name, seen)
        if self.heap.is_plain_instance(base.object):
            held = self.heap.reach(lambda: self.program.constant(base.object), base.object)
            if not isinstance(held, Literal):  # which a function with a cache stays
                return self.attribute(held, name, seen)
        if is_scalar(base.object) and _is_method(seen):
            return Method(base, name)
        return self.literal_attribute(base, name, seen)

    @attributes_of(Host)
    def attribute_of_host(self, base: Host, name: str, seen: Any) -> Abstract:
        if isinstance(base.object, GENERATORS):
            return Method(base, name)
        if type(base.object) is types.MethodType and name in ("__self__", "__func__"):
            return self.part_of_method(base, name, seen)
        if name in ("write", "flush") and self.outputs.is_stream(base):
            return Method(base, name)
        if not self.host_operations.is_pure(base):
            raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))
        if is_array(base.object) and not hasattr(type(base.object), name):
            if name not in (base.object.dtype.names or ()):
                return self.rules.attribute(base, name, seen)
        if _is_method(seen):
            return Method(base, name)
        if name == "flat":  # each is an iterator of its own
            raise refuse(reasons.ATTRIBUTE_FLAT, describe(base))
        if base.root.home >= 0 and name in LAYOUT:
            if base.home < 0:
                raise refuse(reasons.ATTRIBUTE_VIEW_ARRAY_WRITTEN, name)
            return self.heap.computed(self.program.step("getattr", base.home, name), seen)
        if is_array(seen):  # a view, or a new array each time
            made = self.program.step("getattr", base.register, name)
            return self.host_arrays.view_on_host(
                made, base, seen, lambda own: self.program.step("getattr", own, name)
            )
        key = ("getattr", base.register, name)
        return self.heap.computed(self.program.step("getattr", base.register, name, key=key), seen)

    def part_of_method(self, base: Host, name: str, seen: Any) -> Abstract:
        """`__self__` or `__func__` of a bound method that the program found."""
        register = base.register
        self.program.guard_type(register, base.object)
        key = ("getattr", register, name)
        return self.heap.reach(lambda: self.program.step("getattr", register, name, key=key), seen)

    @attributes_of(SuperValue)
    def super_attribute(self, base: SuperValue, name: str, seen: Any) -> Abstract:
        of_class = isinstance(base.instance, Literal)
        cls = base.instance.object if of_class else base.instance.cls
        classes = mro_of(cls)
        self.instances.guard_bases(cls)
        for owner in classes[classes.index(base.cls) + 1 :]:
            found = class_attribute(owner, name)
            self.instances.guard_class(owner, name, found)
            if name in names_in(owner):
                if isinstance(found, classmethod):
                    return Method(Literal(cls), name, found.__func__)
                if isinstance(found, (staticmethod, types.BuiltinFunctionType)):
                    return Literal(getattr(found, "__func__", found))
                if of_class or not isinstance(found, METHODS):
                    break  # a property runs code, out of sight, and others are no methods
                return Method(base.instance, name, found)
        raise refuse(reasons.ATTRIBUTE_SUPER, name)

    def literal_attribute(self, base: Literal, name: str, seen: Any) -> Abstract:
        owner = base.object
        if isinstance(owner, types.ModuleType):
            found = class_attribute(type(owner), name)
            getter = class_attribute(type(found), "__get__")
            asked = self.instances.has_meaning(getter)  # of a property that is asked each time
            self.guard_module(owner, name, found if asked else MISSING)
            scope = vars(owner)
            if asked or name not in scope:
                key = ("getattr", id(owner), name)
                return self.heap.reach(
                    lambda: self.program.step(
                        "getattr", self.program.constant(owner), name, key=key
                    ),
                    seen,
                )
            if is_constant(seen):  # math.pi: found with the functions beside it
                self.program.guard_name(scope, name, seen)
                return Literal(seen)
            key = ("variable", id(scope), name)
            return self.heap.reach(
                lambda: self.program.step("variable", scope, name, key=key), seen, (scope, name)
            )
        if isinstance(owner, enum.Enum) and is_constant(seen) and name in ("name", "value"):
            if class_attribute(type(owner), name) is vars(enum.Enum)[name]:
                return Literal(seen)
        if isinstance(owner, type):
            if (stored := self.ledger.stored("attribute", owner, name)) is not None:
                return resolve(stored.value)
        if isinstance(owner, type) and is_user_class(owner):
            found = class_attribute(owner, name)
            if found is not MISSING:
                self.instances.guard_look_up(owner, name)
                return self._of_class(owner, name, found, seen)
            self.instances.guard_metaclass(owner, name, "__getattribute__", "__getattr__")
        of_code = type(owner) is types.CodeType
        if (of_code or self.program.is_local(owner)) and is_constant(seen):
            return Literal(seen)
        user_class = isinstance(owner, type) and is_user_class(owner)
        if user_class and self.program.is_local(owner):  # no step may hold it
            raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))
        if isinstance(owner, (types.FunctionType, *FUNCTION_TYPES)) or user_class:
            fetch = lambda: self.program.step("getattr", self.program.constant(owner), name)  # noqa: E731
            return self.heap.reach(fetch, seen)
        known = (*ELEMENTWISE, type, types.FunctionType)
        if is_constant(owner) or is_fact(owner) or isinstance(owner, known):
            immutable = type(owner) in IMMUTABLE or isinstance(owner, (*ELEMENTWISE, *EQUALS))
            if immutable and _is_method(seen):
                return Method(base, name)
            if is_constant(seen) or callable(seen):
                return Literal(seen)
            if immutable and type(seen) is list and all(map(is_constant, seen)):
                parts = self.heap.snapshots.get(id(seen), seen)
                return ListValue([Literal(part) for part in parts], object=seen)
        raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))

    def guard_module(self, owner: types.ModuleType, name: str, known: Any) -> None:
        """The name is looked up in the module's own dict; a module may change its class.

        known: what its class has under the name, if it is known what that gives.
        """
        cls = type(owner)
        self.program.guard_type(self.program.constant(owner), owner)
        if cls is not types.ModuleType:
            for method, plain in (("__getattribute__", types.ModuleType), (name, object)):
                found = class_attribute(cls, method)
                if found is not vars(plain).get(method, MISSING) and found is not known:
                    raise refuse(reasons.ATTRIBUTE_MODULE_CLASS, name, classes.name_of(cls))
                self.instances.guard_class(cls, method, found)

    def _of_class(self, owner: type, name: str, found: Any, seen: Any) -> Abstract:
        if isinstance(found, (*BOUND, staticmethod, classmethod)):
            self.instances.guard_class(owner, name, found)
        if isinstance(found, (*BOUND, staticmethod)):
            return Literal(getattr(found, "__func__", found))
        if isinstance(found, classmethod):
            return Method(Literal(owner), name, found.__func__)
        return self.instances.class_constant(owner, name, found, seen)

    # ---- subscripts

    def subscript(self, base: Abstract, key: Abstract, seen: Any) -> Abstract:
        if isinstance(base, Tensor) and self.indexing.is_basic(index_parts(key)):
            return self.indexing.index(base, key)
        if isinstance(base, (Flags, FlatValue, Tensor)):
            return self.rules.subscript(base, key, seen)
        if self.packages.is_of_package(base):
            return self.packages.package_call(operator.getitem, [base, key], {}, seen)
        return self.containers.element(base, key, seen)

    def store_subscript(self, base: Abstract, key: Abstract, value: Abstract) -> None:
        if isinstance(base, FlatValue):
            return self.rules.store_subscript(base, key, value)
        if isinstance(base, Host) and is_array(base.object):
            plain: Any = library_of(base.object).array
            self.opaque.call(plain.__setitem__, [base, key, value], {}, None)
            return None
        if not isinstance(base, Tensor):
            return self.containers.store_element(base, key, value)
        parts = index_parts(key)
        if not self.indexing.is_basic(parts):
            return self.rules.store_subscript(base, key, value)
        target = self.indexing.index(
            base,
            Sequence([*parts, Literal(Ellipsis)]) if not _has_ellipsis(parts) else key,
            written=True,
        )
        one_by_one = self.varying.in_turn and base.library.has_scalars and not _has_ellipsis(parts)
        row = _numbers_of(value) if one_by_one else []
        if target.rank == 1 and target.dtype == "float64" and len(row) > 1:
            self.program.require_all_equal(target.shape, [self.graph.size(len(row))])
            for place, number in enumerate(row):
                self.store_subscript(base, Sequence([*parts, Literal(place)]), number)
            return None
        self.writes.write(target, self.rules.element_of(value, target.dtype))
        return None

    # ---- with

    def enter_context(self, manager: Abstract, seen: Any) -> Abstract:
        if (meaning := of_kind(ENTERED, type(manager))) is not None:
            entered: Abstract = meaning(self.meanings.holder(meaning), manager)
            return entered
        if isinstance(manager, CacheLock):
            return Literal(True)
        if is_lock(manager):
            return self.locks.enter_lock(manager)
        if isinstance(manager, CaughtWarnings):
            return self.contexts.enter_warnings(manager, seen)
        if isinstance(manager, Expected):
            return self.contexts.enter_expected(manager)
        raise refuse(reasons.WITH_MANAGER, describe(manager))


def _has_ellipsis(parts: list[Abstract]) -> bool:
    return any(isinstance(part, Literal) and part.object is Ellipsis for part in parts)


def _numbers_of(value: Abstract) -> list[Abstract]:
    """The parts of a tuple or list of ints and floats: written one by one, they make no array.

    None: it is something else.
    """
    value = resolve(value)
    is_made = isinstance(value, (Sequence, ListValue)) and value.cls in (tuple, list)
    if not is_made or value.register >= 0 or not value.is_read:
        return []
    parts = [resolve(part) for part in value.elements]
    is_number = [type(getattr(part, "object", None)) in (int, float) for part in parts]
    return parts if all(is_number) else []


def _is_method(value: Any) -> bool:
    """A function bound to an object by looking it up."""
    return callable(value) and not isinstance(value, type)


__all__ = ["Lookups"]
