"""What the program says of floating-point errors: np.errstate, np.geterr, np.seterr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.path.graphs import ERRORS, Modes
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import attributes_of, entered, means, methods_of
from dvm.magpy_capture.values import Abstract, DictValue, Literal, Method

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart

NONE = Literal(None)


@dataclass(eq=False)
class ErrorState:
    """An np.errstate that the program made."""

    changes: dict[str, str]
    before: Modes = ("warn", "warn", "ignore", "warn")

    def modes_over(self, modes: Modes) -> Modes:
        new = [
            self.changes.get(name, self.changes.get("all", mode))
            for name, mode in zip(ERRORS, modes, strict=True)
        ]
        return (new[0], new[1], new[2], new[3])


@means(np.errstate)
def make_errstate(lower: NumpyPart, **modes: Abstract) -> Abstract:
    changes = {name: lower.indexing.plain(mode) for name, mode in modes.items()}
    if "call" in changes:
        raise refuse(reasons.NP_ERRSTATE_CALL)
    return ErrorState(changes)


@attributes_of(ErrorState)
def method_of_state(_: NumpyPart, base: ErrorState, name: str, _seen: Any) -> Abstract:
    return Method(base, name)


@entered(ErrorState)
def enter(lower: NumpyPart, state: ErrorState) -> Abstract:
    state.before = lower.graph.modes
    lower.views.set_modes(state.modes_over(lower.graph.modes))
    return NONE


@methods_of(ErrorState)
def leave(lower: NumpyPart, state: ErrorState, *_call: Any) -> Abstract:
    """`__exit__`, which is the one method that it has here."""
    lower.views.set_modes(state.before)
    return NONE


@means(np.geterr)
def get_errstate(lower: NumpyPart) -> Abstract:
    """`np.geterr()`: what it says is guarded."""
    lower.graph.asked_modes = True
    return DictValue(
        {name: Literal(mode) for name, mode in zip(ERRORS, lower.graph.modes, strict=True)}
    )


@means(np.seterr)
def set_errstate(
    lower: NumpyPart, all: Abstract = NONE, *, seen: Any, **modes: Abstract
) -> Abstract:
    """`np.seterr`, as long as the program sets back what it gives."""
    before = get_errstate(lower)
    if seen != dict(zip(ERRORS, lower.graph.modes, strict=True)):
        raise refuse(reasons.ERRSTATE_OUTLIVES_FUNCTION)
    given = {
        "all": lower.indexing.plain(all),
        **{name: lower.indexing.plain(modes[name]) for name in modes},
    }
    changes = {name: mode for name, mode in given.items() if mode is not None}
    if not changes.keys() <= {"all", *ERRORS}:
        raise refuse(reasons.FUNCTION_WITH, "np.seterr", ", ".join(changes))
    lower.views.set_modes(ErrorState(changes).modes_over(lower.graph.modes))
    return before


__all__ = ["ErrorState"]
