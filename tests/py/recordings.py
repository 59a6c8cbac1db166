"""What the tests of the recorders share: a recording as text that can be written down."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dvm import _dvm

Recording = dict[str, Any]


@pytest.fixture(autouse=True)
def leaves() -> Iterator[Callable[..., None]]:
    """Follow everything but the callables that the test names; importing it is using it."""
    before = _dvm.set_leaves([])
    yield lambda *callables: _dvm.set_leaves(callables) and None
    _dvm.set_leaves(before)


def record(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Recording:
    """Run the function under the recorder."""
    recording: Recording = _dvm.record(function, *args, **kwargs)
    return recording


def node_text(recording: Recording, node: int) -> str:
    """Name a node by where it comes from: `x`, `global np`, `=3`, `e2`."""
    if node < 0:
        return "-"
    origin, index, name, _scope, seen, _snapshot = recording["nodes"][node]
    if origin == "argument":
        return f"arg{index}"
    if origin == "global":
        return str(name)
    if origin == "closure":
        return "cell"
    if origin == "default":
        return f"default{index}"
    if origin == "event":
        return f"e{index}"
    return _constant_text(seen)


def _constant_text(seen: Any) -> str:
    if isinstance(seen, types.CodeType):
        return f"={seen.co_name}"
    if isinstance(seen, types.FunctionType):
        return f"={seen.__name__}"
    if isinstance(seen, types.CellType):
        return "=cell"
    if isinstance(seen, dict) and "__builtins__" in seen:
        return "=globals"
    if isinstance(seen, type):
        return f"={seen.__name__}"
    return f"={seen!r}"


def event_lines(recording: Recording) -> list[str]:
    """One line per event: number, kind, name, operands, keywords, result.

    The result is left out where it is the event's own node, as it nearly always is.
    """
    lines = []
    for number, event in enumerate(recording["events"]):
        kind, name, operands, keywords, result, _location, followed = event
        words = [f"e{number}", kind + ("*" if followed else "")]
        words += [name] if name else []
        words += [f"({' '.join(node_text(recording, node) for node in operands)})"]
        words += [",".join(keywords)] if keywords else []
        alias = node_text(recording, result)
        words += [f"-> {alias}"] if alias not in ("-", f"e{number}") else []
        lines.append(" ".join(words))
    return lines
