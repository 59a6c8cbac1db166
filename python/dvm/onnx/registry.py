"""The one table of ONNX's operators: which function makes nodes of the Graph of each."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Make = TypeVar("Make", bound=Callable[..., Any])

#: files of rows, by family
FAMILIES = (
    "elementwise",
    "activations",
    "reductions",
    "moves",
    "indexing",
    "products",
    "convolution",
    "pooling",
    "resize",
    "sampling",
    "norms",
    "recurrent",
    "quantised",
    "control_flow",
    "sequences",
    "signals",
    "detection",
    "host",
)


@dataclass(frozen=True)
class Row:
    """One operator from a version of its domain on.

    make: is given a `Context` and the operands, attributes by their names; what is an attribute in
        one version and an operand in another is one parameter.
    structure: parameters that decide which nodes there are: arrays whose elements are known.
    sizes: parameters whose elements may be sizes.
    raw: parameters that are given as they are, known or not.
    note: what docs/onnx-ops.md says of it.
    """

    name: str
    since: int
    make: Callable[..., Any]
    structure: frozenset[str]
    sizes: frozenset[str]
    raw: frozenset[str]
    domain: str = ""
    parameters: tuple[str, ...] = ()
    variadic: str = ""
    note: str = ""
    keywords: frozenset[str] = field(default_factory=frozenset)


def full_name(domain: str, name: str) -> str:
    """Return how an operator of any domain is named."""
    return f"{domain}::{name}" if domain else name


ROWS: dict[tuple[str, str], list[Row]] = {}


def op(
    *names: str,
    since: int = 1,
    domain: str = "",
    structure: Iterable[str] = (),
    sizes: Iterable[str] = (),
    raw: Iterable[str] = (),
    note: str = "",
) -> Callable[[Make], Make]:
    """Say of a function that it makes nodes of the operators of these names."""

    def add(make: Make) -> Make:
        kinds = inspect.Parameter
        given = list(inspect.signature(make).parameters.values())[1:]
        positional = tuple(p.name for p in given if p.kind is kinds.POSITIONAL_OR_KEYWORD)
        variadic = next((p.name for p in given if p.kind is kinds.VAR_POSITIONAL), "")
        keywords = frozenset(p.name for p in given if p.kind is not kinds.VAR_POSITIONAL)
        sets = frozenset(structure), frozenset(sizes), frozenset(raw)
        for name in names:
            row = Row(name, since, make, *sets, domain, positional, variadic, note, keywords)
            rows = ROWS.setdefault((domain, name), [])
            rows.append(row)
            rows.sort(key=lambda r: -r.since)
        return make

    return add


@functools.cache
def load_families() -> None:
    """Import the files of rows, once."""
    for family in FAMILIES:
        importlib.import_module(f"dvm.onnx.ops.{family}")


def find(domain: str, name: str, version: int) -> Row | None:
    """Return the row that an operator has in a version of its domain."""
    load_families()
    for row in ROWS.get((domain, name), ()):
        if row.since <= version:
            return row
    return None
