"""A generated program: a module's source with a function `f`, and the calls to make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .arguments import CallWriter, Freedom, Parameter, parameters
from .choices import Choices
from .facts import Facts
from .statements import Statements, indent

#: What every program may refer to; its state is compared after each call.
MODULES = ("collections", "functools", "itertools", "math", "operator")
IMPORTS = "".join(f"import {module}\n" for module in MODULES) + "\nimport numpy as np\n"
PRELUDE = f"""\
{IMPORTS}
class Box:
    def __init__(self):
        self.value = None
        self.count = 0
        self.bias = np.array([1.0, -2.0, 3.0, 0.0])

    @property
    def doubled(self):
        return self.value + self.value

    def put(self, value):
        self.last, self.value = self.value, value
        self.count += 1
        return self.last

BOX = Box()
WEIGHT = np.array([2.0, 1.0, -1.0, 3.0])
SCALE = 2
STATE = {{'calls': 0, 'last': None}}
LOG = []
"""
#: What may change between calls.
CHANGES = ["SCALE = 3", "WEIGHT = np.array([1.0, 0.0, 2.0, -1.0])", "SCALE = 1.5", "BOX.count += 1",
           "WEIGHT = WEIGHT[::-1]", "BOX.bias[0] += 1.0", "LOG = []",
           "errstate = {'all': 'raise'}", "errstate = {'all': 'ignore'}"]  # fmt: skip


@dataclass(frozen=True)
class Program:
    """body: lines of `f`; helpers: lines before it; calls: source that assigns `arguments`.

    rounded: largest magnitude of a value whose last bits are not defined; 0 if there is none.
    eps: the coarsest relative precision of such a value.
    signed_zeros: whether the sign of zeros is defined everywhere.
    """

    names: tuple[str, ...]
    helpers: tuple[str, ...]
    body: tuple[str, ...]
    calls: tuple[str, ...]
    rounded: float
    eps: float
    signed_zeros: bool

    @property
    def function(self) -> str:
        lines = [*self.helpers, f"def f({', '.join(self.names)}):", *indent(list(self.body))]
        return "\n".join(lines) + "\n"

    @property
    def source(self) -> str:
        return PRELUDE + "\n" + self.function

    def __str__(self) -> str:
        """Return a script that makes the calls, plain or compiled."""
        text = self.function + "".join(self.calls)
        needed = any(n in text for n in ("Box", "BOX", "WEIGHT", "SCALE", "STATE", "LOG"))
        prelude = PRELUDE if needed else IMPORTS
        parts = [prelude, self.function]
        for call in self.calls:
            parts.append(f"{call}\nlast_arguments = arguments\nlast_result = f(*arguments)")
            parts.append("print(last_result)\n")
        return "\n".join(parts)


def generate(choices: Choices) -> Program:
    wanted = parameters(choices)
    writer = Statements(choices)
    arguments = CallWriter(choices, wanted)
    first = arguments.first()
    live: dict[str, Any] = {}
    exec(PRELUDE, live)
    exec(first, live)
    writer.scope.live = live
    shared: dict[tuple[str, bool], frozenset[int]] = {}
    for parameter in wanted:
        writer.scope.memory[parameter.name] = _memory(writer, parameter, shared)
    for source in ("WEIGHT", "BOX.bias"):
        writer.globals[source] = writer.group(Facts(True, False, 64.0))
    body: list[str] = []
    for _ in range(choices.integer(2, 7)):
        body += writer.statement()
    body.append(f"return {writer.result()}")
    anything = not writer.rounded_bound and not writer.bounds_matter and writer.signed_zeros
    freedom = Freedom(writer.signed_zeros, anything)
    calls = [first, *arguments.rest(freedom, big=not any("for " in line for line in body))]
    if choices.chance(30) and "last_arguments" not in calls[-1]:
        calls = [calls[-1], *calls[:-1]]
    if choices.chance(25):
        at = choices.integer(2, len(calls) - 1)
        calls[at] = f"{choices.pick(CHANGES)}\n{calls[at]}"
    return Program(
        tuple(p.name for p in wanted),
        tuple(writer.helpers),
        tuple(body),
        tuple(calls),
        writer.rounded_bound,
        writer.rounded_eps,
        writer.signed_zeros,
    )


def _memory(
    writer: Statements, parameter: Parameter, shared: dict[tuple[str, bool], frozenset[int]]
) -> frozenset[int]:
    """Return the memory of a parameter; arrays that some call may alias share it."""
    if parameter.members:
        one, other = (_memory(writer, member, shared) for member in parameter.members)
        return one | other
    if parameter.kind != "array":
        return writer.group(parameter.facts)
    key = (np.dtype(parameter.dtype).str, parameter.real)
    if key not in shared:
        shared[key] = writer.group(parameter.facts)
    return shared[key]
