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
from dvm.magpy_capture.array_classes import MASKED_METHODS
from dvm.magpy_capture.caches import CACHED
from dvm.magpy_capture.contexts import (
    CaughtWarnings,
    ExceptionInfo,
    Expected,
    expectation,
)
from dvm.magpy_capture.derived import SLOTS, base_of, inherited, is_plain_tuple, kind_of
from dvm.magpy_capture.indexing import index_parts
from dvm.magpy_capture.locks import is_lock
from dvm.magpy_capture.log_records import IS_ENABLED, LOGGING
from dvm.magpy_capture.meanings import FUNCTIONS, METHODS, Meaning
from dvm.magpy_capture.objects import (
    BOUND,
    GETTERS,
    PURE_TYPES,
    class_attribute,
    is_constant,
    is_fixed,
    is_mutable_class,
)
from dvm.magpy_capture.opaque import name_of, signature_of
from dvm.magpy_capture.part import Part
from dvm.magpy_capture.program import MISSING, describe
from dvm.magpy_capture.python_functions import ErrorState
from dvm.magpy_capture.randoms import GENERATORS as GENERATORS_OF_NUMPY
from dvm.magpy_capture.randoms import is_pythons
from dvm.magpy_capture.randoms import owner_of as generator_of
from dvm.magpy_capture.spec import NotCapturable, refuse
from dvm.magpy_capture.tables import (
    CLOCKS,
    EVENT_OF,
    GENERATORS,
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
    resolve,
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


class Calls(Part):
    """The meaning of calls that were not followed."""

    needs = (
        "annotated array_classes arrays attributes caches callbacks callees containers "
        "contexts deques exceptions fancy graph heap host_arrays indexing iterators "
        "locks lowering opaque operators outputs packages program python randoms "
        "recorded reductions sets ufunc_methods ufuncs"
    )

    def __init__(self) -> None:
        self.seen_result: Any = None  # what the call being lowered returned
        self.changed_variables: dict[tuple[int, str], tuple[dict[str, Any], str, Abstract]] = {}
        self.changed_cells: dict[int, tuple[Any, Abstract]] = {}

    def call(
        self, callee: Abstract, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        if self.callbacks.calls_back(callee):
            return self.callbacks.call_back(callee, positional, named)
        if type(seen) is types.GeneratorType and not _is_builtin(callee):
            return self.callbacks.generator(callee, positional, named, seen)
        if isinstance(callee, Method):
            return self.call_method(callee, positional, named, seen)
        if isinstance(callee, Partial):
            given = {**callee.named, **named}
            return self.call(callee.function, [*callee.positional, *positional], given, seen)
        if isinstance(callee, Instance) and callee.cls is functools.partial:
            return self.call_partial(callee, positional, named, seen)
        callee = self.callees.by_identity(callee)
        if isinstance(callee, (Instance, Literal)) and type(callee.object) is np.vectorize:
            return self.opaque.vectorized(callee, positional, named, seen)
        if isinstance(callee, Instance) and self.packages.is_of_package(callee):
            return self.packages.package_object_called(callee, positional, named, seen)
        if not isinstance(callee, Literal):
            raise refuse(reasons.CALL, describe(callee))
        function = callee.object
        if isinstance(function, GETTERS) and len(positional) == 1 and not named:
            return self.got(function, resolve(positional[0]), seen)
        if _hashable(function) and is_numpy_function(function):
            positional = list(map(self.deques.in_sequence, positional))
        if function is not None and function is expectation():
            return self.contexts.make_expected(positional, named)
        if (known := annotation_of(function)) is not NOTHING:
            return self.annotated.annotated_call(function, known, positional, named, seen)
        if _hashable(function) and function in LOGGING:
            return self.outputs.log(function, positional, named)
        if type(function) is CACHED:
            return self.caches.cached_call(function, positional, named, seen)
        if (function is np.frompyfunc or function is np.vectorize) and not named:
            return self.opaque.made_of_function(function, positional, seen)
        if function is np.nditer:
            raise refuse(reasons.NDITER)
        if isinstance(function, np.ufunc):
            return self.ufuncs.ufunc_call(function, positional, named, seen)
        if _hashable(function):
            meaning = FUNCTIONS.get(function)
            if meaning is not None:
                return self.handled(meaning, function, positional, named, seen)
        if function is super and not positional:
            return self.super_of(seen)
        if function is object.__setattr__ and len(positional) == 3:
            base = resolve(positional[0])
            return self.call_method(Method(base, "__setattr__", function), positional[1:], {}, seen)
        owner = getattr(function, "__self__", None)
        if (generator := generator_of(function)) is not None:
            return self.randoms.random(
                generator, function, self.program.constant(function), positional, named, seen
            )
        if isinstance(owner, np.ufunc):
            return self.ufunc_methods.ufunc_method(
                owner, function.__name__, positional, named, seen
            )
        arguments = [*positional, *named.values()]
        if _hashable(function) and function in EVENT_OF and len(positional) == 2 and not named:
            kind, name = EVENT_OF[function]
            a, b = map(resolve, positional)
            return self.operator_call(kind, name, a, b, seen)
        if _hashable(function) and (
            function in PURE or (isinstance(function, type) and issubclass(function, PURE_CLASSES))
        ):
            return self.pure_call(function, positional, named, seen)
        if _hashable(function) and function in GENERATORS:
            return self.make_generator(function, positional, named, seen)
        if _hashable(function) and function in CLOCKS:
            return self.read_clock(function, positional, named, seen)
        if function is tuple.__new__ and len(positional) == 2 and is_fixed(positional[0]):
            if is_plain_tuple(type(seen)):
                return Sequence(self.containers.elements(positional[1]), type(seen))
            if base_of(type(seen)) is tuple:
                return self.instantiate_derived(type(seen), positional[1:], {}, seen)
        if isinstance(function, type) and issubclass(function, BaseException):
            return self.exceptions.make_exception(function, positional, named, seen)
        if isinstance(function, type) and type(seen) is function and base_of(function):
            for name in ("__new__", "__init__"):
                if class_attribute(function, name) is not inherited(function, name):
                    raise refuse(reasons.MAKING_OBJECT_TYPE, function.__name__)
                self.heap.guard_class(function, name, inherited(function, name))
            return self.instantiate_derived(function, positional, named, seen)
        if isinstance(function, type) and is_packaged(function):
            return self.packages.package_call(function, positional, named, seen)
        if isinstance(function, type) and type(seen) is function and _is_user_class(function):
            return self.instantiate(function, arguments, seen)
        if function in (np.finfo, np.iinfo) and all(is_fixed(a) for a in arguments):
            return Literal(seen)
        if (
            is_numpy_function(function)
            or self.array_classes.is_array_class(function)
            or (_hashable(function) and function in WRITES)
        ):
            return self.opaque.call(function, positional, named, seen)
        if isinstance(function, SLOTS) and positional:
            method = Method(resolve(positional[0]), function.__name__, function)
            return self.call_method(method, positional[1:], named, seen)
        raise refuse(reasons.CALL, name_of(function))

    def operator_call(self, kind: str, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        """A function of module operator."""
        if isinstance(a, Instance) or isinstance(b, Instance):
            return self.callbacks.operated(kind, name, a, b)
        if kind == "subscript":
            return self.subscript(a, b, seen)
        return (self.operators.binary if kind == "binary" else self.operators.comparison)(
            name, a, b, seen
        )

    def got(self, getter: Any, base: Abstract, seen: Any) -> Abstract:
        """What operator.itemgetter, attrgetter or methodcaller make of an object."""
        made = getter.__reduce__()
        if type(getter) is operator.methodcaller:
            if made[0] is not operator.methodcaller:
                raise refuse(reasons.OPERATOR_METHODCALLER_KEYWORDS)
            name, *given = made[1]
            cls = self.python.class_of(base)
            method = self.attribute(base, name, getattr(cls, name, None))
            return self.call(method, list(map(Literal, given)), {}, seen)
        if type(getter) is operator.attrgetter:
            if len(made[1]) > 1 or "." in made[1][0]:
                raise refuse(reasons.OPERATOR_ATTRGETTER_SEVERAL_ATTRIBUTES)
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
        self, meaning: Meaning, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A call with an entry in the tables; where that gives up, NumPy itself is called."""
        self.seen_result = seen
        try:
            return self.meant(meaning, name_of(function), positional, named)
        except NotCapturable:
            called = function in WRITES or function in (np.empty, np.empty_like)
            if not is_numpy_function(function) and not called:
                raise
            return self.opaque.call(function, positional, named, seen)

    def meant(
        self, meaning: Meaning, name: str, positional: list[Abstract], named: Named
    ) -> Abstract:
        part = self.lowering.holder(meaning)
        try:
            signature_of(meaning).bind(part, *positional, **named)
        except TypeError as mismatch:
            raise refuse(reasons.FUNCTION_ARGUMENTS, name, mismatch) from None
        made: Abstract = meaning(part, *positional, **named)
        return made

    def call_method(
        self, callee: Method, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        base, name = callee.base, callee.name
        if (known := annotation_of(callee.function)) is not NOTHING:
            return self.annotated.annotated_call(
                callee.function, known, [base, *positional], named, seen
            )
        if type(callee.function) is CACHED:
            return self.caches.cached_call(callee.function, [base, *positional], named, seen)
        if callee.function in LOGGING:
            return self.outputs.log(callee.function, [base, *positional], named)
        if callee.function is IS_ENABLED and len(positional) == 1:
            return self.outputs.is_enabled(base, positional[0], seen)
        if self.outputs.is_stream(base) and not named:
            return self.outputs.stream_method(base, name, positional, seen)
        if isinstance(base, Tensor):
            return self.array_method(base, name, positional, named, seen)
        if isinstance(base, CONTAINERS):
            return self.containers.container_method(base, name, positional, named, seen)
        if isinstance(base, (ErrorState, CacheLock)):
            return self.leave_context(base)
        if is_lock(base):
            return self.locks.lock_method(base, name, positional, named, seen)
        if isinstance(base, CaughtWarnings) and name == "__exit__":
            return self.contexts.leave_warnings(base)
        if isinstance(base, Expected) and name == "__exit__":
            return self.contexts.leave_expected(base, positional, seen)
        if isinstance(base, FlatValue) and name == "copy" and not positional:
            return self.reductions.flat(base.base)
        if isinstance(base, Raised) and name == "with_traceback":
            return base
        if isinstance(base, Converter):
            return self.iterators.converted(base, name, positional, named)
        if isinstance(base, Host) and isinstance(base.object, GENERATORS_OF_NUMPY):
            bound = self.program.step("getattr", base.register, name)
            function = getattr(base.object, name)
            return self.randoms.random(base, function, bound, positional, named, seen)
        if isinstance(base, Instance) and is_pythons(base.object) and base.register >= 0:
            bound = self.program.step("getattr", base.register, name)
            return self.randoms.random(base, callee.function, bound, positional, named, seen)
        if isinstance(base, Host) and isinstance(base.object, np.ndarray):
            if name not in PURE_METHODS | WRITING_METHODS | MASKED_METHODS:
                raise refuse(reasons.ARRAY_METHOD, name)
            function = getattr(type(base.object), name)
            return self.opaque.call(function, [base, *positional], named, seen)
        if isinstance(base, Literal) and isinstance(base.object, np.ufunc):
            return self.ufunc_methods.ufunc_method(base.object, name, positional, named, seen)
        if isinstance(base, (Host, Literal, Size)) and self.heap.is_pure(base):
            plain = isinstance(base, Size) or isinstance(base.object, np.generic)
            if isinstance(base, Literal) and not plain and type(base.object) not in IMMUTABLE:
                raise refuse(reasons.METHOD_OF, name, describe(base))
            return self.pure_method(base, name, positional, named, seen)
        if isinstance(base, Instance) and callee.function is object.__init__:
            return Literal(None)
        if isinstance(base, Instance) and isinstance(callee.function, SLOTS):
            if callee.function is not object.__setattr__:
                return self.slot_method(base, callee.function, positional, named, seen)
        if isinstance(base, Instance) and callee.function is object.__setattr__:
            name, value = positional
            self.heap.set_plainly(base, self.indexing.plain(name), value)
            return Literal(None)
        raise refuse(reasons.CALL_METHOD, name, describe(base))

    def array_method(
        self, base: Tensor, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        if base.is_scalar and name in SCALAR_METHODS:
            return self.pure_method(base, name, positional, named, seen)
        meaning = METHODS.get(name)
        owner = np.dtype(base.dtype).type if base.is_scalar else np.ndarray
        function = getattr(owner, name, None)
        if meaning is None:
            if name not in PURE_METHODS | WRITING_METHODS:
                raise refuse(reasons.ARRAY_METHOD, name)
            return self.opaque.call(function, [base, *positional], named, seen)
        self.seen_result = seen
        try:
            return self.meant(meaning, name, [base, *positional], named)
        except NotCapturable:
            if name not in PURE_METHODS | WRITING_METHODS:
                raise
            return self.opaque.call(function, [base, *positional], named, seen)

    def pure_method(
        self, base: Abstract, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A method of an immutable object of Python (str.join, float.is_integer ...)."""
        if name not in ("format", "format_map"):  # which show an iterator, and take nothing of it
            positional = list(map(self.containers.listed, positional))
        arguments = [base, *positional, *named.values()]
        for argument in arguments:
            if not self.heap.is_pure(argument):
                raise refuse(reasons.METHOD_WITH, name, describe(argument))
        if all(is_fixed(argument) for argument in arguments) and is_constant(seen):
            return Literal(seen, made=isinstance(seen, np.generic))
        register = self.program.register_of(base)
        bound = self.program.step("getattr", register, name)
        return self.host_call(bound, positional, named, seen)

    def pure_call(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        shows = function in (str, repr)
        if not shows:
            positional = list(map(self.containers.listed, positional))
        arguments = [*positional, *named.values()]
        for argument in arguments:
            if not (self.sets.is_shown(argument) if shows else self.heap.is_pure(argument)):
                raise refuse(reasons.FUNCTION_OF, name_of(function), describe(argument))
        if function is np.datetime64 and any(isinstance(a, Literal) for a in arguments):
            return self.read_clock(function, positional, named, seen)  # of "now", perhaps
        if all(is_fixed(argument) for argument in arguments) and is_constant(seen):
            return Literal(seen, made=isinstance(seen, np.generic))
        return self.host_call(self.program.constant(function), positional, named, seen)

    def read_clock(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """What came before it is done, and what comes behind it is not begun.

        Effects come last, so that none may stand before it that takes time or can be watched.
        """
        if self.heap.has_written_arrays() or self.heap.private_arrays or self.outputs.streams:
            raise refuse(reasons.CLOCK_BEHIND_EFFECT, name_of(function))
        self.graph.compute_pending()
        return self.host_call(self.program.constant(function), positional, named, seen)

    def host_call(
        self, callee: int, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        registers = [self.program.register_of(value) for value in [*positional, *named.values()]]
        return self.heap.computed(self.program.step("call", callee, registers, tuple(named)), seen)

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
        before = self.containers.elements(self.attribute(callee, "args", given.args))
        keywords = self.attribute(callee, "keywords", given.keywords)
        if not isinstance(keywords, DictValue):
            raise refuse(reasons.CALL, describe(callee))
        return Partial(function, before, dict(keywords.items))

    def make_generator(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A generator of the path's own, made anew on every call."""
        for argument in map(resolve, [*positional, *named.values()]):
            is_source = isinstance(argument, Host) and argument.made
            if not self.heap.is_pure(argument) and not is_source:
                raise refuse(reasons.FUNCTION_OF, name_of(function), describe(argument))
        return self.host_call(self.program.constant(function), positional, named, seen)

    def super_of(self, seen: Any) -> Abstract:
        """`super()` in a method of an instance that the path knows."""
        for frame in reversed(self.outputs.frames):
            this = self.recorded.value(frame.operands[0])
            is_class = isinstance(this, Literal) and isinstance(this.object, type)  # in __new__
            if is_class and not any(each is seen.__thisclass__ for each in this.object.__mro__):
                continue
            if (isinstance(this, Instance) or is_class) and this.object is seen.__self__:
                return SuperValue(this, seen.__thisclass__)
        raise refuse(reasons.SUPER_UNKNOWN_OBJECT)

    def super_attribute(self, base: SuperValue, name: str) -> Abstract:
        of_class = isinstance(base.instance, Literal)
        cls = base.instance.object if of_class else base.instance.cls
        classes = cls.__mro__
        self.heap.guard_bases(cls)
        for owner in classes[classes.index(base.cls) + 1 :]:
            found = class_attribute(owner, name)
            self.heap.guard_class(owner, name, found)
            if name in vars(owner):
                if isinstance(found, classmethod):
                    return Method(Literal(cls), name, found.__func__)
                if isinstance(found, (staticmethod, types.BuiltinFunctionType)):
                    return Literal(getattr(found, "__func__", found))
                if of_class:
                    break
                return Method(base.instance, name, found)
        raise refuse(reasons.ATTRIBUTE_SUPER, name)

    def instantiate(self, cls: type, arguments: list[Abstract], seen: Any) -> Abstract:
        """A class without Python code of its own to run: only `object.__init__`."""
        plain = class_attribute(cls, "__init__") is object.__init__
        if arguments or not plain or class_attribute(cls, "__new__") is not vars(object)["__new__"]:
            raise refuse(reasons.MAKING_OBJECT_TYPE, cls.__name__)
        self.heap.guard_lifetime(cls)
        self.heap.guard_class(cls, "__init__", object.__init__)
        self.heap.guard_class(cls, "__new__", vars(object)["__new__"])
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
        self.heap.guard_lifetime(cls)
        made = self.new_instance(cls, seen)
        if isinstance(made.content, Sequence):
            made.content.elements.extend(
                self.containers.elements(positional[0]) if positional else []
            )
        else:
            self.initialise(made, positional, named)
        return made

    def initialise(self, base: Instance, positional: list[Abstract], named: Named) -> Abstract:
        """The `__init__` of a container or a namespace, of a new object."""
        content = base.content
        if base.register >= 0 or isinstance(content, Sequence):
            raise refuse(reasons.CALL_METHOD, "__init__", describe(base))
        if isinstance(content, ListValue):
            content.elements[:] = self.containers.elements(positional[0]) if positional else []
        elif content is None and base_of(base.cls) is types.SimpleNamespace:
            base.attributes.update(named)
        elif isinstance(content, DictValue):
            self._ask_none(base)
            if isinstance(content, DefaultDict) and positional:
                content.factory, *positional = positional
            content.items.update(self.python.make_dict(*positional, **named).items)
        else:
            raise refuse(reasons.CALL_METHOD, "__init__", describe(base))
        return Literal(None)

    def _ask_none(self, base: Instance) -> None:
        """No method of its class in C calls one in Python on the object."""
        kind = base_of(base.cls)
        row = kind_of(kind) if kind is not None else None
        for name in row.asks if row is not None else ():
            if class_attribute(base.cls, name) is not inherited(base.cls, name):
                raise refuse(reasons.CALL_METHOD, name, describe(base))
            self.heap.guard_class(base.cls, name, inherited(base.cls, name))

    def slot_method(
        self, base: Instance, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A method of a class of C, of an object of a subclass."""
        name, content = function.__name__, base.content
        if name == "__init__":
            return self.initialise(base, positional, named)
        if content is None or not issubclass(content.cls, function.__objclass__):
            raise refuse(reasons.CALL_METHOD, name, describe(base))
        if name == "__getitem__":
            return self.containers.element(content, positional[0], seen)
        if name == "__setitem__":
            self.containers.store_element(content, *positional)
            return Literal(None)
        if name == "__delitem__":
            self.containers.delete_element(content, *positional)
            return Literal(None)
        if name == "__contains__":
            found = self.containers.contains(content, positional[0], seen)
            return (
                self.heap.host_operation("in", [*positional, content], seen)
                if found is None
                else found
            )
        if name == "__len__":
            return self.python.length(content)
        if name == "__iter__":
            return self.containers.iterator(content)
        self._ask_none(base)
        return self.containers.container_method(content, name, positional, named, seen)

    # ---- attributes and subscripts

    def part_of_method(self, base: Host, name: str, seen: Any) -> Abstract:
        """`__self__` or `__func__` of a bound method that the program found."""
        register = base.register
        self.program.guard_type(register, base.object)
        key = ("getattr", register, name)
        return self.heap.reach(lambda: self.program.step("getattr", register, name, key=key), seen)

    def attribute(self, base: Abstract, name: str, seen: Any) -> Abstract:
        base = self.callees.by_identity(base)
        if isinstance(base, Instance) and self.packages.is_of_package(base):
            return self.packages.package_attribute(base, name, seen)
        return self.plain_attribute(base, name, seen)

    def plain_attribute(self, base: Abstract, name: str, seen: Any) -> Abstract:
        if (changed := self.heap.set_of_function(base, name)) is not None:
            return changed
        if isinstance(base, Tensor):
            return self.attributes.array_attribute(base, name, seen)
        if isinstance(base, Flags):
            return self.attributes.flag(base, name, seen, subscript=False)
        if isinstance(base, FlatValue):
            return self.attributes.flat_attribute(base, name)
        if isinstance(base, SuperValue):
            return self.super_attribute(base, name)
        if isinstance(base, Partial):
            parts = {
                "func": base.function,
                "args": Sequence(base.positional),
                "keywords": DictValue(base.named),
            }
            if name not in parts:
                raise refuse(reasons.ATTRIBUTE_PARTIAL, name)
            return parts[name]
        if isinstance(base, Raised):
            return self.exceptions.exception_attribute(base, name, seen)
        if isinstance(base, ExceptionInfo):
            return self.contexts.information(base, name)
        if isinstance(base, Method) and name == "__name__":
            return Literal(seen)
        if isinstance(base, Literal) and type(base.object) in (np.finfo, np.iinfo):
            return self.literal_attribute(base, name, seen)
        if isinstance(base, Method) and name in ("__self__", "__func__"):
            if name == "__self__":
                return resolve(base.base)
            return Literal(seen)
        if isinstance(base, Host) and isinstance(base.object, GENERATORS_OF_NUMPY):
            return Method(base, name)
        if isinstance(base, Host) and type(base.object) is types.MethodType:
            if name in ("__self__", "__func__"):
                return self.part_of_method(base, name, seen)
        if isinstance(base, Instance):
            return self.heap.instance_attribute(base, name, seen)
        if isinstance(base, DequeValue) and name == "maxlen":
            return Literal(base.elements.maxlen)
        if isinstance(base, DefaultDict) and name == "default_factory":
            return resolve(base.factory)
        if isinstance(base, KNOWN_METHODS):
            if isinstance(base, OrderedValue) and not hasattr(OrderedDict, name):
                raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))
            return Method(base, name)
        if isinstance(base, Converter) and name in ("wrap", "as_arrays"):
            return Method(base, name)
        if name in ("write", "flush") and self.outputs.is_stream(base):
            return Method(base, name)
        if isinstance(base, SliceValue) and name in ("start", "stop", "step"):
            return resolve(getattr(base, name))
        if isinstance(base, Sequence):
            fields = getattr(base.cls, "_fields", ())
            if name in fields:
                return resolve(base.elements[fields.index(name)])
            return Method(base, name)
        if isinstance(base, Literal) and self.heap.is_plain_instance(base.object):
            held = self.heap.reach(lambda: self.program.constant(base.object), base.object)
            if not isinstance(held, Literal):  # which a function with a cache stays
                return self.attribute(held, name, seen)
        if isinstance(base, Literal) and isinstance(base.object, np.generic) and _is_method(seen):
            return Method(base, name)
        if isinstance(base, Literal):
            return self.literal_attribute(base, name, seen)
        if isinstance(base, FunctionValue):
            return self.heap.reach(lambda: self.program.step("getattr", base.register, name), seen)
        if isinstance(base, Closure) and name in OF_CODE and isinstance(seen, str | None):
            return Literal(seen)
        if isinstance(base, Host) and self.heap.is_pure(base):
            if isinstance(base.object, np.ndarray) and not hasattr(type(base.object), name):
                if name not in (base.object.dtype.names or ()):
                    return self.array_classes.attribute_of_subclass(base, name, seen)
            if _is_method(seen):
                return Method(base, name)
            if name == "flat":  # each is an iterator of its own
                raise refuse(reasons.ATTRIBUTE_FLAT, describe(base))
            if base.root.home >= 0 and name in LAYOUT:
                if base.home < 0:
                    raise refuse(reasons.ATTRIBUTE_VIEW_ARRAY_WRITTEN, name)
                return self.heap.computed(self.program.step("getattr", base.home, name), seen)
            if isinstance(seen, np.ndarray):  # a view, or a new array each time
                made = self.program.step("getattr", base.register, name)
                return self.host_arrays.view_on_host(
                    made, base, seen, lambda own: self.program.step("getattr", own, name)
                )
            key = ("getattr", base.register, name)
            return self.heap.computed(
                self.program.step("getattr", base.register, name, key=key), seen
            )
        raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))

    def literal_attribute(self, base: Literal, name: str, seen: Any) -> Abstract:
        owner = base.object
        if isinstance(owner, types.ModuleType):
            self.guard_module(owner, name)
            scope = vars(owner)
            if name not in scope:
                return self.heap.reach(
                    lambda: self.program.step("getattr", self.program.constant(owner), name), seen
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
        if isinstance(owner, type) and (id(owner), name) in self.heap.class_changes:
            return resolve(self.heap.class_changes[id(owner), name][2])
        if isinstance(owner, type) and _is_user_class(owner):
            found = class_attribute(owner, name)
            if found is not MISSING:
                return self._of_class(owner, name, found, seen)
        user_class = isinstance(owner, type) and _is_user_class(owner)
        if isinstance(owner, (types.FunctionType, type(np.sum))) or user_class:
            fetch = lambda: self.program.step("getattr", self.program.constant(owner), name)  # noqa: E731
            return self.heap.reach(fetch, seen)
        if is_constant(owner) or isinstance(
            owner, (np.finfo, np.iinfo, np.ufunc, type, types.FunctionType)
        ):
            immutable = type(owner) in IMMUTABLE or isinstance(owner, (np.ufunc, np.dtype))
            if immutable and _is_method(seen):
                return Method(base, name)
            if is_constant(seen) or callable(seen):
                return Literal(seen)
            if immutable and type(seen) is list and all(map(is_constant, seen)):
                parts = self.heap.snapshots.get(id(seen), seen)
                return ListValue([Literal(part) for part in parts], object=seen)
        raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))

    def guard_module(self, owner: types.ModuleType, name: str) -> None:
        """The name is looked up in the module's own dict; a module may change its class."""
        cls = type(owner)
        self.program.guard_type(self.program.constant(owner), owner)
        if cls is not types.ModuleType:
            for method, plain in (("__getattribute__", types.ModuleType), (name, object)):
                found = class_attribute(cls, method)
                if found is not vars(plain).get(method, MISSING):
                    raise refuse(reasons.ATTRIBUTE_MODULE_CLASS, name, cls.__name__)
                self.heap.guard_class(cls, method, found)

    def _of_class(self, owner: type, name: str, found: Any, seen: Any) -> Abstract:
        if isinstance(found, (*BOUND, staticmethod, classmethod)):
            self.heap.guard_class(owner, name, found)
        if isinstance(found, (*BOUND, staticmethod)):
            return Literal(getattr(found, "__func__", found))
        if isinstance(found, classmethod):
            return Method(Literal(owner), name, found.__func__)
        return self.heap.class_constant(owner, name, found, seen)

    def subscript(self, base: Abstract, key: Abstract, seen: Any) -> Abstract:
        if isinstance(base, Flags):
            return self.attributes.flag(base, self.indexing.plain(key), seen, subscript=True)
        if isinstance(base, FlatValue):
            return self.attributes.flat_element(base, key, seen)
        if isinstance(base, Tensor):
            parts = index_parts(key)
            if self.indexing.is_basic(parts):
                return self.indexing.index(base, key)
            return self.fancy.advanced_index(base, key, parts, seen)
        if self.packages.is_of_package(base):
            return self.packages.package_call(operator.getitem, [base, key], {}, seen)
        return self.containers.element(base, key, seen)

    def store_subscript(self, base: Abstract, key: Abstract, value: Abstract) -> None:
        if isinstance(base, FlatValue):
            return self.attributes.store_flat(base, key, value)
        if not isinstance(base, Tensor):
            return self.containers.store_element(base, key, value)
        parts = index_parts(key)
        if not self.indexing.is_basic(parts):
            return self.fancy.advanced_store(base, parts, value)
        target = self.indexing.index(
            base,
            Sequence([*parts, Literal(Ellipsis)])
            if not any(isinstance(part, Literal) and part.object is Ellipsis for part in parts)
            else key,
            written=True,
        )
        self.arrays.write(target, self.ufuncs.element_of(value, target.dtype))
        return None

    # ---- with

    def enter_context(self, manager: Abstract) -> Abstract:
        if isinstance(manager, ErrorState):
            manager.before = self.graph.modes
            self.graph.set_modes(manager.modes_over(self.graph.modes))
            return Literal(None)
        if isinstance(manager, CacheLock):
            return Literal(True)
        if is_lock(manager):
            return self.locks.enter_lock(manager)
        if isinstance(manager, CaughtWarnings):
            return self.contexts.enter_warnings(manager, self.seen_result)
        if isinstance(manager, Expected):
            return self.contexts.enter_expected(manager)
        raise refuse(reasons.WITH_MANAGER, describe(manager))

    def leave_context(self, manager: ErrorState | CacheLock) -> Abstract:
        if isinstance(manager, ErrorState):
            self.graph.set_modes(manager.before)
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
