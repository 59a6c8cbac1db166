"""Generators of random numbers that the program makes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import calls_of_each
from dvm.magpy_capture.values import Abstract, Host, Named, resolve
from dvm.magpy_capture.values.kinds import name_of

#: make a generator of random numbers, from a seed or from the operating system's entropy
GENERATORS: frozenset[Any] = frozenset(
    {
        np.random.default_rng,
        np.random.RandomState,
        np.random.Generator,
        np.random.SeedSequence,
        np.random.MT19937,
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.Philox,
        np.random.SFC64,
        random.Random,
    }
)


@calls_of_each(GENERATORS)
def make_generator(
    lower: NumpyPart, function: Any, positional: list[Abstract], named: Named, seen: Any
) -> Abstract:
    """A generator of the path's own, made anew on every call."""
    for argument in map(resolve, [*positional, *named.values()]):
        is_source = isinstance(argument, Host) and argument.made
        if not lower.host_operations.is_pure(argument) and not is_source:
            raise refuse(reasons.FUNCTION_OF, name_of(function), describe(argument))
    return lower.host_operations.host_call(
        lower.program.constant(function), positional, named, seen
    )
