"""Programs that set `.shape` of arrays, the caller's and their own, between writes and reads.

Drawn by chance: each is run plain and compiled, several times over sizes, layouts and kinds of
argument. What it returns, what it raises and how it leaves the caller's arrays must be the same.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import dvm
from dvm.magpy_capture.meanings.numpy.array_attributes import SHAPE_IS_DEPRECATED

#: statements over the caller's arrays A and B, a number k, and the program's own x, y and v
STATEMENTS = (
    "A.shape = (-1,)",
    "A.shape = A.size",
    "A.shape = A.shape[::-1]",
    "A.shape = (1, *A.shape)",
    "A.shape = (2, -1)",
    "if A.ndim == 2: A.shape = (-1,)",
    "if k > 1: A.shape = (-1, 1)",
    "held[0].shape = (-1, 1)",
    "box['a'].shape = (-1,)",
    "x.shape = (-1,)",
    "x.shape = x.shape[::-1]",
    "x.shape = (2, -1)",
    "y.shape = (-1, 1)",
    "v.shape = (-1,)",
    "A.dtype = 'i8'",
    "A[np.ix_(I[:1], J[:1])] += 1",
    "A[I] = 2",
    "A[0] = 3",
    "A[..., 0] += B.sum()",
    "A += 1",
    "A.flat[0] = 5",
    "held[0] *= 2",
    "np.add(A, 1, out=A)",
    "x = A * 2",
    "x = np.zeros(A.shape)",
    "x = A.copy()",
    "x[0] = k",
    "x += 1",
    "y = x + 1",
    "y = A[I]",
    "v = A[:1]",
    "v = x[:1]",
    "v = A.T",
    "v += 1",
    "B[:] = A.sum()",
    "out.append(A.shape)",
    "out.append(x.shape)",
    "out.append(A.sum(0))",
    "out.append(x.sum(axis=0))",
    "out.append(np.broadcast_to(B[0], A.shape))",
    "out.append((A.ndim, A.flags.c_contiguous))",
    "for i in range(len(B)): A[0] += i",
    "for i in range(3): x = x + i",
)
RESULTS = ("out, x", "out, A", "out, v", "out, y, x", "out, A[0]", "out, A.reshape(-1)")


def program(rng: random.Random) -> tuple[str, Any]:
    lines = ["def f(A, B, I, J, k, held, box):", "    out = []", "    x = A + 1", "    y = v = x"]
    for _ in range(rng.randrange(2, 8)):
        lines.append("    " + rng.choice(STATEMENTS))
    lines.append("    return " + rng.choice(RESULTS))
    source = "\n".join(lines) + "\n"
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, "<drawn>", "exec"), namespace)
    return source, namespace["f"]


def array(kind: str, n: int, m: int) -> Any:
    whole = np.arange(4.0 * n * m)
    if kind == "dense":
        return whole[: n * m].copy().reshape(n, m)
    if kind == "view":
        return whole[: n * m].reshape(n, m)
    if kind == "fortran":
        return np.asfortranarray(whole[: n * m].reshape(n, m))
    if kind == "strided":
        return whole.reshape(2 * n, 2 * m)[::2, ::2]
    if kind == "line":
        return whole[: n * m].copy()
    assert kind == "ints", kind
    return np.arange(n * m).reshape(n, m)


def arguments(kind: str, n: int, m: int, k: int) -> tuple[Any, ...]:
    a = array(kind, n, m)
    return a, np.ones(3), np.arange(min(n, 2)), np.arange(min(m, 2)), k, [a], {"a": a}


def shown(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        strides = value.strides if value.size else ()  # of no elements they say nothing
        layout = value.shape, strides, value.dtype.str, value.flags.writeable
        return *layout, value.tobytes(), value.base is None
    if isinstance(value, (list, tuple)):
        return [shown(part) for part in value]
    return repr(value)


def outcome(function: Any, given: tuple[Any, ...]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's, of setting shapes
            result = function(*given)
        returned = shown(result[0]), [shown(part)[:5] for part in result[1:]]
        same = [part is given[0] for part in result[1:]]
    except Exception as error:
        returned, same = (type(error), str(error)), []
    left = [shown(each) for each in given[:2]]
    return returned, same, left, [held is given[0] for held in given[5]]


CALLS = [
    *[("dense", n, m, 1) for n, m in ((2, 3), (4, 3), (2, 3), (4, 4), (6, 2))],
    *[(kind, 4, 3, 2) for kind in ("view", "fortran", "strided", "line", "ints", "dense")],
    *[("dense", n, 2, 2) for n in (2, 1, 4, 0, 8)],
    *[("dense", 2, 3, 1), ("fortran", 6, 2, 1)],
]


@pytest.mark.parametrize("seed", range(60))
def test_programs_that_set_shapes(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(3):
        source, plain = program(rng)
        compiled = dvm.compile(plain)
        for call in CALLS:
            expected = outcome(plain, arguments(*call))
            got = outcome(compiled, arguments(*call))
            assert got == expected, f"{source}\n{call}\n{got}\n{expected}"
        assert not any("DVM-X" in reason for reason in compiled.fallback_reasons), source


@pytest.mark.parametrize("attribute", ["shape", "strides", "dtype"])
@pytest.mark.parametrize("where", ["A", "held[0]", "box['a']", "T", "n.a"])
def test_guards_are_of_arrays_as_they_came(where: str, attribute: str) -> None:
    """A call like one before is no new path, and other arrays are not taken for such."""
    value = {"shape": "(-1,)", "strides": "(8, 8)", "dtype": "'i8'"}[attribute]
    namespace: dict[str, Any] = {"np": np}
    exec(
        f"def f(A, held, box, n):\n    x = {where}\n    s = x.sum()\n"
        f"    if x.ndim == 2: {where}.{attribute} = {value}\n    return x + s\n",
        namespace,
    )

    class Node:
        a: Any

    def call(function: Any, shape: Any) -> Any:
        a = np.arange(float(np.prod(shape))).reshape(shape)
        node = Node()
        namespace["T"] = node.a = a
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return shown(function(a, [a], {"a": a}, node)), shown(a)

    compiled = dvm.compile(namespace["f"])
    for _ in range(3):
        for shape in ((2, 2), (3, 3), (4,), (5,)):
            assert call(compiled, shape) == call(namespace["f"], shape)
    stats = compiled.stats
    assert stats.misses <= 4, (stats, compiled.why_recompiled())
    assert stats.hits >= 4, stats  # of those that set nothing
    told = [reason for event in compiled.why_recompiled() for reason in event.reasons]
    assert not any("rank 1 became 2" in reason.text for reason in told[:1])


@pytest.mark.skipif(SHAPE_IS_DEPRECATED, reason="NumPy warns of it")
def test_a_fancy_write_before_the_shape_is_set() -> None:
    def f(a, i, j, v):
        a[np.ix_(i, j)] += 1
        a.shape = (-1,)
        return np.broadcast_to(v, a.shape)

    compiled = dvm.compile(f)
    for n in (3, 4, 5):
        one, other = np.zeros((n, n)), np.zeros((n, n))
        given = np.arange(2), np.arange(3), np.float64(3)
        assert shown(compiled(one, *given)) == shown(f(other, *given))
        assert shown(one) == shown(other)
    assert compiled.stats.misses == 1
    assert [*compiled.fallback_reasons] == [
        reason for reason in compiled.fallback_reasons if "setting attribute shape" in reason
    ]
