"""dvm's exceptions. Every one carries `code` (stable, e.g. "DVM-U002"), `hint` and `location`.

The classes, codes and hints come from the native table (core/errors.def, printed as
docs/errors.md); this module only names them and raises the ones found on the Python side.
"""

from __future__ import annotations

from collections.abc import Iterable

from dvm._dvm import (
    CaptureError,
    DtypeError,
    Error,
    FormatError,
    GraphError,
    HostCallError,
    InternalError,
    PassError,
    ShapeError,
    SimulationError,
    UnsupportedError,
    error_table,
)

__all__ = [
    "CaptureError",
    "DtypeError",
    "Error",
    "FormatError",
    "GraphError",
    "HostCallError",
    "InternalError",
    "PassError",
    "ShapeError",
    "SimulationError",
    "UnsupportedError",
]

#: names that an error lists
MOST_LISTED = 24


def make(name: str, message: str, hint: str | None = None) -> Error:
    """Return the exception of row `name` of the error table, worded as the native core does.

    hint: what to do here, where that depends on the place; the row's own when None.
    """
    for code, class_name, row, usual in error_table:
        if row == name:
            what_to_do = usual if hint is None else hint
            text = f"{code} {message}" + ("" if message.endswith("?") else ".")
            error: Error = globals()[class_name](
                f"{text} Hint: {what_to_do}." if what_to_do else text
            )
            error.code, error.hint, error.location = code, what_to_do, ""
            return error
    raise KeyError(name)


def message_of(error: Error) -> str:
    """Return what an error says, without its code, line and hint."""
    text = str(error).removeprefix(f"{error.code} ").removeprefix(f"{error.location}: ")
    return text.removesuffix(f" Hint: {error.hint}.").removesuffix(".")


def misplaced(name: str) -> TypeError:
    """Return the exception for arguments of a call that were handed to dvm's function itself."""
    return TypeError(
        f"dvm.{name} takes the function alone and returns what calls it: write "
        f"dvm.{name}(f)(x, y), not dvm.{name}(f, x, y)"
    )


def unknown(row: str, what: str, given: object, valid: Iterable[str]) -> Error:
    """Return the exception for a name that is not in a list, with the list and a suggestion."""
    import difflib  # the rest of dvm does without it

    names = list(valid)
    close = difflib.get_close_matches(str(given), names, n=1)
    meant = f"did you mean {close[0]!r}? " if close else ""
    listed = ", ".join(names[:MOST_LISTED])
    if len(names) > MOST_LISTED:
        listed += f" and {len(names) - MOST_LISTED} more"
    return make(row, f"there is no {what} {given!r}; {meant}valid are {listed}")
