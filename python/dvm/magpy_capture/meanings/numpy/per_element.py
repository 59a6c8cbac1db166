"""Functions of the user's that NumPy calls for each element: np.vectorize, np.frompyfunc."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.plain_code import is_made_of_function, runs_plainly
from dvm.magpy_capture.meanings.python.opaque import NONE
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import calls_of_each
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    FunctionValue,
    Literal,
    Named,
    Sequence,
    resolve,
)
from dvm.magpy_capture.values.kinds import is_fixed, name_of


class PerElement(NumpyPart):
    """Calls of np.vectorize, np.frompyfunc and what they make."""

    needs = "caller graph heap host_operations ledger program"

    def require_plain(self, function: Any) -> None:
        """Where it calls a function of the user's for each element."""
        if is_made_of_function(function):
            self.require_plain_code(function, self.program.constant(function))

    def require_plain_code(self, thing: Any, register: int) -> None:
        """C code calls the user's function out of sight: on no path may it do more than compute."""
        test = self.program.step("call", self.program.constant(runs_plainly), [register], ())
        self.program.guard("guard_truth", test, plain := runs_plainly(thing), key=(test,))
        if not plain or self.ledger.stores:
            raise refuse(reasons.CALLED_FOR_EACH, name_of(thing))
        self.caller.pass_by_bodies()

    @calls_of_each([np.frompyfunc, np.vectorize])
    def made_of_function(
        self, maker: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """`np.frompyfunc(f, 1, 1)` or `np.vectorize(f)`: what was recorded serves all calls.

        A function that closes over something is another on each call.
        """
        if named:
            raise refuse(reasons.CALL, name_of(maker))
        function = resolve(positional[0]) if positional else NONE
        known = isinstance(function, (Literal, Closure, FunctionValue))
        given = function.object if known else None
        fixed = isinstance(function, (Literal, FunctionValue))
        if isinstance(function, Closure) and isinstance(given, types.FunctionType):
            fixed = not (given.__closure__ or given.__defaults__ or given.__kwdefaults__)
        if not callable(given) or not fixed or not all(map(is_fixed, positional[1:])):
            raise refuse(reasons.CALL_MAKES, name_of(maker), describe(function))
        if isinstance(function, FunctionValue):
            self.program.guard_is(function.register, given)
        return Literal(seen)

    def vectorized(
        self, callee: Abstract, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A call of an np.vectorize."""
        self.graph.check_modes()
        arguments = [resolve(value) for value in [*positional, *named.values()]]
        for argument in arguments:
            if not self.host_operations.is_pure(argument):
                raise refuse(reasons.FUNCTION_OF, "np.vectorize", describe(argument))
        register = self.program.register_of(callee)
        self.require_plain_code(callee.object, register)
        registers = [register, *map(self.program.register_of, arguments)]
        function = self.program.constant(np.vectorize.__call__)
        self.graph.opaque_calls.append(("numpy.vectorize", self.program.at))
        made = self.program.step("call", function, registers, tuple(named), True)
        if isinstance(seen, tuple):
            parts = enumerate(seen)
            return Sequence(
                [self.heap.computed(self.program.step("item", made, i), part) for i, part in parts]
            )
        return self.heap.computed(made, seen)


__all__ = ["PerElement"]
