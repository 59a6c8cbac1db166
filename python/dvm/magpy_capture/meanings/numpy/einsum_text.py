"""The subscripts of np.einsum, and the memory order that NumPy gives to its results.

That order follows from how the arrays lie in memory, by rules of NumPy's iterators. It is not
worked out here: NumPy is asked, with arrays of two places along each axis that lie as those do.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

Order = tuple[int, ...]

#: How np.einsum goes about its operands: all at once, or in the steps that einsum_path finds.
Path = tuple[tuple[int, ...], ...] | None

#: Of more sizes that may be 1 it is asked which are, rather than tried whether that matters.
MOST_TRIED = 5


@dataclass(frozen=True)
class Subscripts:
    """What labels the axes of operands and result have.

    stretched: those that stand for an ellipsis, along which arrays of size 1 are repeated.
    """

    inputs: tuple[str, ...]
    output: str
    stretched: str


@functools.lru_cache(1024)
def parsed(text: str, ranks: tuple[int, ...]) -> Subscripts | None:
    """The labels of arrays of these ranks; None where NumPy would raise."""
    given, arrow, result = text.replace(" ", "").partition("->")
    parts = given.split(",")
    if len(parts) != len(ranks):
        return None
    own = [part.replace("...", "", 1) for part in parts]
    free = iter([letter for letter in ascii_letters if letter not in text])
    more = [rank - len(letters) for letters, rank in zip(own, ranks, strict=True)]
    if any(n < 0 or (n and "..." not in part) for n, part in zip(more, parts, strict=True)):
        return None
    dots = "".join(itertools.islice(free, max(more, default=0)))
    inputs = tuple(
        part.replace("...", dots[len(dots) - n :]) for part, n in zip(parts, more, strict=True)
    )
    letters = "".join(own)
    if not arrow:
        result = "..." + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    if dots and "..." not in result:
        return None
    output = result.replace("...", dots, 1)
    valid = letters.isascii() and (letters + "a").isalpha() and set(output) <= set("".join(inputs))
    if not valid or len(set(output)) < len(output) or len(dots) < max(more, default=0):
        return None
    return Subscripts(inputs, output, dots)


class Layout(NamedTuple):
    """How an array lies in memory: the order of its axes, and the text of each axis's size."""

    order: Order
    sizes: tuple[str, ...]


@functools.lru_cache(4096)
def memory_order(
    inputs: tuple[str, ...],
    output: str,
    layouts: tuple[Layout, ...],
    small: tuple[tuple[str, int], ...] = (),
    path: Path = None,
) -> Order:
    """The axes of np.einsum's result, outermost first; `small` are the sizes that are 0 or 1."""
    known = {"0": 0, "1": 1, **dict(small)}
    arrays = []
    for layout in layouts:
        sizes = [known.get(size, 2) for size in layout.sizes]
        stored = np.zeros([sizes[axis] for axis in layout.order], np.float32)
        arrays.append(stored.transpose([layout.order.index(axis) for axis in range(len(sizes))]))
    optimize: Any = ["einsum_path", *path] if path else False
    made = np.einsum(f"{','.join(inputs)}->{output}", *arrays, optimize=optimize)
    large = [axis for axis in range(made.ndim) if made.shape[axis] > 1]
    places = iter(sorted(large, key=lambda axis: -made.strides[axis]))
    # An axis of one place stays where it is.
    return tuple(next(places) if axis in large else axis for axis in range(made.ndim))


@functools.lru_cache(4096)
def sizes_that_matter(
    inputs: tuple[str, ...], output: str, layouts: tuple[Layout, ...], path: Path = None
) -> frozenset[str]:
    """Those for which the order, as far as it shows, is another one where they are 0 or 1."""
    sizes = sorted({size for layout in layouts for size in layout.sizes if not size.isdigit()})
    if len(sizes) > MOST_TRIED:
        return frozenset(sizes)
    sizes_of: dict[str, set[str]] = {}  # an ellipsis stands for axes of several sizes
    for names, layout in zip(inputs, layouts, strict=True):
        for name, size in zip(names, layout.sizes, strict=True):
            sizes_of.setdefault(name, set()).add(size)
    kept = set().union(*(sizes_of[name] for name in output))

    def order(small: dict[str, int]) -> Order:
        chosen = tuple((size, value) for size, value in small.items() if value < 2)
        return memory_order(inputs, output, layouts, chosen, path)

    matter: set[str] = set()
    # Where a size of the result is 0, there are no elements to lie in any order.
    choices = [(2, 1) if size in kept else (2, 1, 0) for size in sizes]
    for values in itertools.product(*choices):
        small = dict(zip(sizes, values, strict=True))
        one = {"0", "1", *(size for size in sizes if small[size] < 2)}
        shown = {axis for axis, name in enumerate(output) if sizes_of[name] - one}
        own = [axis for axis in order(small) if axis in shown]
        for size in {size for size in sizes if small[size] < 2} - matter:
            if own != [axis for axis in order({**small, size: 2}) if axis in shown]:
                matter.add(size)
    return frozenset(matter)


@functools.lru_cache(4096)
def path_by_sizes(
    inputs: tuple[str, ...], output: str, optimize: bool | str, names: str, *sizes: int
) -> str:
    """The steps that np.einsum takes with such sizes of the labels `names`, as a text."""
    size_of = dict(zip(names, sizes, strict=True))
    number = np.zeros((), np.float32)
    arrays = [np.broadcast_to(number, [size_of[name] for name in own]) for own in inputs]
    found, _ = np.einsum_path(f"{','.join(inputs)}->{output}", *arrays, optimize=optimize)
    return repr(tuple(found[1:]))
