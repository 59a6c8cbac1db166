"""Abstract values. Dicts and sets, and what shows them."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dvm.magpy_capture.values.arrays import Tensor
from dvm.magpy_capture.values.known import Literal
from dvm.magpy_capture.values.objects import Instance
from dvm.magpy_capture.values.sequences import Written, next_order


class DictValue:
    """A dict with literal keys, in order; `changed` if items of the caller's own were written.

    load: reads all items of a dict of the caller, when the program first needs its keys. Until then
        `part` reads single ones, and `stores` are the (key, value) it stored: a table that gains
        keys from call to call stays one path.
    owner: the instance of a subclass whose items these are, if it is one.
    """

    cls: Any = dict  # the class of C
    owner: Instance | None = None

    def __init__(
        self,
        items: dict[Any, Any] | None = None,
        register: int = -1,
        object: Any = None,
        load: Callable[[list[tuple[Any, Any]]], dict[Any, Any]] | None = None,
        part: Callable[[Any], Any] | None = None,
    ) -> None:
        self._items = items
        self.register = register
        self.object = object
        self.load = load
        self.part = part
        self.order = -1  # of the last change
        self.cleared = False
        self.initial: dict[Any, Any] = {}  # the items at entry, of one that was read
        self.size = 0  # how many there were at entry, of one of the caller
        self.stores: list[tuple[Any, Any]] = []

    @property
    def changed(self) -> bool:
        return self.order >= 0

    def change(self) -> None:
        """Items are about to be written."""
        self.order = next_order()

    @property
    def is_read(self) -> bool:
        """Whether the items are known."""
        return self._items is not None

    @property
    def items(self) -> dict[Any, Any]:
        """The items, read (and their keys guarded) if they were not."""
        if self._items is None:
            assert self.load is not None
            stores, self.stores = self.stores, []
            self._items = self.load(stores)
        return self._items


class OrderedValue(DictValue):
    """A collections.OrderedDict."""

    cls = OrderedDict


class DefaultDict(DictValue):
    """A collections.defaultdict."""

    cls: Any = defaultdict

    def __init__(self, factory: Any, items: dict[Any, Any] | None, *given: Any) -> None:
        super().__init__(items, *given)
        self.factory = factory


class CounterValue(DefaultDict):
    """A collections.Counter that the program made."""

    cls = Counter


@dataclass(eq=False)
class SetValue:
    """A set of literal elements.

    in_order: whether the program alone has put them into it, and in the same order in each call.
    """

    elements: set[Any]
    register: int = -1
    object: Any = None
    log: list[Written] = field(default_factory=list)  # what was done to one of the caller
    in_order: bool = False

    @property
    def changed(self) -> bool:
        return bool(self.log)

    def wrote(self, method: Any, *given: Any) -> None:
        if self.register >= 0:
            parts = [each if isinstance(each, OBJECTS) else Literal(each) for each in given]
            self.log.append(Written("call", method, parts))


@dataclass(eq=False)
class OpenSet:
    """A set of the caller's in which there are objects: only what is asked of it is known."""

    register: int
    object: Any
    elements: frozenset[Any]  # those of the recorded call, at first sight
    log: list[Written] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return bool(self.log)


class IdNumber:
    """`id(of)`: equal to that of the same object alone."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdNumber) and other.of is self.of

    def __hash__(self) -> int:
        return hash((IdNumber, id(self.of)))


#: what is told from other keys by who it is
OBJECTS = (Instance, IdNumber, Tensor)


@dataclass(eq=False)
class DictView:
    """What keys(), values() or items() of a dict gave."""

    base: DictValue
    kind: str


__all__ = [
    "OBJECTS",
    "CounterValue",
    "DefaultDict",
    "DictValue",
    "DictView",
    "IdNumber",
    "OpenSet",
    "OrderedValue",
    "SetValue",
]
