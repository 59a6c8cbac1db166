"""Where a warning of the program's own would go: asked on every replay that gives one."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from dvm.magpy_capture.log_records import is_plain_stream

IMPLEMENTATION: Any = warnings._showwarnmsg_impl  # type: ignore[attr-defined]


def would_raise(text: str, category: type[Warning], module: str, line: int) -> bool:
    """Whether a filter makes an exception of this warning; those of a replay do not count."""
    for action, message, kind, where, number in warnings.filters:
        if type(message).__name__ == "WarningPattern":
            continue
        if not issubclass(category, kind) or number not in (0, line):
            continue
        if _matches(message, text) and _matches(where, module):
            return action == "error"
    return bool(warnings.defaultaction == "error")  # type: ignore[attr-defined]


def _matches(pattern: Any, text: str) -> bool:
    if pattern is None or isinstance(pattern, str):
        return pattern is None or pattern == text
    return pattern.match(text) is not None


def may_raise_for_callers(text: str, category: type[Warning]) -> bool:
    """The same, where the place is not known before the warning is given."""
    for action, message, kind, where, number in warnings.filters:
        if type(message).__name__ == "WarningPattern" or not issubclass(category, kind):
            continue
        everywhere = where is None and number == 0
        if _matches(message, text) and (everywhere or action == "error"):
            return action == "error"
    return bool(warnings.defaultaction == "error")  # type: ignore[attr-defined]


def are_shown_plainly() -> bool:
    """Whether nobody can tell when a warning is shown: in a list, or on Python's own stream."""
    if warnings.showwarning is not warnings._showwarning_orig:  # type: ignore[attr-defined]
        return False
    shown = warnings._showwarnmsg_impl  # type: ignore[attr-defined]
    if shown is not IMPLEMENTATION:
        return type(getattr(shown, "__self__", None)) is list and shown.__name__ == "append"
    return sys.stderr is None or is_plain_stream(sys.stderr)


def give(
    text: str, category: type[Warning], module: str, line: int, file: str, scope: dict[str, Any]
) -> None:
    """`warnings.warn` as of this line of a module whose variables are `scope`."""
    registry = scope.setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, category, file, line, module, registry)
