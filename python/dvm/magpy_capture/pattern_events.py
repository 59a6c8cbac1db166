"""Patterns of `match` statements that take a value apart."""

from __future__ import annotations

from typing import Any

from dvm import reasons
from dvm.magpy_capture.events import Operands
from dvm.magpy_capture.flow_events import FlowEvents
from dvm.magpy_capture.objects import class_attribute
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    DefaultDict,
    DictValue,
    IteratorValue,
    Literal,
    Method,
    Sequence,
)

NONE = Literal(None)


class PatternEvents(FlowEvents):
    """What a pattern asks of its subject. That it got another answer is another path."""

    def on_match_kind(
        self, _n: str, operands: Operands, _k: Any, result: int, _f: bool
    ) -> Abstract:
        subject = self.value(operands[0])
        if isinstance(subject, (Closure, Method, IteratorValue)):
            raise self.refuse(reasons.PATTERN, describe(subject))
        self.guard_bases(self.class_of(subject))  # the type is known, and has this flag
        return Literal(self.seen(result))

    def on_match_length(
        self, _n: str, operands: Operands, _k: Any, result: int, _f: bool
    ) -> Abstract:
        self.seen_result = self.seen(result)
        return self.length(self.value(operands[0]))

    def on_match_keys(self, _n: str, operands: Operands, _k: Any, _r: int, _f: bool) -> Abstract:
        subject, keys = (self.value(node) for node in operands)
        if not isinstance(subject, DictValue) or isinstance(subject, DefaultDict):
            raise self.refuse(reasons.PATTERN, describe(subject))
        found = []
        for part in self.elements(keys):
            key = self.key(part)
            if not self.has_key(subject, key):
                return NONE
            found.append(self.resolve(self.dict_part(subject, key)))
        return Sequence(found)

    def on_match_class(
        self, name: str, operands: Operands, _k: Any, result: int, _f: bool
    ) -> Abstract:
        subject, kind, keywords = (self.value(node) for node in operands)
        cls, seen = self.plain(kind), self.seen(result)
        if not self.plain(self.is_instance(subject, kind)):
            return NONE
        if seen is None:
            raise self.refuse(reasons.PATTERN_LACKS_SOMETHING, describe(subject))
        places = int(name)
        names = self._names_by_place(cls, places) if places else ()
        if names is None:  # of int, str and the like: the subject itself
            return Sequence([subject])
        names = (*names, *self.plain(keywords))
        parts = zip(names, seen, strict=True)
        return Sequence([self.attribute(subject, part, answer) for part, answer in parts])

    def _names_by_place(self, cls: Any, places: int) -> tuple[str, ...] | None:
        matched = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
        if cls in matched and places == 1:
            return None
        found = class_attribute(cls, "__match_args__")
        if type(found) is not tuple:
            raise self.refuse(reasons.PATTERN, cls.__name__)
        self.guard_class(cls, "__match_args__", found)
        return found[:places]


__all__ = ["PatternEvents"]
