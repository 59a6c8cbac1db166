"""`inspect.signature` of functions in Python: the names of their parameters.

They follow from the code, which is guarded; what a function says of itself in other ways
(`__signature__`) has no meaning here, nor has anything else of a signature.
"""

from __future__ import annotations

import inspect
import types
from dataclasses import dataclass
from typing import Any

from dvm import reasons
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import attributes_of, means
from dvm.magpy_capture.values import (
    Abstract,
    DictValue,
    Hidden,
    Method,
    resolve,
)

#: what the recorder does not enter
LEAVES = (inspect.signature, vars(inspect.Signature)["parameters"].fget)
#: attributes of a function that `inspect.signature` goes by before its code
INSTEAD = frozenset({"__signature__", "_partialmethod"})


@dataclass(eq=False)
class SignatureValue:
    """What it returns."""

    names: list[str]


class Signatures(PythonPart):
    """Which parameters a function has."""

    needs = "program"

    @means(inspect.signature)
    def signature(self, callable: Abstract) -> Any:
        value = resolve(callable)
        if isinstance(value, Method):
            register, function = self.program.constant(value.function), value.function
        else:
            register, function = self.program.register_of(value), getattr(value, "object", None)
        is_bound = isinstance(value, Method) or type(function) is types.MethodType
        if type(function) is types.MethodType:
            register, function = self._part(register, "__func__"), function.__func__
        code = self._code(register, function, value)
        names = names_of(code)
        return SignatureValue(names[1:] if is_bound and code.co_argcount else names)

    @attributes_of(SignatureValue)
    def attribute(self, base: SignatureValue, name: str, seen: Any) -> Abstract:
        if name != "parameters":
            raise refuse(reasons.ATTRIBUTE_OF, name, "a signature")
        return DictValue({each: Hidden("a parameter") for each in base.names})

    def _code(self, register: int, function: Any, value: Abstract) -> types.CodeType:
        """The code of the function, or of the innermost one that it says that it wraps."""
        while isinstance(function, types.FunctionType) and not INSTEAD & vars(function).keys():
            held = vars(function)
            self.program.guard_type(register, function)
            table = self._part(register, "__dict__")
            self.program.guard("guard_keys", table, tuple(held), key=(table,))
            if "__wrapped__" not in held:
                self.program.guard_is(self._part(register, "__code__"), function.__code__)
                return function.__code__
            register, function = self._part(register, "__wrapped__"), held["__wrapped__"]
        raise refuse(reasons.FUNCTION_OF, "signature", describe(value))

    def _part(self, register: int, name: str) -> int:
        return self.program.step("getattr", register, name, key=("getattr", register, name))


def names_of(code: types.CodeType) -> list[str]:
    """Of its parameters, as a signature has them."""
    given, plain = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames
    surplus = plain + bool(code.co_flags & inspect.CO_VARARGS)
    last = surplus + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return [*names[:given], *names[plain:surplus], *names[given:plain], *names[surplus:last]]


__all__ = ["LEAVES", "SignatureValue", "Signatures"]
