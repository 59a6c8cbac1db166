"""Python objects of the program: reached from its inputs on demand, or made while it ran.

Every object of the caller that the program looked at has one abstract value, found again by
identity, so that aliases stay aliases. Parts that the program did not look at stay unread and are
not guarded (paper MagPy, section 4.1: nodes are created lazily).
"""

from __future__ import annotations

import datetime
import enum
import functools
import operator
import random
import sys
import types
from collections import defaultdict, deque
from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from typing import Any

import numpy as np

from dvm import _dvm, reasons
from dvm.annotating import NOTHING, PACKAGED, annotation_of
from dvm.magpy_capture.meanings import attributes_of
from dvm.magpy_capture.numpy.masked import (
    is_masked,
    is_masked_constant,
    is_masked_function,
    may_share,
)
from dvm.magpy_capture.numpy.tables import OPERATORS
from dvm.magpy_capture.part import Part
from dvm.magpy_capture.path.joint_memory import owner_of, place_of, share_elements
from dvm.magpy_capture.path.program import MISSING, describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.python.derived import (
    SLOTS,
    base_of,
    field_of,
    inherited,
    is_plain_tuple,
    kind_of,
)
from dvm.magpy_capture.tensors.arrays import is_supported
from dvm.magpy_capture.values import (
    Abstract,
    CacheLock,
    DefaultDict,
    DequeValue,
    DictValue,
    FunctionValue,
    Gone,
    Host,
    Instance,
    ListValue,
    Literal,
    Method,
    OpenSet,
    OrderedValue,
    OwnDict,
    Raised,
    RangeValue,
    Sequence,
    SetValue,
    Size,
    SliceValue,
    Storage,
    Tensor,
    Unread,
    resolve,
)

#: (operator of the language, how many operands) -> the function that is it
ARRAY_OPERATORS: dict[tuple[str, int], Any] = {
    (name, count): function
    for kind, count in (("unary", 1), ("binary", 2), ("compare", 2))
    for name, function in OPERATORS[kind].items()
}
#: Functions that look into their argument, and never change.
GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
#: Types whose objects are known by identity when reached through a name or an attribute.
FIXED = (
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    type,
    np.ufunc,
    np.dtype,
    type(np.sum),
    types.GenericAlias,
    types.NotImplementedType,
    type(np.random.default_rng),
    enum.Enum,
    functools._lru_cache_wrapper,
    *GETTERS,
)
#: Instances of subclasses of these have state that is not in attributes.
NOT_PLAIN = (
    *(np.ndarray, np.generic, BaseException, int, float, complex, str, bytes, tuple, list, dict),
    *(set, frozenset, types.ModuleType, type, enum.Enum),
)
#: What becomes a method where an instance finds it in its class.
BOUND = (types.FunctionType, _dvm.Compiled, functools._lru_cache_wrapper)
MAX_RANK = 8  # of arrays in the graph
SINGLETONS = (bool, type(None), type(Ellipsis))
#: Exact types whose operators and methods change nothing and run no code of the user.
PURE_TYPES = (int, float, complex, bool, str, bytes, type(None), range, slice, np.dtype)

#: The same, of what an array of objects may hold; and Decimal, where it is imported.
PLAIN_TYPES = frozenset(
    {*PURE_TYPES, type(Ellipsis)}
    | {getattr(datetime, name) for name in ("date", "datetime", "time", "timedelta")}
)
FLAGS = type(np.zeros(0).flags)
FACTORY: Any = vars(defaultdict)["default_factory"]


def is_fixed(value: Abstract) -> bool:
    """Whether `value` is the same object or an equal constant on every call."""
    value = resolve(value)
    return isinstance(value, Literal) and is_constant(value.object)


class Objects(Part):
    """The heap of one path."""

    needs = "array_classes arrays containers graph host_arrays indexing program shapes views"

    def __init__(self, joint: set[int], snapshots: dict[int, Any]) -> None:
        self.reached: dict[int, Abstract] = {}  # id of a mutable object -> its value
        self._reached_registers: dict[int, int] = {}
        self.external_arrays: list[Tensor] = []
        self.opaque_arrays: list[tuple[int, np.ndarray[Any, Any]]] = []  # as host objects alone
        self.private_arrays: list[Host] = []  # of the caller, written on the host
        #: attributes that the program set of classes and functions
        self.class_changes: dict[tuple[int, str], tuple[Any, str, Abstract]] = {}
        self.joint = joint  # ids of arrays that are views of another
        self.wanted_joint: set[int] = set()
        self._joint_registers: list[int] = []
        self.snapshots = snapshots  # id of a container -> its content at first sight

    # ---- reaching

    def reach(self, fetch: Callable[[], int], seen: Any, name: Any = None) -> Abstract:
        """The value of an object of the caller, found by `fetch` on every call.

        name: (dict, name) when it is a variable of a module, so that functions and modules are
        guarded together.
        """
        fixed = (
            issubclass(type(seen), FIXED) or is_masked_constant(seen) or is_masked_function(seen)
        )
        if (code := code_behind(seen)) is not None:
            # Many functions of one code close over different things. A name stands for one.
            fixed = name is not None and not code.co_freevars
        if issubclass(type(seen), np.dtype) and seen.isbuiltin != 1:  # one of many equal ones
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
        if not isinstance(value, (Literal, Host)) or getattr(value, "home", -1) >= 0:
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
        if self.fits_graph(seen):
            self.program.guard("guard_signature", register, seen, key=(register,))
            if external and id(seen) in self.joint:
                return self._joint(register, seen)
            tensor = self.arrays.tensor_of_array(register, seen, external=external, sizes=sizes)
            if external:
                self.meet(tensor)
            return tensor
        if issubclass(kind, np.generic) and is_supported(seen.dtype):
            self.program.guard_type(register, seen)
            return self.arrays.tensor_of_scalar(register, seen)
        if kind is bool and not external:  # only a branch on it steers the program
            self.program.guard_type(register, seen)
            return Host(register, seen)
        if kind in SINGLETONS:
            self.program.guard_is(register, seen)
            return Literal(seen)
        if kind in (str, bytes):
            return self._text(register, seen, external)
        if issubclass(kind, np.dtype) and seen.isbuiltin != 1:  # one of many equal ones
            self.program.guard_type(register, seen)
            return Host(register, seen)
        if kind is types.FunctionType and code_behind(seen) is not None:
            self.program.guard_type(register, seen)
            return FunctionValue(register, seen)
        if issubclass(kind, FIXED) or is_shared_draw(seen) or is_masked_constant(seen):
            self.program.guard_is(register, seen)
            return Literal(seen)
        self.program.guard_type(register, seen)
        if kind is tuple or is_plain_tuple(kind):
            return self.adopt_tuple(register, seen)
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

    @staticmethod
    def fits_graph(seen: Any) -> bool:
        """Whether it is an array that the graph can hold."""
        plain = type(seen) is np.ndarray and is_supported(seen.dtype)
        return plain and seen.flags.aligned and seen.ndim <= MAX_RANK

    def _text(self, register: int, seen: Any, external: bool) -> Abstract:
        if not external:
            self.program.guard_type(register, seen)
            return Host(register, seen)
        self.program.guard("guard_value", register, seen, key=(register,))
        return Literal(seen, identical=False)

    def _adopt_derived(self, register: int, seen: Any, base: type) -> Abstract:
        made = Instance(type(seen), register=register, object=seen)
        row = kind_of(base)
        if row is not None and row.adopt:
            made.content = getattr(self, row.adopt)(register, seen, True)
            made.content.owner = made
            if base is tuple:
                made.content.cls = tuple
        return made

    def content_of(self, value: Abstract, *methods: str) -> Abstract:
        """The container that an object is, for C code that runs these methods of it.

        The value itself where it is none, or where its class has one of its own.
        """
        value = resolve(value)
        if not isinstance(value, Instance) or value.content is None:
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

    def adopt_list(self, register: int, seen: list[Any], external: bool = True) -> Abstract:
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
        return ListValue(load(), object=seen)

    def _adopt_deque(self, register: int, seen: deque[Any]) -> Abstract:
        items = list(self.snapshots.get(id(seen), seen))

        def load() -> deque[Any]:
            longest = self.program.step(
                "getattr", register, "maxlen", key=("getattr", register, "maxlen")
            )
            self.program.guard("guard_value", longest, seen.maxlen, key=(longest,))
            self.program.guard("guard_length", register, len(items), key=(register,))
            parts = [self._part("item", register, i, item) for i, item in enumerate(items)]
            return deque(parts, seen.maxlen)

        return DequeValue(register=register, object=seen, load=load)

    def adopt_tuple(self, register: int, seen: Any, external: bool = True) -> Abstract:
        items = tuple.__getitem__(seen, slice(None))
        self.program.guard("guard_length", register, len(items), key=(register,))
        parts = [self._part("item", register, i, item) for i, item in enumerate(items)]
        return Sequence(parts, type(seen), register, seen)

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
                raise refuse(reasons.DICT_KEY_TYPE, type(key).__name__)
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

        value.load, value.part, value.object = load, part, seen
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

    # ---- memory shared between the caller's arrays

    def has_written_arrays(self) -> bool:
        return any(tensor.storage.written for tensor in self.external_arrays)

    def meet(self, tensor: Tensor) -> None:
        """A new array of the caller: it must not share memory with one written before."""
        for other in self.external_arrays:
            if other.storage.written:
                self._part_from(other.storage, tensor.storage)
        for private in self.private_arrays:
            self.apart(private.home, private.object, tensor.storage.register, tensor.object)
        self.external_arrays.append(tensor)

    def refuse_overlapping_itself(self, array: np.ndarray[Any, Any]) -> None:
        """What such a write leaves follows from NumPy's order, which copies do not have."""
        if _dvm.repeated_axes(array) or _dvm.is_overlapping(array):
            raise refuse(reasons.WRITE_INTO_ARRAY_OVERLAPPING_ITSELF)

    def may_write(self, t: Tensor) -> None:
        self.views.decide_all(t)
        if t.storage.root is not None:
            self.host_arrays.keep_on_host(t.storage.root)
            if is_masked(t.storage.root):
                raise refuse(reasons.WRITE_INTO_ARRAY_MASKED)
        first = not t.storage.written and t.storage.external
        if first:
            self.refuse_overlapping_itself(t.storage.object)
            for other in self.external_arrays:
                if other.storage is not t.storage:
                    self._part_from(t.storage, other.storage)
            for register, array in self.opaque_arrays:
                self.apart(t.storage.register, t.storage.object, register, array)
        self.arrays.require_writeable(t)

    def _part_from(self, a: Storage, b: Storage) -> None:
        self.apart(a.register, a.object, b.register, b.object)

    def meet_opaque(self, register: int, array: np.ndarray[Any, Any]) -> None:
        """The same for an array that the graph cannot hold."""
        for other in self.external_arrays:
            if other.storage.written:
                self.apart(other.storage.register, other.storage.object, register, array)
        for private in self.private_arrays:
            self.apart(private.home, private.object, register, array)
        self.opaque_arrays.append((register, array))

    def _can_join(self, *arrays: Any) -> bool:
        """Whether all are views of one array that the graph can hold."""
        if not all(self.fits_graph(array) for array in arrays):
            return False
        owners = [owner_of(array) for array in arrays]
        if any(owner is None or owner is not owners[0] for owner in owners):
            return False
        return all(array.base is None or place_of(array) for array in arrays)

    def _joint(self, register: int, seen: np.ndarray[Any, Any]) -> Tensor:
        """An array of the caller as a view of the one whose memory it is, for others are too."""
        placed = None if seen.base is None else place_of(seen)
        if placed is None:  # it is the owner, or was never asked for
            tensor = self.arrays.tensor_of_array(register, seen, external=True)
            self.meet(tensor)
            return tensor
        key = ("getattr", register, "base")
        owner = self.reach(
            lambda: self.program.step("getattr", register, "base", key=key), seen.base
        )
        shape, part = placed
        home = owner.storage.register
        tensor, made = owner, home
        if shape is not None:
            tensor = self.shapes.reshape(owner, Literal(shape))
            given = [home, self.program.constant(shape)]
            made = self.program.step("call", self.program.constant(np.ndarray.reshape), given, ())
        tensor = self.indexing.index(tensor, Literal(part))
        made = self.program.step("operator", "getitem", made, self.program.constant(part))
        self.program.guard("guard_view", register, made)
        self.program.guard("guard_writeable", register, bool(seen.flags.writeable))
        for other in self._joint_registers:
            self.program.guard("guard_same", register, other, False)
        self._joint_registers.append(register)
        tensor.host, tensor.object, tensor.writeable = register, seen, seen.flags.writeable
        return tensor

    def apart(self, one: int, a: Any, two: int, b: Any) -> None:
        meet = False
        for first, x in self.array_classes.memory_registers(one, a):
            for second, y in self.array_classes.memory_registers(two, b):
                if not np.may_share_memory(x, y):
                    self.program.guard("guard_overlap", first, second, False, key=(first, second))
                    continue
                overlap = share_elements(x, y)
                self.program.guard("guard_shared", first, second, overlap, key=(first, second))
                meet = meet or overlap
        if meet:
            if self._can_join(a, b):
                self.wanted_joint |= {id(a), id(b)}
            for array in (a, b, a.base, b.base):
                if any(array is known for _, known in self.opaque_arrays):
                    self.host_arrays.keep_on_host(array)
            raise refuse(reasons.SHARED_MEMORY_WRITTEN)

    # ---- attributes of instances

    @attributes_of(Instance)
    def instance_attribute(self, base: Instance, name: str, seen: Any) -> Abstract:
        """`base.name` by the default rules; a followed property never comes here."""
        if name in base.attributes:
            value = base.attributes[name]
            if isinstance(value, Gone):
                raise refuse(reasons.ATTRIBUTE_DELETED, name)
            return resolve(value)
        if base.cls is functools.partial and name in ("func", "args", "keywords"):
            return self._read(base, name, "getattr", seen)
        getter = inherited(base.cls, "__getattribute__")
        self.guard_class(base.cls, "__getattribute__", getter)
        if class_attribute(base.cls, "__getattribute__") is not getter:
            raise refuse(reasons.ATTRIBUTE_OBJECT_OWN_GETATTRIBUTE, name)
        for cls in base.cls.__mro__:
            if (id(cls), name) in self.class_changes:
                raise refuse(reasons.CLASS_ATTRIBUTE_PROGRAM_SET, name)
        found = class_attribute(base.cls, name)
        self.guard_descriptor(found)
        if name == "__class__":
            self.guard_class(base.cls, name, found)
            return Literal(base.cls)
        if name == "__dict__" and type(seen) is dict:
            if base.own is None:
                base.own = OwnDict(base, self.snapshots.get(id(seen), seen), not base.changed)
            return base.own
        if name == "lock" and base.cls is functools.cached_property:
            return CacheLock()
        if (place := field_of(found)) is not None and isinstance(base.content, Sequence):
            self.guard_class(base.cls, name, found)
            return resolve(base.content.elements[place])
        if base.register < 0:
            return self.class_value(base, found, name, seen)
        if hasattr(type(found), "__set__"):  # a data descriptor: a slot
            if not isinstance(found, types.MemberDescriptorType):
                raise refuse(reasons.ATTRIBUTE_KIND, name, type(found).__name__)
            self.guard_class(base.cls, name, found)
            return self._read(base, name, "getattr", seen)
        own = own_attribute(base.object, name)
        if found is MISSING or own is not MISSING:
            self.guard_class(base.cls, name, found)
            if is_constant_of(base.cls, name) and is_constant(seen):
                self.program.guard_is(base.register, base.object)
                return Literal(seen)
            # The program may have written it since: a default of the class may have been read.
            hidden = seen is found and own is not seen
            return self._read(base, name, "getattr" if hidden else "attribute", seen)
        self.program.guard("guard_lacks", base.register, name)
        return self.class_value(base, found, name, seen)

    def _read(self, base: Instance, name: str, step: str, seen: Any) -> Abstract:
        register = base.register

        def fetch() -> int:
            return self.program.step(step, register, name, key=(step, register, name))

        value = self.reach(fetch, seen)
        base.attributes[name] = value
        return value

    def class_value(self, base: Instance, found: Any, name: str, seen: Any) -> Abstract:
        """What the class provides under `name`, seen through an instance."""
        if found is MISSING:
            raise refuse(reasons.ATTRIBUTE_OBJECT_TYPE, name, base.cls.__name__)
        if isinstance(found, (*BOUND, *SLOTS, staticmethod, classmethod)):
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

        def fetch() -> int:
            return self.program.step(
                "getattr", self.program.constant(cls), name, key=("getattr", id(cls), name)
            )

        self.guard_descriptor(found)
        if hasattr(type(found), "__get__") and not isinstance(found, (type, types.FunctionType)):
            raise refuse(reasons.ATTRIBUTE_KIND, name, type(found).__name__)
        return self.reach(fetch, seen)

    def guard_class(self, cls: type, name: str, found: Any) -> None:
        self.program.guard_name(cls, name, found)

    def guard_bases(self, cls: type) -> None:
        """The class inherits from what it does now: setting __bases__ makes a new __mro__."""
        if is_mutable_class(cls):
            holder = self.program.constant(cls)
            order = self.program.step(
                "getattr", holder, "__mro__", key=("getattr", holder, "__mro__")
            )
            self.program.guard_is(order, cls.__mro__)

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
            raise refuse(reasons.MAKING_OBJECT_TYPE_DEL, cls.__name__)
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

    # ---- an instance's own __dict__

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
        self._read(instance, name, "attribute", own.initial[name])
        return True

    def own_items(self, own: OwnDict) -> dict[Any, Any]:
        """All that the `__dict__` holds, in order."""
        instance = own.instance
        names = list(instance.attributes)
        slots = [
            name for name in names if hasattr(type(class_attribute(instance.cls, name)), "__set__")
        ]
        if slots or not own.early:
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
        own.instance.attributes[name] = value
        own.instance.changed[name] = None

    def set_plainly(self, instance: Instance, name: Any, value: Abstract) -> None:
        """`object.__setattr__(instance, name, value)`: into a slot, or the `__dict__`."""
        if type(name) is not str:
            raise refuse(reasons.ATTRIBUTE_WHOSE_NAME_NOT_STR)
        found = class_attribute(instance.cls, name)
        self.guard_class(instance.cls, name, found)
        slot = isinstance(found, types.MemberDescriptorType)
        if hasattr(type(found), "__set__") and not slot:
            raise refuse(reasons.SETTING_ATTRIBUTE, name, describe(instance))
        instance.attributes[name] = value
        instance.changed[name] = None

    def own_function(self, value: Abstract) -> Any:
        """The function of Python, compiled perhaps, that has attributes of its own; or None."""
        held = value.object if isinstance(value, (Literal, FunctionValue)) else None
        return held if isinstance(held, (types.FunctionType, _dvm.Compiled)) else None

    def set_of_function(self, base: Abstract, name: str) -> Abstract | None:
        """What the program has set as this attribute of a function."""
        change = self.class_changes.get((id(self.own_function(base)), name))
        return resolve(change[2]) if change is not None else None

    # ---- what may be computed on the host

    def is_pure(self, value: Abstract) -> bool:
        """Whether operators on `value` run no code of the user and change nothing."""
        value = resolve(value)
        if isinstance(value, (Tensor, Size, SliceValue, RangeValue)):
            return True
        if isinstance(value, Raised):  # unless Python code of the user's says what it looks like
            text = class_attribute(type(value.object), "__str__")
            module = type(value.object).__module__
            return not isinstance(text, types.FunctionType) or module.startswith("numpy")
        if isinstance(value, Host) and is_array(value.object):
            if not self.array_classes.is_opaque_class(type(value.object)):
                return False
            return not value.object.dtype.hasobject or self.host_arrays.holds_plain(value)
        if isinstance(value, (Literal, Host)):
            if self.array_classes.is_array_class(value.object) or is_masked_constant(value.object):
                return True
            return is_pure_object(value.object) or is_pure_class(value.object)
        if isinstance(value, Sequence):
            return all(self.is_pure(part) for part in value.elements)
        if isinstance(value, ListValue):
            return all(self.is_pure(part) for part in value.elements)
        return False

    def computed(
        self, register: int, seen: Any, sizes: SequenceOf[_dvm.Dim] | None = None
    ) -> Abstract:
        """The value of what a pure host operation made; `sizes` of an array, if known."""
        return self.adopt(register, seen, external=False, sizes=sizes)

    def host_operation(self, name: str, operands: list[Abstract], seen: Any) -> Abstract:
        """A pure operator on host objects; folded when all of them are known."""
        operands = [resolve(operand) for operand in operands]
        for operand in operands:
            if not self.is_pure(operand):
                raise refuse(reasons.OPERATOR, name, describe(operand))
            if isinstance(getattr(operand, "object", None), (np.ndarray, np.generic)):
                self.graph.check_modes()
        known = all(isinstance(operand, Literal) for operand in operands) and is_constant(seen)
        if known and not isinstance(seen, np.generic):  # arithmetic of NumPy's may warn
            return Literal(seen)
        if isinstance(seen, np.ndarray):
            return self.host_array(name, operands, seen)
        made = self.program.operator(name, operands, shared=type(seen) in PURE_TYPES)
        result = self.computed(made, seen)
        if isinstance(seen, np.void) and isinstance(operands[0], Host):  # a view of its element
            key = self.program.register_of(operands[1]) if len(operands) > 1 else -1
            result.base = operands[0]
            result.remake = lambda own: self.program.step("operator", name, own, key)
        return result

    def host_array(
        self, name: str, operands: list[Abstract], seen: np.ndarray[Any, Any]
    ) -> Abstract:
        """The array that an operator on host arrays gives: a new one each time, or a view."""
        registers = [self.program.register_of(operand) for operand in operands]
        function = ARRAY_OPERATORS.get((name, len(operands)))
        if function is None:
            made = self.program.step("operator", name, *registers)
        else:  # NumPy computes: an opaque call, and counted as one
            self.graph.opaque_calls.append((f"operator {name}", self.program.at))
            made = self.program.step("call", self.program.constant(function), registers, (), True)
        base = operands[0]
        if isinstance(base, Host) and isinstance(base.object, np.ndarray):
            empty = name == "getitem" and not seen.size  # it may be one where there is something
            is_view = empty or may_share(base.object, seen)
            if name == "getitem" and base.root.home >= 0:
                self.host_arrays.guard_view(made, base.register, is_view)
            if is_view:
                return self.host_arrays.view_on_host(
                    made,
                    base,
                    seen,
                    lambda own: self.program.step("operator", name, own, *registers[1:]),
                )
        result = self.computed(made, seen)
        if isinstance(result, Host):
            result.owned = True
        return result


def code_behind(function: Any) -> types.CodeType | None:
    """The code of a Python function that the path may know by it, or of a compiled one.

    None of one that has a meaning of its own: who it is matters.
    """
    inner = function.__wrapped__ if type(function) is _dvm.Compiled else function
    if type(inner) is not types.FunctionType or is_of_numpy(inner):
        return None
    if _dvm.is_leaf(function) or _dvm.is_leaf(inner):
        return None
    known = annotation_of(function) is NOTHING and annotation_of(inner) is NOTHING
    return inner.__code__ if known else None


def is_of_numpy(function: types.FunctionType) -> bool:
    module = function.__globals__.get("__name__")
    return type(module) is str and module.partition(".")[0] == "numpy"


def is_array(value: Any) -> bool:
    """Whether it is an array of any class; `isinstance` would ask an object of the user's."""
    return issubclass(type(value), np.ndarray)


def imported(module: str, name: str) -> tuple[type, ...]:
    """A class of a large module, if the program has imported it; dvm does not, to save memory."""
    found = getattr(sys.modules.get(module), name, None)
    return () if found is None else (found,)


def is_shared_draw(value: Any) -> bool:
    """A method of a global generator: `np.random.rand`, `random.randint`."""
    owner = value.__self__ if type(value) is types.MethodType else None
    return type(owner) in (np.random.RandomState, random.Random)


def is_pure_object(value: Any) -> bool:
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        return not value.dtype.hasobject
    if kind is tuple or kind is frozenset:
        return all(is_pure_object(part) for part in value)
    if kind in PLAIN_TYPES or kind in imported("decimal", "Decimal"):
        return True
    return isinstance(value, (np.dtype, FLAGS))


def is_pure_class(value: Any) -> bool:
    """A type of Python or NumPy itself, or a ufunc, as an argument."""
    return isinstance(value, np.ufunc) or (isinstance(value, type) and not is_mutable_class(value))


def is_constant(value: Any) -> bool:
    """Immutable through and through, so that the recorded object may serve every call."""
    if type(value) in (tuple, frozenset):
        return all(is_constant(part) for part in value)
    return type(value) in PURE_TYPES or isinstance(
        value,
        (
            *(np.generic, np.dtype, type, types.FunctionType, types.BuiltinFunctionType, np.ufunc),
            *GETTERS,
        ),
    )


def is_nan(value: Any) -> bool:
    """A NaN is found in a container by its identity, which guards do not tell."""
    return isinstance(value, (float, complex, np.inexact)) and bool(value != value)


def has_identity(cls: type) -> bool:
    """Whether it is a class of Python whose objects are told apart by who they are."""
    if not is_mutable_class(cls) or issubclass(cls, NOT_PLAIN):
        return False
    return all(class_attribute(cls, name) is vars(object)[name] for name in ("__hash__", "__eq__"))


def is_mutable_class(cls: type) -> bool:
    """Whether it was made at run time, so that its attributes and bases may change."""
    return bool(cls.__flags__ & (1 << 9))


def is_package_function(thing: Any) -> bool:
    """Whether it is a function of a leaf package, of a type of C of its own."""
    named = callable(thing) and isinstance(getattr(thing, "__qualname__", None), str)
    return named and not is_mutable_class(type(thing)) and annotation_of(thing) is PACKAGED


def is_constant_of(cls: type, name: str) -> bool:
    """Whether the user vouches that instances never rebind the attribute (dvm.annotate)."""
    return any(name in annotation_of(owner).constant for owner in cls.__mro__)


def class_attribute(cls: type, name: str) -> Any:
    """What the class or a base has under the name (None, perhaps); MISSING if nothing."""
    for owner in cls.__mro__:
        if name in vars(owner):
            return vars(owner)[name]
    return MISSING


def own_attribute(seen: Any, name: str) -> Any:
    """What an instance itself has under the name, or MISSING.

    Asked for its `__dict__`, CPython would make one, and all later accesses were slower.
    """
    return _dvm.own_attribute(seen, name)
