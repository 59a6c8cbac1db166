"""Where a warning of the program's own would go: asked on every replay that gives one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

from dvm import classes
from dvm.magpy_capture.meanings.python.log_records import is_plain_stream

IMPLEMENTATION: Any = warnings._showwarnmsg_impl  # type: ignore[attr-defined]


def would_raise(text: str, category: type[Warning], module: str, line: int) -> bool:
    """Whether a filter makes an exception of this warning."""
    for action, where, number in _filters_of(text, category):
        if number in (0, line) and _matches(where, module):
            return action == "error"
    return bool(warnings.defaultaction == "error")  # type: ignore[attr-defined]


def _filters_of(text: str, category: type[Warning]) -> Iterator[tuple[str, Any, int]]:
    """Action, module and line of the filters for such a warning; a replay's own do not count."""
    for action, message, kind, module, line in warnings.filters:
        is_ours = classes.name_of(type(message)) == "WarningPattern"
        if not is_ours and issubclass(category, kind) and _matches(message, text):
            yield action, module, line


def _matches(pattern: Any, text: str) -> bool:
    if pattern is None or isinstance(pattern, str):
        return pattern is None or pattern == text
    return pattern.match(text) is not None


def may_raise_for_callers(text: str, category: type[Warning]) -> bool:
    """The same, where the place is not known before the warning is given."""
    for action, where, number in _filters_of(text, category):
        if (where is None and number == 0) or action == "error":
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
