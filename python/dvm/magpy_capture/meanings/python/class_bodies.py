"""Bodies of class statements that give the same on every call.

They bind methods, constants and what modules have under a name: instructions in a row, which are
executed here over values that are known, and over MADE, which stands for what the body makes. One
that does more is refused.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

from dvm import reasons
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.recording.operations import operations

#: Operations that leave nothing behind.
IDLE = frozenset({"nothing", "resume", "make_cell", "setup_annotations", "kw_names"})
#: What a body may call: it makes an object, and runs no code of the program's.
MAKERS: tuple[Any, ...] = (property, staticmethod, classmethod, dataclasses.field)
#: Which types may be subscripted: `list[int]` in an annotation.
GENERIC: tuple[Any, ...] = (list, tuple, dict, set, frozenset, type)

MADE, PROPERTY, NULL, ANNOTATIONS, LOCALS = (object() for _ in range(5))
#: A tuple of what the body makes: a part of a function, perhaps, but bound to no name.
PARTS = object()
DEFAULTS = 0x3  # parts of a function that an instruction brings


class ClassBody:
    """The code of a class body over a stack of values.

    read_global: asked for (function, name) of names that the body has not bound.
    read_attribute: asked for (object, name) of objects that were found so.
    """

    def __init__(
        self,
        function: types.FunctionType,
        read_global: Callable[[types.FunctionType, str], Any],
        read_attribute: Callable[[Any, str], Any],
    ) -> None:
        self.function = function
        self.read_global, self.read_attribute = read_global, read_attribute
        self.stack: list[Any] = []
        self.names: dict[str, Any] = {"__annotations__": ANNOTATIONS}

    def run(self) -> set[str]:
        """The names that are bound to what the body has made.

        Raises:
            NotCapturable: if it does more than that.
        """
        for each in operations(self.function.__code__):
            if each.name == "return_value":
                break
            if each.name not in IDLE:
                step = getattr(self, f"on_{each.name}", None)
                if step is None:
                    raise refuse(reasons.CLASS_DEFINITION)
                step(each.value)
        return {name for name, value in self.names.items() if value is MADE or value is PROPERTY}

    def _pop(self, count: int) -> list[Any]:
        popped = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return popped

    def on_push_null(self, _: Any) -> None:
        self.stack.append(NULL)

    def on_load_const(self, value: Any) -> None:
        self.stack.append(value)

    def on_load_name(self, name: str) -> None:
        known = name in self.names
        self.stack.append(self.names[name] if known else self.read_global(self.function, name))

    def on_store_name(self, name: str) -> None:
        value = self.stack.pop()
        if value is PARTS:
            raise refuse(reasons.CLASS_DEFINITION)
        self.names[name] = value

    def on_load_attr(self, name: str) -> None:
        owner = self.stack.pop()
        accessor = owner is PROPERTY and name in ("getter", "setter", "deleter")
        self.stack.append(property if accessor else self.read_attribute(owner, name))

    def on_load_locals(self, _: Any) -> None:
        self.stack.append(LOCALS)

    def on_store_deref(self, _: Any) -> None:
        """Of what annotations are found out in, when somebody asks for them (3.14)."""
        if self.stack.pop() is not LOCALS:
            raise refuse(reasons.CLASS_DEFINITION)

    def on_load_closure(self, _: Any) -> None:
        self.stack.append(MADE)

    def on_copy(self, place: int) -> None:
        self.stack.append(self.stack[-place])

    def on_build_tuple(self, count: int) -> None:
        parts = self._pop(count)
        made = any(part is each for part in parts for each in (MADE, PROPERTY, PARTS))
        self.stack.append(PARTS if made else tuple(parts))

    def on_build_const_key_map(self, count: int) -> None:
        self.on_build_tuple(count + 1)

    def on_build_map(self, count: int) -> None:
        self.on_build_tuple(2 * count)

    def on_subscript(self, _: Any) -> None:
        owner, _ = self._pop(2)
        if not any(owner is each for each in GENERIC):
            raise refuse(reasons.CLASS_DEFINITION)
        self.stack.append(MADE)

    def on_store_subscript(self, _: Any) -> None:
        _, container, _ = self._pop(3)
        if container is not ANNOTATIONS:
            raise refuse(reasons.CLASS_DEFINITION)

    def on_make_function(self, flags: int) -> None:
        """Of the defaults, none may be made anew on each call."""
        self._pop(1)
        for flag in reversed([1 << i for i in range(4) if flags >> i & 1]):
            self._check_part(flag, *self._pop(1))
        self.stack.append(MADE)

    def on_set_function_attribute(self, flag: int) -> None:
        part, function = self._pop(2)
        self._check_part(flag, part)
        self.stack.append(function)

    def _check_part(self, flag: int, part: Any) -> None:
        if flag & DEFAULTS and part is PARTS:
            raise refuse(reasons.CLASS_DEFINITION)

    def on_call_kw(self, count: int) -> None:
        self._pop(1)
        self.on_call(count)

    def on_call(self, count: int) -> None:
        """The callee beside NULL, then arguments; or as a decorator is called: both at once."""
        callee, *given = (part for part in self._pop(count + 2) if part is not NULL)
        if not any(callee is maker for maker in MAKERS) or any(part is PARTS for part in given):
            raise refuse(reasons.CLASS_DEFINITION)
        self.stack.append(PROPERTY if callee is property else MADE)


__all__ = ["ClassBody"]
