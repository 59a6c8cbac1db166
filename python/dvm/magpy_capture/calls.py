"""Calls, attributes and subscripts: which meaning a recorded one has."""

from __future__ import annotations

import enum
import functools
import operator
import types
from collections import OrderedDict
from typing import Any

import numpy as np

from dvm import reasons
from dvm.annotating import NOTHING, annotation_of, is_packaged
from dvm.magpy_capture.array_attributes import ArrayAttributes
from dvm.magpy_capture.array_classes import MASKED_METHODS
from dvm.magpy_capture.caches import CACHED
from dvm.magpy_capture.contexts import (
    CaughtWarnings,
    ExceptionInfo,
    Expected,
    expectation,
)
from dvm.magpy_capture.derived import SLOTS, base_of, inherited, is_plain_tuple, kind_of
from dvm.magpy_capture.graphs import Modes
from dvm.magpy_capture.heaps import Heaps
from dvm.magpy_capture.locks import is_lock
from dvm.magpy_capture.log_records import IS_ENABLED, LOGGING
from dvm.magpy_capture.objects import (
    BOUND,
    GETTERS,
    PURE_TYPES,
    class_attribute,
    is_constant,
    is_mutable_class,
)
from dvm.magpy_capture.opaque import name_of, signature_of
from dvm.magpy_capture.outputs import Frame
from dvm.magpy_capture.package_objects import PackageObjects
from dvm.magpy_capture.program import MISSING, describe
from dvm.magpy_capture.python_functions import ErrorState
from dvm.magpy_capture.randoms import GENERATORS as GENERATORS_OF_NUMPY
from dvm.magpy_capture.randoms import Randoms, is_pythons
from dvm.magpy_capture.randoms import owner_of as generator_of
from dvm.magpy_capture.spec import NotCapturable, PathSpec
from dvm.magpy_capture.tables import (
    BUILTINS,
    CLOCKS,
    EVENT_OF,
    FUNCTIONS,
    GENERATORS,
    METHODS,
    PURE,
    PURE_CLASSES,
    PURE_METHODS,
    WRITES,
    WRITING_METHODS,
    is_numpy_function,
)
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
    Raised,
    Sequence,
    SetValue,
    Size,
    SliceValue,
    SuperValue,
    Tensor,
)

#: attributes that tell how an array lies in memory, and whose
LAYOUT = frozenset({"flags", "strides", "base", "data", "ctypes", "__array_interface__"})
#: attributes of a function that its code gives it
OF_CODE = frozenset({"__doc__", "__name__", "__qualname__"})
#: methods that NumPy scalars have and arrays do not
SCALAR_METHODS = frozenset({"is_integer", "as_integer_ratio", "bit_count", "hex"})

#: Values whose methods are looked up without further ado
KNOWN_METHODS = (
    *(ListValue, DictValue, DequeValue, SetValue, OpenSet, Size, ErrorState, OwnDict, CacheLock),
    *(CaughtWarnings, Expected),
)

#: of constants whose methods give the same for the same arguments
IMMUTABLE = (*PURE_TYPES, tuple)
CONTAINERS = (ListValue, DictValue, DequeValue, SetValue, OpenSet, Sequence, OwnDict)

Named = dict[str, Abstract]


class Calls(PackageObjects, Randoms, ArrayAttributes, Heaps):
    """The meaning of calls that were not followed."""

    def __init__(self, spec: PathSpec, modes: Modes) -> None:
        super().__init__(spec, modes)
        self.changed_variables: dict[tuple[int, str], tuple[dict[str, Any], str, Abstract]] = {}
        self.changed_cells: dict[int, tuple[Any, Abstract]] = {}
        self.cache_hits = []
        self.frames: list[Frame] = []  # that are being lowered

    def value(self, node: int) -> Abstract:
        """The value of a node of the recording."""
        raise NotImplementedError

    def by_identity(self, value: Abstract) -> Abstract:
        """A function as the one object that it is on every call; another value as it is."""
        raise NotImplementedError

    def calls_back(self, function: Abstract) -> bool:
        """Whether C code has run this function next, and its body was recorded."""
        raise NotImplementedError

    def call_back(self, callee: Abstract, positional: list[Abstract], named: Named) -> Abstract:
        """What it returned."""
        raise NotImplementedError

    def generator(
        self, callee: Abstract, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """What a call of a generator function gave."""
        raise NotImplementedError

    def call(
        self, callee: Abstract, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        if self.calls_back(callee):
            return self.call_back(callee, positional, named)
        if type(seen) is types.GeneratorType and not _is_builtin(callee):
            return self.generator(callee, positional, named, seen)
        if isinstance(callee, Method):
            return self.call_method(callee, positional, named, seen)
        if isinstance(callee, Partial):
            given = {**callee.named, **named}
            return self.call(callee.function, [*callee.positional, *positional], given, seen)
        if isinstance(callee, Instance) and callee.cls is functools.partial:
            return self.call_partial(callee, positional, named, seen)
        callee = self.by_identity(callee)
        if isinstance(callee, (Instance, Literal)) and type(callee.object) is np.vectorize:
            return self.vectorized(callee, positional, named, seen)
        if isinstance(callee, Instance) and self.is_of_package(callee):
            return self.package_object_called(callee, positional, named, seen)
        if not isinstance(callee, Literal):
            raise self.refuse(reasons.CALL, describe(callee))
        function = callee.object
        if isinstance(function, GETTERS) and len(positional) == 1 and not named:
            return self.got(function, self.resolve(positional[0]), seen)
        if _hashable(function) and is_numpy_function(function):
            positional = list(map(self.in_sequence, positional))
        if function is not None and function is expectation():
            return self.make_expected(positional, named)
        if (known := annotation_of(function)) is not NOTHING:
            return self.annotated_call(function, known, positional, named, seen)
        if _hashable(function) and function in LOGGING:
            return self.log(function, positional, named)
        if type(function) is CACHED:
            return self.cached_call(function, positional, named, seen)
        if (function is np.frompyfunc or function is np.vectorize) and not named:
            return self.made_of_function(function, positional, seen)
        if function is np.nditer:
            raise self.refuse(reasons.NDITER)
        if isinstance(function, np.ufunc):
            return self.ufunc_call(function, positional, named, seen)
        if _hashable(function):
            handler = BUILTINS.get(function) or FUNCTIONS.get(function)
            if handler is not None:
                return self.handled(handler, function, positional, named, seen)
        if function is super and not positional:
            return self.super_of(seen)
        if function is object.__setattr__ and len(positional) == 3:
            base = self.resolve(positional[0])
            return self.call_method(Method(base, "__setattr__", function), positional[1:], {}, seen)
        owner = getattr(function, "__self__", None)
        if (generator := generator_of(function)) is not None:
            return self.random(
                generator, function, self.constant(function), positional, named, seen
            )
        if isinstance(owner, np.ufunc):
            return self.ufunc_method(owner, function.__name__, positional, named, seen)
        arguments = [*positional, *named.values()]
        if _hashable(function) and function in EVENT_OF and len(positional) == 2 and not named:
            kind, name = EVENT_OF[function]
            a, b = map(self.resolve, positional)
            return self.operator_call(kind, name, a, b, seen)
        if _hashable(function) and (
            function in PURE or (isinstance(function, type) and issubclass(function, PURE_CLASSES))
        ):
            return self.pure_call(function, positional, named, seen)
        if _hashable(function) and function in GENERATORS:
            return self.make_generator(function, positional, named, seen)
        if _hashable(function) and function in CLOCKS:
            return self.read_clock(function, positional, named, seen)
        if function is tuple.__new__ and len(positional) == 2 and self.is_fixed(positional[0]):
            if is_plain_tuple(type(seen)):
                return Sequence(self.elements(positional[1]), type(seen))
            if base_of(type(seen)) is tuple:
                return self.instantiate_derived(type(seen), positional[1:], {}, seen)
        if isinstance(function, type) and issubclass(function, BaseException):
            return self.make_exception(function, positional, named, seen)
        if isinstance(function, type) and type(seen) is function and base_of(function):
            for name in ("__new__", "__init__"):
                if class_attribute(function, name) is not inherited(function, name):
                    raise self.refuse(reasons.MAKING_OBJECT_TYPE, function.__name__)
                self.guard_class(function, name, inherited(function, name))
            return self.instantiate_derived(function, positional, named, seen)
        if isinstance(function, type) and is_packaged(function):
            return self.package_call(function, positional, named, seen)
        if isinstance(function, type) and type(seen) is function and _is_user_class(function):
            return self.instantiate(function, arguments, seen)
        if function in (np.finfo, np.iinfo) and all(self.is_fixed(a) for a in arguments):
            return Literal(seen)
        if (
            is_numpy_function(function)
            or self.is_array_class(function)
            or (_hashable(function) and function in WRITES)
        ):
            return self.opaque(function, positional, named, seen)
        if isinstance(function, SLOTS) and positional:
            method = Method(self.resolve(positional[0]), function.__name__, function)
            return self.call_method(method, positional[1:], named, seen)
        raise self.refuse(reasons.CALL, name_of(function))

    def comparison(self, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        raise NotImplementedError

    def operator_call(self, kind: str, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        """A function of module operator."""
        if isinstance(a, Instance) or isinstance(b, Instance):
            return self.operated(kind, name, a, b)
        if kind == "subscript":
            return self.subscript(a, b, seen)
        return (self.binary if kind == "binary" else self.comparison)(name, a, b, seen)

    def got(self, getter: Any, base: Abstract, seen: Any) -> Abstract:
        """What operator.itemgetter, attrgetter or methodcaller make of an object."""
        made = getter.__reduce__()
        if type(getter) is operator.methodcaller:
            if made[0] is not operator.methodcaller:
                raise self.refuse(reasons.OPERATOR_METHODCALLER_KEYWORDS)
            name, *given = made[1]
            cls = self.class_of(base)
            method = self.attribute(base, name, getattr(cls, name, None))
            return self.call(method, list(map(Literal, given)), {}, seen)
        if type(getter) is operator.attrgetter:
            if len(made[1]) > 1 or "." in made[1][0]:
                raise self.refuse(reasons.OPERATOR_ATTRGETTER_SEVERAL_ATTRIBUTES)
            return self.attribute(base, made[1][0], seen)
        if len(made[1]) == 1:
            return self.subscript(base, Literal(made[1][0]), seen)
        return Sequence(
            [
                self.subscript(base, Literal(item), None if seen is None else seen[place])
                for place, item in enumerate(made[1])
            ]
        )

    def handled(
        self, handler: str, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A call with an entry in the tables; where that gives up, NumPy itself is called."""
        method = getattr(self, handler)
        self.seen_result = seen
        try:
            try:
                signature_of(getattr(type(self), handler)).bind(self, *positional, **named)
            except TypeError as mismatch:
                raise self.refuse(reasons.FUNCTION_ARGUMENTS, name_of(function), mismatch) from None
            return method(*positional, **named)
        except NotCapturable:
            called = function in WRITES or function in (np.empty, np.empty_like)
            if not is_numpy_function(function) and not called:
                raise
            return self.opaque(function, positional, named, seen)

    def call_method(
        self, callee: Method, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        base, name = callee.base, callee.name
        if (known := annotation_of(callee.function)) is not NOTHING:
            return self.annotated_call(callee.function, known, [base, *positional], named, seen)
        if type(callee.function) is CACHED:
            return self.cached_call(callee.function, [base, *positional], named, seen)
        if callee.function in LOGGING:
            return self.log(callee.function, [base, *positional], named)
        if callee.function is IS_ENABLED and len(positional) == 1:
            return self.is_enabled(base, positional[0], seen)
        if self.is_stream(base) and not named:
            return self.stream_method(base, name, positional, seen)
        if isinstance(base, Tensor):
            return self.array_method(base, name, positional, named, seen)
        if isinstance(base, CONTAINERS):
            return self.container_method(base, name, positional, named, seen)
        if isinstance(base, (ErrorState, CacheLock)):
            return self.leave_context(base)
        if is_lock(base):
            return self.lock_method(base, name, positional, named, seen)
        if isinstance(base, CaughtWarnings) and name == "__exit__":
            return self.leave_warnings(base)
        if isinstance(base, Expected) and name == "__exit__":
            return self.leave_expected(base, positional, seen)
        if isinstance(base, FlatValue) and name == "copy" and not positional:
            return self.flat(base.base)
        if isinstance(base, Raised) and name == "with_traceback":
            return base
        if isinstance(base, Converter):
            return self.converted(base, name, positional, named)
        if isinstance(base, Host) and isinstance(base.object, GENERATORS_OF_NUMPY):
            bound = self.step("getattr", base.register, name)
            function = getattr(base.object, name)
            return self.random(base, function, bound, positional, named, seen)
        if isinstance(base, Instance) and is_pythons(base.object) and base.register >= 0:
            bound = self.step("getattr", base.register, name)
            return self.random(base, callee.function, bound, positional, named, seen)
        if isinstance(base, Host) and isinstance(base.object, np.ndarray):
            if name not in PURE_METHODS | WRITING_METHODS | MASKED_METHODS:
                raise self.refuse(reasons.ARRAY_METHOD, name)
            function = getattr(type(base.object), name)
            return self.opaque(function, [base, *positional], named, seen)
        if isinstance(base, Literal) and isinstance(base.object, np.ufunc):
            return self.ufunc_method(base.object, name, positional, named, seen)
        if isinstance(base, (Host, Literal, Size)) and self.is_pure(base):
            plain = isinstance(base, Size) or isinstance(base.object, np.generic)
            if isinstance(base, Literal) and not plain and type(base.object) not in IMMUTABLE:
                raise self.refuse(reasons.METHOD_OF, name, describe(base))
            return self.pure_method(base, name, positional, named, seen)
        if isinstance(base, Instance) and callee.function is object.__init__:
            return Literal(None)
        if isinstance(base, Instance) and isinstance(callee.function, SLOTS):
            if callee.function is not object.__setattr__:
                return self.slot_method(base, callee.function, positional, named, seen)
        if isinstance(base, Instance) and callee.function is object.__setattr__:
            name, value = positional
            self.set_plainly(base, self.plain(name), value)
            return Literal(None)
        raise self.refuse(reasons.CALL_METHOD, name, describe(base))

    def array_method(
        self, base: Tensor, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        if base.is_scalar and name in SCALAR_METHODS:
            return self.pure_method(base, name, positional, named, seen)
        handler = METHODS.get(name)
        owner = np.dtype(base.dtype).type if base.is_scalar else np.ndarray
        function = getattr(owner, name, None)
        if handler is None:
            if name not in PURE_METHODS | WRITING_METHODS:
                raise self.refuse(reasons.ARRAY_METHOD, name)
            return self.opaque(function, [base, *positional], named, seen)
        method = getattr(self, handler)
        self.seen_result = seen
        try:
            try:
                signature_of(getattr(type(self), handler)).bind(self, base, *positional, **named)
            except TypeError as mismatch:
                raise self.refuse(reasons.FUNCTION_ARGUMENTS, name, mismatch) from None
            return method(base, *positional, **named)
        except NotCapturable:
            if name not in PURE_METHODS | WRITING_METHODS:
                raise
            return self.opaque(function, [base, *positional], named, seen)

    def pure_method(
        self, base: Abstract, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A method of an immutable object of Python (str.join, float.is_integer ...)."""
        if name not in ("format", "format_map"):  # which show an iterator, and take nothing of it
            positional = list(map(self.listed, positional))
        arguments = [base, *positional, *named.values()]
        for argument in arguments:
            if not self.is_pure(argument):
                raise self.refuse(reasons.METHOD_WITH, name, describe(argument))
        if all(self.is_fixed(argument) for argument in arguments) and is_constant(seen):
            return Literal(seen, made=isinstance(seen, np.generic))
        register = self.register_of(base)
        bound = self.step("getattr", register, name)
        return self.host_call(bound, positional, named, seen)

    def pure_call(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        shows = function in (str, repr)
        if not shows:
            positional = list(map(self.listed, positional))
        arguments = [*positional, *named.values()]
        for argument in arguments:
            if not (self.is_shown(argument) if shows else self.is_pure(argument)):
                raise self.refuse(reasons.FUNCTION_OF, name_of(function), describe(argument))
        if function is np.datetime64 and any(isinstance(a, Literal) for a in arguments):
            return self.read_clock(function, positional, named, seen)  # of "now", perhaps
        if all(self.is_fixed(argument) for argument in arguments) and is_constant(seen):
            return Literal(seen, made=isinstance(seen, np.generic))
        return self.host_call(self.constant(function), positional, named, seen)

    def read_clock(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """What came before it is done, and what comes behind it is not begun.

        Effects come last, so that none may stand before it that takes time or can be watched.
        """
        if self.has_written_arrays() or self._private_arrays or self.streams:
            raise self.refuse(reasons.CLOCK_BEHIND_EFFECT, name_of(function))
        self.compute_pending()
        return self.host_call(self.constant(function), positional, named, seen)

    def host_call(
        self, callee: int, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        registers = [self.register_of(value) for value in [*positional, *named.values()]]
        return self.computed(self.step("call", callee, registers, tuple(named)), seen)

    def call_partial(
        self, callee: Instance, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """One that the program found: it is looked into on each call."""
        partial = self.opened_partial(callee)
        given = {**partial.named, **named}
        return self.call(partial.function, [*partial.positional, *positional], given, seen)

    def opened_partial(self, callee: Instance) -> Partial:
        given = callee.object
        function = self.attribute(callee, "func", given.func)
        before = self.elements(self.attribute(callee, "args", given.args))
        keywords = self.attribute(callee, "keywords", given.keywords)
        if not isinstance(keywords, DictValue):
            raise self.refuse(reasons.CALL, describe(callee))
        return Partial(function, before, dict(keywords.items))

    def make_generator(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A generator of the path's own, made anew on every call."""
        for argument in map(self.resolve, [*positional, *named.values()]):
            is_source = isinstance(argument, Host) and argument.made
            if not self.is_pure(argument) and not is_source:
                raise self.refuse(reasons.FUNCTION_OF, name_of(function), describe(argument))
        return self.host_call(self.constant(function), positional, named, seen)

    def super_of(self, seen: Any) -> Abstract:
        """`super()` in a method of an instance that the path knows."""
        for frame in reversed(self.frames):
            this = self.value(frame.operands[0])
            is_class = isinstance(this, Literal) and isinstance(this.object, type)  # in __new__
            if is_class and not any(each is seen.__thisclass__ for each in this.object.__mro__):
                continue
            if (isinstance(this, Instance) or is_class) and this.object is seen.__self__:
                return SuperValue(this, seen.__thisclass__)
        raise self.refuse(reasons.SUPER_UNKNOWN_OBJECT)

    def super_attribute(self, base: SuperValue, name: str) -> Abstract:
        of_class = isinstance(base.instance, Literal)
        cls = base.instance.object if of_class else base.instance.cls
        classes = cls.__mro__
        self.guard_bases(cls)
        for owner in classes[classes.index(base.cls) + 1 :]:
            found = class_attribute(owner, name)
            self.guard_class(owner, name, found)
            if name in vars(owner):
                if isinstance(found, classmethod):
                    return Method(Literal(cls), name, found.__func__)
                if isinstance(found, (staticmethod, types.BuiltinFunctionType)):
                    return Literal(getattr(found, "__func__", found))
                if of_class:
                    break
                return Method(base.instance, name, found)
        raise self.refuse(reasons.ATTRIBUTE_SUPER, name)

    def instantiate(self, cls: type, arguments: list[Abstract], seen: Any) -> Abstract:
        """A class without Python code of its own to run: only `object.__init__`."""
        plain = class_attribute(cls, "__init__") is object.__init__
        if arguments or not plain or class_attribute(cls, "__new__") is not vars(object)["__new__"]:
            raise self.refuse(reasons.MAKING_OBJECT_TYPE, cls.__name__)
        self.guard_lifetime(cls)
        self.guard_class(cls, "__init__", object.__init__)
        self.guard_class(cls, "__new__", vars(object)["__new__"])
        return Instance(cls, object=seen)

    def new_instance(self, cls: type, seen: Any) -> Instance:
        """What `__new__` of a class of C makes."""
        made = Instance(cls, object=seen)
        base = base_of(cls)
        row = kind_of(base) if base is not None else None
        if row is not None and row.empty is not None:
            made.content = row.empty()
            made.content.owner = made
        return made

    def instantiate_derived(
        self, cls: type, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A subclass of a container that is made as that is."""
        self.guard_lifetime(cls)
        made = self.new_instance(cls, seen)
        if isinstance(made.content, Sequence):
            made.content.elements.extend(self.elements(positional[0]) if positional else [])
        else:
            self.initialise(made, positional, named)
        return made

    def initialise(self, base: Instance, positional: list[Abstract], named: Named) -> Abstract:
        """The `__init__` of a container or a namespace, of a new object."""
        content = base.content
        if base.register >= 0 or isinstance(content, Sequence):
            raise self.refuse(reasons.CALL_METHOD, "__init__", describe(base))
        if isinstance(content, ListValue):
            content.elements[:] = self.elements(positional[0]) if positional else []
        elif content is None and base_of(base.cls) is types.SimpleNamespace:
            base.attributes.update(named)
        elif isinstance(content, DictValue):
            self._ask_none(base)
            if isinstance(content, DefaultDict) and positional:
                content.factory, *positional = positional
            content.items.update(self.make_dict(*positional, **named).items)
        else:
            raise self.refuse(reasons.CALL_METHOD, "__init__", describe(base))
        return Literal(None)

    def _ask_none(self, base: Instance) -> None:
        """No method of its class in C calls one in Python on the object."""
        kind = base_of(base.cls)
        row = kind_of(kind) if kind is not None else None
        for name in row.asks if row is not None else ():
            if class_attribute(base.cls, name) is not inherited(base.cls, name):
                raise self.refuse(reasons.CALL_METHOD, name, describe(base))
            self.guard_class(base.cls, name, inherited(base.cls, name))

    def slot_method(
        self, base: Instance, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A method of a class of C, of an object of a subclass."""
        name, content = function.__name__, base.content
        if name == "__init__":
            return self.initialise(base, positional, named)
        if content is None or not issubclass(content.cls, function.__objclass__):
            raise self.refuse(reasons.CALL_METHOD, name, describe(base))
        if name == "__getitem__":
            return self.element(content, positional[0], seen)
        if name == "__setitem__":
            self.store_element(content, *positional)
            return Literal(None)
        if name == "__delitem__":
            self.delete_element(content, *positional)
            return Literal(None)
        if name == "__contains__":
            found = self.contains(content, positional[0], seen)
            return (
                self.host_operation("in", [*positional, content], seen) if found is None else found
            )
        if name == "__len__":
            return self.length(content)
        if name == "__iter__":
            return self.iterator(content)
        self._ask_none(base)
        return self.container_method(content, name, positional, named, seen)

    # ---- attributes and subscripts

    def part_of_method(self, base: Host, name: str, seen: Any) -> Abstract:
        """`__self__` or `__func__` of a bound method that the program found."""
        register = base.register
        self.guard_type(register, base.object)
        key = ("getattr", register, name)
        return self.reach(lambda: self.step("getattr", register, name, key=key), seen)

    def attribute(self, base: Abstract, name: str, seen: Any) -> Abstract:
        base = self.by_identity(base)
        if isinstance(base, Instance) and self.is_of_package(base):
            return self.package_attribute(base, name, seen)
        return self.plain_attribute(base, name, seen)

    def plain_attribute(self, base: Abstract, name: str, seen: Any) -> Abstract:
        if (changed := self.set_of_function(base, name)) is not None:
            return changed
        if isinstance(base, Tensor):
            return self.array_attribute(base, name, seen)
        if isinstance(base, Flags):
            return self.flag(base, name, seen, subscript=False)
        if isinstance(base, FlatValue):
            return self.flat_attribute(base, name)
        if isinstance(base, SuperValue):
            return self.super_attribute(base, name)
        if isinstance(base, Partial):
            parts = {
                "func": base.function,
                "args": Sequence(base.positional),
                "keywords": DictValue(base.named),
            }
            if name not in parts:
                raise self.refuse(reasons.ATTRIBUTE_PARTIAL, name)
            return parts[name]
        if isinstance(base, Raised):
            return self.exception_attribute(base, name, seen)
        if isinstance(base, ExceptionInfo):
            return self.information(base, name)
        if isinstance(base, Method) and name == "__name__":
            return Literal(seen)
        if isinstance(base, Literal) and type(base.object) in (np.finfo, np.iinfo):
            return self.literal_attribute(base, name, seen)
        if isinstance(base, Method) and name in ("__self__", "__func__"):
            if name == "__self__":
                return self.resolve(base.base)
            return Literal(seen)
        if isinstance(base, Host) and isinstance(base.object, GENERATORS_OF_NUMPY):
            return Method(base, name)
        if isinstance(base, Host) and type(base.object) is types.MethodType:
            if name in ("__self__", "__func__"):
                return self.part_of_method(base, name, seen)
        if isinstance(base, Instance):
            return self.instance_attribute(base, name, seen)
        if isinstance(base, DequeValue) and name == "maxlen":
            return Literal(base.elements.maxlen)
        if isinstance(base, DefaultDict) and name == "default_factory":
            return self.resolve(base.factory)
        if isinstance(base, KNOWN_METHODS):
            if isinstance(base, OrderedValue) and not hasattr(OrderedDict, name):
                raise self.refuse(reasons.ATTRIBUTE_OF, name, describe(base))
            return Method(base, name)
        if isinstance(base, Converter) and name in ("wrap", "as_arrays"):
            return Method(base, name)
        if name in ("write", "flush") and self.is_stream(base):
            return Method(base, name)
        if isinstance(base, SliceValue) and name in ("start", "stop", "step"):
            return self.resolve(getattr(base, name))
        if isinstance(base, Sequence):
            fields = getattr(base.cls, "_fields", ())
            if name in fields:
                return self.resolve(base.elements[fields.index(name)])
            return Method(base, name)
        if isinstance(base, Literal) and self._is_plain_instance(base.object):
            held = self.reach(lambda: self.constant(base.object), base.object)
            if not isinstance(held, Literal):  # which a function with a cache stays
                return self.attribute(held, name, seen)
        if isinstance(base, Literal) and isinstance(base.object, np.generic) and _is_method(seen):
            return Method(base, name)
        if isinstance(base, Literal):
            return self.literal_attribute(base, name, seen)
        if isinstance(base, FunctionValue):
            return self.reach(lambda: self.step("getattr", base.register, name), seen)
        if isinstance(base, Closure) and name in OF_CODE and isinstance(seen, str | None):
            return Literal(seen)
        if isinstance(base, Host) and self.is_pure(base):
            if isinstance(base.object, np.ndarray) and not hasattr(type(base.object), name):
                if name not in (base.object.dtype.names or ()):
                    return self.attribute_of_subclass(base, name, seen)
            if _is_method(seen):
                return Method(base, name)
            if name == "flat":  # each is an iterator of its own
                raise self.refuse(reasons.ATTRIBUTE_FLAT, describe(base))
            if base.root.home >= 0 and name in LAYOUT:
                if base.home < 0:
                    raise self.refuse(reasons.ATTRIBUTE_VIEW_ARRAY_WRITTEN, name)
                return self.computed(self.step("getattr", base.home, name), seen)
            if isinstance(seen, np.ndarray):  # a view, or a new array each time
                made = self.step("getattr", base.register, name)
                return self.view_on_host(
                    made, base, seen, lambda own: self.step("getattr", own, name)
                )
            key = ("getattr", base.register, name)
            return self.computed(self.step("getattr", base.register, name, key=key), seen)
        raise self.refuse(reasons.ATTRIBUTE_OF, name, describe(base))

    def literal_attribute(self, base: Literal, name: str, seen: Any) -> Abstract:
        owner = base.object
        if isinstance(owner, types.ModuleType):
            self.guard_module(owner, name)
            scope = vars(owner)
            if name not in scope:
                return self.reach(lambda: self.step("getattr", self.constant(owner), name), seen)
            if is_constant(seen):  # math.pi: found with the functions beside it
                self.guard_name(scope, name, seen)
                return Literal(seen)
            fetch = lambda: self.step("variable", scope, name, key=("variable", id(scope), name))  # noqa: E731
            return self.reach(fetch, seen, (scope, name))
        if isinstance(owner, enum.Enum) and is_constant(seen) and name in ("name", "value"):
            if class_attribute(type(owner), name) is vars(enum.Enum)[name]:
                return Literal(seen)
        if isinstance(owner, type) and (id(owner), name) in self.class_changes:
            return self.resolve(self.class_changes[id(owner), name][2])
        if isinstance(owner, type) and _is_user_class(owner):
            found = class_attribute(owner, name)
            if found is not MISSING:
                return self._of_class(owner, name, found, seen)
        user_class = isinstance(owner, type) and _is_user_class(owner)
        if isinstance(owner, (types.FunctionType, type(np.sum))) or user_class:
            fetch = lambda: self.step("getattr", self.constant(owner), name)  # noqa: E731
            return self.reach(fetch, seen)
        if is_constant(owner) or isinstance(
            owner, (np.finfo, np.iinfo, np.ufunc, type, types.FunctionType)
        ):
            immutable = type(owner) in IMMUTABLE or isinstance(owner, (np.ufunc, np.dtype))
            if immutable and _is_method(seen):
                return Method(base, name)
            if is_constant(seen) or callable(seen):
                return Literal(seen)
            if immutable and type(seen) is list and all(map(is_constant, seen)):
                parts = self.snapshots.get(id(seen), seen)
                return ListValue([Literal(part) for part in parts], object=seen)
        raise self.refuse(reasons.ATTRIBUTE_OF, name, describe(base))

    def guard_module(self, owner: types.ModuleType, name: str) -> None:
        """The name is looked up in the module's own dict; a module may change its class."""
        cls = type(owner)
        self.guard_type(self.constant(owner), owner)
        if cls is not types.ModuleType:
            for method, plain in (("__getattribute__", types.ModuleType), (name, object)):
                found = class_attribute(cls, method)
                if found is not vars(plain).get(method, MISSING):
                    raise self.refuse(reasons.ATTRIBUTE_MODULE_CLASS, name, cls.__name__)
                self.guard_class(cls, method, found)

    def _of_class(self, owner: type, name: str, found: Any, seen: Any) -> Abstract:
        if isinstance(found, (*BOUND, staticmethod, classmethod)):
            self.guard_class(owner, name, found)
        if isinstance(found, (*BOUND, staticmethod)):
            return Literal(getattr(found, "__func__", found))
        if isinstance(found, classmethod):
            return Method(Literal(owner), name, found.__func__)
        return self.class_constant(owner, name, found, seen)

    def subscript(self, base: Abstract, key: Abstract, seen: Any) -> Abstract:
        if isinstance(base, Flags):
            return self.flag(base, self.plain(key), seen, subscript=True)
        if isinstance(base, FlatValue):
            return self.flat_element(base, key, seen)
        if isinstance(base, Tensor):
            parts = self.index_parts(key)
            if self.is_basic(parts):
                return self.index(base, key)
            return self.advanced_index(base, key, parts, seen)
        if self.is_of_package(base):
            return self.package_call(operator.getitem, [base, key], {}, seen)
        return self.element(base, key, seen)

    def store_subscript(self, base: Abstract, key: Abstract, value: Abstract) -> None:
        if isinstance(base, FlatValue):
            return self.store_flat(base, key, value)
        if not isinstance(base, Tensor):
            return self.store_element(base, key, value)
        parts = self.index_parts(key)
        if not self.is_basic(parts):
            return self.advanced_store(base, parts, value)
        target = self.index(
            base,
            Sequence([*parts, Literal(Ellipsis)])
            if not any(isinstance(part, Literal) and part.object is Ellipsis for part in parts)
            else key,
            written=True,
        )
        self.write(target, self.element_of(value, target.dtype))
        return None

    # ---- with

    def enter_context(self, manager: Abstract) -> Abstract:
        if isinstance(manager, ErrorState):
            manager.before = self.modes
            self.set_modes(manager.modes_over(self.modes))
            return Literal(None)
        if isinstance(manager, CacheLock):
            return Literal(True)
        if is_lock(manager):
            return self.enter_lock(manager)
        if isinstance(manager, CaughtWarnings):
            return self.enter_warnings(manager, self.seen_result)
        if isinstance(manager, Expected):
            return self.enter_expected(manager)
        raise self.refuse(reasons.WITH_MANAGER, describe(manager))

    def leave_context(self, manager: ErrorState | CacheLock) -> Abstract:
        if isinstance(manager, ErrorState):
            self.set_modes(manager.before)
        return Literal(None)


def _is_builtin(callee: Abstract) -> bool:
    """Whether it hands a generator on: `next`, `iter`, a method of a container."""
    if isinstance(callee, Method):
        return not isinstance(callee.function, types.FunctionType)
    return isinstance(callee, Literal) and isinstance(
        callee.object, (types.BuiltinFunctionType, type)
    )


def _is_method(value: Any) -> bool:
    """A function bound to an object by looking it up."""
    return callable(value) and not isinstance(value, type)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_none(value: Abstract) -> bool:
    return isinstance(value, Literal) and value.object is None


def _is_user_class(cls: type) -> bool:
    return is_mutable_class(cls) and not cls.__module__.startswith("numpy")
