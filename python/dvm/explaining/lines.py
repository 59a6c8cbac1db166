"""Lines of the user's program, and answers that print as lines."""

from __future__ import annotations

import linecache
from typing import TypeVar

T = TypeVar("T")


class Answers(tuple[T, ...]):
    """Records that print as one text, one after the other; an empty one prints as nothing."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def source(location: str) -> str:
    """Return the source of "file.py:12", stripped; empty where it cannot be read."""
    file, _, line = location.rpartition(":")
    return linecache.getline(file, int(line)).strip() if file and line.isdigit() else ""


def quoted(location: str) -> str:
    """Return "file.py:12: the source", as much of it as is known."""
    return ": ".join(filter(None, (location, source(location))))
