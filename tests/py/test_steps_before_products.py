"""Steps that make the left factor of a product: the same bits as the steps and then the product.

Sizes are of all kinds: rows are made tile by tile where results have few columns, and written to
memory first where that takes less time.
"""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm

NAMES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "u8": "u1"}
#: dtypes of the result, of what is multiplied, and of what that is made of
KINDS = [
    ("f32", "f32", "f32"),
    ("f64", "f64", "f64"),
    ("f32", "f32", "i8"),
    ("f32", "f32", "u8"),
    ("f64", "f64", "f32"),
    ("f16", "f16", "f16"),
    ("f32", "f16", "f32"),
    ("i32", "i8", "i8"),
    ("i32", "i32", "i16"),
]
ROWS = st.sampled_from([0, 1, 2, 7, 9, 11, 12, 13, 23, 64, 200, 1023, 3000])
COLUMNS = st.sampled_from([0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 300])
DEPTHS = st.sampled_from([0, 1, 2, 7, 16, 17, 64, 65, 300])
#: what a step adds or multiplies with, by the dims of the factor that it has
OPERANDS = {"row": "k", "column": "m, 1", "whole": "m, k"}
STEPS = st.lists(st.sampled_from([*OPERANDS, "abs", "neg", "square"]), min_size=1, max_size=4)


@dataclasses.dataclass
class Text:
    """Lines of a graph; values are numbered as they come."""

    lines: list[str] = dataclasses.field(default_factory=list)

    def add(self, what: str) -> str:
        self.lines.append(f"%{len(self.lines)} = {what}")
        return f"%{len(self.lines) - 1}"

    def compiled(self, result: str) -> dvm.CompiledGraph:
        return dvm.CompiledGraph("\n".join(["graph v1 {", *self.lines, f"return {result}", "}"]))


def add_steps(text: Text, x: str, others: list[str], steps: list[str], dtypes, batch: str) -> str:
    _, dtype, source = dtypes
    shape = f"{dtype}[{batch}m, k]"
    if source != dtype:
        x = text.add(f"cast({x}) {shape}")
    rest = iter(others)
    for step in steps:
        if step in OPERANDS:
            other = text.add(f"broadcast({next(rest)}) {shape}")
            x = text.add(f"{'mul' if step == 'column' else 'add'}({x}, {other}) {shape}")
        elif step == "square":
            x = text.add(f"mul({x}, {x}) {shape}")
        else:
            x = text.add(f"{step}({x}) {shape}")
    return x


def graphs(dtypes, steps: list[str], batch: str):
    """All in one; the steps alone; the product alone."""
    result, dtype, source = dtypes
    behind = f"{result}[{batch}m, n]"
    made = []
    for with_product in (True, False):
        text = Text()
        x = text.add(f"input {source}[{batch}m, k]")
        others = [text.add(f"input {dtype}[{OPERANDS[s]}]") for s in steps if s in OPERANDS]
        w = text.add(f"input {dtype}[{batch}k, n]") if with_product else ""
        factor = add_steps(text, x, others, steps, dtypes, batch)
        last = text.add(f"matmul({factor}, {w}) {behind}") if with_product else factor
        made.append(text.compiled(last))
    alone = Text()
    x, w = alone.add(f"input {dtype}[{batch}m, k]"), alone.add(f"input {dtype}[{batch}k, n]")
    return *made, alone.compiled(alone.add(f"matmul({x}, {w}) {behind}"))


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, special: bool):
    if not dtype.startswith("f"):
        return rng.integers(0 if dtype == "u8" else -9, 9, shape).astype(NAMES[dtype])
    x = rng.standard_normal(shape).astype(NAMES[dtype])
    if special:
        x[rng.random(shape) < 0.001] = np.nan
        x[rng.random(shape) < 0.001] = np.inf
        x[rng.random(shape) < 0.01] = -0.0
    return x


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The same elements in another place of memory."""
    if layout == "columns":
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout == "apart":
        wide = np.zeros((*x.shape[:-2], x.shape[-2] * 2, x.shape[-1] * 3), x.dtype)
        part = wide[..., ::-2, 1::3]
        part[...] = x
        return part
    return x


@settings(max_examples=200)
@given(
    dtypes=st.sampled_from(KINDS),
    steps=STEPS,
    batch=st.sampled_from([(), (), (1,), (3,)]),
    m=ROWS,
    n=COLUMNS,
    k=DEPTHS,
    layouts=st.tuples(*[st.sampled_from(["rows", "rows", "columns", "apart"])] * 2),
    special=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_bits_of_a_factor_in_memory(dtypes, steps, batch, m, n, k, layouts, special, seed):
    rng = np.random.default_rng(seed)
    if not any(s in OPERANDS or s != "abs" for s in steps) and dtypes[1] == dtypes[2]:
        steps = [*steps, "neg"]
    x = laid_out(numbers(rng, (*batch, m, k), dtypes[2], special), layouts[0])
    w = laid_out(numbers(rng, (*batch, k, n), dtypes[1], special), layouts[1])
    shapes = {"row": (k,), "column": (m, 1), "whole": (m, k)}
    others = [numbers(rng, shapes[s], dtypes[1], special) for s in steps if s in OPERANDS]
    whole, before, product = graphs(dtypes, steps, "b, " if batch else "")
    (factor,) = before(x, *others)
    (expected,) = product(factor, w)
    (got,) = whole(x, *others, w)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


PROGRAMS = {
    "gelu": lambda x, _s, _b, w: gelu(x) @ w,
    "scale and shift": lambda x, s, b, w: (x * s + b) @ w,
    "and steps behind": lambda x, _s, b, w: np.maximum((x - b) @ w, 0) * 2,
    "and rows reduced": lambda x, _s, _b, w: np.exp(-abs(x) @ w).sum(axis=-1),
    "dequantised": lambda x, s, _b, w: ((x * 9).astype("i1").astype("f4") * s) @ w,
}


def arrays(m, k, n, dtype="f4", seed=0):
    rng = np.random.default_rng(seed)
    shapes = [(m, k), (k,), (k,), (k, n)]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("sizes", [(3000, 64, 9), (1, 64, 300), (200, 17, 16), (12, 300, 1)])
def test_programs_are_one_region_and_right(name, sizes):
    program = PROGRAMS[name]
    compiled = dvm.compile(program)
    given_ = arrays(*sizes)
    compiled(*given_)
    got = compiled(*given_)
    report = dvm.explain(compiled)(*given_)
    assert report.call is not None
    assert report.call["regions"] == 1
    wide = [x.astype("f8") for x in given_]
    if name == "dequantised":
        wide[0] = np.trunc(given_[0] * 9) / 9
    np.testing.assert_allclose(got, program(*wide), rtol=2e-4, atol=2e-3)


def test_a_factor_that_is_returned_too_lies_in_memory():
    def program(x, w):
        y = np.tanh(x)
        return y, y @ w

    x, _, _, w = arrays(300, 64, 8)
    compiled = dvm.compile(program)
    compiled(x, w)
    y, z = compiled(x, w)
    np.testing.assert_allclose(y, np.tanh(x), rtol=1e-6)
    np.testing.assert_allclose(z, np.tanh(x) @ w, rtol=1e-4, atol=1e-5)
    answers = compiled.why_not_fused("tanh", "matmul")
    assert {answer.rule for answer in answers} == {"factor-shared"}


def test_what_is_read_for_other_columns_is_not_written_over():
    """x, which the program made, has the shape and the elements that the result could lie over."""

    def program(x, w):
        x = np.cumsum(x, axis=0)
        return -x @ w + x

    rng = np.random.default_rng(2)
    x, w = (rng.integers(-3, 4, shape).astype("f4") for shape in [(2000, 16), (16, 16)])
    compiled = dvm.compile(program)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x, w), program(x, w))


@pytest.mark.parametrize("n", [0, 8])
def test_flags_are_raised(n):
    compiled = dvm.compile(lambda x, w: np.log(x) @ w)
    x, _, _, w = arrays(3000, 16, n)
    compiled(abs(x) + 1, w)
    with np.errstate(all="raise"):
        compiled(abs(x) + 1, w)
        x[2999, 15] = 0
        with pytest.raises(FloatingPointError):
            compiled(abs(x), w)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads(run_python, threads):
    source = f"""
import os
os.environ["DVM_NUM_THREADS"] = "{threads}"
os.environ["DVM_VERIFY"] = "1"
import numpy as np, dvm, zlib
f = dvm.compile(lambda x, b, w: np.tanh(np.tanh(x + b) @ w))
rng = np.random.default_rng(5)
x, b, w = (rng.standard_normal(s, dtype="f4") for s in [(30000, 50), (50,), (50, 11)])
print({{zlib.crc32(f(x, b, w).tobytes()) for _ in range(5)}})
"""
    assert run_python(source) == run_python(source.replace(f'"{threads}"', '"1"'))


def test_a_frozen_matrix_that_steps_read_as_well():
    w = dvm.freeze(np.random.default_rng(3).standard_normal((64, 64)).astype("f4"))
    x = np.ones((64, 64), "f4")
    compiled = dvm.compile(lambda x: (x + w) @ w)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), (x + w) @ w, rtol=1e-4, atol=1e-4)
