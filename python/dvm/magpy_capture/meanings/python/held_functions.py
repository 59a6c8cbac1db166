"""Whether an object of a leaf package may run code of the user's, which nobody looks at."""

from __future__ import annotations

import types
from typing import Any

from dvm.annotating import is_packaged
from dvm.magpy_capture.libraries import NAMES, PLAIN_SCALARS, called_by, is_plain_array

_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None)})


def runs_own_code(thing: Any) -> bool:
    """Whether an object of a leaf package holds no function but its package's own."""
    return _is_own(thing, set())


def _is_own(thing: Any, seen: set[int]) -> bool:
    kind = type(thing)
    if id(thing) in seen or kind in _PLAIN or kind in PLAIN_SCALARS or is_plain_array(thing):
        return True
    seen.add(id(thing))
    if kind in (tuple, list):
        return all(_is_own(part, seen) for part in thing)
    if kind is dict:
        return all(_is_own(part, seen) for part in thing.values())
    if kind is types.MethodType:
        return _is_own(thing.__func__, seen) and _is_own(thing.__self__, seen)
    if (functions := called_by(thing)) is not None:
        return all(_is_own(function, seen) for function in functions)
    if kind is types.FunctionType:
        module = thing.__module__
        root = module.partition(".")[0] if isinstance(module, str) else "builtins"
        return root in ("builtins", *NAMES) or is_packaged(thing)
    if is_packaged(kind):
        return all(_is_own(part, seen) for part in getattr(thing, "__dict__", {}).values())
    # Of C, or of NumPy and the standard library's own: these call nothing that they are given.
    root = kind.__module__.partition(".")[0]
    return not callable(thing) or root in ("builtins", *NAMES) or isinstance(thing, type)


__all__ = ["runs_own_code"]
