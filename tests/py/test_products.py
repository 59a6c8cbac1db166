"""Generated products: subscripts of np.einsum, axes of np.tensordot, shapes of @, against NumPy.

Each program is captured once and then called with other sizes, 0 and 1 among them. Its results have
NumPy's dtypes, shapes, types and memory orders, and their floats are as near to sums in float64 as
sums are that are rounded at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm

Array = np.ndarray[Any, Any]

DTYPES = ("f8", "f8", "f4", "f2", "i8", "i4", "i1", "u2", "?")
LETTERS = "abcd"
#: of each letter, in the calls of one program
SIZES = ((2, 3, 4, 5), (3, 2, 2, 4), (1, 2, 3, 1), (2, 1, 1, 3), (4, 0, 2, 2), (5, 3, 0, 2))
EPSILON = {"f8": 2.0**-52, "f4": 2.0**-23, "f2": 2.0**-10}


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, turned: bool) -> Array:
    """Small numbers; of an array that is turned, the last axis lies outermost in memory."""
    stored = shape[-1:] + shape[:-1] if turned and shape else shape
    if dtype[0] == "f":
        made = rng.standard_normal(stored)
    else:
        made = rng.integers(0 if dtype[0] in "u?" else -9, 2 if dtype == "?" else 9, stored)
    made = np.asarray(made, dtype)
    return np.moveaxis(made, 0, -1) if turned and shape else made


def strides_that_show(x: Array) -> list[int]:
    return [stride for size, stride in zip(x.shape, x.strides, strict=True) if size > 1]


def check(function: Callable[..., Any], calls: list[list[Array]]) -> None:
    """Compare a compiled function with the plain one, call by call."""
    compiled = dvm.compile(function)
    for arrays in calls:
        expected, result = function(*arrays), compiled(*arrays)
        assert type(result) is type(expected)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        if result.size:
            assert strides_that_show(np.asarray(result)) == strides_that_show(np.asarray(expected))
        assert not any(np.may_share_memory(result, x) for x in arrays)
        name = expected.dtype.str[1:]
        if name not in EPSILON:
            np.testing.assert_array_equal(result, expected)
            continue
        wide = [x.astype("f8") for x in arrays]
        exact, scale = function(*wide), function(*map(abs, wide))
        bound = EPSILON[name] * (64 * scale if name != "f2" else 2 * scale + 64 * 2.0**-10) + 1e-300
        assert (abs(np.asarray(result, "f8") - exact) <= bound).all(), (result, exact)
    stats = compiled.stats
    assert (stats.fallbacks, stats.drops, stats.opaque) == (0, 0, 0), compiled.fallback_reasons
    assert stats.captures == 1, compiled.why_recompiled()
    assert stats.hits == len(calls) - 1


@st.composite
def subscripts(draw: st.DrawFn) -> str:
    """A text for np.einsum: one to three operands of up to three axes, and what is kept of them."""
    operands = draw(st.lists(st.text(LETTERS, max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(operands)))
    kept = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
    text = ",".join(operands)
    return text if draw(st.integers(0, 3)) == 0 else f"{text}->{''.join(kept)}"


def calls_of(
    data: st.DataObject, operands: list[str], dtype: str, *, small: bool = True
) -> list[list[Array]]:
    """Return the arrays of all calls; of sizes 0 and 1, too, where these say nothing of orders."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    turned = [data.draw(st.booleans()) for _ in operands]
    sizes = SIZES if small and not any(turned) else SIZES[:2] * 2
    return [
        [
            numbers(rng, tuple(call[LETTERS.index(x)] for x in letters), dtype, turn)
            for letters, turn in zip(operands, turned, strict=True)
        ]
        for call in sizes
    ]


@settings(max_examples=150, deadline=None)
@given(text=subscripts(), dtype=st.sampled_from(DTYPES), data=st.data())
def test_einsum_of_any_subscripts(text: str, dtype: str, data: st.DataObject) -> None:
    operands, _, kept = text.partition("->")
    parts = operands.split(",")
    if len(parts) == 1 and "->" in text and set(kept) == set(operands):
        parts, text = [*parts, ""], f"{operands},->{kept}"  # else it is a view
    elif len(parts) == 1 and "->" not in text and len(set(operands)) == len(operands):
        parts, text = [*parts, ""], f"{operands},"
    calls = calls_of(data, parts, dtype, small=False)
    check(lambda *arrays: np.einsum(text, *arrays), calls)


@settings(max_examples=60, deadline=None)
@given(
    shared=st.integers(0, 2),
    left=st.integers(0, 2),
    right=st.integers(0, 2),
    dtype=st.sampled_from(DTYPES),
    data=st.data(),
)
def test_tensordot_over_any_axes(
    shared: int, left: int, right: int, dtype: str, data: st.DataObject
) -> None:
    first = data.draw(st.permutations("ab"[:shared] + "cd"[:left]))
    second = data.draw(st.permutations("ab"[:shared] + "cd"[:right]))
    pairs = data.draw(st.permutations("ab"[:shared]))
    axes = [[part.index(x) for x in pairs] for part in (first, second)]
    if data.draw(st.booleans()):
        axes[1] = [axis - len(second) for axis in axes[1]]
    calls = calls_of(data, ["".join(first), "".join(second)], dtype)
    if not first or not second:
        return  # NumPy's own error or a product of numbers
    check(lambda a, b: np.tensordot(a, b, axes), calls)


@settings(max_examples=60, deadline=None)
@given(
    first=st.sampled_from(["b", "ab", "cab", "dcab"]),
    second=st.sampled_from(["b", "bd", "cbd"]),
    function=st.sampled_from([np.matmul, np.dot, np.inner]),
    dtypes=st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)),
    data=st.data(),
)
def test_products_of_any_ranks(
    first: str,
    second: str,
    function: Callable[..., Any],
    dtypes: tuple[str, str],
    data: st.DataObject,
) -> None:
    if function is np.inner and len(second) > 1:
        second = second[:-2] + "db"
    calls = calls_of(data, [first, second], dtypes[0])
    for arrays in calls:
        arrays[1] = arrays[1].astype(dtypes[1], order="K")
    check(lambda a, b: function(a, b), calls)


def _in_place(a, b):
    a @= b
    return a


def _reversed_in_place(a, b):
    rows = a[::-1]
    rows @= b
    return a


def _out(a, b, out):
    return np.matmul(a, b, out=out)


# What writes a product, and the sizes of its operands, by letter.
WRITES = {
    "in place": (_in_place, "mk rc"),
    "through a view": (_reversed_in_place, "mk rc"),
    "out": (_out, "mk kn rc"),
    "out of a batch": (_out, "mk kn src"),
    "vector": (lambda a, b, out: np.matvec(a, b, out=out), "mk k r"),
    "number": (lambda a, b, out: np.dot(a, b, out=out), "m m "),
}


@pytest.mark.parametrize("how", WRITES)
def test_what_is_written_has_the_sizes_of_the_product(how):
    """NumPy repeats a product for a batch alone: never a row or a column of size 1."""
    plain, axes = WRITES[how]
    compiled = dvm.compile(plain)
    rng = np.random.default_rng(3)

    def outcome(f, operands):
        operands = [array.copy() for array in operands]
        try:
            result = f(*operands)
        except ValueError:
            return None, [array.tolist() for array in operands]
        is_written = any(result is array for array in operands)
        return (
            (type(result), is_written, result.tolist()),
            [array.tolist() for array in operands],
        )

    with dvm.stance("force_capture"):
        for call in range(200):
            fits = call < 3  # what follows meets the path of these
            size = dict.fromkeys("mknrcs", 2 + call % 2)
            if not fits:
                size = dict(zip("mknrcs", rng.integers(1, 4, 6), strict=True))
            shapes = [[size[axis] for axis in each] for each in axes.split(" ")]
            operands = [np.array(rng.integers(0, 9, shape), "f8") for shape in shapes]
            assert outcome(compiled, operands) == outcome(plain, operands)


# How two vectors lie that have elements of one array.
APART: dict[str, Callable[[Array], list[Array]]] = {
    "backwards": lambda x: [x[::-2], x[: x.size // 2]],
    "second": lambda x: [x[: x.size // 2], x[::2]],
    "the same": lambda x: [x[::2], x[::2]],
    "repeated": lambda x: [np.broadcast_to(x[:1], x.size // 2), x[: x.size // 2][::-1]],
}


@pytest.mark.parametrize("lie", APART)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4"])
def test_vectors_that_lie_apart(lie, dtype):
    rng = np.random.default_rng(3)
    calls = [APART[lie](numbers(rng, (2 * size,), dtype, False)) for size in (2, 3, 64, 1001, 9000)]
    check(lambda x, y: x @ y, calls)
    check(lambda x: np.dot(x, x), [[x] for x, _ in calls])
