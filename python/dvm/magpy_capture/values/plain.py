"""Types of Python itself whose objects never change, and classes of modules that are large."""

from __future__ import annotations

import datetime
import sys

#: types whose operators are Python's own
PURE = (int, float, complex, bool, str, bytes, type(None), range, slice)
#: the same, of what an array of objects may hold
PLAIN = frozenset(
    {*PURE, type(Ellipsis)}
    | {getattr(datetime, name) for name in ("date", "datetime", "time", "timedelta")}
)


def imported(module: str, name: str) -> tuple[type, ...]:
    """A class of a large module, if the program has imported it; dvm does not, to save memory."""
    found = getattr(sys.modules.get(module), name, None)
    return () if found is None else (found,)


__all__ = ["PLAIN", "PURE", "imported"]
