"""The comparison of programs sees what it must see, and nothing where there is nothing."""

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from programs.clone import Cloner, address
from programs.observe import differences, observe
from programs.shapes import LAYOUTS, laid_out, sizes

X = np.arange(12.0).reshape(3, 4)


def returned(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def writes(x: np.ndarray) -> None:
    x[0, 0] += 1


def warns(_: np.ndarray) -> None:
    warnings.warn("once", stacklevel=1)


def raises(_: np.ndarray) -> None:
    raise ValueError("one")


def raises_other(_: np.ndarray) -> None:
    raise ValueError("two")


def pair(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    y = x + 1
    return y, y


def copies(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x + 1, x + 1


def frozen(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y.flags.writeable = False
    return y


def added(number: float) -> Callable[[float], float]:
    return lambda value: value + number


NOTHING = returned(None)
PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "value": (lambda x: x + 1, lambda x: x + 1.001),
    "nan": (lambda x: x * np.nan, lambda x: x * 0),
    "zero's sign": (lambda x: x * 0.0, lambda x: x * -0.0),
    "dtype": (lambda x: x + 1, lambda x: (x + 1).astype("f4")),
    "shape": (lambda x: x[:1].copy(), lambda x: x[0].copy()),
    "scalar type": (lambda x: x.sum(), lambda x: float(x.sum())),
    "0-d array": (lambda x: x.sum(), lambda x: np.array(x.sum())),
    "int type": (returned(1), returned(True)),
    "int": (returned(1), returned(2)),
    "text": (returned("a"), returned("b")),
    "none": (NOTHING, returned(0)),
    "memory order": (lambda x: x + 1, lambda x: np.asfortranarray(x + 1)),
    "sign of strides": (lambda x: (x + 1)[::-1], lambda x: (x[::-1] + 1)[:]),
    "owner": (lambda x: x + 1, lambda x: (x + 1)[:]),
    "view": (lambda x: x[:], lambda x: x.copy()[:]),
    "place of a view": (lambda x: x[:0:-1, 0] * 0, lambda x: x[:0:-1, 0]),
    "identity with an argument": (lambda x: x, lambda x: x[:]),
    "identity of results": (pair, copies),
    "no identity of results": (copies, pair),
    "read-only": (lambda x: x.copy(), frozen),
    "mutation": (writes, NOTHING),
    "list or tuple": (lambda x: [x], lambda x: (x,)),
    "length": (lambda x: [x, x], lambda x: [x]),
    "dict order": (returned({"a": 1, "b": 2}), returned({"b": 2, "a": 1})),
    "dict value": (returned({"a": 1}), returned({"a": 2})),
    "set": (returned({1, 2}), returned({1, 3})),
    "attribute": (returned(SimpleNamespace(a=1)), returned(SimpleNamespace(a=2))),
    "closure": (returned(added(1)), returned(added(2))),
    "generator": (returned(np.random.default_rng(1)), returned(np.random.default_rng(2))),
    "exception": (raises, NOTHING),
    "message": (raises, raises_other),
    "warning": (warns, NOTHING),
}


def compare(one: Callable[..., Any], other: Callable[..., Any]) -> list[str]:
    outcomes = [observe(f, (X.copy(),), {}) for f in (one, other)]
    return differences(*outcomes, exact=True)


@pytest.mark.parametrize("kind", PAIRS)
def test_it_sees_a_difference(kind: str) -> None:
    assert compare(*PAIRS[kind])


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("one", [0, 1])
def test_what_is_done_twice_does_not_differ(one: int, kind: str) -> None:
    function = PAIRS[kind][one]
    assert compare(function, function) == []


def test_rounding_is_no_difference_unless_it_is_exact() -> None:
    values = np.array([1e3, 1.0]), np.array([1e3, 1 + 1e-10])
    one, other = (observe(returned(value), (), {}) for value in values)
    assert differences(one, other) == []
    assert differences(one, other, exact=True)


def test_globals_are_compared() -> None:
    one, other = (observe(NOTHING, (), {}, returned({"n": n})) for n in (1, 2))
    assert differences(one, other)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_clone_has_the_layout_and_shares_nothing(layout: str, rank: int) -> None:
    rng = np.random.default_rng(rank)
    for shape in sizes(rng, rank, 6):
        array = laid_out(rng.normal(size=shape), layout)
        assert array.shape == shape
        clone = Cloner().clone(array)
        assert not np.shares_memory(array, clone)
        assert differences(observe(returned(array), (), {}), observe(returned(clone), (), {})) == []
        if array.size:
            assert clone.strides == array.strides


def test_a_clone_keeps_views_identities_and_flags() -> None:
    owner = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
    read_only = owner[1:]
    read_only.flags.writeable = False
    line: list[Any] = [owner[:, ::-1, ::2], owner.T[1:], owner]
    line.append(line)
    thing = SimpleNamespace(owner=owner, line=line, twice=(read_only, read_only))
    clone = Cloner().clone(thing)
    assert differences(observe(returned(thing), (), {}), observe(returned(clone), (), {})) == []
    assert clone.line[3] is clone.line
    assert clone.line[2] is clone.owner
    assert clone.line[0].base is clone.owner
    assert address(clone.line[1]) - address(clone.owner) == 3 * 2 * 8
    assert not clone.twice[0].flags.writeable
    assert not np.shares_memory(clone.owner, owner)


def test_what_is_kept_is_not_copied() -> None:
    assert Cloner(keep=[X]).clone([X])[0] is X


@pytest.mark.parametrize("thing", [np.frombuffer(b"12345678"), np.ma.zeros(3), object()])
def test_what_cannot_be_copied_faithfully_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="cannot clone"):
        Cloner().clone(thing)
