"""Lists, tuples, dicts, sets and ranges of the program: iteration, indexing, methods."""

from __future__ import annotations

import contextlib
import inspect
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any, cast

from dvm import reasons
from dvm.magpy_capture.libraries import is_array
from dvm.magpy_capture.objects.derived import inherited
from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import methods_of
from dvm.magpy_capture.values import (
    Abstract,
    Converter,
    CounterValue,
    DefaultDict,
    DequeValue,
    DictValue,
    DictView,
    End,
    FlatValue,
    Host,
    IdNumber,
    Instance,
    IteratorValue,
    ListValue,
    Literal,
    OpenSet,
    OrderedValue,
    OwnDict,
    RangeValue,
    Sequence,
    SetItems,
    SetValue,
    Size,
    Tensor,
    is_none,
    of_key,
    resolve,
)
from dvm.magpy_capture.values.kinds import PURE_TYPES, class_attribute

#: Methods that are what Python's own container does to a list of abstract values.
LIST_METHODS = frozenset({"append", "extend", "insert", "pop", "clear", "reverse", "copy"})
DICT_METHODS = frozenset(
    {"get", "items", "keys", "values", "pop", "setdefault", "update", "clear", "copy", "popitem"}
)


@contextlib.contextmanager
def refusing(error: type[Exception], refusal: Exception) -> Iterator[None]:
    """Where a turn of a loop is tried, its containers may lack what the recorded ones had."""
    try:
        yield
    except error:
        raise refusal from None


def is_generating(cls: type) -> bool:
    """Whether its `__iter__` is a generator in Python."""
    found = class_attribute(cls, "__iter__")
    return isinstance(found, types.FunctionType) and inspect.isgeneratorfunction(found)


class Containers(ObjectPart):
    """Containers whose parts are abstract values."""

    needs = (
        "caller host_operations identity indexing instances lengths list_changes open_lists "
        "program sizes views"
    )

    def elements(self, value: Abstract) -> list[Abstract]:
        """What iterating over `value` gives, in order."""
        value = self.instances.content_of(value, "__iter__")
        if isinstance(value, OwnDict):
            return list(map(Literal, self.instances.own_items(value)))
        if isinstance(value, (Sequence, ListValue, DequeValue)):
            return list(value.elements)
        if isinstance(value, DictValue):
            return [of_key(key) for key in value.items]
        if isinstance(value, SetValue):
            if len(value.elements) > 1:
                raise refuse(reasons.ORDER_SET)
            return [of_key(part) for part in value.elements]
        if isinstance(value, RangeValue):
            return self.indexing.of_range(value)
        if isinstance(value, DictView):
            items = value.base.items
            if value.kind == "keys":
                return [of_key(key) for key in items]
            if value.kind == "values":
                return list(items.values())
            return [Sequence([of_key(key), item]) for key, item in items.items()]
        if isinstance(value, IteratorValue):
            return list(self.each(value))
        if isinstance(value, Literal) and isinstance(
            value.object, (str, bytes, tuple, range, frozenset)
        ):
            return [Literal(part) for part in value.object]
        if isinstance(value, Host) and isinstance(value.object, (str, bytes, range)):
            return [Literal(part) for part in self.program.pin(value, value.object).object]
        if isinstance(value, FlatValue):
            self._look(value)
            value = self.views.flat_view(value.base)
        if isinstance(value, Tensor) and value.rank:
            length = self.sizes.observed(value.shape[0])
            self.known_size(value.shape[0])
            return [self.indexing.index(value, Literal(i)) for i in range(length)]
        if isinstance(value, Host) and is_array(value.object) and value.object.ndim:
            pull = self._of_host_array(value, iter)
            return list(iter(pull, cast(Any, End)))
        raise refuse(reasons.ITERATION_OVER, describe(value))

    def each(self, value: Abstract) -> Iterator[Abstract]:
        """The same, one after the other: what an iterator runs happens between two of them."""
        pull = self.iterator(value).pull
        while (part := pull()) is not End:
            yield part

    def listed(self, value: Abstract) -> Abstract:
        """What an iterator still gives as a list, for C code that asks it for all."""
        value = resolve(value)
        return ListValue(self.elements(value)) if isinstance(value, IteratorValue) else value

    def iterator(self, value: Abstract, backwards: bool = False) -> IteratorValue:
        """`iter(value)` or `reversed(value)`. It sees what is done to the container meanwhile."""
        value = self.instances.content_of(value, "__iter__")
        if isinstance(value, IteratorValue):
            return value
        if isinstance(value, Instance) and not backwards and is_generating(value.cls):
            found = class_attribute(value.cls, "__iter__")
            self.instances.guard_class(value.cls, "__iter__", found)
            generator: IteratorValue = self.caller.begun(Literal(found), [value], {}, None)
            return generator
        if isinstance(value, FlatValue):
            self._look(value)
            value = self.views.flat_view(value.base)
        if isinstance(value, SetValue) and value.in_order and len(value.elements) > 1:
            if all(type(each) in PURE_TYPES for each in value.elements):
                return self._of_set(value)
        walk: Callable[..., Iterator[Any]] = reversed if backwards else iter
        if isinstance(value, (Sequence, ListValue, RangeValue, Tensor)):
            pull = self._by_place(value, backwards)
        elif isinstance(value, (DictValue, DictView, DequeValue)):
            pull = self._by_pythons_own(value, walk)
        elif isinstance(value, Host) and is_array(value.object) and value.object.ndim:
            pull = self._of_host_array(value, walk)
        elif isinstance(value, (Literal, Host)) and type(value.object) in (str, bytes):
            pull = self._of_text(value, walk)
        else:
            fixed = walk(self.elements(value))

            def pull() -> Any:
                return next(fixed, End)

        def following() -> Any:
            part = pull()
            return part if part is End else resolve(part)

        return IteratorValue(following, source=(walk, [value]))

    def _of_set(self, value: SetValue) -> SetItems:
        """Which come first only the recording tells: no C code may ask for all of them."""
        left = set(value.elements)

        def pull() -> Any:
            if left:
                raise refuse(reasons.ORDER_SET)
            return End

        return SetItems(pull, left)

    def _of_text(self, value: Abstract, walk: Callable[..., Iterator[Any]]) -> Callable[[], Any]:
        """What it is matters to one that is gone through here: a loop may take any."""
        fixed: Iterator[Any] | None = None

        def pull() -> Any:
            nonlocal fixed
            if fixed is None:
                fixed = walk(self.elements(value))
            return next(fixed, End)

        return pull

    def _by_place(
        self, value: Sequence | ListValue | RangeValue | Tensor, backwards: bool
    ) -> Callable[[], Any]:
        """How many there are is not asked before one is: a loop may take any number of them."""
        fixed: list[Abstract] | None = None  # of what keeps its parts, or its size
        position: int | None = None if backwards else 0
        if backwards and isinstance(value, ListValue):
            before = value.growth
            if value.is_read or value.part is not None:
                position = value.length - 1

        def pull() -> Any:
            nonlocal position, fixed
            if fixed is None and isinstance(value, RangeValue):
                fixed = self.elements(value)
            elif fixed is None and isinstance(value, Tensor):
                fixed = [value] * (self.known_size(value.shape[0]) if value.rank else 0)
            elif position is None and isinstance(value, ListValue) and value.growth != before:
                raise refuse(reasons.ITERATION_OVER, describe(value))
            parts = value.elements if isinstance(value, (Sequence, ListValue)) else cast(Any, fixed)
            at = len(parts) - 1 if position is None else position
            position = -1  # an iterator at its end stays there
            if at < 0 or at >= len(parts):
                return End
            position = at - 1 if backwards else at + 1
            return (
                self.indexing.index(value, Literal(at)) if isinstance(value, Tensor) else parts[at]
            )

        return pull

    def _by_pythons_own(
        self, value: DictValue | DictView | DequeValue, walk: Callable[..., Iterator[Any]]
    ) -> Callable[[], Any]:
        """Whose iterators end where the container's size changes."""
        kind = value.kind if isinstance(value, DictView) else "keys"
        if isinstance(value, DequeValue):
            parts = walk(value.elements)
        else:
            parts = walk((value.base if isinstance(value, DictView) else value).items.items())

        def pull() -> Any:
            try:
                found: Any = next(parts, End)
            except RuntimeError:
                raise refuse(reasons.ITERATION_OVER, "a container that changes its size") from None
            if found is End or isinstance(value, DequeValue):
                return found
            key, item = found
            if kind == "values":
                return item
            return of_key(key) if kind == "keys" else Sequence([of_key(key), item])

        return pull

    def _of_host_array(self, value: Host, walk: Callable[..., Iterator[Any]]) -> Callable[[], Any]:
        """Each look gives a new view or scalar, as it does in the program."""
        count = self.program.operator("len", [value])
        self.program.guard("guard_value", count, len(value.object), key=(count,))
        places = walk(range(len(value.object)))

        def pull() -> Any:
            if (place := next(places, None)) is None:
                return End
            part = value.object[place]
            return self.host_operations.host_operation("getitem", [value, Literal(place)], part)

        return pull

    def _look(self, flat: FlatValue) -> None:
        """A flat iterator goes on where it was; a path is for one walk from its beginning."""
        if flat.walked:
            raise refuse(reasons.FLAT_ITERATOR_USED_BEFORE)
        flat.walked = True

    def known_size(self, dim: Any) -> int:
        """The size as it was in the recorded call; other sizes take another path."""
        if dim.constant is not None:
            return int(dim.constant)
        seen = self.sizes.observed(dim)
        register = self.program.register_of_dim(dim)
        self.program.guard("guard_value", register, seen, key=(register,))
        return seen

    def element(self, base: Abstract, key: Abstract, seen: Any) -> Abstract:
        """`base[key]` of a container."""
        base = self.instances.content_of(base, "__getitem__")
        if isinstance(base, ListValue) and base.is_open:
            if (part := self.open_lists.element(base, resolve(key), seen)) is not None:
                return resolve(part)
        if (part := self.lengths.at_any_place(base, key, seen)) is not None:
            return resolve(part)
        if isinstance(base, (Sequence, ListValue)):
            if (made := self.lengths.sliced(base, key, seen)) is not None:
                return made
            place = self.lengths.place(base, key)
            if (part := base.part_at(place)) is not None:
                return resolve(part)
            if isinstance(place, slice):
                if isinstance(base, Sequence):
                    return Sequence(base.elements[place])
                last = self.lengths.last_parts(base, place)
                return ListValue(base.elements[place] if last is None else last)
            try:
                return resolve(base.elements[operator.index(place)])
            except IndexError:
                raise refuse(reasons.INDEX_BEYOND_END) from None
        if isinstance(base, DictValue):
            name = self.identity.key(key)
            may_lack = isinstance(base, DefaultDict) or base.owner is not None
            part = None if base.is_read or base.stores else base.part
            if part is not None and not isinstance(name, Instance) and part(name) is not None:
                return resolve(part(name))  # fetching it misses where it is not there
            if (may_lack or isinstance(name, Instance)) and not self.has_key(base, name):
                return self.missing(base, name)
            found = self.dict_part(base, name)
            if found is None:
                raise refuse(reasons.KEY_DICT_SUBCLASS_MADE_UP)
            return resolve(found)
        if isinstance(base, DequeValue):
            return self._deque_element(base, key)
        if isinstance(base, Converter):
            return resolve(base.arrays[self.indexing.integer(key)])
        if isinstance(base, OwnDict):
            if not self.instances.owns(base, self.indexing.plain(key)):
                raise refuse(reasons.KEY_MISSING)
            return resolve(base.instance.attributes[self.indexing.plain(key)])
        if isinstance(base, Literal) and isinstance(base.object, tuple):
            self.indexing.plain(key)
            return Literal(seen)
        return self.host_operations.host_operation("getitem", [base, key], seen)

    def _deque_element(self, base: DequeValue, key: Abstract) -> Abstract:
        place = self.lengths.place(base, key)
        if (part := self.lengths.deque_part(base, place)) is not None:
            return resolve(part)
        try:
            return resolve(base.elements[operator.index(place)])
        except IndexError:
            raise refuse(reasons.INDEX_BEYOND_END) from None

    def dict_part(self, base: DictValue, key: Any) -> Abstract | None:
        """`base.get(key)`; of a dict that was not read, no other key is looked at."""
        if not base.is_read and all(isinstance(k, Literal) for k, _ in base.stores):
            for stored, value in reversed(base.stores):
                if stored.object == key:
                    return value
            if base.part is not None and (part := base.part(key)) is not None:
                return part
        return base.items.get(key)

    def has_key(self, base: DictValue, key: Any) -> bool:
        """Whether the dict has the key. Where it was not read, the path is for one answer."""
        if isinstance(key, IdNumber) and base.register >= 0:
            raise refuse(reasons.IDENTITY_NUMBER)
        if base.is_read or base.stores:
            return key in base.items
        return self.lengths.had_key(base, key)

    def lack_key(self, base: Abstract, key: Abstract) -> None:
        """`base[key]` ran a method in Python: where that is `__missing__`, for want of the key."""
        content = self.instances.content_of(base, "__getitem__")
        if isinstance(content, DictValue) and self.has_key(content, self.identity.key(key)):
            raise refuse(reasons.KEY_DICT_SUBCLASS_MADE_UP)

    def missing(self, base: DictValue, key: Any) -> Abstract:
        """`base[key]` without that key, where C code makes it up."""
        own = base.owner
        if own is not None:
            found = class_attribute(own.cls, "__missing__")
            self.instances.guard_class(own.cls, "__missing__", found)
            if found is not inherited(own.cls, "__missing__"):
                raise refuse(reasons.KEY_DICT_SUBCLASS_MADE_UP)
        if not isinstance(base, DefaultDict):
            raise refuse(reasons.KEY_MISSING)
        if isinstance(base, CounterValue):
            return Literal(0)
        if is_none(base.factory):
            raise refuse(reasons.KEY_MISSING)
        made = self.caller.apply(base.factory, [])
        self.store_element(base, Literal(key), made)
        return made

    def store_element(self, base: Abstract, key: Abstract, value: Abstract) -> None:
        base = self.instances.content_of(base, "__setitem__")
        key = resolve(key)
        if isinstance(base, DictValue) and not base.is_read and isinstance(key, Size):
            key = Host(self.program.register_of(key), self.sizes.observed(key.dim))
        if isinstance(base, DictValue) and not base.is_read and self._is_plain_key(key):
            base.stores.append((key, value))
            base.change()
            return
        if isinstance(base, DictValue):
            base.items[self.identity.key(key)] = value
            base.change()
            return None
        if isinstance(base, ListValue) and base.is_open:
            if self.list_changes.store(base, key, value):
                return None
        place = self.lengths.place(base, key)
        if isinstance(base, OwnDict):
            return self.instances.set_own(base, place, value)
        if isinstance(base, ListValue) and isinstance(place, slice):
            parts = self.elements(value)
            base.elements[place] = parts
            base.wrote("set", place, ListValue(parts))
        elif isinstance(base, ListValue) and (before := base.before_tail(place)) is not None:
            self.program.item(base.register, before)
            base.stores[before] = value
            base.wrote("set", place, value)
        elif isinstance(base, ListValue) and base.is_in_tail(place):
            base.tail[place] = value
            base.wrote("set", place, value)
        elif isinstance(base, (DequeValue, ListValue)):
            at = operator.index(place)
            with refusing(IndexError, refuse(reasons.INDEX_BEYOND_END)):
                base.elements[at] = value
            base.wrote("set", at % len(base.elements), value)
        else:
            raise refuse(reasons.ASSIGNMENT_PART, describe(base))
        return None

    def delete_element(self, base: Abstract, key: Abstract) -> None:
        base = self.instances.content_of(base, "__delitem__")
        if isinstance(base, ListValue) and base.is_open:
            if self.list_changes.delete(base, resolve(key)):
                return
        if isinstance(base, ListValue):
            place = self.indexing.plain(key)
            with refusing(IndexError, refuse(reasons.INDEX_BEYOND_END)):
                del base.elements[place]
            base.wrote("delete", place)
        elif isinstance(base, DictValue):
            with refusing(KeyError, refuse(reasons.KEY_MISSING)):
                del base.items[self.identity.key(key)]
            base.change()
        else:
            raise refuse(reasons.DEL_PART, describe(base))

    def contains(self, container: Abstract, item: Abstract, seen: bool) -> Abstract | None:
        """`item in container`, of those whose elements are known; None of another."""
        container = self.instances.content_of(container, "__contains__")
        if isinstance(container, DictView) and container.kind == "keys":
            container = container.base
        if isinstance(container, DictValue):
            return Literal(self.has_key(container, self.identity.key(item)))
        if isinstance(container, SetValue):
            if (self.identity.key(item) in container.elements) != seen:
                raise refuse(reasons.NEEDS_CONSTANT, describe(resolve(item)))
            return Literal(seen)
        if isinstance(container, OpenSet):
            return Literal(self._is_in(container, self.identity.key(item)))
        if isinstance(container, OwnDict):
            self.instances.owns(container, self.indexing.plain(item))
            return Literal(seen)
        return None

    def _is_in(self, container: OpenSet, key: Any) -> bool:
        if isinstance(key, IdNumber):
            raise refuse(reasons.IDENTITY_NUMBER)
        for entry in reversed(container.log):
            if entry.given == [key]:
                return bool(entry.key is set.add)
        present = getattr(key, "object", key) in container.elements
        test = self.program.operate("in", self.program.register_of(of_key(key)), container.register)
        self.program.guard("guard_truth", test, present)
        return present

    def _is_plain_key(self, key: Abstract) -> bool:
        """Whether it may be any key of its type: a number or text, known or not."""
        known = isinstance(key, (Literal, Host)) and type(key.object) in (int, float, bool, str)
        return known and key.object == key.object

    # ---- methods

    @methods_of(ListValue, DictValue, Sequence, OwnDict)
    def container_method(
        self,
        base: Abstract,
        name: str,
        positional: list[Abstract],
        named: dict[str, Abstract],
        seen: Any,
    ) -> Abstract:
        if name == "__getitem__":
            return self.element(base, positional[0], seen)
        if isinstance(base, (DictValue, OwnDict)) and name == "update":
            if named and positional:
                raise refuse(reasons.UPDATE_DICT_BOTH_DICT_KEYWORDS)
            for key, value in named.items():
                self.store_element(base, Literal(key), value)
            if named:
                return Literal(None)
        elif isinstance(base, OrderedValue) and set(named) == {"last"}:
            positional = [*positional, named["last"]]
        elif named:
            raise refuse(reasons.METHOD_KEYWORDS, name)
        if isinstance(base, ListValue):
            return self._list_method(base, name, positional, seen)
        if isinstance(base, DictValue):
            return self._dict_method(base, name, positional)
        if isinstance(base, OwnDict):
            return self._own_dict_method(base, name, positional)
        if isinstance(base, Sequence) and name in ("index", "count"):
            values = [self.identity.key(part) for part in base.elements]
            return Literal(getattr(values, name)(*(self.identity.key(p) for p in positional)))
        raise refuse(reasons.METHOD_OF, name, describe(base))

    def _list_method(
        self, base: ListValue, name: str, positional: list[Abstract], seen: Any
    ) -> Abstract:
        if base.is_open:
            if (done := self.list_changes.method(base, name, positional, seen)) is not None:
                return resolve(done)
        if name in ("index", "count"):
            values = [self.identity.key(part) for part in base.elements]
            return Literal(getattr(values, name)(*(self.identity.key(p) for p in positional)))
        if name not in LIST_METHODS:
            raise refuse(reasons.METHOD_OF_LIST, name)
        if name == "copy":
            return ListValue(list(base.elements))
        if name in ("append", "extend"):
            if name == "append":
                base.append(positional[0])
                return Literal(None)
            source = resolve(positional[0])
            for part in self.elements(source) if source is base else self.each(source):
                base.append(part)
            return Literal(None)
        if name in ("insert", "pop") and positional:
            positional = [self.indexing.integer(positional[0]), *positional[1:]]
        if name == "clear":
            base.empty()
        with refusing(IndexError, refuse(reasons.END, name, describe(base))):
            made = getattr(base.elements, name)(*positional)
        base.wrote("call", getattr(list, name), *positional)
        return Literal(None) if made is None else resolve(made)

    def _dict_method(self, base: DictValue, name: str, positional: list[Abstract]) -> Abstract:
        if isinstance(base, OrderedValue) and name == "move_to_end":
            return self._move_to_end(base, *positional)
        if name not in DICT_METHODS:
            raise refuse(reasons.METHOD_OF_DICT, name)
        if name in ("items", "keys", "values"):
            return DictView(base, name)
        if name == "get":
            key = self.identity.key(positional[0])
            default = positional[1] if len(positional) > 1 else Literal(None)
            if not self.has_key(base, key):
                return resolve(default)
            return resolve(self.dict_part(base, key))
        if name == "setdefault" and not self.has_key(base, self.identity.key(positional[0])):
            default = positional[1] if len(positional) > 1 else Literal(None)
            self.store_element(base, positional[0], default)
            return resolve(default)
        items = base.items
        if name == "copy" and base.owner is not None and base.cls is not dict:
            raise refuse(reasons.METHOD_OF, name, describe(base.owner))
        if name == "copy" and isinstance(base, DefaultDict):
            return DefaultDict(base.factory, dict(items))
        if name == "copy" and isinstance(base, OrderedValue):
            return OrderedValue(dict(items))
        if name == "copy":
            return DictValue(dict(items))
        if (name == "popitem" and not items) or (
            name == "pop" and len(positional) == 1 and self.identity.key(positional[0]) not in items
        ):
            raise refuse(reasons.KEY_MISSING)
        base.change()
        if name == "clear":
            items.clear()
            base.cleared = True
            return Literal(None)
        if name == "popitem":
            first = (
                isinstance(base, OrderedValue)
                and positional
                and not self.indexing.plain(positional[0])
            )
            key = next(iter(items)) if first else next(reversed(items))
            value = items.pop(key)
            return Sequence([of_key(key), value])
        if name == "update":
            other = self.instances.mapping_of(positional[0])
            if not isinstance(other, DictValue):
                for pair in self.each(other):
                    key, value = self.elements(pair)
                    items[self.identity.key(key)] = value
                return Literal(None)
            items.update(other.items)
            return Literal(None)
        key = self.identity.key(positional[0])
        default = positional[1] if len(positional) > 1 else Literal(None)
        if name == "setdefault":
            return resolve(items.setdefault(key, default))
        return resolve(items.pop(key, default))

    def _move_to_end(
        self, base: OrderedValue, key: Abstract, last: Abstract = Literal(True)
    ) -> Abstract:
        name, items = self.identity.key(key), base.items
        if name not in items:
            raise refuse(reasons.KEY_MISSING)
        rest = {other: value for other, value in items.items() if other != name}
        moved = {name: items[name]}
        ordered = rest | moved if self.indexing.plain(last) else moved | rest
        items.clear()
        items.update(ordered)
        base.change()
        return Literal(None)

    def _own_dict_method(self, base: OwnDict, name: str, positional: list[Abstract]) -> Abstract:
        first = resolve(positional[0]) if positional else None
        if name in ("items", "keys", "values", "copy") and first is None:
            return self._dict_method(DictValue(self.instances.own_items(base)), name, [])
        if name == "get" and first is not None:
            if self.instances.owns(base, self.indexing.plain(first)):
                return resolve(base.instance.attributes[self.indexing.plain(first)])
            return resolve(positional[1]) if len(positional) > 1 else Literal(None)
        if name == "update" and isinstance(first, DictValue):
            for key, item in first.items.items():
                self.instances.set_own(base, key, item)
            return Literal(None)
        raise refuse(reasons.METHOD_OF_NAMESPACE, name)
