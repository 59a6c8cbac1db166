"""Random numbers: of NumPy's generators, old and new, and of Python's module `random`.

A draw is made where the program makes it. The state of the generator is what it was before, if the
replay is given up.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from dvm import reasons
from dvm.magpy_capture.libraries import generator_of, is_array
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    Instance,
    ListValue,
    Literal,
    Named,
    Tensor,
    resolve,
)

#: random functions that return what they draw and write into nothing
DRAWS = frozenset(
    "integers random normal uniform standard_normal choice permutation exponential poisson "
    "binomial beta gamma laplace logistic lognormal geometric rayleigh standard_exponential "
    "standard_gamma permuted "
    "standard_t triangular vonmises wald weibull zipf randint rand randn random_sample ranf sample "
    "random_integers chisquare dirichlet f gumbel hypergeometric logseries multinomial "
    "multivariate_normal negative_binomial pareto power standard_cauchy bytes seed".split()
)
DRAWS_INTO = frozenset({"random", "standard_normal", "standard_exponential", "standard_gamma"})

#: the same of Python's own
PYTHONS = frozenset(
    "random uniform triangular randint randrange getrandbits randbytes choice choices sample seed "
    "gauss normalvariate lognormvariate expovariate vonmisesvariate gammavariate betavariate "
    "paretovariate weibullvariate".split()
)


MOST_SHUFFLED = 1 << 10


def owner_of(function: Any) -> Any:
    """The generator of which it is a method, or None."""
    if (known := generator_of(function)) is not None:
        return known
    owner = getattr(function, "__self__", None)
    return owner if is_pythons(owner) else None


def is_pythons(owner: Any) -> bool:
    """Whether it is a generator of module `random` whose state can be put back."""
    return type(owner) is random.Random


class Randoms(PythonPart):
    """Calls of generators' methods."""

    needs = "graph heap host_operations opaque outputs program"

    def __init__(self) -> None:
        self.shuffled: set[int] = set()  # ids of the lists that were

    def random(
        self,
        owner: Any,
        function: Any,
        callee: int,
        positional: list[Abstract],
        named: Named,
        seen: Any,
    ) -> Abstract:
        """One call; `owner` is the generator, or the value that holds it."""
        positional = [resolve(value) for value in positional]
        named = {name: resolve(value) for name, value in named.items()}
        arguments = [*positional, *named.values()]
        name = getattr(function, "__name__", "")
        state = getattr(owner, "object", owner)
        holder = (
            owner.register if isinstance(owner, (Host, Instance)) else self.program.constant(state)
        )
        if name == "shuffle" and positional and isinstance(positional[0], ListValue):
            return self._shuffle_list(callee, holder, positional, named)
        if is_pythons(state):
            known = name in PYTHONS and not any(map(_is_array, self.opaque.parts_of(arguments)))
        else:
            known = (name in DRAWS or name == "shuffle") and "out" not in named
            known = known and not (name in DRAWS_INTO and len(positional) > 1)
            known = known and not (name == "permuted" and len(positional) > 2)
        if not known:
            raise refuse(reasons.RANDOM_FUNCTION, name)
        for argument in arguments:
            if not self.host_operations.is_pure(argument):
                raise refuse(reasons.RANDOM_DRAW, describe(argument))
        targets = positional[:1] if name == "shuffle" else []
        if targets and not _is_array(targets[0]):
            raise refuse(reasons.RANDOM_DRAW, describe(targets[0]))
        copies = {
            id(target): self.opaque.writable(function, target, arguments) for target in targets
        }
        registers = [self.opaque.given_register(argument, copies) for argument in arguments]
        made = self._draw(callee, holder, registers, tuple(named))
        for target in targets:
            if isinstance(target, Tensor):
                self.opaque.take_over(target, copies[id(target)])
            self.program.forget_results()
        return Literal(None) if seen is None else self.heap.computed(made, seen)

    def _draw(self, callee: int, holder: int, registers: list[int], names: tuple[str, ...]) -> int:
        self.graph.opaque_calls.append(("random", self.program.at))
        return self.program.step("call_random", callee, registers, names, holder, True)

    def _shuffle_list(
        self, callee: int, holder: int, positional: list[Abstract], named: Named
    ) -> Abstract:
        """A list of numbers and texts: one of the path's own is shuffled in its place.

        What the recorded one became is what it is in the end, so it must not change behind.
        """
        target, *rest = positional
        assert isinstance(target, ListValue)
        parts = [resolve(part) for part in target.elements]
        after = list(target.object) if type(target.object) is list else []
        # Each element is a step of the path.
        few = len(parts) <= MOST_SHUFFLED
        same = Counter(map(id, map(self.outputs.observed_value_of, parts))) == Counter(
            map(id, after)
        )
        plain = all(self.host_operations.is_pure(part) and not _is_array(part) for part in parts)
        if not (few and plain and same) or id(target) in self.shuffled or rest or named:
            raise refuse(reasons.SHUFFLE, describe(target))
        self.shuffled.add(id(target))
        made = self.program.step("list", [self.program.register_of(part) for part in parts])
        self._draw(callee, holder, [made], ())
        target.elements[:] = [
            self.heap.computed(self.program.step("item", made, place), seen)
            for place, seen in enumerate(after)
        ]
        target.wrote("replace")
        return Literal(None)


def _is_array(value: Abstract) -> bool:
    if isinstance(value, Tensor):
        return not value.is_scalar
    return isinstance(value, Host) and is_array(value.object)
