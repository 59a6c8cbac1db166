"""Arguments for programs: thirty shapes with the awkward ones among them, and memory layouts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from programs.registry import CALLS


def sizes(rng: np.random.Generator, rank: int, high: int = 24) -> Iterator[tuple[int, ...]]:
    """Yield 30 shapes: an ordinary one, then all ones, all zeros, a 0 or 1 among others, others.

    An ordinary one is first, for it is the one that is captured: the others must then replay.
    """

    def ordinary() -> list[int]:
        return [int(n) for n in rng.integers(2, high, rank)]

    awkward = [[1] * rank, [0] * rank]
    if rank > 1:
        for axis, size in itertools.product(range(rank), (0, 1)):
            shape = ordinary()
            shape[axis] = size
            awkward.append(shape)
    yield tuple(ordinary())
    yield from map(tuple, awkward)
    for _ in range(CALLS - 1 - len(awkward)):
        yield tuple(ordinary())


def lengths(rng: np.random.Generator, high: int = 200) -> Iterator[int]:
    """Yield 30 sizes, 1 and 0 among them."""
    return (n for (n,) in sizes(rng, 1, high))


LAYOUTS = ("c", "fortran", "transposed", "strided", "reversed")


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    """Return an array with these values whose memory is laid out as one of LAYOUTS.

    strided: every other element of a wider array; reversed: negative strides along every axis.
    """
    if layout == "c":
        return np.ascontiguousarray(values)
    if layout == "fortran":
        return np.asfortranarray(values)
    if layout == "transposed":
        return np.ascontiguousarray(values.T).T
    if layout == "strided":
        wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
        wide[..., ::2] = values
        return wide[..., ::2]
    return np.flip(np.ascontiguousarray(np.flip(values)))


def in_turn(*layouts: str) -> Iterator[str]:
    """Yield the layouts again and again."""
    return itertools.cycle(layouts)
