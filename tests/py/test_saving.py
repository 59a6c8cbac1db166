"""Captured functions in files: what is saved computes what the function does, or is refused."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from generated.choices import seeded
from generated.program import Program, generate
from whole import how_many

#: how many generated programs are saved
PROGRAMS = how_many(60, 1000)
SCALE = 2
STATE: dict[str, Any] = {}


class Layer:
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.weights = [rng.standard_normal((8, 8), np.float32), np.ones(8, np.float32)]
        self.steps = 0
        self.scales = {"all": 0.5}

    def __call__(self, x: Any) -> Any:
        return np.tanh(x @ self.weights[0] + self.weights[1])

    def counts(self, x: Any) -> Any:
        self.steps += 1
        return x * 2


LAYER = Layer()


def normalise(x: Any, weight: Any) -> Any:
    centered = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centered * centered, axis=-1, keepdims=True)
    return centered / np.sqrt(variance + 1e-5) * weight


def through(tmp_path: Path, f: Any, *args: Any) -> dvm.CompiledGraph:
    dvm.save(f, tmp_path / "f.dvm")(*args)
    return dvm.load(tmp_path / "f.dvm", check=True)


def test_arguments_come_in_the_order_of_the_parameters(tmp_path: Path) -> None:
    def scaled(k: int, y: Any, s: float, x: Any, t: float, n: int) -> Any:
        return (x * t - y) * n + s * k

    def given(*numbers: Any) -> tuple[Any, ...]:
        k, s, t, n = numbers
        return k, np.arange(2.0), s, np.arange(2.0) * 3, t, n

    loaded = through(tmp_path, scaled, *given(2, 3.0, 4.0, 5))
    assert list(loaded.arguments) == ["y", "x", "s", "t", "k", "n"]
    k, y, s, x, t, n = given(7, 0.5, 0.25, -1)
    np.testing.assert_array_equal(loaded(y, x, s, t, k, n)[0], scaled(k, y, s, x, t, n))


def by_use(k: int, y: Any, s: float, x: Any, t: float, n: int) -> Any:
    return (x * t - y) * n + s * k


NAMES = ("k", "y", "s", "x", "t", "n")


@pytest.mark.parametrize(
    ("f", "place", "given"),
    [
        (lambda *args: by_use(*args), "args.{}", lambda *args: args),
        (lambda parts: by_use(*parts), "parts.{}", lambda *args: (args,)),
        (lambda parts: by_use(*parts[0]), "parts.0.{}", lambda *args: ([list(args)],)),
        (
            lambda named: by_use(**named),
            "named.{}",
            lambda *args: (dict(zip(NAMES, args, strict=True)),),
        ),
    ],
)
def test_arguments_within_others_come_in_the_order_of_their_places(
    tmp_path: Path, f: Any, place: str, given: Any
) -> None:
    args = (2, np.arange(2.0), 3.0, np.arange(2.0) * 3, 4.0, 5)
    loaded = through(tmp_path, f, *given(*args))
    keys = NAMES if place.startswith("named") else range(6)
    names = dict(zip(NAMES, map(place.format, keys), strict=True))
    assert list(loaded.arguments) == [names[each] for each in ("y", "x", "s", "t", "k", "n")]
    k, y, s, x, t, n = args
    np.testing.assert_array_equal(loaded(y, x, s, t, k, n)[0], by_use(*args))


def test_other_sizes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weight = rng.standard_normal(16, np.float32)
    loaded = through(tmp_path, normalise, np.ones((5, 16), np.float32), weight)
    assert list(loaded.arguments) == ["x", "weight"]
    compiled = dvm.compile(normalise)
    for rows in (1, 7, 300):
        x = rng.standard_normal((rows, 16), np.float32)
        with dvm.stance("force_capture"):
            expected = compiled(x, weight)
        assert loaded(x, weight)[0].tobytes() == expected.tobytes()
    with pytest.raises(dvm.ShapeError):
        loaded(np.ones((5, 16), np.float32), weight[:7])
    compiled.save(tmp_path / "again.dvm")(np.ones((5, 16), np.float32), weight)
    assert (tmp_path / "again.dvm").read_bytes() == (tmp_path / "f.dvm").read_bytes()


def test_arrays_of_objects_are_constants(tmp_path: Path) -> None:
    loaded = through(tmp_path, LAYER, np.ones((2, 8), np.float32))
    x = np.random.default_rng(1).standard_normal((9, 8), np.float32)
    np.testing.assert_allclose(loaded(x)[0], LAYER(x), rtol=1e-5, atol=1e-6)
    text = subprocess.run(
        [sys.executable, "-I", "-m", "dvm", "show", tmp_path / "f.dvm"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "weights.0  float32[8, 8]" in text
    assert "weights.1  float32[8]" in text


def test_names_of_arguments_and_results(tmp_path: Path) -> None:
    def f(pair: Any, table: Any, scale: float, flag: bool = True) -> Any:
        total = pair[0] + pair[1] * scale * SCALE
        return {"sum": total, "rest": total - table["bias"] if flag else total}

    x = np.arange(3.0)
    loaded = through(tmp_path, f, (x, x + 1), {"bias": x + 2}, 0.5)
    assert set(loaded.arguments) == {"pair.0", "pair.1", "scale", "table.bias"}
    assert loaded.arguments["scale"] == "scalar f64"
    with pytest.raises(dvm.CaptureError, match=r"'pair.0' and 'table.bias' .* share memory"):
        dvm.save(f, tmp_path / "f.dvm")((x, x + 1), {"bias": x}, 0.5)
    given = {"pair.0": x, "pair.1": x + 3, "scale": 0.25, "table.bias": x * 2}
    results = loaded(*(given[name] for name in loaded.arguments))
    expected = f((x, x + 3), {"bias": x * 2}, 0.25)
    for name, result in zip(loaded.results, results, strict=True):
        np.testing.assert_array_equal(result, expected[name])


def test_what_sizes_decide_is_checked(tmp_path: Path) -> None:
    def f(x: Any, y: Any) -> Any:
        if x.shape[0] > 2 * y.shape[0] + 1:
            return x * 2
        return x * x.shape[0] + y.sum()

    loaded = through(tmp_path, f, np.ones(5), np.ones(3))
    for n, m in ((7, 3), (2, 3), (1, 0)):
        x, y = np.arange(float(n)), np.arange(float(m))
        np.testing.assert_array_equal(loaded(x, y)[0], f(x, y))
    for n, m in ((8, 3), (2, 0)):
        with pytest.raises(dvm.ShapeError):
            loaded(np.ones(n), np.ones(m))


class Attention:
    """Of four heads, on sizes that the program computes."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.weights = [rng.standard_normal((32, 32), np.float32) for _ in range(4)]

    def __call__(self, x: Any) -> Any:
        def heads(a: Any) -> Any:
            return a.reshape(-1, x.shape[1], 4, 8).transpose(0, 2, 1, 3)

        q, k, v = (heads(x @ w) for w in self.weights[:3])
        scores = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(8))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        made = scores / scores.sum(axis=-1, keepdims=True) @ v
        return made.transpose(0, 2, 1, 3).reshape(-1, x.shape[1], 32) @ self.weights[3]


def test_sizes_that_are_computed(tmp_path: Path) -> None:
    attention, rng = Attention(), np.random.default_rng(1)
    first = rng.standard_normal((2, 5, 32), np.float32)
    loaded = through(tmp_path, attention, first)
    for rows, length in ((2, 5), (1, 9), (3, 4)):
        x = rng.standard_normal((rows, length, 32), np.float32)
        np.testing.assert_allclose(loaded(x)[0], attention(x), rtol=1e-4, atol=1e-4)


def test_numbers_that_the_way_depends_on(tmp_path: Path) -> None:
    def f(x: Any, n: int, scale: float, flag: bool) -> Any:
        y = x * n if n > 2 else x + n
        return y * scale if scale > 0.25 and flag else y

    x = np.arange(4.0)
    loaded = through(tmp_path, f, x, 3, 0.5, True)
    assert list(loaded.arguments) == ["x", "n"]  # the others are as they were
    np.testing.assert_array_equal(loaded(x, 7)[0], f(x, 7, 0.5, True))
    with pytest.raises(dvm.ShapeError):
        loaded(x, 2)


def test_numbers_that_are_computed(tmp_path: Path) -> None:
    def f(x: Any, n: int, scale: float) -> Any:
        rows = x.shape[0]
        y = x / math.sqrt(x.shape[1]) + rows / 3 * scale - (n * 2 + 1) / scale
        return y.reshape(rows * x.shape[1] // 2, -1) * (n - rows) * LAYER.scales["all"]

    loaded = through(tmp_path, f, np.ones((3, 4)), 3, 0.5)
    assert list(loaded.arguments) == ["x", "scale", "n"]
    for rows, columns, n, scale in ((3, 4, 3, 0.5), (5, 2, -7, 3.25), (1, 6, 2**40, 1e-3)):
        x = np.random.default_rng(rows).standard_normal((rows, columns))
        assert loaded(x, scale, n)[0].tobytes() == f(x, n, scale).tobytes()


def test_a_number_that_an_array_takes(tmp_path: Path) -> None:
    loaded = through(tmp_path, lambda x, n: x * n, np.arange(4), 3)
    np.testing.assert_array_equal(loaded(np.arange(4), -5)[0], np.arange(4) * -5)
    loaded = through(tmp_path, lambda x, n: x * n, np.arange(4, dtype=np.int8), 3)
    np.testing.assert_array_equal(loaded(np.arange(4, dtype=np.int8), -5)[0], np.arange(4) * -5)
    with pytest.raises(dvm.ShapeError):
        loaded(np.arange(4, dtype=np.int8), 300)


def test_a_scalar_that_only_the_program_computes(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return sum(i * np.int64(-2) for i in range(3)), x + 1

    total, _ = through(tmp_path, f, np.arange(3.0))(np.arange(3.0))
    assert total == -6


class Pair:
    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second, self.kind, self.rest = first, second, "pair", None


def test_arrays_of_an_object_that_is_made(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return Pair(x + 1, {"cubes": [x**3], "none": None}), x.T, None

    x = np.arange(6.0).reshape(2, 3)
    loaded = through(tmp_path, f, x)
    assert list(loaded.results) == ["y0.first", "y0.second.cubes.0", "y1"]
    for result, value in zip(loaded(x * 2), (x * 2 + 1, (x * 2) ** 3, x.T * 2), strict=True):
        np.testing.assert_array_equal(result, value)


def test_an_argument_that_is_a_constant_too(tmp_path: Path) -> None:
    with pytest.raises(dvm.CaptureError, match="share memory"):
        dvm.save(lambda x: x @ LAYER.weights[0], tmp_path / "f.dvm")(LAYER.weights[0])


def test_arguments_in_another_order_of_memory(tmp_path: Path) -> None:
    x = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    loaded = through(tmp_path, lambda x: x * 2 + x[:, :1], x)
    assert loaded.arguments["x"].count(",") == 1
    for given in (x, np.ascontiguousarray(x), np.ones((5, 2))):
        np.testing.assert_array_equal(loaded(given)[0], given * 2 + given[:, :1])


def writes(x: Any) -> Any:
    STATE["last"] = x
    return x + 1


def writes_into(x: Any) -> Any:
    x += 1
    return x


def decides(x: Any) -> Any:
    return x * 2 if x.sum() > 3 else x * 3


def tells_the_time(x: Any) -> Any:
    return x * time.time()


def asks_the_time(x: Any) -> Any:
    return x + 1 if time.monotonic() > 0 else x


def draws(x: Any) -> Any:
    return x + np.random.random(3)


def prints(x: Any) -> Any:
    print("here")
    return x + 1


def loops(x: Any) -> Any:
    while x.sum() < 100:
        x = x * 2
    return x


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (lambda x: (x + 1, "text"), "its result 'y1'"),
        (lambda _: 3, "its result 'y' is no array"),
        (lambda x: (x + 1, x.shape[0]), "its result 'y1' is no array"),
        (lambda x: np.fft.fft(x).real + x.real, ""),
        (writes, "set_item"),
        (writes_into, "copyto"),
        (decides, "which way it goes depends on"),
        (draws, "call_random"),
        (tells_the_time, "its graph is given what the step 'call' gives"),
        (asks_the_time, "which way it goes depends on"),
        (prints, "effect"),
        (loops, ""),
        (LAYER.counts, "set_attribute"),
        (lambda x: np.linalg.svd(x.reshape(3, 1))[1] + 1, ""),
    ],
)
def test_what_needs_python_is_refused(f: Callable[..., Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(dvm.CaptureError, match=f"cannot be saved.*{reason}") as caught:
        dvm.save(f, tmp_path / "f.dvm")(np.ones(3))
    assert caught.value.hint
    assert os.listdir(tmp_path) == []


def test_misuse_is_told(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"dvm\.save"):
        dvm.save(normalise, tmp_path / "f.dvm", np.ones(3))


def arguments_of(program: Program, call: int) -> Any:
    namespace: dict[str, Any] = {}
    exec(program.source, namespace)
    exec(program.calls[call], namespace)
    return namespace["arguments"]


def leaves(parts: Iterable[tuple[Any, Any]], before: str = "") -> Iterator[tuple[str, Any]]:
    """What arguments are or hold, by the names that a file has for it."""
    for key, value in parts:
        name = f"{before}{key}"
        if type(value) in (list, tuple, dict):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            yield from leaves(inner, f"{name}.")
        else:
            yield name, value


def plain(program: Program, call: int, told: Any = "ignore") -> Any:
    """What a call gives when it is the first one."""
    namespace: dict[str, Any] = {}
    exec(program.source, namespace)
    with np.errstate(all=told, under="ignore"):
        return namespace["f"](*arguments_of(program, call))


def is_undefined(program: Program, call: int, values: list[Any]) -> bool:
    """Whether integers are of what has none: 1 / 0, or a float that does not fit."""
    if all(np.asarray(value).dtype.kind == "f" for value in values):
        return False
    try:
        plain(program, call, "raise")
    except FloatingPointError:
        return True
    return False


def saved_agrees(program: Program, path: Path) -> bool:
    """Whether the program can be saved; fails where what is loaded computes something else."""
    if "last_" in program.calls[0]:
        return False
    namespace: dict[str, Any] = {}
    exec(program.source, namespace)
    try:
        dvm.save(namespace["f"], path)(*arguments_of(program, 0))
    except (dvm.CaptureError, ArithmeticError, ValueError, TypeError, LookupError, AttributeError):
        return False
    loaded = dvm.load(path)
    for call, text in enumerate(program.calls):
        if "last_" in text:  # it needs what the call before gave
            continue
        given = dict(leaves(zip(program.names, arguments_of(program, call), strict=True)))
        if call > 0 and not all(
            name in loaded.arguments or isinstance(value, np.ndarray)
            for name, value in given.items()
        ):
            continue  # those stay as they were in the first call
        try:
            results = loaded(*(given[name] for name in loaded.arguments))
        except (dvm.ShapeError, dvm.DtypeError):
            assert call > 0, program  # other calls may go another way
            continue
        try:
            expected = plain(program, call)
        except (ArithmeticError, ValueError):  # of what the result does not need
            assert call > 0, program
            continue
        values = expected if isinstance(expected, (tuple, list)) else [expected]
        values = list(expected.values()) if isinstance(expected, dict) else values
        assert len(values) == len(results), program
        if is_undefined(program, call, values):
            continue
        for value, result in zip(values, results, strict=True):
            assert result.shape == np.shape(value), program
            near = max(1e-5, 100 * program.eps)
            np.testing.assert_allclose(
                np.asarray(result, np.float64), np.asarray(value, np.float64),
                rtol=near, atol=near * max(1, program.rounded), err_msg=str(program),
            )  # fmt: skip
    return True


@pytest.mark.filterwarnings("ignore")
def test_generated_programs(tmp_path: Path) -> None:
    saved = sum(
        saved_agrees(generate(seeded((77, k))), tmp_path / "f.dvm") for k in range(PROGRAMS)
    )
    assert saved >= PROGRAMS // 7  # the others write what is the caller's, or go by values


def expression(random: np.random.Generator, depth: int) -> str:
    """Return an expression over x [n, m], y [m] and WEIGHT [4, 4], whose value is [n, m]."""
    if depth == 0:
        return str(
            random.choice(["x", "(x + y)", "(x @ WEIGHT)", "y * np.ones_like(x)", "x[::-1]"])
        )
    a, b = (expression(random, depth - 1) for _ in range(2))
    forms = [
        f"({a} + {b})",
        f"({a} * {b} * scale)",
        f"np.tanh({a})",
        f"({a} - np.mean({b}, axis=0))",
        f"np.maximum({a}, {b}.sum(axis=1, keepdims=True) / {a}.shape[0])",
        f"({a} if x.shape[0] > 3 else {b})",
        f"({a} if 2 * x.shape[0] - y.shape[0] != 4 else -{b})",
        f"({a}.T.copy().T + {b})",
        f"np.where({a} > {b}, {a}, SCALE)",
    ]
    return str(random.choice(forms))


@pytest.mark.filterwarnings("ignore")
def test_generated_expressions(tmp_path: Path) -> None:
    """Of arrays and sizes alone: all of them are saved whose results are in C order."""
    seeds, saved = max(12, PROGRAMS // 5), 0
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        weight = random.standard_normal((4, 4))
        namespace = {"np": np, "WEIGHT": weight, "SCALE": 2}
        text = f"def f(x, y, scale):\n    return {expression(random, 3)} + y\n"
        exec(text, namespace)
        f: Any = namespace["f"]
        try:
            loaded = through(tmp_path, f, random.standard_normal((5, 4)), np.arange(4.0), 0.5)
        except dvm.CaptureError:  # results whose memory order is not C's
            continue
        saved += 1
        served = 0
        for rows in (5, 1, 4, 3, 9):
            given = {"x": random.standard_normal((rows, 4)), "y": np.arange(4.0), "scale": 0.25}
            try:
                (result,) = loaded(*(given[name] for name in loaded.arguments))
            except dvm.ShapeError:  # it goes another way
                assert rows != 5, text
                continue
            served += 1
            np.testing.assert_allclose(result, f(**given), rtol=1e-9, atol=1e-9, err_msg=text)
        assert served, text
    assert saved > seeds // 2
