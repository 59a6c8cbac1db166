"""Patterns of `match` statements that take a value apart."""

from __future__ import annotations

from typing import Any

from dvm import classes, reasons
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    DefaultDict,
    DictValue,
    IteratorValue,
    Literal,
    Method,
    Sequence,
    resolve,
)
from dvm.magpy_capture.values.kinds import class_attribute
from dvm.magpy_capture.walk.layer import WalkPart
from dvm.magpy_capture.walk.recorded import Operands

NONE = Literal(None)


class PatternEvents(WalkPart):
    """What a pattern asks of its subject. That it got another answer is another path."""

    needs = "containers identity indexing instances lookups python record recorded"

    def on_match_kind(
        self, _n: str, operands: Operands, _k: Any, result: int, _f: bool
    ) -> Abstract:
        subject = self.recorded.value(operands[0])
        if isinstance(subject, (Closure, Method, IteratorValue)):
            raise refuse(reasons.PATTERN, describe(subject))
        self.instances.guard_bases(
            self.identity.class_of(subject)
        )  # the type is known, and has this flag
        return Literal(self.record.seen(result))

    def on_match_length(
        self, _n: str, operands: Operands, _k: Any, result: int, _f: bool
    ) -> Abstract:
        subject = self.recorded.value(operands[0])
        return self.python.length(subject, seen=self.record.seen(result))

    def on_match_keys(self, _n: str, operands: Operands, _k: Any, _r: int, _f: bool) -> Abstract:
        subject, keys = (self.recorded.value(node) for node in operands)
        if not isinstance(subject, DictValue) or isinstance(subject, DefaultDict):
            raise refuse(reasons.PATTERN, describe(subject))
        found = []
        for part in self.containers.elements(keys):
            key = self.identity.key(part)
            if not self.containers.has_key(subject, key):
                return NONE
            found.append(resolve(self.containers.dict_part(subject, key)))
        return Sequence(found)

    def on_match_class(
        self, name: str, operands: Operands, _k: Any, result: int, _f: bool
    ) -> Abstract:
        subject, kind, keywords = (self.recorded.value(node) for node in operands)
        cls, seen = self.indexing.plain(kind), self.record.seen(result)
        if not self.indexing.plain(self.python.is_instance(subject, kind)):
            return NONE
        if seen is None:
            raise refuse(reasons.PATTERN_LACKS_SOMETHING, describe(subject))
        places = int(name)
        names = self._names_by_place(cls, places) if places else ()
        if names is None:  # of int, str and the like: the subject itself
            return Sequence([subject])
        names = (*names, *self.indexing.plain(keywords))
        parts = zip(names, seen, strict=True)
        return Sequence([self.lookups.attribute(subject, part, answer) for part, answer in parts])

    def _names_by_place(self, cls: Any, places: int) -> tuple[str, ...] | None:
        matched = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
        if cls in matched and places == 1:
            return None
        found = class_attribute(cls, "__match_args__")
        if type(found) is not tuple:
            raise refuse(reasons.PATTERN, classes.name_of(cls))
        self.instances.guard_class(cls, "__match_args__", found)
        return found[:places]


__all__ = ["PatternEvents"]
