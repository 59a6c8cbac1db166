"""Convolutions for all doors: windows of an array, times weights as a matrix."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from dvm.building.builder import Builder, Size, Tensor

MOST_WINDOW_AXES = 3
MOST_AXES = 4  # of batches and windows together: a tile needs the others


def fixed(sizes: Sequence[Size]) -> list[int]:
    """Sizes of windows, which are numbers where convolutions are built."""
    numbers = [size for size in sizes if isinstance(size, int)]
    assert len(numbers) == len(sizes)
    return numbers


def convolved(
    b: Builder,
    x: Tensor,
    weights: Tensor,
    dtype: str,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: Sequence[int],
    groups: int,
) -> Tensor:
    """x[n, groups * c, ..] with weights[m, c, ..], m a multiple of the groups if there are some.

    Zeros are added before each axis, then behind each.
    """
    m, each, *window = weights.shape
    count = math.prod(window) * each
    batch: list[Size] = [x.shape[0]] if groups == 1 else [x.shape[0], groups]
    rows = m if groups == 1 else m // groups
    matrix = b.reshape(weights, [*batch[1:], rows, count])
    matrix = b.broadcast(matrix, [*batch, rows, count])
    if len(batch) + len(window) > MOST_AXES:
        batch = [math.prod(batch)]
        matrix = b.reshape(matrix, [*batch, rows, count])
    parts = b.reshape(x, [*batch, each, *x.shape[2:]])
    made = b.convolve(matrix, parts, dtype, window, strides, dilations, padding)
    return b.reshape(made, [x.shape[0], m, *made.shape[len(batch) + 1 :]])


@dataclass(frozen=True)
class _Phase:
    """Results `at + stride * i` along an axis of a transposed convolution.

    They are a convolution with some elements of the window, from the last one on: `count` of them,
    `apart` from each other, whose products lie `dilation` elements of x apart.
    """

    at: int
    last: int
    count: int
    apart: int
    dilation: int
    before: int  # zeros
    first: int  # how far before a result the element of x lies that its first product has


def _phases(window: int, stride: int, dilation: int) -> list[_Phase]:
    apart = stride // math.gcd(stride, dilation)
    phases = []
    for first in range(min(apart, window)):
        count = (window - first - 1) // apart + 1
        last = first + (count - 1) * apart
        shifts = first * dilation // stride, last * dilation // stride
        phases.append(
            _Phase(
                first * dilation % stride,
                last,
                count,
                apart,
                apart * dilation // stride,
                shifts[1],
                shifts[0],
            )
        )
    return phases


def transposed(
    b: Builder,
    x: Tensor,
    weights: Tensor,
    dtype: str,
    strides: Sequence[int],
    dilations: Sequence[int],
    low: Sequence[int],
    sizes: Sequence[Size],
    reach: Sequence[int],
    groups: int,
) -> Tensor:
    """x[n, groups * c, ..] with weights[groups * c, m, ..]: each element of x adds a window.

    Results are those of `sizes` from the one at `low` on, `reach` of them from where the window of
    the last element of x begins. Results whose places leave the same remainder by the stride are a
    plain convolution of x: no zeros are put between its elements.
    """
    channels, m, *_ = weights.shape
    window = fixed(weights.shape[2:])
    each = channels // groups
    axes = len(window)
    grouped = b.reshape(weights, [groups, each, m, *window])
    turned = b.transpose(grouped, [0, 2, 1, *range(3, axes + 3)])
    # Places of results are counted by strides: as many as x has, and some.
    more = [-(-count // s) - 1 for count, s in zip(reach, strides, strict=True)]
    counts = [n + k for n, k in zip(x.shape[2:], more, strict=True)]

    def part(phases: Sequence[_Phase]) -> Tensor:
        starts = [0, 0, 0, *(p.last for p in phases)]
        shape = [groups, m, each, *(p.count for p in phases)]
        chosen = b.slice(turned, starts, shape, [1, 1, 1, *(-p.apart for p in phases)])
        matrix = b.reshape(chosen, [groups * m, each, *(p.count for p in phases)])
        behind = [max(k - p.first, 0) for k, p in zip(more, phases, strict=True)]
        padding = [*(p.before for p in phases), *behind]
        ones = [1] * axes
        made = convolved(b, x, matrix, dtype, ones, [p.dilation for p in phases], padding, groups)
        return b.slice(made, [0] * made.rank, [*made.shape[:2], *counts], [1] * made.rank)

    choices = [_phases(k, s, d) for k, s, d in zip(window, strides, dilations, strict=True)]
    spread = [n * s for n, s in zip(counts, strides, strict=True)]
    shape = [x.shape[0], groups * m, *spread]
    if all(s == 1 for s in strides):
        made = part([phases[0] for phases in choices])
    else:
        is_whole = all(len(p) == s for p, s in zip(choices, strides, strict=True))
        made = b.wrap(b.graph.empty(dtype, shape)) if is_whole else b.constant(0, dtype, shape)
        for phases in itertools.product(*choices):
            made = b.update(made, part(phases), [0, 0, *(p.at for p in phases)], [1, 1, *strides])
    return b.slice(made, [0, 0, *low], [*shape[:2], *sizes], [1] * (axes + 2))
