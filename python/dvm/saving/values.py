"""What is known of the registers of a path that is read, not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Given:
    """What the caller hands over: an argument, or what lies in one that is a container."""

    object: Any
    name: str


@dataclass
class Known:
    """An object of the program, which is the same in each call, and how it is reached."""

    object: Any
    name: str = ""


@dataclass
class Size:
    """A number that sizes tell."""

    text: str


@dataclass
class Compared:
    """A comparison of sizes."""

    left: str
    compare: str
    right: str


@dataclass
class Made:
    """A result of the graph."""

    value: int


@dataclass
class Container:
    """A tuple, list or dict that the function makes, by names."""

    items: dict[str, Any]


@dataclass
class Foreign:
    """What only Python can tell, and whether from an argument."""

    what: str
    is_given: bool
