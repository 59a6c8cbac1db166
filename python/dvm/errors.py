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
    "ShapeError",
    "SimulationError",
    "UnsupportedError",
]


def make(name: str, message: str) -> Error:
    """Return the exception of row `name` of the error table, worded as the native core does."""
    for code, class_name, row, hint in error_table:
        if row == name:
            error: Error = globals()[class_name](f"{code} {message}. Hint: {hint}.")
            error.code, error.hint, error.location = code, hint, ""
            return error
    raise KeyError(name)


def unknown(row: str, what: str, given: object, valid: Iterable[str]) -> Error:
    """Return the exception for a name that is not in a list, with the list and a suggestion."""
    import difflib  # the rest of dvm does without it

    names = list(valid)
    close = difflib.get_close_matches(str(given), names, n=1)
    meant = f"did you mean {close[0]!r}? " if close else ""
    return make(row, f"there is no {what} {given!r}; {meant}valid are {', '.join(names)}")
