"""Which objects the recorded program has dropped and could see that they are still there.

As cpp/capture/record/lifetimes.h says, by counting references in plain Python.
"""

from __future__ import annotations

import dataclasses
import gc
import io
import sys
import types
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

_HAS_CONTENTS = 1 << 14  # Py_TPFLAGS_HAVE_GC
_LONGEST = 16  # tuple that is looked through
#: references to what an entry holds: the entry's own, and the argument of getrefcount
_OF_ENTRY = 2


def has_weak_references(thing: Any) -> bool:
    """Whether the program has some to it."""
    return any(type(each).__name__ != "KnownAs" for each in weakref.getweakrefs(thing))


def ends_visibly(kind: type) -> bool:
    """Whether code runs for each object of the class that dies."""
    return hasattr(kind, "__del__") and kind not in (io.StringIO, io.BytesIO)


def is_mute(thing: Any) -> bool:
    """Whether nobody can tell when it dies, and it holds nothing of which they could."""
    kind = type(thing)
    if kind is np.ndarray:
        while isinstance(thing, np.ndarray) and not has_weak_references(thing):
            if thing.dtype.hasobject:
                return False
            if thing.base is None:
                return True
            thing = thing.base
        return not isinstance(thing, np.ndarray) and is_mute(thing)
    if not kind.__flags__ & _HAS_CONTENTS:
        return not hasattr(kind, "__del__") and not has_weak_references(thing)
    if kind is tuple:
        return len(thing) <= _LONGEST and all(map(is_mute, thing))
    if kind is types.FunctionType:
        parts = (thing.__closure__, thing.__defaults__, thing.__kwdefaults__)
        return parts == (None, None, None) and not has_weak_references(thing)
    if issubclass(kind, (type, types.ModuleType)):
        return True
    if kind in (types.MethodDescriptorType, types.WrapperDescriptorType):
        return True
    if kind is not types.BuiltinFunctionType:
        return False
    holds = thing.__self__ is not None and not isinstance(thing.__self__, types.ModuleType)
    return not holds and not has_weak_references(thing)


def tells_end(thing: Any) -> bool:
    """Whether the program can tell that it dies, were that now."""
    if has_weak_references(thing):
        return True
    if type(thing) is types.GeneratorType:
        return False  # the reference follows none that has something to finish
    if hasattr(type(thing), "__del__"):
        return ends_visibly(type(thing))
    if isinstance(thing, weakref.ref):
        return thing.__callback__ is not None
    if type(thing) is memoryview:
        return not isinstance(thing.obj, (bytes, np.ndarray))
    return False


def contents(container: Any) -> Iterator[Any]:
    """All that it holds."""
    if isinstance(container, np.ndarray):
        if container.base is not None:
            yield container.base
        if container.dtype.hasobject:
            yield from container.flat
    yield from gc.get_referents(container)


@dataclasses.dataclass(eq=False)
class _Held:
    thing: Any
    ours: int = 0  # references that the recording has, this one aside
    dead: bool = False


class Lifetimes:
    """What the recording holds of the program's objects."""

    def __init__(self) -> None:
        self.held: dict[int, _Held] = {}
        self.watched: list[_Held] = []  # those that the program had at the last look

    def hold(self, thing: Any) -> None:
        """The recording has one reference more."""
        if is_mute(thing):
            return
        if id(thing) not in self.held:
            self.held[id(thing)] = _Held(thing)
            self.watched.append(self.held[id(thing)])
        self.held[id(thing)].ours += 1

    def hold_contents(self, container: Any) -> None:
        """The recording alone has the container, which has references to these."""
        for thing in contents(container):
            self.hold(thing)

    def look(self) -> list[Any]:
        """What the program has dropped since and could see, with what else holds that alone."""
        telling: dict[int, Any] = {}
        while dying := [
            held for held in self.watched if sys.getrefcount(held.thing) - _OF_ENTRY <= held.ours
        ]:
            for held in dying:
                held.dead = True
                self.watched.remove(held)
                if tells_end(held.thing):
                    telling[id(held.thing)] = held.thing
                self.hold_contents(held.thing)
        more = bool(telling)
        while more:
            holders = [
                held.thing
                for held in self.held.values()
                if held.dead
                and id(held.thing) not in telling
                and any(id(part) in telling for part in contents(held.thing))
            ]
            telling.update((id(holder), holder) for holder in holders)
            more = bool(holders)
        return list(telling.values())

    def look_without(self, variables: Sequence[Any]) -> list[Any]:
        """... as if a frame's variables were gone, of which this is a copy."""
        known = [self.held[id(each)] for each in variables if id(each) in self.held]
        for held in known:
            held.ours += 2
        dropped = self.look()
        for held in known:
            held.ours -= 2
        return dropped


__all__ = ["Lifetimes"]
