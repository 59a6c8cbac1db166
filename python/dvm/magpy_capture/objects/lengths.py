"""How many elements the caller's containers have, and which is asked for, where any may be.

A list that grows from call to call (a history, a log) brings another length each time. What the
program asks of one that it has not read is computed on each call: its length, whether there is
anything in it, and what lies so many places before its end. So is an element at a place that is
another one in each turn of a loop, or was in another call.
"""

from __future__ import annotations

from typing import Any

from dvm import _dvm
from dvm.magpy_capture.libraries import is_array
from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.values import (
    Abstract,
    DequeValue,
    DictValue,
    Host,
    ListValue,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Tensor,
    is_none,
    of_key,
    resolve,
)
from dvm.magpy_capture.values.kinds import is_number


class Lengths(ObjectPart):
    """What is asked of containers that were not read."""

    needs = "adopted heap indexing list_changes program sizes varying"

    def length(self, value: ListValue | DequeValue | DictValue | Sequence) -> Abstract:
        """`len(value)`: a number of the path where calls have brought several."""
        if isinstance(value, DictValue):
            counted = -1 if value.is_read else value.register
        else:
            counted = value.counted
        if counted >= 0 and self.varying.is_open_length(counted, value.size):
            length = self._dim(counted, value.size)
            if isinstance(value, DictValue):
                added = self._keys_added(value)
                if added is not None:
                    return Size(length + added)
            elif isinstance(value, (ListValue, Sequence)):
                return Size(length + len(value.tail))
            else:
                longest = self.adopted.limit(counted, value.object)
                length += len(value.tail)
                return Size(length if longest is None else length.min(longest))
        return Literal(len(value.items if isinstance(value, DictValue) else value.elements))

    def _dim(self, register: int, seen: int) -> _dvm.Dim:
        """The length of a container in a register, as it was at entry."""
        return self.sizes.size_of_int(self.program.operate("len", register), seen)

    def _keys_added(self, value: DictValue) -> int | None:
        """How many of the keys that the program stored are new; None where that is not plain."""
        keys = [resolve(key) for key, _ in value.stores]
        if all(isinstance(key, Literal) for key in keys):
            names = dict.fromkeys(key.object for key in keys)
            return sum(not self.had_key(value, name) for name in names)
        if len(keys) > 1 or value.owner is not None or value.part is None:
            return None
        present = value.part(keys[0].object) is not None
        test = self.program.operate("in", self.program.register_of(keys[0]), value.register)
        self.program.guard("guard_truth", test, present)
        return int(not present)

    def had_key(self, base: DictValue, key: Any) -> bool:
        """Whether a dict that was not read has the key at entry."""
        present = base.part is not None and base.part(key) is not None
        if base.owner is None:
            test = self.program.operate("in", self.program.register_of(of_key(key)), base.register)
        else:  # whatever the subclass says
            asked = self.program.constant(base.cls.__contains__)
            given = [base.register, self.program.register_of(of_key(key))]
            test = self.program.step("call", asked, given, ())
        self.program.guard("guard_truth", test, present)
        return present

    def has_any(self, value: ListValue | DequeValue | DictValue | Sequence) -> bool:
        """Whether it has elements; where it was not read, the path is for one answer."""
        if isinstance(value, DictValue):
            if value.is_read or value.stores:
                return bool(value.stores or value.items)
            register, size = value.register, value.size
        else:
            if value.counted < 0 or (value.tail and isinstance(value, DequeValue)):
                return bool(value.elements)
            if value.tail:
                return True
            register, size = value.counted, value.size
        self.program.guard("guard_truth", register, size > 0)
        return size > 0

    def at_any_place(self, base: Abstract, key: Abstract, seen: Any) -> Abstract | None:
        """`base[key]` for any key; None where the path is for this one."""
        key = resolve(key)
        of_text = isinstance(base, (Host, Literal)) and type(base.object) in (str, bytes)
        if of_text or isinstance(base, Literal):
            known = of_text or type(base.object) is tuple
            register = self.program.register_of(base) if known else -1
        elif isinstance(base, ListValue):
            register = base.untouched_register if base.cls is list else -1
        else:
            register = base.register if isinstance(base, Sequence) and base.cls is tuple else -1
        of_numbers = of_text or is_number(seen)
        if register < 0 or not (of_numbers or (is_array(seen) and self.varying.in_turn)):
            return None
        if isinstance(key, Tensor):  # a NumPy integer
            key = self.list_changes.place(key)
        if isinstance(key, Size):
            place = self.sizes.observed(key.dim)
        elif isinstance(key, Host) and type(key.object) is int:
            place = key.object
        else:
            return None
        at = self.program.register_of(key)
        if not self.varying.is_open_index(at, place):
            return None
        made = self.program.operate("getitem", register, at)
        return self.heap.computed(made, seen) if of_numbers else self.heap.reach(lambda: made, seen)

    def sliced(self, base: ListValue | Sequence, key: Abstract, seen: Any) -> Abstract | None:
        """`base[a:b]` of one that was not read, made on each call; None: it needs the elements."""
        key = resolve(key)
        if not isinstance(key, SliceValue) or base.counted < 0 or base.cls not in (list, tuple):
            return None
        if isinstance(base, ListValue) and base.untouched_register < 0:
            return None
        bounds = [resolve(part) for part in (key.start, key.stop, key.step)]
        places = [part if is_none(part) else self.list_changes.place(part) for part in bounds]
        if any(place is None for place in places):
            return None
        part = self.program.register_of(SliceValue(*places))
        made = self.program.step("operator", "getitem", base.counted, part)
        if isinstance(base, Sequence):
            return self.adopted.adopt_tuple(made, seen)
        return self.adopted.adopt_list(made, seen, external=False)

    def place(self, base: Abstract, key: Abstract) -> Any:
        """A key as a constant; one that is the length but for so many is so many before the end."""
        key = resolve(key)
        if isinstance(key, Size) and isinstance(base, (ListValue, Sequence)) and base.counted >= 0:
            register = self.program.known_steps.get(("operator", "len", base.counted))
            if register is not None:
                length = self._dim(base.counted, base.size) + len(base.tail)
                before = (key.dim - length).constant
                if before is not None and -base.size - len(base.tail) <= before < 0:
                    return int(before)
        return self.indexing.plain(key)

    def deque_part(self, base: DequeValue, place: Any) -> Any:
        """An element of a deque that is found without reading all, or None."""
        if base.tail and not base.is_read and type(place) is int:
            longest = self.adopted.limit(base.register, base.object)
            if longest is not None and not -longest <= place < 0:
                return None  # it may have been pushed out
        return base.part_at(place)

    def last_parts(self, base: ListValue, place: slice) -> list[Any] | None:
        """`base[-n:]` of one that was not read, if there are so many; None of another slice."""
        count = place.start
        ends = place.stop is None and place.step is None
        if base.is_read or type(count) is not int or count >= 0 or not ends:
            return None
        missing = -count - len(base.tail)
        if missing <= 0:
            return base.tail[count:]
        if base.part is None or (base.before_tail(count) is None and missing <= base.size):
            return None
        length = self.program.operate("len", base.register)
        test = self.program.operate(">=", length, self.program.constant(missing))
        self.program.guard("guard_truth", test, base.size >= missing)
        if base.size < missing:
            return None
        return [base.part_at(at) for at in range(count, 0)]
