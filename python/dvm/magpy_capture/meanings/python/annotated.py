"""Calls of functions that the user vouches for (dvm.annotate).

Such a function may be given objects of the program, and reads them as they are; so it is not called
where the path has changed some, for those changes are made at its end.
"""

from __future__ import annotations

import inspect
from typing import Any

from dvm import reasons
from dvm.annotating import PACKAGED, Annotation, is_packaged
from dvm.magpy_capture.libraries import SCALARS, is_array, library_of
from dvm.magpy_capture.meanings.python.held_functions import runs_own_code
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.meanings.python.opaque import signature_of
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    FunctionValue,
    Host,
    Instance,
    Literal,
    Method,
    Named,
    Partial,
    Tensor,
    resolve,
)
from dvm.magpy_capture.values.kinds import is_constant, is_fixed, name_of

#: Parameters of functions of leaf packages through which a call has effects.
EFFECTS = frozenset({"out", "random_state", "rng", "seed", "output", "callback"})
#: Functions and methods there that draw random numbers.
DRAWS = frozenset({"rvs", "random", "resample", "bootstrap", "permutation_test", "seed"})
#: Methods there that change nothing of their object, whatever class they are of.
METHODS = frozenset(
    "pdf logpdf cdf logcdf sf logsf ppf isf pmf logpmf mean median var std entropy moment stats "
    "interval __call__ derivative antiderivative query query_ball_point dot toarray todense tocsr "
    "tocsc tocoo transpose matvec rmatvec matmat __matmul__ __mul__ __add__ __sub__ multiply sum "
    "diagonal".split()
)


class AnnotatedCalls(PythonPart):
    """What each annotation allows."""

    needs = "arrays graph graph_bodies heap host_operations ledger locks memory opaque program"

    def __init__(self) -> None:
        self._kept_arrays: list[tuple[int, Any]] = []  # which objects of leaf packages may keep

    def annotated_call(
        self, function: Any, known: Annotation, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """One opaque call of the function, or a reason why there is none."""
        name = name_of(function)
        if known.never:
            raise refuse(reasons.ANNOTATED_NEVER, name)
        if known.op is not None:
            return self.graph_bodies.graph_call(function, known.op, positional, named, seen)
        if not known.pure:
            raise refuse(reasons.ANNOTATED_NOT_PURE, name)
        positional = [resolve(value) for value in positional]
        named = {key: resolve(value) for key, value in named.items()}
        arguments = [*positional, *named.values()]
        if known is PACKAGED:
            self._check_package_call(function, positional, named)
        targets = self._written_targets(function, known, positional, named)
        fixed = all(is_fixed(argument) for argument in arguments)
        if known.deterministic and fixed and not targets and is_constant(seen):
            return Literal(seen)
        if (
            not all(self.host_operations.is_pure(argument) for argument in arguments)
            and self.has_changed()
        ):
            raise refuse(reasons.CALL_AFTER_CHANGES, name)
        if known.fresh and self.opaque.shares_memory(seen, arguments):
            raise refuse(reasons.ANNOTATED_FRESH_BUT_SHARES, name)
        copies = {
            id(target): self.opaque.writable(function, target, arguments) for target in targets
        }
        if known is PACKAGED:
            self._check_held(arguments)
            if _may_keep(seen):
                copies |= self._kept_for_good(arguments)
        registers = [self.opaque.given_register(argument, copies) for argument in arguments]
        if name.partition(".")[0] != "scipy":
            self.locks.calls_unseen(name)
        self.graph.opaque_calls.append((name, self.program.at))
        made = self.program.step(
            "call", self.program.constant(function), registers, tuple(named), True
        )
        result = self._annotated_result(known, made, targets, seen)
        for target in targets:
            self.opaque.take_over(target, copies[id(target)])
        if targets:
            self.program.forget_results()
        return result

    def _check_package_call(self, function: Any, positional: list[Abstract], named: Named) -> None:
        """Refuse what a call of a function of a leaf package shows of its effects."""
        name = name_of(function)
        last = name.rpartition(".")[2]
        if last in DRAWS or not (last in METHODS or not _is_method(function)):
            raise refuse(reasons.PACKAGE_METHOD, name)
        for key, value in _by_name(function, positional, named).items():
            unset = isinstance(value, Literal) and (
                value.object in (None, False) or isinstance(value.object, str)
            )
            if (key in EFFECTS or key.startswith("overwrite_")) and not unset:
                raise refuse(reasons.PACKAGE_ARGUMENT, name, key)
        for value in [*positional[1 if _is_method(function) else 0 :], *named.values()]:
            held = value.object if isinstance(value, (Literal, Host, Instance)) else None
            is_function = isinstance(value, (Closure, FunctionValue, Method, Partial))
            if is_function or (callable(held) and not isinstance(held, type)):
                raise refuse(reasons.PACKAGE_CALLBACK, name, describe(value))

    def _annotated_result(
        self, known: Annotation, made: int, targets: list[Tensor], seen: Any
    ) -> Abstract:
        for target in targets:
            if seen is target.object:
                return target
        if known.fresh:
            return self.heap.adopt(made, seen, external=False)
        # It may live elsewhere as well: an object of the caller like any other.
        result = self.heap.reach(lambda: made, seen)
        if known is PACKAGED:
            self.keep_apart_from_kept(result, seen)
        return result

    # ---- objects of leaf packages

    def _check_held(self, arguments: list[Abstract]) -> None:
        """None of them holds a function of the user's, which would be called unseen."""
        for value in self.opaque.parts_of(arguments):
            if isinstance(value, Instance) and is_packaged(value.cls):
                own = runs_own_code(value.object)
                register = self.program.register_of(value)
                test = self.program.step(
                    "call", self.program.constant(runs_own_code), [register], ()
                )
                self.program.guard("guard_truth", test, own, key=(test,))
                if not own:
                    raise refuse(reasons.PACKAGE_CALLBACK, describe(value), "a function in it")

    def _kept_for_good(self, arguments: list[Abstract]) -> dict[int, int]:
        """The arrays themselves, which an object that is made of them may keep.

        From here on nobody may write them.
        """
        kept = {}
        for part in self.opaque.parts_of(arguments):
            if not isinstance(part, Tensor) or part.is_scalar:
                continue
            if part.storage.external and part.storage.written:
                raise refuse(reasons.VIEW_ARRAY_WRITTEN)
            kept[id(part)] = self.arrays.object_register(part)
            part.storage.frozen = True
            self._kept_arrays.append((kept[id(part)], part.object))
        return kept

    def keep_apart_from_kept(self, result: Abstract, seen: Any) -> None:
        """What came of an object is written only where it is none of the arrays that one keeps."""
        if not isinstance(result, Tensor) or result.is_scalar:
            return
        for register, array in self._kept_arrays:
            if array is None or library_of(array).may_share(array, seen):
                result.storage.frozen = True
            else:
                pair = (self.program.register_of(result), register)
                self.program.guard("guard_overlap", *pair, False, key=pair)

    def _written_targets(
        self, function: Any, known: Annotation, positional: list[Abstract], named: Named
    ) -> list[Tensor]:
        """The arrays that it writes into, by the names of its parameters."""
        if not known.writes:
            return []
        given = inspect.signature(function).bind(*positional, **named).arguments
        targets = [given[name] for name in sorted(known.writes) if name in given]
        for target in targets:
            if not isinstance(target, Tensor):
                raise refuse(reasons.WRITES_INTO_NO_ARRAY_GRAPH, name_of(function))
        return targets

    def has_changed(self) -> bool:
        """Whether some object of the caller is not yet what the program made of it."""
        objects = any(getattr(value, "changed", False) for value in self.heap.reached.values())
        return self.memory.has_written() or objects or bool(self.ledger.stores)


def _by_name(function: Any, positional: list[Abstract], named: Named) -> Named:
    """The arguments by the names of their parameters, where the function tells those."""
    try:
        return {**signature_of(function).bind(*positional, **named).arguments, **named}
    except (TypeError, ValueError):
        return named


def _may_keep(seen: Any) -> bool:
    """Whether a result is an object that may go on to read what it was made of."""
    if isinstance(seen, tuple):
        return any(map(_may_keep, seen))
    return not (seen is None or is_array(seen) or isinstance(seen, (*SCALARS, str, int, float)))


def _is_method(function: Any) -> bool:
    """Whether a function stands in a class, as far as its name tells."""
    return "." in getattr(function, "__qualname__", "").replace("<locals>.", "")
