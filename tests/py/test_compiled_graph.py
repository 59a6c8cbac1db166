"""Graphs that are compiled and called without capture: from text, or built node by node."""

from __future__ import annotations

import re
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm

SOFTMAX = """graph v1 {
  %0 = input f32[s0, s1]
  %1 = scalar f32[]
  %2 = broadcast(%1) f32[s0, s1]
  %3 = mul(%0, %2) f32[s0, s1]
  %4 = max(%3) f32[s0, 1] {axes = [1]}
  %5 = broadcast(%4) f32[s0, s1]
  %6 = sub(%3, %5) f32[s0, s1]
  %7 = exp(%6) f32[s0, s1]
  %8 = sum(%7) f32[s0, 1] {axes = [1]}
  %9 = broadcast(%8) f32[s0, s1]
  %10 = div(%7, %9) f32[s0, s1]
  return %10
}
"""


def softmax(x: Any, scale: float) -> Any:
    e = np.exp(x * np.float32(scale) - (x * np.float32(scale)).max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_a_value_may_be_given_axes_of_size_1() -> None:
    given = dvm.CompiledGraph("""graph v1 {
      %0 = input f64[]
      %1 = neg(%0) f64[]
      %2 = reshape(%1) f64[1, 1]
      return %2, %1
    }""")
    matrix, value = given(np.ones(()))
    assert (matrix.tolist(), value.tolist()) == ([[-1]], -1)


@pytest.mark.parametrize("target", ["cpu", "ascend910b1"])
def test_text_runs_for_any_size(target: str) -> None:
    compiled = dvm.CompiledGraph(SOFTMAX, target=target)
    assert compiled.target == target
    assert "run r0" in compiled.plan
    rng = np.random.default_rng(0)
    for shape in [(1, 1), (3, 7), (40, 1000), (1, 5000), (0, 4)]:
        x = rng.standard_normal(shape, dtype=np.float32)
        (y,) = compiled(x, 0.5)
        np.testing.assert_allclose(y, softmax(x, 0.5), rtol=2e-5)
        assert y.base is None
        assert y.flags.owndata


def test_a_graph_that_was_built() -> None:
    graph = _dvm.Graph()
    n = graph.symbol("n")
    a, b = graph.input("f64", [n]), graph.input("f64", [n])
    graph.outputs = [graph.elementwise("add", [a, b]), a]
    compiled = dvm.CompiledGraph(graph)
    x = np.arange(5.0)
    total, same = compiled(x, x[::-1])
    assert total.tolist() == [4.0] * 5
    assert same is x


def test_layouts_and_numbers() -> None:
    compiled = dvm.CompiledGraph(
        "graph v1 { %0 = input f64[s0, s1] %1 = input f64[] "
        "%2 = broadcast(%1) f64[s0, s1] %3 = mul(%0, %2) f64[s0, s1] return %3 }"
    )
    x = np.arange(12.0).reshape(3, 4)
    swapped = x.astype(">f8")
    shifted = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64).reshape(3, 4)
    for given in (x, x.T, x[::-1, ::2], np.broadcast_to(x[0], (5, 4)), swapped, shifted):
        for factor in (3, 3.0, np.float64(3), np.array(3.0)):
            assert compiled(given, factor)[0].tolist() == (given * 3).tolist()


LINEAR = """graph v1 {
  %0 = input f32[n, 1, 3]
  %1 = tensor f32[2, 3] {name = "w"}
  %2 = tensor f32[2] {values = [0x1p+0, -0.5]}
  %3 = broadcast(%0) f32[n, 2, 3]
  %4 = broadcast(%1) f32[n, 2, 3]
  %5 = mul(%3, %4) f32[n, 2, 3]
  %6 = sum(%5) f32[n, 2, 1] {axes = [2]}
  %7 = reshape(%6) f32[n, 2]
  %8 = broadcast(%2) f32[n, 2]
  %9 = add(%7, %8) f32[n, 2]
  return %9, %1, %2
}"""


class Lender:
    """What PyTorch's tensors are to NumPy."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        assert dtype is None
        assert not copy
        return self.array


@pytest.mark.parametrize("target", ["cpu", "ascend910b1"])
@pytest.mark.parametrize("layout", ["dense", "transposed", "strided", "repeated"])
def test_constants_are_read_where_they_lie(target: str, layout: str) -> None:
    rng = np.random.default_rng(3)
    memory = rng.integers(-8, 8, (6, 6)).astype("f4")
    weights = {
        "dense": memory[:2, :3].copy(),
        "transposed": memory[:3, :2].T,
        "strided": memory[1::3, ::-2],
        "repeated": np.broadcast_to(memory[0, :3], (2, 3)),
    }[layout]
    bias = np.array([1, -0.5], "f4")
    compiled = dvm.CompiledGraph(LINEAR, target=target, constants={"w": weights})
    lent = dvm.CompiledGraph(LINEAR, target=target, constants={"w": Lender(weights), "x": 3})
    for _ in range(3):  # recorded, then by record, after the optimiser's step, too
        for n in (0, 1, 4):
            x = rng.integers(-8, 8, (n, 1, 3)).astype("f4")
            for graph in (compiled, lent):
                y, w, b = graph(x)
                np.testing.assert_array_equal(y, x[:, 0] @ weights.T + bias)
                assert w is weights
                np.testing.assert_array_equal(b, bias)
                b[:] = 99  # the result's own memory
        memory += 1
        if layout == "dense":
            weights *= 2


def test_constants_live_as_long_as_their_graph() -> None:
    weights = np.ones((2, 3), "f4")
    gone = weakref.ref(weights)
    compiled = dvm.CompiledGraph(LINEAR, constants={"w": weights})
    del weights
    assert compiled(np.ones((1, 1, 3), "f4"))[0].tolist() == [[4.0, 2.5]]
    assert gone() is not None
    del compiled
    assert gone() is None


def test_constants_of_torch() -> None:
    torch = pytest.importorskip("torch")
    weights = torch.arange(6.0).reshape(3, 2).T
    compiled = dvm.CompiledGraph(LINEAR, constants={"w": weights})
    weights += 1  # in place, as an optimiser does
    x = np.ones((2, 1, 3), "f4")
    expected = x[:, 0] @ weights.numpy().T + np.array([1, -0.5], "f4")
    np.testing.assert_array_equal(compiled(x)[0], expected)


def test_constants_of_another_type() -> None:
    with pytest.raises(dvm.UnsupportedError, match="constant w, which `constants` has not") as why:
        dvm.CompiledGraph(LINEAR)
    assert why.value.code == "DVM-U003"
    weights = np.ones((2, 3), "f4")
    unaligned = np.frombuffer(b"\0" + weights.tobytes(), np.uint8)
    for wrong in (
        weights.astype("f8"),
        weights[:1],
        weights[0],
        weights.astype(">f4"),
        unaligned[1:].view("f4").reshape(2, 3),
        [[1.0] * 3] * 2,
        "text",
        None,
    ):
        with pytest.raises(dvm.ShapeError, match=r"constant w is .*the graph takes f32\[2, 3\]"):
            dvm.CompiledGraph(LINEAR, constants={"w": wrong})
    with pytest.raises(KeyError, match="mine"):
        dvm.CompiledGraph(LINEAR, constants={"w": Failing()})


class Failing:
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        raise KeyError("mine")


def test_constants_of_graphs_that_were_built() -> None:
    graph = _dvm.Graph()
    halves = np.array([1.5, np.nan, -0.0, np.inf], "f2").view(np.uint16)
    values = np.asfortranarray(np.arange(6, dtype="i8").reshape(2, 3))
    small = graph.tensor("i64", values)
    bits = graph.tensor("bf16", halves)
    large = graph.named_tensor("u8", [2, 3], "mask")
    wide = graph.cast(large, "i64")
    graph.outputs = [graph.elementwise("mul", [small, wide]), bits]
    assert 'tensor u8[2, 3] {name = "mask"}' in str(graph)
    mask = np.array([[1, 0, 2], [0, 3, 0]], np.uint8)
    product, same = dvm.CompiledGraph(graph, constants={"mask": mask})()
    assert product.tolist() == (values * mask).tolist()
    assert same.tolist() == halves.tolist()
    assert dvm.CompiledGraph(str(graph), constants={"mask": mask})()[0].tolist() == product.tolist()
    with pytest.raises(dvm.DtypeError):
        graph.tensor("f32", values)
    with pytest.raises(dvm.GraphError, match="needs a name, for it has 2000 elements"):
        graph.tensor("i64", np.zeros(2000, np.int64))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the graph takes 2 arguments, it was given 0"),
        (
            (np.ones((2, 2)), 1.0),
            "argument 0 is float64 array of rank 2, c_contiguous; the graph takes f32 of rank 2",
        ),
        ((np.ones(2, "f4"), 1.0), "the graph takes f32 of rank 2"),
        (([[1.0]], 1.0), "argument 0 is object of type list; the graph takes f32 of rank 2"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(dvm.ShapeError) as caught:
        dvm.CompiledGraph(SOFTMAX)(*arguments)
    assert message in str(caught.value)
    assert caught.value.code == "DVM-S003"


def test_wrong_graphs() -> None:
    with pytest.raises(dvm.GraphError, match="returned value %1 does not exist"):
        dvm.CompiledGraph("graph v1 { %0 = input f32[s0] return %1 }")
    with pytest.raises(dvm.FormatError):
        dvm.CompiledGraph("no graph")
    with pytest.raises(TypeError, match="a graph is a text, not bytes"):
        dvm.CompiledGraph(b"graph v1 {}")  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        dvm.CompiledGraph.__new__(dvm.CompiledGraph).plan  # noqa: B018
    with pytest.raises(dvm.UnsupportedError, match="there is no target 'abacus'"):
        dvm.CompiledGraph(SOFTMAX, target="abacus")
    with pytest.raises(dvm.UnsupportedError, match="valid are default, strict"):
        dvm.CompiledGraph(SOFTMAX, numerics="exact")
    with pytest.raises(TypeError):
        dvm.CompiledGraph(SOFTMAX)(np.ones((2, 2), "f4"), "text")


TWO_ARRAYS = """graph v1 {
  %0 = input f32[rows, columns]
  %1 = scalar f32[]
  %2 = input f32[rows, columns]
  %3 = broadcast(%1) f32[rows, columns]
  %4 = mul(%0, %3) f32[rows, columns]
  %5 = add(%4, %2) f32[rows, columns]
  return %5
}"""


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("names", [None, ["first", "factor", "second"]])
def test_sizes_that_do_not_fit_are_named(
    axis: int, names: list[str] | None, tmp_path: Path
) -> None:
    compiled = dvm.CompiledGraph(TWO_ARRAYS)
    if names is not None:
        compiled.save(tmp_path / "named.dvm", inputs=names)
        compiled = dvm.load(tmp_path / "named.dvm")
    first, second = [3, 5], [3, 5]
    second[axis] += 1
    arrays = [np.zeros(shape, np.float32) for shape in (first, second)]
    called = "" if names is None else " ('second')"
    size, symbol = second[axis], ("rows", "columns")[axis]
    message = f"axis {axis} of argument 2{called} is {size}, which by the graph is {symbol}."
    with pytest.raises(dvm.ShapeError, match=re.escape(message)):
        compiled(arrays[0], 2.0, arrays[1])
    if names is not None:
        with pytest.raises(dvm.ShapeError, match=re.escape("argument 2 ('second') is")):
            compiled(arrays[0], 2.0, arrays[1][0])


def test_threads_share_one() -> None:
    compiled = dvm.CompiledGraph(SOFTMAX)
    x = np.random.default_rng(1).standard_normal((300, 200), dtype=np.float32)
    wanted = compiled(x, 1.0)[0]
    wrong: list[int] = []

    def call(rows: int) -> None:
        for _ in range(50):
            if not np.array_equal(compiled(x[:rows], 1.0)[0], wanted[:rows]):
                wrong.append(rows)

    threads = [threading.Thread(target=call, args=(rows,)) for rows in (1, 77, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("sizes", [(2, 3), (0, 3), (3, 0), (0, 0)])
def test_products_of_sizes_that_other_arrays_tell_may_be_zero(sizes: tuple[int, int]) -> None:
    m, n = sizes
    graph = dvm.CompiledGraph(
        "graph v1 {\n  %0 = input i32[m*n]\n  %1 = input f64[m]\n  %2 = input f64[n]\n"
        "  %3 = reshape(%0) i32[m, n]\n  return %3\n}\n"
    )
    (made,) = graph(np.arange(m * n, dtype=np.int32), np.zeros(m), np.zeros(n))
    np.testing.assert_array_equal(made, np.arange(m * n).reshape(m, n))
