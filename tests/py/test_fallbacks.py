"""What is not compiled runs as it is: same results, and the reason is named with line and hint."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import magpy_capture

Array = np.ndarray[Any, Any]
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
SEEN: list[Any] = []
TABLE = {"scale": 2.0}


class Holder:
    value = 3.0


HOLDER = Holder()


def branch_on_value(x: Array) -> Array:
    if x.sum() > 0:
        return x + 1
    return x - 1


def branch_on_size(x: Array) -> Array:
    return x + 1 if x.shape[0] > 2 else x


def loop(x: Array) -> Array:
    for _ in range(3):
        x = x + 1
    return x


def while_loop(x: Array) -> Array:
    n = 0
    while n < 3:
        n += 1
    return x + n


def inplace(x: Array) -> Array:
    y = x + 1
    y += x
    return y


def item_assignment(x: Array) -> Array:
    y = x + 1
    y[0] = 5
    return y


def out_argument(x: Array) -> Array:
    y = np.empty_like(x)
    np.add(x, x, out=y)
    return y


def fancy_index(x: Array) -> Array:
    return x[[0, 1]] + 1


def boolean_index(x: Array) -> Array:
    return x[x > 0]


def integer_index(x: Array) -> Array:
    return x[1] + 1


def step_slice(x: Array) -> Array:
    return x[::2] + 1


def view(x: Array) -> Array:
    return x.T


def unknown_function(x: Array) -> Array:
    return np.sort(x, axis=-1)


def unknown_ufunc(x: Array) -> Array:
    return np.sin(x) + 2


def unknown_method(x: Array) -> Array:
    return x.cumsum()


def random_numbers(x: Array) -> Array:
    return x + np.random.default_rng(0).random(x.shape)


def side_effect(x: Array) -> Array:
    SEEN.append(x.shape)
    return x + 1


def list_result(x: Array) -> list[Array]:
    return [x + 1, x]


def dict_result(x: Array) -> dict[str, Array]:
    return {"y": x + 1}


def dict_lookup(x: Array) -> Array:
    return x * TABLE["scale"]


def object_attribute(x: Array) -> Array:
    return x * HOLDER.value


def fstring(x: Array) -> str:
    return f"{x.sum():.3f}"


def caught_exception(x: Array) -> Array:
    try:
        return x.reshape(5, 5)
    except ValueError:
        return x + 1


def with_statement(x: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.log(np.abs(x) + 1)


def inner_function(x: Array) -> Array:
    def add(y: Array) -> Array:
        return x + y

    return add(x)


def comprehension(x: Array) -> Array:
    return sum([x * i for i in range(3)])


def generator_expression(x: Array) -> Array:
    return sum(x * i for i in range(3))


def star_args(*xs: Array) -> Array:
    return xs[0] + 1


def keyword_args(x: Array, **_: Any) -> Array:
    return x + 1


def math_on_number(x: Array) -> Array:
    return x * math.sqrt(float(x.max()))


def item(x: Array) -> float:
    return x.max().item() + 1


def complex_numbers(x: Array) -> Array:
    return x * 1j


def small_integers(x: Array) -> Array:
    return x.astype(np.int8)


def mixed_types(x: Array) -> Array:
    return np.where(x > 0, x, None)


def power(x: Array) -> Array:
    return np.abs(x) ** 1.5


def import_inside(x: Array) -> Array:
    import numpy as inner

    return inner.abs(x)


def mutates_argument(x: Array) -> Array:
    x[0, 0] = x[0, 0]
    return x


def warns(x: Array) -> Array:
    warnings.warn("still mine", UserWarning, stacklevel=1)
    return x + 1


def defines_a_class(x: Array) -> Array:
    class Local:
        step = abs(-1)

    return x + Local.step


#: These run as they are; all the others compile.
UNSUPPORTED = {
    "defines_a_class",
}
CONSTRUCTS = [
    value
    for value in list(globals().values())
    if getattr(value, "__module__", None) == __name__
    and isinstance(value, type(loop))
    and value.__code__.co_varnames[:1] in (("x",), ("xs",))
]


def same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (np.ndarray, np.generic)):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if np.asarray(a).dtype.kind == "f":  # logarithms and powers, to the last bit or so
            np.testing.assert_allclose(a, b, rtol=3e-7)
        else:
            np.testing.assert_array_equal(a, b)
    else:
        assert a == b


@pytest.mark.filterwarnings("ignore:still mine")
@pytest.mark.parametrize("function", CONSTRUCTS, ids=lambda f: f.__name__)
def test_constructs_compile_or_run_as_they_are_and_are_named(function: Callable[..., Any]) -> None:
    f = dvm.compile(function)
    for x in (X, -X, X[:2], X):
        same(f(x.copy()), function(x.copy()))
    if function.__name__ not in UNSUPPORTED:
        assert f.stats.captures > 0
        assert f.stats.fallbacks == 0, f.fallback_reasons
        return
    assert f.stats.captures == 0, f.inspect("graph")
    assert f.stats.fallbacks + f.stats.splits == 4
    assert f.fallback_reasons
    report = dvm.explain(f)(X.copy())
    assert report.outcome in ("fallback", "split", "refused")
    if report.outcome != "refused":
        path = report.paths[report.path]
        if path["reason"] == "an exception was raised":
            return  # the tracer sees that one was, not where
        assert path["location"].startswith(__file__), path
        line = int(path["location"].rpartition(":")[2])
        first = function.__code__.co_firstlineno
        last = max(n for _, _, n in function.__code__.co_lines() if n)
        assert first < line <= last, "the user's own line is named"
        assert path["hint"], f"no advice for: {path['reason']}"


def test_effects_happen_once_per_call() -> None:
    SEEN.clear()
    f = dvm.compile(side_effect)
    for n in range(1, 5):
        f(X)
        assert len(SEEN) == n


class Matrix(np.ndarray[Any, Any]):
    pass


@pytest.mark.parametrize(
    "argument",
    [
        X.view(Matrix),
        np.ma.masked_array(X, X > 0),
        X.astype(">f4"),
        X.astype(np.complex64),
        X.astype(np.int8),
        np.array([1, "a", None], dtype=object),
        np.float32(3),
        2**80,
        [1, 2, 3],
        (1, 2),
        {"a": 1},
        3 + 4j,
        np.frombuffer(b"\0" * 9, np.uint8)[1:].view(np.float32),
    ],
    ids=lambda a: f"{type(a).__name__}-{getattr(a, 'dtype', '')}",
)
def test_unsupported_arguments_run_as_they_are(argument: Any) -> None:
    def f(a: Any) -> Any:
        return a == a

    compiled = dvm.compile(f)
    for _ in range(2):
        same(compiled(argument), f(argument))


def test_an_array_of_too_many_axes_is_left_to_numpy() -> None:
    f = dvm.compile(lambda x: x + 1)
    for _ in range(2):
        same(f(np.ones((1,) * 9)), np.full((1,) * 9, 2.0))
    assert f.stats.fallbacks == 0


def test_a_bug_in_lowering_does_not_cost_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise IndexError("a bug")

    monkeypatch.setattr(magpy_capture, "lower", broken)
    f = dvm.compile(lambda x: x + 1, name="victim")
    with pytest.warns(RuntimeWarning, match="DVM-X001 lowering victim: IndexError: a bug"):
        same(f(X), X + 1)
    same(f(X), X + 1)
    assert "DVM-X001" in f.fallback_reasons[0]


def test_the_path_limit_is_loud() -> None:
    f = dvm.compile(lambda x, kind: x + 1 if kind is int else x + 2)
    kinds = [type(f"Kind{n}", (), {}) for n in range(66)]
    for kind in kinds[:64]:
        f(X, kind)
    with pytest.warns(RuntimeWarning, match="limit of 64 paths"):
        same(f(X, kinds[64]), X + 2)
    same(f(X, kinds[65]), X + 2)
    assert f.stats.fallbacks >= 2


def test_a_size_that_is_divided_by_and_is_zero_drops_the_replay() -> None:
    """NumPy says what is wrong, and dvm that it is about a zero."""
    f = dvm.compile(lambda a, k: a.reshape(-1, k))
    for n, k in ((2, 2), (4, 4), (0, 2)):
        np.testing.assert_array_equal(f(np.ones((n, 2)), k), np.ones((n, 2)).reshape(-1, k))
    for n in (0, 3):
        with pytest.raises(ValueError, match="cannot reshape array of size"):
            f(np.ones((n, 2)), 0)
        (miss,) = dvm._dvm.explain_miss(f, np.ones((n, 2)), 0)
        assert (miss["code"], miss["step"]) == ("zero", "require")
    assert f.stats.drops == 2


def test_a_function_that_only_raises_says_why_it_is_not_captured() -> None:
    def checked(x: Array) -> Array:
        if x.ndim > 1:
            raise LookupError("of one dimension")
        return x * 2

    compiled = dvm.compile(checked)
    with dvm.stance("force_capture"):
        for _ in range(2):
            with pytest.raises(LookupError):
                compiled(X)
        assert compiled.stats.captures == 0
        told = "a call raised LookupError: no path is made of a call that raises"
        assert compiled.fallback_reasons == [told]
        assert told in repr(compiled)
        compiled(X[0])
    assert compiled.fallback_reasons == []
