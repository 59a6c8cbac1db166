"""What functions mean: each is registered where it is written.

    @means(np.kron)
    def kron(self, a: Abstract, b: Abstract) -> Tensor: ...

The arguments are abstract values, by position and by name as the program gave them; the signature
is that of the function itself, but for `seen`: what the recorded call returned, by that name alone
where it is asked for. An array method is named as np.ndarray has it. What raises
NotCapturable has no meaning in that form: NumPy's own function is called then.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from dvm.classes import mro_of
from dvm.magpy_capture.libraries import LIBRARIES

Meaning = Callable[..., Any]
Handler = TypeVar("Handler", bound=Meaning)


class Meanings(Protocol):
    """Who has registered what: the way up from a call to the part that knows it.

    handlers: kind of an event -> what lowers it.
    """

    handlers: dict[str, Any]

    def holder(self, meaning: Meaning) -> Any:
        """What the meaning of a function is given first."""


#: those that are told what the recorded call returned, by the name `seen`
SEEING: set[Meaning] = set()
#: function -> what it means: a method of a part of the lowering
FUNCTIONS: dict[Any, Meaning] = {}
#: the same of array methods, by the name of the library and theirs
METHODS: dict[tuple[str, str], Meaning] = {}


def _library_of_method(thing: Any) -> str | None:
    """The library of whose arrays it is a method."""
    if isinstance(thing, (types.MethodDescriptorType, types.FunctionType)):
        for library in LIBRARIES:
            if getattr(library.array, thing.__name__, None) is thing:
                return library.name
    return None


def means(*things: Any) -> Callable[[Handler], Handler]:
    """Register what all these functions, classes and array methods mean."""

    def register(handler: Handler) -> Handler:
        for thing in things:
            if (library := _library_of_method(thing)) is not None:
                METHODS[library, thing.__name__] = handler
            else:
                FUNCTIONS[thing] = handler
        code = handler.__code__
        if "seen" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            SEEING.add(handler)
        return handler

    return register


#: function -> what calls of it mean, as one of many: told (function, positional, named, seen)
CALLS: dict[Any, Meaning] = {}
#: kind of function -> the same
CALLS_OF: dict[type, Meaning] = {}
#: kind of abstract value -> what calls of its methods mean: (base, name, positional, named, seen)
METHODS_OF: dict[Any, Meaning] = {}
#: kind of object, by its id -> how one is read: (register, seen, external)
ADOPTS: dict[int, Meaning] = {}
#: `__getattribute__` or `__getattr__` in Python -> what an attribute that it finds is, of
#: which the default rules know nothing: (base, name, seen)
LOOKED_UP: dict[Any, Meaning] = {}
#: `__iter__` of a class in Python -> what is gone through: (base)
ITERATED: dict[Any, Meaning] = {}
#: functions of objects that do not look at what these hold
OF_KINDS: list[Any] = [len, type, isinstance, issubclass, hasattr, callable]
#: classes of objects whose numbers mostly stay as they are: sizes of a module
SETTLED: set[type] = set()

#: function in Python that only calls another with its own arguments -> which, asked of the first
#: of them while the program runs (None: it does more); and what the call leads to: (first)
TRAMPOLINES: dict[Any, tuple[Callable[[Any], Any], Meaning]] = {}
#: kind of context manager -> what entering it means: (manager)
ENTERED: dict[type, Meaning] = {}
#: kind of abstract value -> what its attributes are: (base, name, seen)
ATTRIBUTES_OF: dict[type, Meaning] = {}
#: name of a library -> the same of its arrays
ATTRIBUTES_OF_ARRAYS: dict[str, Meaning] = {}


def _registers(table: dict[Any, Meaning], keys: Iterable[Any]) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        table.update(dict.fromkeys(keys, handler))
        return handler

    return register


def calls_of_each(functions: Iterable[Any]) -> Callable[[Handler], Handler]:
    """Register what calls of any of these functions mean."""
    return _registers(CALLS, functions)


def calls_of(*kinds: type) -> Callable[[Handler], Handler]:
    """Register what calls of functions of these types mean."""
    return _registers(CALLS_OF, kinds)


def methods_of(*kinds: type, names: Iterable[str] = ()) -> Callable[[Handler], Handler]:
    """Register what calls of methods mean, of these kinds of abstract values.

    names: of some methods alone, which a kind has in another way than those it inherits from.
    """
    return _registers(METHODS_OF, [(k, name) for k in kinds for name in names] or kinds)


def attributes_of(*kinds: type) -> Callable[[Handler], Handler]:
    """Register what attributes are, of these kinds of abstract values."""
    return _registers(ATTRIBUTES_OF, kinds)


def attributes_of_arrays(library: str) -> Callable[[Handler], Handler]:
    """Register what attributes are, of arrays of the library of that name."""
    return _registers(ATTRIBUTES_OF_ARRAYS, [library])


def adopts(*kinds: type) -> Callable[[Handler], Handler]:
    """Register how objects of these classes are read: the caller's own if they are external.

    By id, for a metaclass may say what the hash of a class is.
    """
    return _registers(ADOPTS, map(id, kinds))


def iterates(*functions: Any) -> Callable[[Handler], Handler]:
    """Register what is gone through, for objects whose classes have these for `__iter__`."""
    return _registers(ITERATED, functions)


def looks_up(*functions: Any) -> Callable[[Handler], Handler]:
    """Register what attributes are, for objects whose classes have these to find them."""
    return _registers(LOOKED_UP, functions)


def is_settled(cls: type) -> bool:
    """Whether numbers that are attributes of its objects mostly stay as they are."""
    return any(each in SETTLED for each in mro_of(cls))


def leads_to(function: Any, asks: Callable[[Any], Any]) -> Callable[[Handler], Handler]:
    """Register where a trampoline leads, of whose body the recorder tells nothing."""

    def register(handler: Handler) -> Handler:
        TRAMPOLINES[function] = (asks, handler)
        return handler

    return register


def entered(*kinds: type) -> Callable[[Handler], Handler]:
    """Register what `with` does with managers of these kinds of abstract values."""
    return _registers(ENTERED, kinds)


def all_meanings() -> set[Meaning]:
    """All that are registered."""
    tables: list[dict[Any, Meaning]] = [FUNCTIONS, METHODS, CALLS, CALLS_OF, METHODS_OF, ADOPTS]
    tables += [ATTRIBUTES_OF, ATTRIBUTES_OF_ARRAYS, ENTERED, ITERATED, LOOKED_UP]
    leading = {meaning for _, meaning in TRAMPOLINES.values()}
    return leading | {each for table in tables for each in table.values()}


def of_kind(table: dict[type, Meaning], kind: type) -> Meaning | None:
    """The row of the class, or of the nearest that it inherits from."""
    for cls in mro_of(kind):
        if (meaning := table.get(cls)) is not None:
            return meaning
    return None


def method_of(kind: type, name: str) -> Meaning | None:
    """What calls of that method mean, of the kind of abstract value or the nearest it is one of."""
    for cls in mro_of(kind):
        if (meaning := METHODS_OF.get((cls, name)) or METHODS_OF.get(cls)) is not None:
            return meaning
    return None
