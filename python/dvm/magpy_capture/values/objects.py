"""Abstract values. Instances, functions, iterators, exceptions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dvm.magpy_capture.values.known import Gone
from dvm.magpy_capture.values.sequences import next_order


@dataclass(eq=False)
class Instance:
    """An instance of a Python class: made by the program, or the caller's (register >= 0).

    content: the list, tuple or dict that it is besides, of a subclass of one (see derived.py).
    """

    cls: type
    attributes: dict[str, Any] = field(default_factory=dict)
    register: int = -1
    changed: dict[str, int] = field(default_factory=dict)  # names, and the order of the last write
    object: Any = None
    content: Any = None

    def change(self, name: str, value: Any) -> None:
        """Set an attribute of its own; one that was deleted is the last one then."""
        if isinstance(self.attributes.get(name), Gone):
            del self.attributes[name]
        self.attributes[name] = value
        self.changed[name] = next_order()


@dataclass(eq=False)
class OwnDict:
    """The `__dict__` of an instance; `initial` is its content when the program first saw it.

    early: whether the program had set no attribute by then.
    """

    instance: Instance
    initial: dict[str, Any]
    early: bool = True


@dataclass(eq=False)
class CacheLock:
    """The lock of a functools.cached_property: nobody can tell whether it was taken."""


@dataclass(eq=False)
class FunctionValue:
    """A Python function of the caller's, known by its code: many are made of one `def` or lambda.

    What it closes over and its defaults are read from it on each call.
    """

    register: int
    object: Any


@dataclass(eq=False)
class Closure:
    """A function that the program made while it ran, with the defaults it had by then."""

    object: Any
    defaults: Any = None
    named_defaults: Any = None
    attributes: dict[str, Any] = field(default_factory=dict)  # that the program has set


@dataclass(eq=False)
class Partial:
    """A functools.partial that the program made."""

    function: Any
    positional: list[Any]
    named: dict[str, Any]


@dataclass(eq=False)
class Method:
    """An attribute of a value that is about to be called.

    bound: the program has bound the function to the value, which need not have it.
    """

    base: Any
    name: str
    function: Any = None  # of a Python class: what was found there
    bound: bool = False


@dataclass(eq=False)
class SuperValue:
    """What super() gives in a method of `instance` (in `__new__`: the class) defined in `cls`."""

    instance: Any
    cls: type


@dataclass(eq=False)
class Raised:
    """An exception that the program made or caught, in a register.

    attributes: those that the program has set. The object in the register has none of them.
    made: by the program, so that it has no others; `args_known` where its class had what it was
        made with, and `initialised` counts what may have changed that.
    """

    register: int
    object: Any
    attributes: dict[str, Any] = field(default_factory=dict)
    made: bool = False
    args_known: bool = True
    initialised: int = 0

    @property
    def cls(self) -> type:
        return type(self.object)


@dataclass(eq=False)
class IteratorValue:
    """An iterator over abstract values: `pull` gives the next one, or End, by asking `following`.

    source: until the first pull, the function that makes it, and what that was given.
    """

    following: Callable[[], Any]
    source: tuple[Any, list[Any]] | None = field(default=None, kw_only=True)

    def pull(self) -> Any:
        self.source = None
        return self.following()


@dataclass(eq=False)
class SetItems(IteratorValue):
    """The elements of a set of the program's own, in an order that the recorded call has shown."""

    left: set[Any]

    def take(self, seen: Any) -> Any:
        """The element that the program got next."""
        self.left.remove(seen)
        return seen


@dataclass(eq=False)
class CompareKey:
    """What functools.cmp_to_key makes of a function; and, with a value, the key of that."""

    function: Any
    value: Any = None


@dataclass(eq=False)
class Converter:
    """What NumPy's functions turn their arguments into arrays with (`_array_converter`)."""

    arrays: list[Any]


@dataclass(eq=False)
class GeneratorValue(IteratorValue):
    """A generator of the program's: what its function was given, and how far it has come.

    seen: the generator itself, as recorded.
    frame: what the lowering knows of its frame while it waits.
    returned: what it has returned at its end.
    """

    function: Any
    positional: list[Any]
    named: dict[str, Any]
    seen: Any = None
    frame: Any = None
    finished: bool = False
    returned: Any = None


__all__ = [
    "CacheLock",
    "Closure",
    "CompareKey",
    "Converter",
    "FunctionValue",
    "GeneratorValue",
    "Instance",
    "IteratorValue",
    "Method",
    "OwnDict",
    "Partial",
    "Raised",
    "SetItems",
    "SuperValue",
]
