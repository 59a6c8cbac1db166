"""Abstract values: what the lowering knows of each value that a recorded function handled.

A value is one of
    Literal   known: the same object on every call of the path (a constant, or guarded to be one)
    Host      a Python object in a register of the replay; its exact type is known
    Size      a Python int computed from sizes of arrays, symbolic
    Tensor    an array (or NumPy scalar): a value of the graph, perhaps a view of a Storage
    Sequence, ListValue, DictValue, SetValue, Instance, Closure ...: Python objects whose parts are
              abstract values; made by the program, or reached from its inputs and read on demand
"""

from __future__ import annotations

import itertools
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from dvm import _dvm


@dataclass(eq=False)
class Literal:
    """An object that is the same on every call of the path.

    identical: False where it is only an equal one, which `is` can tell.
    made: a NumPy scalar that the program makes anew on each call; one abstract value is one object.
    """

    object: Any
    identical: bool = True
    made: bool = False
    host: int = -1  # register of the object made for it, once it left the path


@dataclass(eq=False)
class Host:
    """An object computed or fetched on every call; `object` is the one of the recorded call.

    made: by a pure operation on pure values of the path, so that even an array of objects holds
        none of the user's.
    owned: an array whose memory only the path can see.
    home: of an array that the path writes for the caller: the register of the caller's own, which
        gets the content at the end.
    base, remake: of a view, the array that it is a view of, and the step that makes it of another
        register.
    frozen: the graph has read its memory, or that of a view: not to be written.
    """

    register: int
    object: Any
    made: bool = False
    owned: bool = False
    home: int = -1
    base: Host | None = None
    remake: Callable[[int], int] | None = None
    frozen: bool = False
    host: int = -1  # register of the view itself, once it left the path

    @property
    def root(self) -> Host:
        """The array whose memory it is."""
        return self if self.base is None else self.base.root


@dataclass(eq=False)
class Size:
    """A Python int computed from sizes of arrays."""

    dim: _dvm.Dim


@dataclass(eq=False)
class Unread:
    """A part of an object of the caller that the program has not looked at (no guard yet)."""

    read: Callable[[], Abstract]
    object: Any


@dataclass(eq=False)
class Content:
    """What some memory holds from one write to the next: a graph value, or how to make it.

    spine: the graph's values that were made for no more than that.
    """

    value: int = -1
    make: Callable[[], int] | None = None
    spine: range = field(default_factory=lambda: range(0))


@dataclass(eq=False)
class Storage:
    """The memory of one array, and its present content, in order of memory.

    A write makes a new one, so that reads before and after it keep theirs.

    register: the host array itself, of one that the caller passed in.
    initial: the content at entry, of one that the caller passed in.
    """

    content: Content
    register: int = -1
    initial: int = -1
    object: Any = None
    version: int = 0
    host: int = -1  # register of the array made for it, once it left the path
    frozen: bool = False  # shares memory with what an opaque call made: not to be written
    seen_in: Storage | None = None  # the one of which it is a view
    root: Any = None  # the host array in whose memory it lies
    viewed: bool = False  # whether the program made a view of it
    locked: bool = False  # whether the program made it read-only
    open_behind: int = -1  # a loop, by its first event: what came out of it may be this memory
    in_copy: bool = False  # whether a call that writes was made on a copy, which was read
    writes: list[Any] = field(default_factory=list)  # PartWrites, into one of the caller's

    @property
    def external(self) -> bool:
        return self.register >= 0

    @property
    def written(self) -> bool:
        return self.version > 0

    @property
    def is_new(self) -> bool:
        """Whether the program made it, and nothing else is known to lie there."""
        return not (self.external or self.frozen or self.seen_in or self.root is not None)


@dataclass(eq=False)
class MaybeView:
    """What is open about an array that is a view or a copy of its base (see maybe_views.py).

    born, source: version of the base's memory when it was made, and the base's value then.
    again, back: from the base's graph value to this one's, with its axes in C order, and back.
    made: whether some step makes it, and so checks that the sizes allow it.
    """

    born: int
    source: int
    again: Callable[[int], int]
    back: Callable[[int], int] | None
    made: bool = False

    @property
    def content(self) -> int:
        """Its value when it was made, with its axes in C order."""
        self.made = True
        return self.again(self.source)


@dataclass(eq=False)
class Tensor:
    """An array. Rank 0 may be a NumPy scalar (`is_scalar`) to Python.

    memory: of an array that is no view. `storage` is the memory it lies in.
    shape: sizes of its axes as the program sees them.
    axes: from outermost to innermost in memory; the graph value has this order. To read them as
        `order` decides what `open_order` still leaves open.
    base, view: a view of `base`: `view` maps the base's graph value to this one's; `write` maps
        (base value, new value of this) to the base's new value; `remake` performs the same
        operation on host arrays when the view leaves the path.
    """

    memory: Storage
    dtype: str  # as libraries name it
    shape: list[_dvm.Dim]
    axes: tuple[int, ...]
    is_scalar: bool = False
    base: Tensor | None = None
    view: Callable[[int], int] | None = None
    write: Callable[[int, int], int] | None = None
    remake: tuple[Any, ...] | None = None
    writeable: bool = True
    contiguous: bool = True  # its elements lie densely in `order`
    loose: bool = False  # axes may have stride 0 or overlap: NumPy may take them in another order
    cast_of: Tensor | None = None  # the array that NumPy itself casts, and whose order it takes
    cached: tuple[int, int] | None = None  # (version of the storage, graph value)
    object: Any = None  # the array seen in the recorded call
    host: int = -1  # register of the view itself, once it left the path
    maybe: MaybeView | None = None
    unchecked: bool = False  # whether an integer that it was made with may be out of bounds
    open_order: Callable[[], None] | None = None
    leaving: Callable[[], None] | None = None  # settles what only matters outside of the path

    @property
    def is_integer(self) -> bool:
        return self.dtype.startswith(("int", "uint"))

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def storage(self) -> Storage:
        return self.memory if self.base is None else self.base.storage

    @property
    def order(self) -> tuple[int, ...]:
        if self.open_order is not None:
            self.open_order()
        return self.axes


@dataclass(eq=False)
class Flags:
    """`x.flags`; `object` is the one of the recorded call."""

    base: Tensor
    object: Any


@dataclass(eq=False)
class FlatValue:
    """`x.flat`; `walked` once an iteration has begun, which each index would start again."""

    base: Tensor
    walked: bool = False


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


class DequeValue(Elements[deque[Any]]):
    """A collections.deque."""

    cls = deque


@dataclass(eq=False)
class SetValue:
    """A set of literal elements."""

    elements: set[Any]
    register: int = -1
    object: Any = None
    log: list[Written] = field(default_factory=list)  # what was done to one of the caller

    @property
    def changed(self) -> bool:
        return bool(self.log)

    def wrote(self, method: Any, *given: Any) -> None:
        if self.register >= 0:
            parts = [each if isinstance(each, Instance) else Literal(each) for each in given]
            self.log.append(Written("call", method, parts))


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
    own: Any = None  # the OwnDict, once it was looked at

    def change(self, name: str, value: Any) -> None:
        """Set an attribute of its own."""
        self.attributes[name] = value
        self.changed[name] = next_order()


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


@dataclass(eq=False)
class DictView:
    """What keys(), values() or items() of a dict gave."""

    base: DictValue
    kind: str


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
class Hidden:
    """Something that a replay does not have: it may be handed on, but not be used."""

    what: str


class End:
    """What an iterator gives when nothing is left."""


@dataclass(eq=False)
class IteratorValue:
    """An iterator over abstract values: `pull` gives the next one, or End.

    source: until the first pull, the function that makes it, and what that was given.
    """

    pull: Callable[[], Any]
    source: tuple[Any, list[Any]] | None = field(default=None, kw_only=True)


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


@dataclass(eq=False)
class Gone:
    """An attribute or element that the program deleted."""


Abstract = Any


def resolve(value: Abstract) -> Abstract:
    """`value`, read from the caller's objects if the program had not looked at it yet."""
    while isinstance(value, Unread):
        value = value.read()
    return value


def is_literal(value: Abstract, wanted: Any) -> bool:
    value = resolve(value)
    return isinstance(value, Literal) and value.object is wanted


def is_none(value: Abstract) -> bool:
    return is_literal(value, None)
