"""Steps that go over each tile of a product: the same bits as the product and then the steps.

Results are large enough for several tiles, and for those that end short along either side.
"""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm

NAMES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i32": "i4"}
PRODUCTS = [("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("f32", "f16"), ("i32", "i8")]
ROWS = st.one_of(st.sampled_from([0, 1, 8, 9, 192, 512, 513, 1000]), st.integers(1, 700))
COLUMNS = st.one_of(st.sampled_from([0, 1, 8, 64, 65, 768, 1024, 2049]), st.integers(1, 1500))
DEPTHS = st.sampled_from([0, 1, 3, 17, 64])

# What a step adds or multiplies with, by the dims of the product that it has.
OPERANDS = {"row": ("n",), "column": ("m", "1"), "whole": ("m", "n"), "one": ()}


@dataclasses.dataclass(frozen=True)
class Steps:
    """Steps behind a product: the text of them, and what they return besides the last value."""

    kinds: tuple[str, ...]
    also_product: bool

    def lines(self, dtype: str, batch: tuple[str, ...], first: int) -> tuple[list[str], list[str]]:
        """Inputs and steps over a value `%p`; values count from `first` in the order of both."""
        shape = ", ".join((*batch, "m", "n"))
        inputs, steps = [], []
        uses = [kind for kind in self.kinds if kind in OPERANDS]
        for k, kind in enumerate(uses):
            dims = (*(batch if kind == "whole" else ()), *OPERANDS[kind])
            inputs.append(f"%{first + k} = input {dtype}[{', '.join(dims)}]")
        number, last, operand = first + len(uses) + 1, "%p", first
        for kind in self.kinds:
            if kind in OPERANDS:
                right = f"%{operand}"
                if kind != "whole":
                    steps.append(f"%{number} = broadcast({right}) {dtype}[{shape}]")
                    right = f"%{number}"
                    number += 1
                op = "mul" if kind in ("column", "one") else "add"
                steps.append(f"%{number} = {op}({last}, {right}) {dtype}[{shape}]")
                operand += 1
            else:
                right = f", {last}" if kind == "square" else ""
                op = "mul" if kind == "square" else kind
                steps.append(f"%{number} = {op}({last}{right}) {dtype}[{shape}]")
            last = f"%{number}"
            number += 1
        return inputs, [*steps, f"return {last}" + (", %p" if self.also_product else "")]


def graphs(steps: Steps, dtype: str, elements: str, batch: int, shared: bool):
    """The product with its steps, the product alone, and the steps alone."""
    dims = ("s0", "s1")[:batch]
    a, b = ", ".join((*dims, "m", "k")), ", ".join((*(() if shared else dims), "k", "n"))
    shape = ", ".join((*dims, "m", "n"))
    repeats = shared and batch > 0

    def multiplied(number: int) -> list[str]:
        if not repeats:
            return [f"%{number} = matmul(%0, %1) {dtype}[{shape}]"]
        right = f"%{number} = broadcast(%1) {elements}[{', '.join((*dims, 'k', 'n'))}]"
        return [right, f"%{number + 1} = matmul(%0, %{number}) {dtype}[{shape}]"]

    def text(lines: list[str]) -> str:
        return "graph v1 {\n  " + "\n  ".join(lines) + "\n}"

    factors = [f"%0 = input {elements}[{a}]", f"%1 = input {elements}[{b}]"]
    own = 1 + repeats  # values that the product takes
    inputs, behind = steps.lines(dtype, dims, 2)
    count = len(inputs)
    product = f"%{2 + count + own - 1}"
    # Steps count on from one value for the product.
    moved = [renumbered(line, 2 + count, own - 1).replace("%p", product) for line in behind]
    alone_inputs, alone = steps.lines(dtype, dims, 0)
    return (
        dvm.CompiledGraph(text([*factors, *inputs, *multiplied(2 + count), *moved])),
        dvm.CompiledGraph(text([*factors, *multiplied(2), f"return %{2 + own - 1}"])),
        dvm.CompiledGraph(
            text(
                [
                    *alone_inputs,
                    f"%{count} = input {dtype}[{shape}]",
                    *(line.replace("%p", f"%{count}") for line in alone),
                ]
            )
        ),
    )


def renumbered(line: str, first: int, by: int) -> str:
    """The line with all values from `first` on counted higher."""
    words = line.split("%")
    for k, word in enumerate(words[1:], 1):
        digits = word[: len(word) - len(word.lstrip("0123456789"))]
        if digits and int(digits) >= first:
            words[k] = f"{int(digits) + by}" + word[len(digits) :]
    return "%".join(words)


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype.startswith("i"):
        return rng.integers(-9, 9, shape).astype(NAMES[dtype])
    return rng.standard_normal(shape).astype(NAMES[dtype])


STEPS = st.builds(
    Steps,
    st.lists(st.sampled_from([*OPERANDS, "square", "abs", "neg"]), min_size=1, max_size=5).map(
        tuple
    ),
    st.booleans(),
)


@settings(max_examples=120)
@given(
    steps=STEPS,
    kind=st.sampled_from(PRODUCTS),
    batch=st.sampled_from([(), (), (1,), (3,), (2, 3)]),
    shared=st.booleans(),
    m=ROWS,
    n=COLUMNS,
    k=DEPTHS,
    turned=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_steps_give_the_bits_of_a_pass_of_their_own(
    steps, kind, batch, shared, m, n, k, turned, seed
):
    dtype, elements = kind
    rng = np.random.default_rng(seed)
    if batch:
        m = min(m, 200)
    a = numbers(rng, (*batch, m, k), elements)
    b = numbers(rng, ((k, n) if shared else (*batch, k, n)), elements)
    if turned:
        b = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)
    shapes = {"row": (n,), "column": (m, 1), "whole": (*batch, m, n), "one": ()}
    others = [numbers(rng, shapes[kind], dtype) for kind in steps.kinds if kind in OPERANDS]
    fused, product, behind = graphs(steps, dtype, elements, len(batch), shared)
    (bare,) = product(a, b)
    for got, expected in zip(fused(a, b, *others), behind(*others, bare), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_bias_of_several_dims_keeps_batches_apart():
    """Positions have a bias of their own, so that batches and rows are no single dim."""
    graph = dvm.CompiledGraph(
        """graph v1 {
  %0 = input f32[b, m, k]
  %1 = input f32[k, n]
  %2 = input f32[m, n]
  %3 = broadcast(%1) f32[b, k, n]
  %4 = matmul(%0, %3) f32[b, m, n]
  %5 = broadcast(%2) f32[b, m, n]
  %6 = add(%4, %5) f32[b, m, n]
  return %6
}"""
    )
    rng = np.random.default_rng(1)
    for b, m, n in [(3, 5, 7), (4, 200, 700), (1, 300, 900)]:
        x, w = rng.integers(-9, 9, (b, m, 20)), rng.integers(-9, 9, (20, n))
        bias = rng.integers(-9, 9, (m, n))
        (result,) = graph(*(v.astype("f4") for v in (x, w, bias)))
        np.testing.assert_array_equal(result, x @ w + bias)


def softmax(p: np.ndarray) -> np.ndarray:
    e = np.exp(p - p.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(p: np.ndarray) -> np.ndarray:
    d = p - p.mean(axis=-1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1)


# What reduces rows of a product: with steps behind, alone, and beside elements that are needed.
BY_ROWS = {
    "softmax": softmax,
    "layer norm": layer_norm,
    "largest": lambda p: np.maximum(p, 0).max(axis=-1),
    "mean square": lambda p: (p * p).mean(axis=-1),
    "elements, too": lambda p: (p + 1, softmax(p + 1)),
    "two softmaxes": lambda p: softmax(np.tanh(softmax(p)) * 2),
}


@settings(max_examples=120)
@given(
    name=st.sampled_from(sorted(BY_ROWS)),
    dtype=st.sampled_from(["f4", "f8"]),
    batch=st.sampled_from([(), (), (3,)]),
    m=ROWS,
    n=COLUMNS.filter(lambda n: n > 0),
    k=DEPTHS,
    seed=st.integers(0, 2**32 - 1),
)
def test_rows_are_reduced_where_a_tile_holds_them(name, dtype, batch, m, n, k, seed):
    rng = np.random.default_rng(seed)
    m = min(m, 200) if batch else m
    a, b = numbers(rng, (*batch, m, k), "f64"), numbers(rng, (k, n), "f64")
    bias = numbers(rng, (n,), "f64")
    by_rows = BY_ROWS[name]

    def program(x, w, c):
        return by_rows(x @ w + c)

    got = by_dtype[name, dtype, len(batch)](*(v.astype(dtype) for v in (a, b, bias)))
    expected = program(*(v.astype(dtype).astype("f8") for v in (a, b, bias)))
    limit = {"f4": 2e-4, "f8": 1e-11}[dtype]
    for mine, true in zip(
        got if isinstance(got, tuple) else (got,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        assert mine.dtype == np.dtype(dtype)
        np.testing.assert_allclose(mine, true, rtol=limit, atol=limit)


class Compiled(dict):
    """A function of each kind, compiled once: further sizes are no captures."""

    def __missing__(self, key):
        by_rows = BY_ROWS[key[0]]
        self[key] = dvm.compile(lambda x, w, c: by_rows(x @ w + c))
        return self[key]


by_dtype = Compiled()


def test_a_product_and_a_softmax_are_one_region():
    f = dvm.compile(lambda x, w: softmax(x @ w))
    x, w = np.ones((100, 30), "f4"), np.ones((30, 200), "f4")
    f(x, w)
    report = dvm.explain(f)(x, w)
    assert report.call is not None
    assert report.call["regions"] == 1


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads(run_python, threads):
    source = f"""
import os
os.environ["DVM_NUM_THREADS"] = "{threads}"
os.environ["DVM_VERIFY"] = "1"
import numpy as np, dvm, zlib
graph = dvm.CompiledGraph('''graph v1 {{
  %0 = input f32[m, k]
  %1 = input f32[k, n]
  %2 = input f32[n]
  %3 = matmul(%0, %1) f32[m, n]
  %4 = broadcast(%2) f32[m, n]
  %5 = add(%3, %4) f32[m, n]
  %6 = tanh(%5) f32[m, n]
  %7 = sum(%6) f32[m, 1] {{axes = [1]}}
  %8 = broadcast(%7) f32[m, n]
  %9 = div(%6, %8) f32[m, n]
  return %9
}}''')
rng = np.random.default_rng(5)
a, b, c = (rng.standard_normal(s, dtype="f4") for s in [(600, 50), (50, 1100), (1100,)])
results = {{zlib.crc32(graph(a, b, c)[0].tobytes()) for _ in range(5)}}
print(results)
"""
    assert run_python(source) == run_python(source.replace(f'"{threads}"', '"1"'))
