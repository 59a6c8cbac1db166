"""Abstract values. Lists, tuples and deques, slices and ranges."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dvm.magpy_capture.values.known import Literal

if TYPE_CHECKING:
    from dvm.magpy_capture.values.objects import Instance

Held = TypeVar("Held", list[Any], deque[Any])


class Parts:
    """What has elements that are abstract values.

    owner: the instance of a subclass whose elements these are, if it is one.
    register, object: of one that the caller passed in.
    load: reads the elements of one of the caller, when the program first needs them all.
    part: until then reads single ones of `size`; places count from the end below 0, for how many
        there are may be another number on each call.
    """

    owner: Instance | None = None

    def __init__(
        self,
        elements: Any,
        register: int,
        object: Any,
        load: Callable[[], Any] | None,
        part: Callable[[int], Any] | None,
        size: int,
    ) -> None:
        self._elements: Any = elements
        self.register = register
        self.object = object
        self.load: Callable[[], Any] | None = load
        self.part = part
        self.size = size

    @property
    def is_read(self) -> bool:
        """Whether the elements are known."""
        return self._elements is not None


class Sequence(Parts):
    """A tuple (or, with `cls`, a named tuple) of abstract values."""

    tail: tuple[Any, ...] = ()  # nothing is appended to one

    def __init__(
        self,
        elements: list[Any] | None,
        cls: type = tuple,
        register: int = -1,
        object: Any = None,
        load: Callable[[], list[Any]] | None = None,
        part: Callable[[int], Any] | None = None,
        size: int = 0,
    ) -> None:
        super().__init__(elements, register, object, load, part, size)
        self.cls = cls

    @property
    def elements(self) -> list[Any]:
        """The elements, read (and their number guarded) if they were not."""
        if self._elements is None:
            assert self.load is not None
            self._elements = self.load()
        elements: list[Any] = self._elements
        return elements

    @property
    def counted(self) -> int:
        """The register of what has as many elements, while unread."""
        return -1 if self.is_read else self.register

    @property
    def maker(self) -> Any:
        """What makes one of a tuple: of a named tuple, or of another kind of its own."""
        return getattr(self.cls, "_make", self.cls)

    def part_at(self, place: Any) -> Any:
        """An element that is found without reading all, or None."""
        if self.is_read or self.part is None or type(place) is not int:
            return None
        return self.part(place) if -self.size <= place < self.size else None


#: The number of the next change in the order of the program.
next_order = itertools.count().__next__


@dataclass(eq=False)
class Written:
    """What the program did to a container of the caller, once: as the program did it.

    what: "set" (`container[key] = given`), "delete" (`del container[key]`), "extend" (with
        `given`), "call" (of the method `key` with it), "replace" (all that it holds).
    """

    what: str
    key: Any = None
    given: list[Any] = field(default_factory=list)
    order: int = field(default_factory=next_order)


class Elements(Parts, Generic[Held]):
    """A list or a deque; `changed` if something was done to the caller's own: `log`.

    One that the program only appends to (a log, a history) stays unread, and `tail` is what it
    appended; `stores` are those elements that it replaced, by place.
    made_in: the register of what C code has made for the program, whose list is another one.
    """

    cls: Any  # the class of C

    def __init__(
        self,
        elements: Held | None = None,
        register: int = -1,
        object: Any = None,
        load: Callable[[], Held] | None = None,
        part: Callable[[int], Any] | None = None,
        size: int = 0,
        made_in: int = -1,
    ) -> None:
        super().__init__(elements, register, object, load, part, size)
        self.log: list[Written] = []
        self.tail: list[Any] = []
        self.stores: dict[int, Any] = {}
        self.is_open = False
        self.made_in = made_in

    @property
    def untouched_register(self) -> int:
        """Where an object is that has these elements: one that C code made, while nobody looks."""
        if self.register >= 0:
            return -1 if self.changed else self.register
        return -1 if self.is_read or self.tail or self.stores else self.made_in

    @property
    def changed(self) -> bool:
        return bool(self.log)

    @property
    def length(self) -> int:
        """How many there are, of one that is read or whose size is known; nothing is guarded."""
        known: Any = self._elements
        return self.size + len(self.tail) if known is None else len(known)

    @property
    def growth(self) -> tuple[bool, int]:
        """Another one where its length may have changed since, if it was not read then."""
        return self.is_read, len(self.tail)

    @property
    def elements(self) -> Held:
        """The elements, read (and their number guarded) if they were not."""
        if self._elements is None:
            assert self.load is not None
            self._elements = self.load().copy()
            for place, value in self.stores.items():
                self._elements[place] = value
            self._elements.extend(self.tail)
        elements: Held = self._elements
        return elements

    @property
    def counted(self) -> int:
        """The register of what has as many elements as there were before `tail`, while unread."""
        if self.is_read or self.is_open:
            return -1
        return self.register if self.register >= 0 else self.made_in

    def part_at(self, place: Any) -> Any:
        """An element that is found without reading all, or None."""
        if self.is_in_tail(place):
            return self.tail[place]
        before = self.before_tail(place)
        if before is None:
            return None
        assert self.part is not None
        return self.stores[before] if before in self.stores else self.part(before)

    def is_in_tail(self, place: Any) -> bool:
        """Whether it is one of those that were appended to what is unread."""
        return not self.is_read and type(place) is int and -len(self.tail) <= place < 0

    def before_tail(self, place: Any) -> int | None:
        """A place in what is unread, as `part` has it; None of one that has two names by now."""
        if self.is_read or self.part is None or type(place) is not int:
            return None
        before = place if place >= 0 else place + len(self.tail)
        if not -self.size <= before < self.size or (place < 0) != (before < 0):
            return None
        two_names = any((stored < 0) != (before < 0) for stored in self.stores)
        return None if two_names else before

    def append(self, value: Any) -> None:
        """Append without looking."""
        if self.log and self.log[-1].what == "extend":
            self.log[-1].given.append(value)
        else:
            self.wrote("extend", None, value)
        (self.tail if self._elements is None else self._elements).append(value)

    def open(self, register: int, load: Callable[[], Held]) -> None:
        """From here on it is an object of the replay, of which nobody knows what is in it."""
        self.register, self.load, self.is_open = register, load, True
        self._elements, self.part, self.size = None, None, 0
        self.tail, self.stores, self.log = [], {}, []

    def wrote(self, what: str, key: Any = None, *given: Any) -> None:
        """Something was done to it, which is done to the caller's own at the end."""
        if self.register < 0:
            return
        if what == "set":
            for entry in reversed(self.log):  # of one place, the last value counts
                if entry.what != "set" or type(entry.key) is not int or type(key) is not int:
                    break
                if entry.key == key:
                    entry.given = list(given)
                    return
        self.log.append(Written(what, key, list(given)))


class ListValue(Elements[list[Any]]):
    """A list.

    Of an open one, what was done to it since it was what its register holds:
    dropped: how many of its last elements were taken off, before `tail` was appended.
    replaced: what was stored, by places in that list, one after the other.
    made_by: of one whose elements can be known after all, what gives them as they were.
    of_numbers: whether there were only numbers and texts in it then.
    scattered: something else was done, so that only `log` tells what is in it.
    """

    cls = list
    dropped = 0
    scattered = False
    of_numbers = False
    replaced: list[tuple[Any, Any]]
    made_by: Callable[[], list[Any]] | None = None

    def open(self, register: int, load: Callable[[], list[Any]]) -> None:
        super().open(register, load)
        self.dropped, self.replaced, self.scattered, self.made_by = 0, [], False, None
        self.of_numbers = False

    @property
    def elements(self) -> list[Any]:
        """The elements, read if they were not: from then on it is a list like others."""
        if self.is_open:
            assert self.load is not None
            self._elements = self.load()
            self.is_open = False
        return super().elements

    def is_appended(self, key: Any) -> bool:
        """Whether the key is a place of an open list that is surely in `tail`."""
        if self.scattered or not isinstance(key, Literal) or type(key.object) is not int:
            return False
        return -len(self.tail) <= key.object < 0

    def empty(self) -> None:
        """Forget what nobody has read: it is about to be cleared."""
        if not self.is_read and not self.is_open:
            self._elements, self.tail, self.stores = [], [], {}


class DequeValue(Elements[deque[Any]]):
    """A collections.deque."""

    cls = deque


@dataclass(eq=False)
class SliceValue:
    """A slice object; each part is an abstract value. It is made once, in `register` then."""

    start: Any
    stop: Any
    step: Any
    register: int = field(default=-1, init=False)


@dataclass(eq=False)
class RangeValue:
    """A range whose parts are abstract."""

    start: Any
    stop: Any
    step: Any


__all__ = [
    "DequeValue",
    "Elements",
    "Held",
    "ListValue",
    "Parts",
    "RangeValue",
    "Sequence",
    "SliceValue",
    "Written",
    "next_order",
]
