"""Functions that graphs call: several results, sizes, numbers, `out`, and what goes wrong."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import dvm

SPLIT = """graph v1 {
  %0 = input f32[n, 3]
  %1 = scalar f32[]
  %2 = scalar i64[]
  %3 = call(%0, %1, %2) f32[n, 3] {callee = "split", results = 4, sizes = [n, 2*n - 1], numbers = 2}
  %4 = result(%3) i64[u] {index = 2}
  %5 = result(%3) f32[n] {index = 1}
  %6 = neg(%3) f32[n, 3]
  %7 = reshape(%5) f32[n, 1]
  %8 = broadcast(%7) f32[n, 3]
  %9 = add(%6, %8) f32[n, 3]
  %10 = add(%4, %4) i64[u]
  return %9, %10, %3
}"""


@pytest.mark.parametrize("target", ["cpu", "ascend910b1"])
@pytest.mark.parametrize("kind", [tuple, list])
def test_several_results(target: str, kind: type) -> None:
    seen: list[Any] = []

    def split(x: Any, n: int, m: int, factor: float, count: int) -> Any:
        seen[:] = [n, m, factor, count]
        assert [type(number) for number in seen] == [int, int, float, int]
        return kind([x * factor, x.sum(1), np.arange(count), "not looked at"])

    compiled = dvm.CompiledGraph(SPLIT, target=target, functions={"split": split})
    for n, count in [(2, 3), (0, 0), (1, 1), (2, 3), (5, 2)]:
        x = np.arange(3 * n, dtype="f4").reshape(n, 3)
        y, twice, scaled = compiled(x, 0.5, count)
        assert seen == [n, 2 * n - 1, 0.5, count]
        np.testing.assert_array_equal(y, x.sum(1)[:, None] - x / 2)
        np.testing.assert_array_equal(scaled, x / 2)
        assert twice.tolist() == [2 * i for i in range(count)]


WRONG: list[tuple[Any, str]] = [
    (lambda x, *_: x, r"split gave float32 array.*; the graph says 4 results"),
    (lambda x, *_: (x, x), r"split gave .*; the graph says 4 results, not 2"),
    (lambda *_: None, r"split gave .*; the graph says 4 results"),
    (
        lambda x, *_: (x, x.sum(1), np.arange(2.0), 0),
        r"gave float64 array .*; the graph says i64 of rank 1 for result 2",
    ),
    (lambda x, *_: (x, x, np.arange(2), 0), r"the graph says f32 of rank 1 for result 1"),
    (
        lambda x, *_: (x, x[:1, 0], np.arange(2), 0),
        r"split gave as result 1 an array of size 1 along axis 0, which by the graph is n",
    ),
    (
        lambda x, *_: (x[:, :2], x[:, 0], np.arange(2), 0),
        r"split gave as result 0 an array of size 2 along axis 1, which by the graph is 3",
    ),
]


@pytest.mark.parametrize(("function", "message"), WRONG)
def test_results_that_are_not_what_the_graph_says(function: Any, message: str) -> None:
    made: list[weakref.ref[Any]] = []

    def watched(x: Any, *rest: Any) -> Any:
        results = function(x.copy(), *rest)
        for result in results if isinstance(results, tuple) else []:
            if isinstance(result, np.ndarray):
                made.append(weakref.ref(result))
        return results

    compiled = dvm.CompiledGraph(SPLIT, functions={"split": watched})
    with pytest.raises(dvm.HostCallError, match=message) as caught:
        compiled(np.ones((3, 3), "f4"), 0.5, 1)
    assert caught.value.code == "DVM-R003"
    del caught
    gc.collect()
    assert not [ref for ref in made if ref() is not None]


def test_nothing_is_left_of_a_call_that_raises() -> None:
    text = """graph v1 {
      %0 = input f64[n]
      %1 = exp(%0) f64[n]
      %2 = call(%1) f64[n] {callee = "first", results = 2}
      %3 = result(%2) f64[n] {index = 1}
      %4 = call_into(%2, %3) f64[n] {callee = "second", results = 2}
      %5 = result(%4) f64[n] {index = 1}
      %6 = call(%5) f64[n] {callee = "third"}
      return %3, %4, %6
    }"""
    alive: list[weakref.ref[Any]] = []
    fails = ""

    def keep(name: str, *arrays: Any) -> None:
        alive.extend(weakref.ref(array) for array in arrays)
        if name == fails:
            raise KeyError(name)

    def first(x: Any) -> Any:
        results = x + 1, x + 2
        keep("first", x, *results)
        return results

    def second(a: Any, b: Any, out: Any) -> None:
        np.add(a, b, out=out[0])
        keep("second", a, b, *out)
        np.subtract(a, b, out=out[1])

    def third(x: Any) -> Any:
        keep("third", x)
        return x * 2

    compiled = dvm.CompiledGraph(text, functions={"first": first, "second": second, "third": third})
    x = np.array([0.0, 1.0])
    for fails in ("", "first", "second", "third", ""):
        if fails:
            with pytest.raises(KeyError, match=fails):
                compiled(x)
            gc.collect()
            assert not [ref for ref in alive if ref() is not None], fails
        else:
            b, total, difference = compiled(x)
            np.testing.assert_allclose(b, np.exp(x) + 2)
            np.testing.assert_allclose(total, 2 * np.exp(x) + 3)
            assert difference.tolist() == [-2.0, -2.0]
            del b, total, difference


@pytest.mark.parametrize("target", ["cpu", "ascend910b1"])
def test_functions_that_write(target: str) -> None:
    text = """graph v1 {
      %0 = input f32[m, k]
      %1 = tensor f32[3, 2] {name = "w"}
      %2 = slice(%0) f32[m, 3] {starts = [0, 0], steps = [1, 1]}
      %3 = call_into(%2, %1) f32[m, 2] {callee = "matmul"}
      %4 = neg(%3) f32[m, 2]
      %5 = call_into(%4) f32[m, 2] {callee = "modf", results = 2}
      %6 = result(%5) f32[m, 2] {index = 1}
      %7 = sum(%6) f32[1, 1] {axes = [0, 1]}
      %8 = reshape(%7) f32[]
      %9 = call_into(%8) f32[] {callee = "square"}
      return %3, %5, %6, %9
    }"""
    w = np.arange(6, dtype="f4").reshape(3, 2)
    functions = {"matmul": np.matmul, "modf": np.modf, "square": np.square}
    compiled = dvm.CompiledGraph(text, target=target, functions=functions, constants={"w": w})
    for m in (0, 1, 4, 1):
        x = np.linspace(-1, 1, 5 * m, dtype="f4").reshape(m, 5)
        product, fraction, whole, square = compiled(x)
        np.testing.assert_array_equal(product, x[:, :3] @ w)
        np.testing.assert_array_equal(fraction, np.modf(-product)[0])
        np.testing.assert_array_equal(whole, np.modf(-product)[1])
        assert square == whole.sum() ** 2


def test_functions_that_do_not_write_as_they_should() -> None:
    text = (
        "graph v1 { %0 = input f64[n] "
        '%1 = call_into(%0) f64[n] {callee = "f", results = 2} '
        "%2 = result(%1) f64[n] {index = 1} return %1, %2 }"
    )
    x = np.arange(3.0)

    def call(function: Any) -> Any:
        return dvm.CompiledGraph(text, functions={"f": function})(x)

    def resizes(_: Any, out: Any) -> None:
        out[1].resize(1 << 20, refcheck=False)

    kept: list[Any] = []

    def keeps(a: Any, out: Any) -> Any:
        out[0][:] = a
        out[1][:] = a
        kept.append(out)
        return list(out)

    others: list[Any] = [
        lambda a, out: a,  # noqa: ARG005
        lambda a, out: out[0],  # noqa: ARG005
        lambda a, out: (a, a),  # noqa: ARG005
    ]
    for wrong in (*others, resizes):
        with pytest.raises(dvm.HostCallError, match=r"f gave .*the graph says that"):
            call(wrong)
    with pytest.raises(TypeError):
        call(lambda a: a)
    first, second = call(keeps)
    kept[0][0][:] = 9
    assert first.tolist() == second.tolist() == x.tolist(), "results share no memory with others"


def test_functions_of_bfloat16_and_halves() -> None:
    text = """graph v1 {
      %0 = input bf16[n]
      %1 = add(%0, %0) bf16[n]
      %2 = call(%1) bf16[n] {callee = "both", results = 2}
      %3 = result(%2) f16[n] {index = 1}
      %4 = call_into(%2) bf16[n] {callee = "copy"}
      %5 = neg(%3) f16[n]
      return %4, %5
    }"""

    def both(bits: Any) -> Any:
        assert bits.dtype == np.uint16
        values = (bits.astype(np.uint32) << 16).view(np.float32)
        return bits[::-1], values.astype(np.float16)

    def copy(bits: Any, out: Any) -> None:
        out[:] = bits

    compiled = dvm.CompiledGraph(text, functions={"both": both, "copy": copy})
    x = np.array([1, -2.5, 0, np.inf], np.float32)
    for size in (4, 0, 1, 4):
        bits = (x[:size].view(np.uint32) >> 16).astype(np.uint16)
        reversed_bits, negative = compiled(bits)
        twice = (2 * x[:size]).astype(np.float32)
        assert reversed_bits.tolist() == (twice.view(np.uint32) >> 16)[::-1].tolist()
        np.testing.assert_array_equal(negative, -twice.astype(np.float16))


def test_functions_of_torch() -> None:
    torch = pytest.importorskip("torch")
    text = """graph v1 {
      %0 = input f32[n, 4]
      %1 = scalar f32[]
      %2 = call(%0, %1) f32[n, 2] {callee = "topk", results = 2, sizes = [2], numbers = 1}
      %3 = result(%2) i64[n, 2] {index = 1}
      %4 = call_into(%2) f32[n, n] {callee = "gram"}
      return %2, %3, %4
    }"""

    def topk(x: Any, k: int, scale: float) -> Any:
        values, places = torch.topk(torch.from_numpy(x) * scale, k, dim=1)
        return values, places

    def gram(x: Any, out: Any) -> None:
        rows = torch.from_numpy(x)
        torch.matmul(rows, rows.T, out=torch.from_numpy(out))

    compiled = dvm.CompiledGraph(text, functions={"topk": topk, "gram": gram})
    x = np.random.default_rng(5).standard_normal((3, 4)).astype("f4")
    values, places, products = compiled(x, 2.0)
    expected = torch.topk(2 * torch.from_numpy(x), 2, dim=1)
    np.testing.assert_array_equal(values, expected.values)
    np.testing.assert_array_equal(places, expected.indices)
    np.testing.assert_array_equal(products, expected.values @ expected.values.T)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("%1 = result(%0) f32[n] {index = 1}", "of input, which is no call"),
        (CALL := '%1 = call(%0) f32[n] {callee = "f", results = 3}', ""),
        (CALL + "%2 = result(%1) f32[n] {index = 2}", ""),
        (CALL + "%2 = result(%1) f32[n] {index = 3}", "index 3 of a call with 3 results"),
        (CALL + "%2 = result(%1) f32[n] {index = 0}", "index 0 of a call with 3 results"),
        (
            CALL + "%2 = result(%1) f32[n] {index = 1} %3 = result(%1) f32[n] {index = 1}",
            "%3 = result: a second node for index 1",
        ),
        (
            '%1 = call_into(%0) f32[n] {callee = "f", results = 2}',
            "writes 2 arrays, of which 1 have a node",
        ),
        ('%1 = call(%0) f32[n] {callee = "f", results = 0}', "has 0 results, not 1 to 64"),
        ('%1 = call(%0) f32[n] {callee = "f", results = 65}', "has 65 results, not 1 to 64"),
        ('%1 = call(%0) f32[n] {callee = "f", numbers = 2}', "no 2 operands to give as numbers"),
        ('%1 = call(%0) f32[n] {callee = "f", numbers = 1}', "operand %0 is no scalar"),
        ("%1 = neg(%0) f32[n] {results = 2}", "expected"),
    ],
)
def test_calls_that_say_what_cannot_be(nodes: str, message: str) -> None:
    text = f"graph v1 {{ %0 = input f32[n] {nodes} return %0 }}"
    if not message:
        assert dvm.CompiledGraph(text, functions={"f": lambda x: (x, x, x)})(np.ones(2, "f4"))
        return
    with pytest.raises((dvm.GraphError, dvm.FormatError)) as caught:
        dvm.CompiledGraph(text)
    assert message in str(caught.value)


def test_functions_of_the_host() -> None:
    text = """graph v1 {
      %0 = input f64[s0]
      %1 = exp(%0) f64[s0]
      %2 = call(%1) f64[s0] {callee = "sorted"}
      %3 = add(%2, %2) f64[s0]
      return %3
    }"""
    with pytest.raises(dvm.UnsupportedError, match="calls sorted, which `functions` has not"):
        dvm.CompiledGraph(text)
    compiled = dvm.CompiledGraph(text, functions={"sorted": np.sort})
    x = np.array([3.0, 1.0, 2.0])
    np.testing.assert_allclose(compiled(x)[0], 2 * np.sort(np.exp(x)), rtol=1e-15)

    def fails(_: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        dvm.CompiledGraph(text, functions={"sorted": fails})(x)
    for wrong in (lambda _: None, lambda x: x.astype("f4"), lambda x: x[None], lambda _: "text"):
        with pytest.raises(dvm.HostCallError, match=r"sorted gave .*the graph says f64 of rank 1"):
            dvm.CompiledGraph(text, functions={"sorted": wrong})(x)
    for right in (lambda x: x.tolist(), lambda x: x.astype(">f8"), lambda x: x[::-1]):
        total = dvm.CompiledGraph(text, functions={"sorted": right})(x)[0]
        np.testing.assert_allclose(total, 2 * np.asarray(right(np.exp(x)), float), rtol=1e-15)
