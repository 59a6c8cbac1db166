"""contextvars.ContextVar: read on each call, and set behind the commit.

A variable that the program gives its value back, as most do, is not set at all.
"""

from __future__ import annotations

import contextvars
from dataclasses import dataclass
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.ledger import Stored
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import adopts, attributes_of, methods_of
from dvm.magpy_capture.values import Abstract, Literal, Method, Named, resolve
from dvm.magpy_capture.values.kinds import is_fixed

#: what `get` is given, to tell a variable without a value
UNSET = Literal(_dvm.MISSING)
NONE = Literal(None)


@dataclass(eq=False)
class ContextVariable:
    """One that the program found: the same in each call of a path."""

    object: contextvars.ContextVar[Any]


@dataclass(eq=False)
class ContextToken:
    """What setting a variable gives: how it was before. `used`: it was given that back."""

    variable: ContextVariable
    before: Stored | None
    used: bool = False


class ContextVariables(PythonPart):
    """What the program reads in its context, and sets there."""

    needs = "heap ledger program"

    @adopts(contextvars.ContextVar)
    def adopt(self, register: int, seen: Any, external: bool = True) -> Abstract:
        self.program.guard_is(register, seen)
        return ContextVariable(seen)

    @attributes_of(ContextVariable)
    def attribute(self, base: ContextVariable, name: str, seen: Any) -> Abstract:
        return Literal(seen) if name == "name" else Method(base, name)

    @methods_of(ContextVariable)
    def method(
        self, base: ContextVariable, name: str, given: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        if named or name not in ("get", "set", "reset"):
            raise refuse(reasons.CALL_METHOD, name, describe(base))
        if name == "get":
            return self._get(base, *given, seen=seen)
        return self._set(base, *given) if name == "set" else self._reset(base, *given)

    def _get(
        self, variable: ContextVariable, default: Abstract | None = None, *, seen: Any
    ) -> Abstract:
        stored = self._stored(variable)
        if stored is not None:
            return resolve(stored.value)
        default = None if default is None else resolve(default)
        if default is None or is_fixed(default):
            made = self._asked(variable, [] if default is None else [default])
        else:
            made = self._asked(variable, [UNSET])
            if seen is getattr(default, "object", seen):  # it is the default, for all one can tell
                self.program.guard_is(made, _dvm.MISSING)
                return default
            unset = self.program.constant(_dvm.MISSING)
            self.program.guard("guard_same", made, unset, False)
        return self.heap.reach(lambda: made, seen)

    def _asked(self, variable: ContextVariable, default: list[Literal]) -> int:
        given = [self.program.constant(each) for each in (variable.object, *_objects(default))]
        get = self.program.constant(contextvars.ContextVar.get)
        return self.program.step("call", get, given, (), key=("context", *given))

    def _set(self, variable: ContextVariable, value: Abstract) -> Abstract:
        token = ContextToken(variable, self._stored(variable))
        self.ledger.store("context", variable.object, "", value)
        return token

    def _reset(self, variable: ContextVariable, given: Abstract) -> Abstract:
        token = resolve(given)
        if (
            not isinstance(token, ContextToken)
            or token.variable.object is not variable.object
            or token.used
        ):
            raise refuse(reasons.CALL_METHOD, "reset", describe(variable))
        token.used = True
        if token.before is None:
            self.ledger.forget("context", variable.object, "")
        else:
            self.ledger.store("context", variable.object, "", token.before.value)
        return NONE

    def _stored(self, variable: ContextVariable) -> Stored | None:
        return self.ledger.stored("context", variable.object, "")


def _objects(literals: list[Literal]) -> list[Any]:
    return [each.object for each in literals]


__all__ = ["ContextToken", "ContextVariable", "ContextVariables"]
