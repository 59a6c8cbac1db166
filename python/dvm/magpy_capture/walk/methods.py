"""Calls of methods: by what kind of value they are of, or by the function found in its class."""

from __future__ import annotations

import types
from typing import Any

from dvm import reasons
from dvm.annotating import NOTHING, annotation_of
from dvm.magpy_capture.libraries import ELEMENTWISE, GENERATORS, is_array, is_scalar, library_of
from dvm.magpy_capture.library import Library
from dvm.magpy_capture.meanings.python.caches import CACHED
from dvm.magpy_capture.meanings.python.contexts import CaughtWarnings, Expected
from dvm.magpy_capture.meanings.python.locks import is_lock
from dvm.magpy_capture.meanings.python.log_records import IS_ENABLED, LOGGING
from dvm.magpy_capture.meanings.python.opaque import mismatch_of
from dvm.magpy_capture.meanings.python.randoms import is_pythons
from dvm.magpy_capture.objects.derived import SLOTS, base_of, inherited, kind_of
from dvm.magpy_capture.objects.open_lists import is_open_list
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import NotCapturable, refuse
from dvm.magpy_capture.registry import (
    FUNCTIONS,
    METHODS,
    SEEING,
    Meaning,
    calls_of,
    means,
    method_of,
    methods_of,
)
from dvm.magpy_capture.values import (
    Abstract,
    CacheLock,
    DefaultDict,
    DictValue,
    Host,
    Instance,
    ListValue,
    Literal,
    Method,
    Named,
    Raised,
    Sequence,
    Size,
    Tensor,
    resolve,
)
from dvm.magpy_capture.values.kinds import (
    PURE_TYPES,
    class_attribute,
    is_constant,
    is_fixed,
    name_of,
)
from dvm.magpy_capture.walk.layer import WalkPart

#: methods that NumPy scalars have and arrays do not
SCALAR_METHODS = frozenset({"is_integer", "as_integer_ratio", "bit_count", "hex"})


#: of constants whose methods give the same for the same arguments
IMMUTABLE = (*PURE_TYPES, tuple)


class Methods(WalkPart):
    """The meaning of calls of methods that were not followed."""

    needs = (
        "annotated caches containers contexts exceptions host_operations indexing instances "
        "locks meanings opaque open_lists outputs program python randoms rules"
    )

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
        if isinstance(callee.function, types.FunctionType) and callee.function in FUNCTIONS:
            meaning = FUNCTIONS[callee.function]
            return self.meant(meaning, name, [base, *positional], named, seen)
        if callee.function in LOGGING:
            return self.outputs.log(callee.function, [base, *positional], named, seen)
        if callee.function is IS_ENABLED and len(positional) == 1:
            return self.outputs.is_enabled(base, positional[0], seen)
        if self.outputs.is_stream(base) and not named:
            return self.outputs.stream_method(base, name, positional, seen)
        if isinstance(base, Raised) and name == "__init__":
            return self.exceptions.initialise(base, callee.function, positional, named)
        if isinstance(base, Instance):
            return self._of_instance(callee, base, positional, named, seen)
        return self._by_kind(base, name, positional, named, seen)

    def _by_kind(
        self, base: Abstract, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        meaning = method_of(type(base), name)
        if meaning is None:
            raise refuse(reasons.CALL_METHOD, name, describe(base))
        made: Abstract = meaning(self.meanings.holder(meaning), base, name, positional, named, seen)
        return made

    def _of_instance(
        self, callee: Method, base: Instance, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """By the function, where no table has the name."""
        name, function = callee.name, callee.function
        if is_lock(base):
            return self.locks.lock_method(base, name, positional, named, seen)
        if is_pythons(base.object) and base.register >= 0:
            bound = self.program.step("getattr", base.register, name)
            return self.randoms.random(base, function, bound, positional, named, seen)
        if function is object.__init__:
            return Literal(None)
        if function is object.__setattr__:
            attribute, value = positional
            self.instances.set_plainly(base, self.indexing.plain(attribute), value)
            return Literal(None)
        if isinstance(function, SLOTS):
            return self.slot_method(base, function, positional, named, seen)
        raise refuse(reasons.CALL_METHOD, name, describe(base))

    @means(object.__setattr__)
    def set_attribute_of_object(self, base: Abstract, name: Abstract, value: Abstract) -> Abstract:
        method = Method(resolve(base), "__setattr__", object.__setattr__)
        return self.call_method(method, [name, value], {}, None)

    @calls_of(*SLOTS)
    def called_of_class(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A method of a class of C that the program looked up in the class."""
        if not positional:
            raise refuse(reasons.CALL, name_of(function))
        method = Method(resolve(positional[0]), function.__name__, function)
        return self.call_method(method, positional[1:], named, seen)

    @methods_of(Raised, CaughtWarnings, Expected, CacheLock)
    def only_method(
        self, base: Any, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """The one method that a kind of value has here; leaving, of a context manager."""
        if isinstance(base, CacheLock):
            return Literal(None)
        if isinstance(base, CaughtWarnings) and name == "__exit__":
            return self.contexts.leave_warnings(base)
        if isinstance(base, Expected) and name == "__exit__":
            return self.contexts.leave_expected(base, positional, seen)
        if isinstance(base, Raised) and name == "with_traceback":
            return base
        raise refuse(reasons.CALL_METHOD, name, describe(base))

    @methods_of(Host)
    def method_of_host(
        self, base: Host, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        if isinstance(base.object, GENERATORS):
            bound = self.program.step("getattr", base.register, name)
            function = getattr(base.object, name)
            return self.randoms.random(base, function, bound, positional, named, seen)
        if is_array(base.object):
            library = library_of(base.object)
            if not (_is_called(library, name) or name in library.own_methods):
                raise refuse(reasons.ARRAY_METHOD, name)
            function = getattr(type(base.object), name)
            return self.opaque.call(function, [base, *positional], named, seen)
        if not self.host_operations.is_pure(base):
            raise refuse(reasons.CALL_METHOD, name, describe(base))
        return self.pure_method(base, name, positional, named, seen)

    @methods_of(Literal)
    def method_of_literal(
        self, base: Literal, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        if isinstance(base.object, ELEMENTWISE):
            return self.rules.called(base.object, name, positional, named, seen)
        if not self.host_operations.is_pure(base):
            raise refuse(reasons.CALL_METHOD, name, describe(base))
        if not is_scalar(base.object) and type(base.object) not in IMMUTABLE:
            raise refuse(reasons.METHOD_OF, name, describe(base))
        return self.pure_method(base, name, positional, named, seen)

    @methods_of(Tensor)
    def array_method(
        self, base: Tensor, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        if base.is_scalar and name in SCALAR_METHODS:
            return self.pure_method(base, name, positional, named, seen)
        meaning = METHODS.get((base.library.name, name))
        owner = base.library.class_of(base.dtype, base.is_scalar)
        function = getattr(owner, name, None)
        if meaning is None:
            if not _is_called(base.library, name):
                raise refuse(reasons.ARRAY_METHOD, name)
            return self.opaque.call(function, [base, *positional], named, seen)
        try:
            return self.meant(meaning, name, [base, *positional], named, seen)
        except NotCapturable:
            if not _is_called(base.library, name):
                raise
            return self.opaque.call(function, [base, *positional], named, seen)

    def meant(
        self, meaning: Meaning, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A call as the signature of its meaning has it."""
        part = self.meanings.holder(meaning)
        positional, named = self.rules.given(name, positional, named)
        told = {**named, "seen": seen} if meaning in SEEING and "seen" not in named else named
        if (mismatch := mismatch_of(meaning, 1 + len(positional), tuple(told))) is not None:
            raise refuse(reasons.FUNCTION_ARGUMENTS, name, mismatch)
        made: Abstract = meaning(part, *positional, **told)
        return made

    @methods_of(Size)
    def pure_method(
        self, base: Abstract, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A method of an immutable object of Python (str.join, float.is_integer ...)."""
        if name == "join" and len(positional) == 1 and is_open_list(positional[0]):
            return self.open_lists.join_texts(base, resolve(positional[0]), seen)
        if name not in ("format", "format_map"):  # which show an iterator, and take nothing of it
            positional = list(map(self.containers.listed, positional))
        arguments = [base, *positional, *named.values()]
        for argument in arguments:
            if not self.host_operations.is_pure(argument):
                raise refuse(reasons.METHOD_WITH, name, describe(argument))
        if all(is_fixed(argument) for argument in arguments) and is_constant(seen):
            return Literal(seen, made=is_scalar(seen))
        register = self.program.register_of(base)
        bound = self.program.step("getattr", register, name)
        return self.host_operations.host_call(bound, positional, named, seen)

    # ---- of subclasses of containers

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
            if positional or named:
                self._ask_none(base, "__init__")
            if isinstance(content, DefaultDict) and positional:
                content.factory, *positional = positional
            content.items.update(self.python.make_dict(*positional, **named).items)
        else:
            raise refuse(reasons.CALL_METHOD, "__init__", describe(base))
        return Literal(None)

    def _ask_none(self, base: Instance, method: str) -> None:
        """The method of its class in C calls none in Python on the object."""
        kind = base_of(base.cls)
        row = kind_of(kind) if kind is not None else None
        if row is None or method in row.quiet:
            return
        for name in row.asks:
            if class_attribute(base.cls, name) is not inherited(base.cls, name):
                raise refuse(reasons.CALL_METHOD, name, describe(base))
            self.instances.guard_class(base.cls, name, inherited(base.cls, name))

    def slot_method(
        self, base: Instance, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A method of a class of C, of an object of a subclass."""
        name, content = function.__name__, base.content
        if name == "__init__":
            return self.initialise(base, positional, named)
        owner = function.__objclass__
        if content is None or not (issubclass(content.cls, owner) or base.cls is owner):
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
                self.host_operations.host_operation("in", [*positional, content], seen)
                if found is None
                else found
            )
        if name == "__len__":
            return self.python.length(content, seen=seen)
        if name == "__iter__":
            return self.containers.iterator(content)
        self._ask_none(base, name)
        return self._by_kind(content, name, positional, named, seen)


def _is_called(library: Library, name: str) -> bool:
    """Whether a method of an array is called as it is, where it has no meaning."""
    return name in library.pure_methods or name in library.writing_methods


__all__ = ["Methods"]
