"""What programs do to open lists: take elements off, replace them, and look at what they did.

An effect on such a list waits for the end of the path, like one on a list of the caller. That an
element is there which is taken off or replaced is checked at once: where it is not, the path is
left before anything was done, and Python raises. What is read behind a change comes from the list
as it was and from what is known of the changes: what was appended, how many were taken off the
end, and what was stored where. If that does not tell, it is read from a copy that was changed
likewise.
"""

from __future__ import annotations

from typing import Any

from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Size,
    Tensor,
    Written,
    resolve,
)

LAST = Literal(-1)


class ListChanges(ObjectPart):
    """Effects on open lists, and reads behind them."""

    needs = "arrays graph open_lists program sizes"

    def __init__(self) -> None:
        self._copies: dict[tuple[int, ...], int] = {}  # registers, by what was done

    # ---- changes

    def method(
        self, base: ListValue, name: str, positional: list[Abstract], seen: Any
    ) -> Abstract | None:
        """A method that changes the list; None: it needs the elements."""
        given = [resolve(value) for value in positional]
        if name == "pop" and len(given) < 2:
            key = self.place(given[0] if given else LAST)
            found = None if key is None else self.open_lists.element(base, key, seen)
            if key is not None and found is not None:
                self._take_off(base, key, list.pop, [key] if given else [])
            return found
        if name == "insert" and len(given) == 2:
            key = self.place(given[0])
            if key is None:
                return None
            self._wrote(base, list.insert, [key, given[1]])
        elif name in ("clear", "reverse") and not given:
            self._wrote(base, getattr(list, name), [])
        else:
            return None
        base.scattered = True
        return Literal(None)

    def delete(self, base: ListValue, key: Abstract) -> bool:
        """`del base[key]`; False: it needs the elements."""
        place = self.place(key)
        if place is None:
            return False
        self._check(base, place)
        self._take_off(base, place, list.__delitem__, [place])
        return True

    def store(self, base: ListValue, key: Abstract, value: Abstract) -> bool:
        """`base[key] = value`; False: it needs the elements."""
        place = self.place(key)
        if place is None:
            return False
        if base.is_appended(place):
            assert isinstance(place, Literal)
            base.tail[place.object] = value
        else:
            before = self._check(base, place)
            if before is None:
                base.scattered = True
            else:
                base.replaced.append((before, value))
        self._wrote(base, list.__setitem__, [place, value])
        return True

    def _take_off(self, base: ListValue, key: Abstract, method: Any, given: list[Any]) -> None:
        if not isinstance(key, Literal) or key.object != -1:
            base.scattered = True
        elif base.tail:
            base.tail.pop()
        else:
            base.dropped += 1
        self._wrote(base, method, given)

    def _wrote(self, base: ListValue, method: Any, given: list[Abstract]) -> None:
        base.log.append(Written("call", method, given))

    def _check(self, base: ListValue, key: Abstract) -> Abstract | None:
        """That there is such an element; its place in the list as it was, if that is plain."""
        if base.is_appended(key):
            return None
        place = self._place(base, key)
        if place is None:
            self.program.operate("getitem", self.register(base), self.program.register_of(key))
        else:
            self.program.operate("getitem", base.register, self.program.register_of(place))
        return place

    # ---- reads

    def known(self, base: ListValue, key: Abstract) -> Abstract | None:
        """The element there, if the program has put it there since the list was what it was."""
        if base.is_appended(key):
            assert isinstance(key, Literal)
            found: Abstract = base.tail[key.object]
            return resolve(found)
        place = self._place(base, key)
        for stored, value in reversed(base.replaced if place is not None else []):
            assert place is not None
            same = self._are_one(stored, place)
            if same is None:
                base.scattered = True
                return None
            if same:
                # Not what it was before, but it must be there still.
                self.program.operate("getitem", base.register, self.program.register_of(place))
                return resolve(value)
        return None

    def item(self, base: ListValue, key: Abstract) -> int:
        """The register of an element that is not known."""
        place = self._place(base, key)
        if place is None:
            given = self.register(base), self.program.register_of(key)
        else:
            given = base.register, self.program.register_of(place)
        return self.program.operate("getitem", *given)

    def length(self, base: ListValue) -> int:
        if base.scattered:
            return self.program.operate("len", self.register(base))
        length = self.program.operate("len", base.register)
        added = len(base.tail) - base.dropped
        if not added:
            return length
        return self.program.operate("+", length, self.program.constant(added))

    def branch(self, base: ListValue, taken: bool) -> None:
        """Its truth has steered the program: with something appended there is no question."""
        if base.tail and not base.scattered:
            return
        if not base.scattered and not base.dropped:
            self.program.guard("guard_truth", base.register, taken)
            return
        zero = self.program.constant(0)
        test = self.program.operate("!=", self.length(base), zero)
        self.program.guard("guard_truth", test, taken)

    def register(self, value: ListValue) -> int:
        """The list with what was done to it; nobody may change that one."""
        if not value.changed:
            return value.register
        done = (value.register, len(value.log), len(value.log[-1].given))
        if done not in self._copies:
            self._copies[done] = self.copied(value)
        return self._copies[done]

    def copied(self, value: ListValue) -> int:
        """Another list of the same."""
        if all(entry.what == "extend" for entry in value.log):
            given = [part for entry in value.log for part in entry.given]
            return self.program.step("operator", "+", value.register, self._list_of(given))
        copied = self.program.constant(list)
        made = self.program.step("call", copied, [value.register], ())
        self.apply(value, made, "call")
        return made

    def apply(self, value: ListValue, register: int, step: str) -> None:
        """Do to the list in that register what was done to this one."""
        for entry in value.log:
            if entry.what == "extend":
                method, given = list.extend, [self._list_of(entry.given)]
            else:
                method, given = entry.key, [*map(self.program.register_of, entry.given)]
            self.program.step(step, self.program.constant(method), [register, *given], ())

    def _list_of(self, parts: list[Abstract]) -> int:
        return self.program.step("list", [self.program.register_of(part) for part in parts])

    # ---- places

    def place(self, key: Abstract) -> Abstract | None:
        """An integer, known or not, as one of Python's; None of something else."""
        if isinstance(key, Tensor) and key.is_scalar and key.is_integer and key.object is not None:
            register = self.graph.leave(self.arrays.value_of(key), "int")
            return Host(register, int(key.object))
        known = isinstance(key, (Literal, Host)) and type(key.object) in (int, bool)
        return key if known or isinstance(key, Size) else None

    def _place(self, base: ListValue, key: Abstract) -> Abstract | None:
        """Where it was in the list as it was; None: it may have been anywhere, or nowhere."""
        if base.scattered or base.is_appended(key):
            return None
        if not base.tail and not base.dropped:
            return key
        if isinstance(key, Literal) and key.object < 0:
            return Literal(key.object + len(base.tail) - base.dropped)
        return None

    def _are_one(self, one: Abstract, other: Abstract) -> bool | None:
        """Whether two places are one; where that is not plain, the path is for one answer.

        None: one counts from the end, the other does not, and how many there were was not seen.
        """
        if one is other:
            return True
        if isinstance(one, Literal) and isinstance(other, Literal):
            if (one.object < 0) == (other.object < 0):
                return bool(one.object == other.object)
        a, b = self.program.register_of(one), self.program.register_of(other)
        if a == b:
            return True
        places = [self._seen(one), self._seen(other)]
        if self._is_from_end(one, a) != self._is_from_end(other, b):
            return None
        test = self.program.operate("==", a, b)
        self.program.guard("guard_truth", test, places[0] == places[1])
        return places[0] == places[1]

    def _is_from_end(self, place: Abstract, register: int) -> bool:
        """Whether it counts from the end; the path is for one answer."""
        seen = self._seen(place) < 0
        if isinstance(place, Host) or (isinstance(place, Size) and not place.dim.is_natural):
            test = self.program.operate("<", register, self.program.constant(0))
            self.program.guard("guard_truth", test, seen)
        return seen

    def _seen(self, place: Abstract) -> int:
        if isinstance(place, Size):
            return int(self.sizes.observed(place.dim))
        assert isinstance(place, (Literal, Host))
        return int(place.object)


__all__ = ["ListChanges"]
