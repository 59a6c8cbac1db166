"""Builtin functions of Python over abstract values."""

from __future__ import annotations

import abc
import collections
import functools
import types
from typing import Any

from dvm import _dvm, reasons
from dvm.classes import is_mutable_class
from dvm.magpy_capture.libraries import NUMPY, is_array_class, is_of_library, tensor_metaclasses
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.objects.derived import inherited
from dvm.magpy_capture.objects.open_lists import is_open_list
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import BodyRaised, refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    DequeValue,
    DictValue,
    FlatValue,
    FunctionValue,
    Gone,
    Host,
    IdNumber,
    Instance,
    ListValue,
    Literal,
    Method,
    OrderedValue,
    Partial,
    Raised,
    RangeValue,
    Sequence,
    SetValue,
    Size,
    SliceValue,
    Tensor,
    is_none,
    resolve,
)
from dvm.magpy_capture.values.kinds import (
    MISSING,
    class_attribute,
    is_constant,
    is_fixed,
    own_attribute,
)

NONE = Literal(None)
FALSE = Literal(False)
#: Rows up to so long are taken apart, so that arithmetic with their numbers can be compiled.
FEW_NUMBERS = 16
#: by which an abstract class says which classes are like it: by none
HOOK = vars(object)["__subclasshook__"]
#: Types whose hashes follow from the value alone.
HASHED = (int, float, complex, bool, str, bytes)


class PythonFunctions(PythonPart):
    """What Python's builtins do to abstract values."""

    needs = (
        "arrays caller containers exceptions graph heap host_operations identity indexing "
        "instances lengths list_changes made_lists opaque operators program rules sets sizes "
        "sorting"
    )

    # ---- sizes and ranges

    @means(len)
    def length(self, value: Abstract, *, seen: Any) -> Abstract:
        value = self.instances.content_of(value, "__len__")
        if isinstance(value, FlatValue):
            return Size(self.graph.product(value.base.shape))
        if isinstance(value, Tensor):
            if not value.rank:
                raise refuse(reasons.LEN_D_ARRAY)
            return Size(value.shape[0])
        if isinstance(value, SetValue):
            return Literal(len(value.elements))
        if isinstance(value, (Sequence, ListValue, DequeValue, DictValue)):
            return self.lengths.length(value)
        if isinstance(value, RangeValue):
            return Literal(len(self.containers.elements(value)))
        if isinstance(value, (Host, Literal)) and self.host_operations.is_pure(value):
            return self.host_operations.host_operation("len", [value], seen)
        raise refuse(reasons.LEN, describe(value))

    @means(range)
    def make_range(self, *bounds: Abstract) -> Abstract:
        one, zero = Literal(1), Literal(0)
        if len(bounds) == 1:
            return RangeValue(zero, bounds[0], one)
        return RangeValue(bounds[0], bounds[1], bounds[2] if len(bounds) > 2 else one)

    @means(slice)
    def make_slice(self, *bounds: Abstract) -> Abstract:
        if len(bounds) == 1:
            return SliceValue(NONE, bounds[0], NONE)
        return SliceValue(bounds[0], bounds[1], bounds[2] if len(bounds) > 2 else NONE)

    # ---- containers and iteration

    @means(list)
    def make_list(self, iterable: Abstract = Literal(()), *, seen: Any) -> Abstract:
        if (made := self.made_lists.of_range(resolve(iterable), seen)) is not None:
            return made
        return ListValue(self.containers.elements(iterable), object=seen)

    @means(dict.fromkeys)
    def dict_from_keys(self, iterable: Abstract, value: Abstract = NONE) -> Abstract:
        return DictValue(
            {self.identity.key(part): value for part in self.containers.each(iterable)}
        )

    @means(tuple)
    def make_tuple(self, iterable: Abstract = Literal(())) -> Abstract:
        iterable = resolve(iterable)
        if isinstance(iterable, Sequence) and iterable.cls is tuple:
            return iterable
        return Sequence(self.containers.elements(iterable))

    @means(dict)
    def make_dict(self, source: Abstract = NONE, **items: Abstract) -> Abstract:
        source = self.instances.mapping_of(source)
        made: dict[Any, Abstract] = {}
        if isinstance(source, DictValue):
            made.update(source.items)
        elif not (isinstance(source, Literal) and source.object is None):
            for pair in self.containers.each(source):
                key, value = self.containers.elements(pair)
                made[self.identity.key(key)] = value
        made.update(items)
        return DictValue(made)

    @means(collections.OrderedDict)
    def make_ordered(self, source: Abstract = NONE, /, **items: Abstract) -> Abstract:
        return OrderedValue(self.make_dict(source, **items).items)

    @means(types.SimpleNamespace)
    def make_namespace(self, **attributes: Abstract) -> Abstract:
        return Instance(types.SimpleNamespace, dict(attributes))

    @means(set)
    def make_set(self, iterable: Abstract = Literal(())) -> Abstract:
        made = {self.identity.key(part) for part in self.containers.each(iterable)}
        return SetValue(made, in_order=self.sets.is_in_order(iterable))

    @means(functools.partial)
    def make_partial(
        self, function: Abstract, /, *positional: Abstract, **named: Abstract
    ) -> Abstract:
        function = resolve(function)
        if isinstance(function, Partial):
            given = [*function.positional, *positional]
            return Partial(function.function, given, {**function.named, **named})
        return Partial(function, list(positional), named)

    # ---- types and attributes

    @means(type)
    def type_of(self, value: Abstract) -> Abstract:
        return Literal(self.identity.class_of(value))

    @means(isinstance)
    def is_instance(self, value: Abstract, classes: Abstract) -> Abstract:
        cls, wanted = self.identity.class_of(value), self.indexing.plain(classes)
        self.instances.guard_bases(cls)
        for one in wanted if type(wanted) is tuple else (wanted,):
            if not isinstance(one, type):
                raise refuse(reasons.ISINSTANCE, one)
            if type(one) is abc.ABCMeta:
                if is_mutable_class(cls):
                    self._guard_honest(cls)
                    self._guard_registered(cls, one)
                elif not _is_pythons(one):
                    raise refuse(reasons.ISINSTANCE, one)
            elif type(one) in tensor_metaclasses():
                self.rules.guard_instance(resolve(value), one)
            elif not self.instances.guard_metaclass(one, "__instancecheck__", "__subclasscheck__"):
                raise refuse(reasons.ISINSTANCE, describe(Literal(one)))
            elif is_mutable_class(cls) and not issubclass(cls, one):
                self._guard_honest(cls)
        return Literal(issubclass(cls, wanted))

    def _guard_registered(self, cls: type, parent: type) -> None:
        """An abstract class is asked on each call: a class may be registered with it later."""
        if not _is_pythons(parent):
            self.instances.guard_class(parent, "__subclasshook__", HOOK)
            if class_attribute(parent, "__subclasshook__") is not HOOK:
                raise refuse(reasons.ISINSTANCE, parent)
        given = list(map(self.program.constant, (cls, parent)))
        asked = self.program.constant(issubclass)
        made = self.program.step("call", asked, given, (), key=("issubclass", *given))
        self.program.guard("guard_truth", made, issubclass(cls, parent))

    def _guard_honest(self, cls: type) -> None:
        """Where the type says no, isinstance asks the object for its __class__."""
        for name in ("__class__", "__getattribute__"):
            found = class_attribute(cls, name)
            plain = [vars(each).get(name) for each in (object, BaseException, tuple)]
            plain.append(inherited(cls, name))
            known = any(found is each for each in plain) or self.instances.has_meaning(found)
            if found is None or not known:
                raise refuse(reasons.ISINSTANCE_OBJECT_OWN, name)
            self.instances.guard_class(cls, name, found)

    @means(issubclass)
    def is_subclass(self, cls: Abstract, classes: Abstract) -> Abstract:
        child, parents = self.indexing.plain(cls), self.indexing.plain(classes)
        if not isinstance(child, type):
            raise refuse(reasons.ISSUBCLASS_SOMETHING_CLASS)
        self.instances.guard_bases(child)
        for parent in parents if type(parents) is tuple else (parents,):
            if type(parent) is abc.ABCMeta:
                self._guard_registered(child, parent)
            elif isinstance(parent, type) and is_mutable_class(type(parent)):
                if not self.instances.guard_metaclass(parent, "__subclasscheck__"):
                    raise refuse(reasons.ISINSTANCE, describe(Literal(parent)))
        return Literal(issubclass(child, parents))

    @means(_dvm.begin_part)
    def begin_part(self) -> Abstract:
        """A part of a function takes over its locals, from which a replay drops none."""
        return NONE

    @means(callable)
    def is_callable(self, value: Abstract) -> Abstract:
        value = resolve(value)
        if isinstance(value, (Closure, FunctionValue, Method)):
            return Literal(True)
        if isinstance(value, Literal):
            return Literal(callable(value.object))
        if isinstance(value, (Tensor, Size, Sequence, ListValue, DictValue)):
            return Literal(False)
        raise refuse(reasons.CALLABLE, describe(value))

    @means(getattr)
    def get_attribute(
        self, base: Abstract, name: Abstract, *default: Abstract, seen: Any
    ) -> Abstract:
        base, text = self.program.by_identity(base), self.indexing.plain(name)
        if (found := self._property(base, text)) is not None:
            return found
        if default:
            otherwise = resolve(default[0])
            known = isinstance(otherwise, (Literal, Host, Tensor))
            # What it has may be what it would have been given.
            has = True if known and seen is not otherwise.object else None
            if not self._has(base, text, has):
                return otherwise
        return self.operators.attribute(base, text, seen)

    @means(hasattr)
    def has_attribute(self, base: Abstract, name: Abstract, *, seen: Any) -> Abstract:
        base, text = self.program.by_identity(base), self.indexing.plain(name)
        return Literal(self._property(base, text) is not None or self._has(base, text, seen))

    def _property(self, base: Abstract, name: str) -> Abstract | None:
        """What a property in Python gives, if its body was recorded next."""
        found = class_attribute(base.cls, name) if isinstance(base, Instance) else None
        if not isinstance(found, property) or self.caller.next_callback() is not found.fget:
            return None
        for each in (name, "__getattribute__", "__getattr__"):
            self.instances.guard_class(base.cls, each, class_attribute(base.cls, each))
        try:
            return self.caller.call_back(Literal(found.fget), [base], {})
        except BodyRaised:  # which may be the answer, or not
            raise refuse(reasons.ATTRIBUTE_KIND, name, "a property") from None

    def _has(self, base: Abstract, name: str, answer: bool | None) -> bool:
        """Whether it has the attribute: of an instance's own the recorded answer, if known.

        By now it may be another, for the program may have set or deleted it since.
        """
        if self.instances.set_of_function(base, name) is not None:
            return True
        if isinstance(base, Instance):
            if name in base.attributes:
                return not isinstance(base.attributes[name], Gone)
            if any(
                self.instances.has_meaning(class_attribute(base.cls, hook))
                for hook in ("__getattr__", "__getattribute__")
            ):
                if base.register < 0:
                    return self._has_made(base, name, answer)
                return self.has_now(base.register, base.object, name, answer)
            for hook in ("__getattr__", "__getattribute__"):
                if class_attribute(base.cls, hook) is not inherited(base.cls, hook):
                    raise refuse(reasons.HASATTR, describe(base))
                self.instances.guard_class(base.cls, hook, inherited(base.cls, hook))
            found = class_attribute(base.cls, name)
            self.instances.guard_class(base.cls, name, found)
            if found is not MISSING:
                return True
            if base.register < 0:
                return False
            if answer is None:
                answer = own_attribute(base.object, name) is not MISSING
            if answer:
                self.program.step(
                    "attribute", base.register, name, key=("attribute", base.register, name)
                )
                return True
            self.program.guard("guard_lacks", base.register, name)
            return False
        if isinstance(base, Raised):
            return self.exceptions.has_attribute(base, name)
        if isinstance(base, Literal):
            if isinstance(base.object, types.ModuleType):
                scope = vars(base.object)
                if name not in scope and "__getattr__" in scope:
                    if not is_of_library(base.object.__name__):
                        raise refuse(reasons.HASATTR_MODULE_OWN_GETATTR)
                    return self.has_now(
                        self.program.constant(base.object), base.object, name, answer
                    )
                self.program.guard_name(scope, name, scope.get(name, MISSING))
                if name not in scope:
                    self.program.guard_name(scope, "__getattr__", scope.get("__getattr__", MISSING))
                return name in scope
            if isinstance(base.object, type):
                found = class_attribute(base.object, name)
                self.instances.guard_class(base.object, name, found)
                self.instances.guard_metaclass(base.object, name, "__getattribute__", "__getattr__")
            elif isinstance(base.object, types.FunctionType) and not hasattr(
                types.FunctionType, name
            ):
                return self.has_now(self.program.constant(base.object), base.object, name, answer)
            elif not is_constant(base.object):
                raise refuse(reasons.HASATTR, describe(base))
            return hasattr(base.object, name)
        cls = self.identity.class_of(base)
        if isinstance(base, FunctionValue) and not hasattr(cls, name):
            return self.has_now(base.register, base.object, name, answer)
        if isinstance(base, Closure) and not hasattr(cls, name):
            raise refuse(reasons.HASATTR, describe(base))
        if isinstance(base, Host) and is_array_class(cls) and not hasattr(cls, name):
            if not self.host_operations.is_pure(base):
                raise refuse(reasons.HASATTR, describe(base))
            return self.has_now(base.register, base.object, name, answer)
        return hasattr(cls, name)

    def _has_made(self, base: Instance, name: str, answer: bool | None) -> bool:
        """Of an object of the program's, which each call of the path makes alike."""
        if answer is None:
            raise refuse(reasons.HASATTR, describe(base))
        for each in (name, "__getattr__", "__getattribute__"):
            self.instances.guard_class(base.cls, each, class_attribute(base.cls, each))
        return answer

    def has_now(self, register: int, seen: Any, name: str, answer: bool | None) -> bool:
        """The recorded answer of hasattr, of which every call is asked; here, if it is unknown."""
        if answer is None:
            answer = hasattr(seen, name)
        given = [register, self.program.constant(name)]
        self.program.guard(
            "guard_truth",
            self.program.step("call", self.program.constant(hasattr), given, ()),
            answer,
        )
        return answer

    @means(vars)
    def own_dict(self, base: Abstract, *, seen: Any) -> Abstract:
        return self.operators.attribute(resolve(base), "__dict__", seen)

    @means(setattr)
    def set_attribute(self, base: Abstract, name: Abstract, value: Abstract) -> Abstract:
        base = resolve(base)
        if not isinstance(base, Instance):
            raise refuse(reasons.SETATTR, describe(base))
        setter = class_attribute(base.cls, "__setattr__")
        if setter is not inherited(base.cls, "__setattr__"):
            raise refuse(reasons.SETATTR_OBJECT_OWN_SETATTR)
        self.instances.guard_class(base.cls, "__setattr__", setter)
        self.instances.set_plainly(base, self.indexing.plain(name), value)
        return Literal(None)

    @means(id)
    def identity_number(self, value: Abstract, *, seen: Any) -> Abstract:
        value = self.program.by_identity(value)
        if isinstance(value, Literal) and value.identical:
            known = value.object
            if self.program.is_local(known):
                raise refuse(reasons.IDENTITY_NUMBER)
            if isinstance(known, (type, types.FunctionType)) or not is_constant(known):
                return Literal(seen)
        is_array = isinstance(value, Tensor) and not value.is_scalar and value.maybe is None
        if not is_array and not isinstance(value, (Instance, ListValue, DictValue, SetValue)):
            raise refuse(reasons.IDENTITY_NUMBER)
        return IdNumber(value)

    # ---- numbers

    @means(float)
    def to_float(self, value: Abstract = Literal(0.0), *, seen: Any) -> Abstract:
        return self._to_number("float", value, seen)

    @means(int)
    def to_int(
        self, value: Abstract = Literal(0), base: Abstract | None = None, *, seen: Any
    ) -> Abstract:
        if base is not None:
            raise refuse(reasons.INT_BASE)
        return self._to_number("int", value, seen)

    @means(bool)
    def to_bool(self, value: Abstract = Literal(False), *, seen: Any) -> Abstract:
        value = resolve(value)
        if isinstance(value, SetValue):
            return Literal(bool(value.elements))
        if isinstance(value, (Sequence, ListValue, DequeValue, DictValue)):
            return Literal(self.lengths.has_any(value))
        return self._to_number("bool", value, seen)

    def _to_number(self, kind: str, value: Abstract, seen: Any) -> Abstract:
        value = resolve(value)
        if isinstance(value, Size) and kind == "int":
            return value
        if isinstance(value, (Tensor, Host, Size, Literal)):
            return self.host_operations.host_operation(kind, [value], seen)
        raise refuse(reasons.FUNCTION_OF, kind, describe(value))

    @means(abs)
    def absolute(self, value: Abstract, *, seen: Any) -> Abstract:
        value = resolve(value)
        if isinstance(value, Tensor) and not self.rules.is_integer_scalar(value):
            return self.rules.operator("abs", [value])
        return self.host_operations.host_operation("abs", [value], seen)

    def python_binary(self, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        """An operator between objects of Python itself."""
        if name in ("+", "-", "*", "//", "%") and self._is_size(a) and self._is_size(b):
            if isinstance(a, Size) or isinstance(b, Size):
                return self._size_arithmetic(name, a, b, seen)
        if name == "+" and isinstance(a, ListValue) and isinstance(b, ListValue):
            return self.made_lists.joined(a, b, seen)
        for parts, count in ((a, b), (b, a)) if name == "*" else ():
            if isinstance(parts, ListValue):
                return self.made_lists.repeated(parts, count, seen)
        if name == "+" and isinstance(a, Sequence) and isinstance(b, Sequence):
            return Sequence([*a.elements, *b.elements])
        if name == "*" and isinstance(a, Sequence):
            times = self.indexing.integer(b)
            return a if times == 1 else Sequence(a.elements * times)  # a tuple is itself then
        if name == "*" and isinstance(b, Sequence):
            return Sequence(b.elements * self.indexing.integer(a))
        if name == "+" and isinstance(a, Literal) and isinstance(b, Sequence):
            return Sequence([*self.containers.elements(a), *b.elements])
        if name == "+" and isinstance(b, Literal) and isinstance(a, Sequence):
            return Sequence([*a.elements, *self.containers.elements(b)])
        if name == "|" and type(a) is DictValue and type(b) is DictValue:
            return DictValue({**a.items, **b.items})
        if (made := self.sets.set_operator(name, a, b)) is not None:
            return made
        return self.host_operations.host_operation(name, [a, b], seen)

    def _is_size(self, value: Abstract) -> bool:
        return isinstance(value, Size) or (isinstance(value, Literal) and type(value.object) is int)

    def _size_arithmetic(self, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        if name in ("//", "%"):
            if not isinstance(b, Literal) or b.object <= 0:
                return self.host_operations.host_operation(name, [a, b], seen)
        x, y = self.indexing.dim_of(a), self.indexing.dim_of(b)
        if name == "+":
            return Size(x + y)
        if name == "-":
            return Size(x - y)
        if name == "*":
            return Size(x * y)
        return Size(x // y if name == "//" else x % y)

    @means(sum)
    def add_up(self, iterable: Abstract, start: Abstract = Literal(0), *, seen: Any) -> Abstract:
        total = resolve(start)
        from_zero = isinstance(total, Literal) and type(total.object) is int and total.object == 0
        if from_zero and self._has_many_numbers(iterable):
            return self.opaque.call(sum, [iterable], {}, seen)
        for part in self.sets.in_any_order(iterable):
            total = self._add(total, resolve(part))
        return total

    def _has_many_numbers(self, iterable: Abstract) -> bool:
        """Whether it is a row of so many numbers that Python's own loop over them is the faster."""
        row = resolve(iterable)
        seen = row.object if isinstance(row, (Tensor, Host)) else None
        if seen is None or type(seen) is not NUMPY.array or seen.dtype.kind not in "biufc":
            return False
        return bool(seen.ndim == 1 and seen.size > FEW_NUMBERS)

    def _add(self, a: Abstract, b: Abstract) -> Abstract:
        if isinstance(a, Instance) or isinstance(b, Instance):
            return self.caller.operated("binary", "+", a, b)
        if _is_row(a) and _is_row(b) and not (isinstance(a, Literal) and isinstance(b, Literal)):
            return self.python_binary("+", a, b, None)
        if not isinstance(a, (Tensor, Size)) and not isinstance(b, (Tensor, Size)):
            seen = getattr(a, "object", 0) + getattr(b, "object", 0)
            return self.python_binary("+", a, b, seen)
        if self.rules.is_integer_scalar(a, b):
            # Nothing depends on the numbers but in the sum, which was recorded.
            return self.operators.binary("+", a, b, self._example(a) + self._example(b))
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return self.rules.operator("+", [a, b])
        if self._is_size(a) and self._is_size(b):
            return self._size_arithmetic("+", a, b, None)
        raise refuse(reasons.SUM_THESE_VALUES)

    def _example(self, value: Abstract) -> Any:
        """A number of the type that an integer has."""
        return value.library.scalar_type(value.dtype)() if isinstance(value, Tensor) else 0

    @means(min)
    def least(self, *values: Abstract, seen: Any, **named: Abstract) -> Abstract:
        return self._extreme("min", min, values, named, seen)

    @means(max)
    def greatest(self, *values: Abstract, seen: Any, **named: Abstract) -> Abstract:
        return self._extreme("max", max, values, named, seen)

    def _extreme(
        self,
        name: str,
        function: Any,
        values: tuple[Abstract, ...],
        named: dict[str, Abstract],
        seen: Any,
    ) -> Abstract:
        default = named.pop("default", None)
        key = resolve(named.pop("key", NONE))
        if named:
            raise refuse(reasons.FUNCTION_WITH, name, ", ".join(named))
        if is_none(key) and default is None and len(values) == 1:
            if self._has_many_numbers(values[0]):
                return self.opaque.call(function, [values[0]], {}, seen)
        if is_none(key):
            given = self.sets.in_any_order(values[0]) if len(values) == 1 else iter(values)
            parts = [resolve(part) for part in given]
        else:
            given = self.containers.each(values[0]) if len(values) == 1 else iter(values)
            found = self.sorting.extreme_by(key, "<" if name == "min" else ">", given)
            if found is not None:
                return found
            parts = []
        if not parts:
            if default is None:
                raise refuse(reasons.FUNCTION_OF_NOTHING, name)
            return resolve(default)
        if any(isinstance(part, (Instance, Sequence)) for part in parts):
            return self.sorting.extreme_by(NONE, "<" if name == "min" else ">", iter(parts))
        if all(self._is_size(part) for part in parts) and any(
            isinstance(part, Size) for part in parts
        ):
            dim = self.indexing.dim_of(parts[0])
            for part in parts[1:]:
                other = self.indexing.dim_of(part)
                dim = dim.min(other) if name == "min" else dim.max(other)
            return Size(dim)
        for part in parts:
            if not isinstance(part, (Literal, Host, Size)) and not (
                isinstance(part, Tensor) and part.is_scalar
            ):
                raise refuse(reasons.FUNCTION_OF, name, describe(part))
            if not self.host_operations.is_pure(part):
                raise refuse(reasons.FUNCTION_OF, name, describe(part))
        if all(is_fixed(part) for part in parts):
            return Literal(seen)
        registers = [self.program.register_of(part) for part in parts]
        return self.heap.computed(
            self.program.step("call", self.program.constant(function), registers, ()),
            seen,
        )

    def observed_value(self, value: Abstract) -> Any:
        """The object itself in the recorded call."""
        if isinstance(value, Size):
            return self.sizes.observed(value.dim)
        if isinstance(value, (Host, Literal, Tensor)) and value.object is not None:
            return value.object
        raise refuse(reasons.VALUE, describe(value))

    @means(all)
    def every(self, iterable: Abstract) -> Abstract:
        return self._quantifier(iterable, False)

    @means(any)
    def some(self, iterable: Abstract) -> Abstract:
        return self._quantifier(iterable, True)

    def _quantifier(self, iterable: Abstract, deciding: bool) -> Abstract:
        """all() and any() look at parts until one decides; each look is an outcome."""
        for part in self.containers.each(iterable):
            if self.decided(part) == deciding:
                return Literal(deciding)
        return Literal(not deciding)

    def decided(self, value: Abstract) -> bool:
        """The truth of `value` in the recorded call; other calls agree, or leave the path."""
        value = resolve(value)
        if isinstance(value, Literal):
            return bool(value.object)
        if isinstance(value, (Sequence, ListValue, SetValue, DequeValue)):
            return bool(value.elements)
        if isinstance(value, DictValue):
            return bool(value.items)
        truth = isinstance(value, Instance) or bool(self.observed_value(value))
        self.outcome(value, truth)
        return truth

    def outcome(self, value: Abstract, taken: bool) -> None:
        """The truth of `value` steered the program: later calls must agree, or branch off."""
        value = self.instances.content_of(value, "__bool__", "__len__")
        if isinstance(value, Size) and value.dim.constant is not None:
            return
        if isinstance(value, Tensor) and value.is_scalar and value.dtype == "bool":
            self.program.guard(
                "guard_truth", self.graph.leave(self.arrays.value_of(value), "bool"), taken
            )
        elif isinstance(value, (Tensor, Host, Size)):
            if not self.host_operations.is_pure(value):
                raise refuse(reasons.TRUTH, describe(value))
            self.program.guard("guard_truth", self.program.register_of(value), taken)
        elif isinstance(value, ListValue) and is_open_list(value):
            self.list_changes.branch(value, taken)
        elif isinstance(value, (Sequence, ListValue, DictValue, DequeValue)):
            self.lengths.has_any(value)
        elif isinstance(value, Instance):
            for name in ("__bool__", "__len__"):
                if class_attribute(value.cls, name) is not MISSING:
                    raise refuse(reasons.TRUTH, describe(value))
                self.instances.guard_class(value.cls, name, MISSING)
        elif isinstance(value, Literal) and isinstance(value.object, type):
            if not self.instances.guard_metaclass(value.object, "__bool__", "__len__"):
                raise refuse(reasons.TRUTH, describe(value))

    # ---- effects and contexts

    @means(hash)
    def hashed(self, value: Abstract, *, seen: Any) -> Abstract:
        """`hash` of numbers and text, which are hashed by what they are."""
        value = resolve(value)
        if not self._is_hashed(value):
            raise refuse(reasons.HASH, describe(value))
        return self.heap.computed(
            self.program.step(
                "call", self.program.constant(hash), [self.program.register_of(value)], ()
            ),
            seen,
        )

    def _is_hashed(self, value: Abstract) -> bool:
        value = resolve(value)
        if isinstance(value, Sequence):
            return value.cls is tuple and all(map(self._is_hashed, value.elements))
        known = isinstance(value, (Literal, Host)) and type(value.object) in HASHED
        return known or isinstance(value, Size)


def _is_pythons(parent: type) -> bool:
    """Whether it is an abstract class of Python's own, which looks for methods."""
    return getattr(parent, "__module__", "") in ("collections.abc", "numbers")


def _is_row(value: Abstract) -> bool:
    """Whether it is a list or a tuple whose elements are known one by one."""
    whole = isinstance(value, Literal) and type(value.object) is tuple
    return whole or isinstance(value, (Sequence, ListValue))
