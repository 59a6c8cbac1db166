"""Calls of functions that were not followed: which meaning a recorded one has."""

from __future__ import annotations

import functools
import operator
import sys
import types
import weakref
from typing import Any

from dvm import classes, reasons
from dvm.annotating import NOTHING, Annotation, annotation_of, is_packaged
from dvm.classes import is_mutable_class, is_plain_key, lookup, mro_of
from dvm.magpy_capture.libraries import (
    CLOCKS_OF,
    ELEMENTWISE,
    EQUALS,
    SCALARS,
    called_by,
    is_called,
    is_function,
    is_of_library,
    is_scalar,
    writes,
)
from dvm.magpy_capture.meanings.python.contexts import expectation
from dvm.magpy_capture.meanings.python.randoms import owner_of as generator_of
from dvm.magpy_capture.objects.derived import base_of, inherited, is_plain_tuple, kind_of
from dvm.magpy_capture.objects.open_lists import is_open_list
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import NotCapturable, refuse
from dvm.magpy_capture.registry import (
    CALLS,
    CALLS_OF,
    FUNCTIONS,
    Meaning,
    calls_of,
    calls_of_each,
    means,
    of_kind,
)
from dvm.magpy_capture.values import (
    Abstract,
    Hidden,
    Host,
    Instance,
    Literal,
    Method,
    Named,
    Partial,
    Raised,
    Sequence,
    SuperValue,
    resolve,
)
from dvm.magpy_capture.values.kinds import (
    GETTERS,
    class_attribute,
    has_one_text,
    is_constant,
    is_fixed,
    name_of,
)
from dvm.magpy_capture.values.tables import CLOCKS, EVENT_OF, PURE
from dvm.magpy_capture.walk.layer import WalkPart

#: types whose calls make a value from values, without effects
PURE_CLASSES: tuple[type, ...] = (
    *(*EQUALS, *SCALARS, complex, str, bytes, frozenset),
    *(operator.itemgetter, operator.attrgetter, operator.methodcaller),
)


class Calls(WalkPart):
    """Asks those who may know what a call means, in order."""

    needs = (
        "annotated caller containers contexts deques exceptions followed graph heap "
        "host_operations identity instances lookups meanings memory methods opaque open_lists "
        "operator_events outputs packages program randoms recorded rules sets"
    )

    def __init__(self) -> None:
        # by the id of a function that was called: what it is, whatever it is called with
        self._callees: dict[int, tuple[bool, bool, Annotation]] = {}

    def call(
        self, callee: Abstract, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        if self.caller.calls_back(callee):
            return self.caller.call_back(callee, positional, named)
        if type(seen) is types.GeneratorType and not _is_builtin(callee):
            return self.caller.begun(callee, positional, named, seen)
        if isinstance(callee, Method):
            return self.methods.call_method(callee, positional, named, seen)
        if isinstance(callee, Partial):
            given = {**callee.named, **named}
            return self.call(callee.function, [*callee.positional, *positional], given, seen)
        if isinstance(callee, Instance) and callee.cls is functools.partial:
            return self.call_partial(callee, positional, named, seen)
        if isinstance(callee, Host) and type(callee.object) is weakref.ref:
            return self.referred(callee, seen)
        callee = self.program.by_identity(callee)
        if isinstance(callee, (Instance, Literal)) and called_by(callee.object) is not None:
            return self.rules.called_for_each(callee, positional, named, seen)
        if isinstance(callee, Instance) and self.packages.is_of_package(callee):
            return self.packages.package_object_called(callee, positional, named, seen)
        if not isinstance(callee, Literal):
            raise refuse(reasons.CALL, describe(callee))
        return self.call_function(callee.object, positional, named, seen)

    def call_function(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """By what the user vouches for, the function itself, its kind, and whose it is."""
        hashable, is_known, vouched = self._callee(function)
        if (put := self.rules.put_out(named)) is not None and is_known:
            rest = {name: value for name, value in named.items() if name != "out"}

            def call(like: Any) -> Abstract:
                return self.call_function(function, positional, rest, like)

            return put(call, function, (positional, rest), seen)
        if hashable and is_known:
            positional = list(map(self.deques.in_sequence, positional))
        if hashable and any(map(is_open_list, positional)):
            found = self.open_lists.call(function, positional, named, seen)
            if found is not None:
                return found
        if function is not None and function is expectation():
            return self.contexts.make_expected(positional, named)
        if vouched is not NOTHING:
            return self.annotated.annotated_call(function, vouched, positional, named, seen)
        if hashable and function in FUNCTIONS:
            return self.handled(FUNCTIONS[function], function, positional, named, seen)
        meaning = CALLS.get(function) if hashable else None
        meaning = of_kind(CALLS_OF, type(function)) if meaning is None else meaning
        if meaning is not None:
            holder = self.meanings.holder(meaning)
            made: Abstract = meaning(holder, function, positional, named, seen)
            return made
        if (generator := generator_of(function)) is not None:
            return self.randoms.random(
                generator, function, self.program.constant(function), positional, named, seen
            )
        owner = getattr(function, "__self__", None)
        if isinstance(owner, ELEMENTWISE):
            name = function.__name__
            return self.rules.called(owner, name, positional, named, seen)
        if isinstance(function, type):
            return self.call_class(function, positional, named, seen)
        if is_known or (hashable and writes(function)):
            return self.opaque.call(function, positional, named, seen)
        raise refuse(reasons.CALL, name_of(function))

    def _callee(self, function: Any) -> tuple[bool, bool, Annotation]:
        """Whether it is a key of tables, and a library's function; what the user vouches for."""
        known = self._callees.get(id(function))
        if known is None:
            self.program.kept.append(function)
            known = is_plain_key(function), is_function(function), annotation_of(function)
            self._callees[id(function)] = known
        return known

    def call_class(self, cls: Any, positional: list[Abstract], named: Named, seen: Any) -> Abstract:
        """Making an object."""
        if issubclass(cls, PURE_CLASSES):
            return self.pure_call(cls, positional, named, seen)
        if issubclass(cls, BaseException):
            return self.exceptions.make_exception(cls, positional, named, seen)
        if type(seen) is cls and base_of(cls):
            for name in ("__new__", "__init__"):
                if class_attribute(cls, name) is not inherited(cls, name):
                    raise refuse(reasons.MAKING_OBJECT_TYPE, classes.name_of(cls))
                self.instances.guard_class(cls, name, inherited(cls, name))
            return self.instantiate_derived(cls, positional, named, seen)
        if is_packaged(cls):
            return self.packages.package_call(cls, positional, named, seen)
        if type(seen) is cls and is_user_class(cls):
            return self.instantiate(cls, [*positional, *named.values()], seen)
        if self.rules.is_array_class(cls):
            return self.opaque.call(cls, positional, named, seen)
        raise refuse(reasons.CALL, name_of(cls))

    @means(tuple.__new__)
    def new_tuple(self, cls: Abstract, elements: Abstract, *, seen: Any) -> Abstract:
        kind = type(seen)
        if is_fixed(cls) and is_plain_tuple(kind):
            return Sequence(self.containers.elements(elements), kind)
        if is_fixed(cls) and base_of(kind) is tuple:
            return self.instantiate_derived(kind, [elements], {}, seen)
        raise refuse(reasons.CALL, name_of(tuple.__new__))

    @calls_of(*GETTERS)
    def got(self, getter: Any, positional: list[Abstract], named: Named, seen: Any) -> Abstract:
        """What operator.itemgetter, attrgetter or methodcaller make of an object."""
        if len(positional) != 1 or named:
            raise refuse(reasons.CALL, name_of(getter))
        base = resolve(positional[0])
        made = getter.__reduce__()
        if type(getter) is operator.methodcaller:
            if made[0] is not operator.methodcaller:
                raise refuse(reasons.OPERATOR_METHODCALLER_KEYWORDS)
            name, *given = made[1]
            cls = self.identity.class_of(base)
            method = self.lookups.attribute(base, name, lookup(cls, name))
            return self.call(method, list(map(Literal, given)), {}, seen)
        if type(getter) is operator.attrgetter:
            if len(made[1]) > 1 or "." in made[1][0]:
                raise refuse(reasons.OPERATOR_ATTRGETTER_SEVERAL_ATTRIBUTES)
            return self.lookups.attribute(base, made[1][0], seen)
        if len(made[1]) == 1:
            return self.lookups.subscript(base, Literal(made[1][0]), seen)
        return Sequence(
            [
                self.lookups.subscript(base, Literal(item), None if seen is None else seen[place])
                for place, item in enumerate(made[1])
            ]
        )

    def handled(
        self, meaning: Meaning, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A call with an entry in the tables; where that gives up, NumPy itself is called."""
        try:
            return self.methods.meant(meaning, name_of(function), positional, named, seen)
        except NotCapturable:
            if not is_called(function):
                raise
            return self.opaque.call(function, positional, named, seen)

    # ---- functions without effects

    @calls_of_each(PURE)
    def pure_call(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        shows = function in (str, repr)
        if not shows:
            positional = list(map(self.containers.listed, positional))
        arguments = [*positional, *named.values()]
        for argument in arguments:
            if not (
                self.sets.is_shown(argument) if shows else self.host_operations.is_pure(argument)
            ):
                raise refuse(reasons.FUNCTION_OF, name_of(function), describe(argument))
        if function in CLOCKS_OF and any(isinstance(a, Literal) for a in arguments):
            return self.read_clock(function, positional, named, seen)  # of "now", perhaps
        known = all(is_fixed(argument) for argument in arguments) and is_constant(seen)
        if known and not (
            shows and not all(has_one_text(resolve(each).object) for each in arguments)
        ):
            return Literal(seen, made=is_scalar(seen))
        return self.host_operations.host_call(
            self.program.constant(function), positional, named, seen
        )

    @calls_of_each(EVENT_OF)
    def operator_call(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A function of module operator that is what an instruction does."""
        if len(positional) != 2 or named:
            return self.pure_call(function, positional, named, seen)
        (kind, name), (a, b) = EVENT_OF[function], map(resolve, positional)
        if isinstance(a, Instance) or isinstance(b, Instance):
            return self.caller.operated(kind, name, a, b)
        if kind == "subscript":
            return self.lookups.subscript(a, b, seen)
        does = self.operator_events.binary if kind == "binary" else self.operator_events.comparison
        return does(name, a, b, seen)

    @calls_of_each(CLOCKS)
    def read_clock(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """What came before it is done, and what comes behind it is not begun.

        Effects come last, so that none may stand before it that takes time or can be watched.
        """
        if self.memory.has_written() or self.outputs.streams:
            raise refuse(reasons.CLOCK_BEHIND_EFFECT, name_of(function))
        self.graph.compute_pending()
        return self.host_operations.host_call(
            self.program.constant(function), positional, named, seen
        )

    def referred(self, reference: Host, seen: Any) -> Abstract:
        """What a weak reference of the caller's gives: the object that is there in each call."""
        register = reference.register
        key = ("call", register)
        return self.heap.reach(lambda: self.program.step("call", register, [], (), key=key), seen)

    # ---- partial, super

    def call_partial(
        self, callee: Instance, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """One that the program found: it is looked into on each call."""
        partial = self.followed.opened_partial(callee)
        given = {**partial.named, **named}
        return self.call(partial.function, [*partial.positional, *positional], given, seen)

    @means(super)
    def super_of(self, *given: Abstract, seen: Any) -> Abstract:
        """`super()` in a method of an instance that the path knows."""
        if given:
            raise refuse(reasons.CALL, name_of(super))
        for frame in reversed(self.outputs.frames):
            this = self.recorded.value(frame.operands[0])
            is_class = isinstance(this, Literal) and isinstance(this.object, type)  # in __new__
            if is_class and not any(each is seen.__thisclass__ for each in mro_of(this.object)):
                continue
            if (isinstance(this, (Instance, Raised)) or is_class) and this.object is seen.__self__:
                return SuperValue(this, seen.__thisclass__)
        raise refuse(reasons.SUPER_UNKNOWN_OBJECT)

    @means(sys.exc_info)
    def handled_exception(self, *, seen: Any) -> Abstract:
        """The exception that is handled: one of the program's, or none, not even its caller's."""
        kind, exception, _ = seen
        if exception is None:
            made = self.program.step("call", self.program.constant(sys.exc_info), [], ())
            self.program.guard_is(self.program.step("item", made, 1), None)
            return Sequence([Literal(None)] * 3)
        return Sequence([Literal(kind), self._raised(exception), Hidden("a traceback")])

    @means(sys.exception)
    def handled_exception_alone(self, *, seen: Any) -> Abstract:
        """The same without its class and traceback."""
        if seen is None:
            made = self.program.step("call", self.program.constant(sys.exception), [], ())
            self.program.guard_is(made, None)
            return Literal(None)
        return self._raised(seen)

    def _raised(self, exception: BaseException) -> Raised:
        for value in self.recorded.values.values():
            if isinstance(value, Raised) and value.object is exception:
                return value
        raise refuse(reasons.HANDLING, classes.name_of(type(exception)))

    # ---- objects

    @means(types.MethodType)
    def bind_method(self, function: Abstract, instance: Abstract) -> Abstract:
        """A function of Python's bound to an object, as contextlib's ExitStack does."""
        bound = resolve(function)
        if not isinstance(bound, Literal) or not isinstance(bound.object, types.FunctionType):
            raise refuse(reasons.CALL, describe(bound))
        return Method(resolve(instance), bound.object.__name__, bound.object, bound=True)

    def instantiate(self, cls: type, arguments: list[Abstract], seen: Any) -> Abstract:
        """A class without Python code of its own to run: only `object.__init__`."""
        plain = class_attribute(cls, "__init__") is object.__init__
        if arguments or not plain or class_attribute(cls, "__new__") is not vars(object)["__new__"]:
            raise refuse(reasons.MAKING_OBJECT_TYPE, classes.name_of(cls))
        self.instances.guard_lifetime(cls)
        self.instances.guard_class(cls, "__init__", object.__init__)
        self.instances.guard_class(cls, "__new__", vars(object)["__new__"])
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
        self.instances.guard_lifetime(cls)
        made = self.new_instance(cls, seen)
        if isinstance(made.content, Sequence):
            made.content.elements.extend(
                self.containers.elements(positional[0]) if positional else []
            )
        else:
            self.methods.initialise(made, positional, named)
        return made


def _is_builtin(callee: Abstract) -> bool:
    """Whether it hands a generator on: `next`, `iter`, a method of a container."""
    if isinstance(callee, Method):
        return not isinstance(callee.function, types.FunctionType)
    return isinstance(callee, Literal) and isinstance(
        callee.object, (types.BuiltinFunctionType, type)
    )


def is_user_class(cls: type) -> bool:
    return is_mutable_class(cls) and not is_of_library(classes.module_of(cls))


__all__ = ["Calls"]
