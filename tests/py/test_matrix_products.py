"""Products of matrices as Graphs: every target against sums in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm

NAMES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i32": "i4", "i64": "i8"}
PRODUCTS = [
    ("f32", "f32"),
    ("f64", "f64"),
    ("f16", "f16"),
    ("f32", "f16"),
    ("i32", "i32"),
    ("i32", "i8"),
    ("i64", "i64"),
]
EPSILON = {"f16": 2.0**-11, "f32": 2.0**-24, "f64": 2.0**-53}
TARGETS = ["cpu", "ascend910b3"]
SIZES = st.one_of(st.sampled_from([0, 1, 2, 15, 16, 17, 63, 64, 65, 97]), st.integers(1, 40))


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    """The same elements in another place of memory."""
    if layout == "columns":
        return np.ascontiguousarray(values.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout == "reversed":
        return np.ascontiguousarray(values[..., ::-1, ::-1])[..., ::-1, ::-1]
    if layout == "apart":
        wide = np.zeros((*values.shape[:-2], values.shape[-2] * 2, values.shape[-1] * 3))
        part = wide.astype(values.dtype)[..., ::2, 1::3]
        part[...] = values
        return part
    return values


LAYOUTS = st.sampled_from(["rows", "rows", "columns", "reversed", "apart"])


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype.startswith("i"):
        return rng.integers(-100, 100, shape).astype(NAMES[dtype])
    return rng.standard_normal(shape).astype(NAMES[dtype])


def check(result: np.ndarray, a: np.ndarray, b: np.ndarray, dtype: str) -> None:
    """Exact where integers are, else within the error of sums rounded at every step."""
    if dtype.startswith("i"):
        np.testing.assert_array_equal(result, a.astype("i8") @ b.astype("i8"))
        return
    wide = a.astype("f8") @ b.astype("f8")
    steps = a.shape[-1] + 1
    sums = "f32" if dtype == "f16" else dtype
    bound = steps * EPSILON[sums] * (abs(a).astype("f8") @ abs(b).astype("f8"))
    bound += abs(wide) * EPSILON[dtype]
    if dtype == "f16":
        bound += 2.0**-25  # half the distance of subnormal halves
    assert (abs(result.astype("f8") - wide) <= bound * 1.01).all()


def product(dtype: str, elements: str, a: tuple[str, ...], b: tuple[str, ...]) -> str:
    """A Graph of one product, `b` repeated for each matrix of `a` that it lacks."""
    whole = (*a[:-1], b[-1])
    repeated = (*a[:-2], *b[-2:])
    shape = ", ".join
    lines = [f"%0 = input {elements}[{shape(a)}]", f"%1 = input {elements}[{shape(b)}]"]
    right = "%1"
    if repeated != b:
        lines.append(f"%2 = broadcast(%1) {elements}[{shape(repeated)}]")
        right = "%2"
    last = len(lines)
    lines.append(f"%{last} = matmul(%0, {right}) {dtype}[{shape(whole)}]")
    return "graph v1 {\n  " + "\n  ".join(lines) + f"\n  return %{last}\n}}"


GRAPHS = {
    (dtype, elements, batches, target): dvm.CompiledGraph(
        product(
            dtype,
            elements,
            (*("s0", "s1")[:batches], "m", "k"),
            (*("s0", "s1")[: batches - shared], "k", "n"),
        ),
        target=target,
    )
    for dtype, elements in PRODUCTS
    for batches, shared in [(0, 0), (1, 1), (2, 0)]
    for target in TARGETS
}


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(PRODUCTS),
    m=SIZES,
    k=SIZES,
    n=SIZES,
    batches=st.integers(0, 2),
    layouts=st.tuples(LAYOUTS, LAYOUTS),
    seed=st.integers(0, 2**32 - 1),
)
def test_products(target, kind, m, k, n, batches, layouts, seed):
    dtype, elements = kind
    rng = np.random.default_rng(seed)
    lead = tuple(int(size) for size in rng.integers(1, 4, batches))
    a = numbers(rng, (*lead, m, k), elements)
    b = numbers(rng, (k, n) if batches == 1 else (*lead, k, n), elements)
    (result,) = GRAPHS[dtype, elements, batches, target](
        laid_out(a, layouts[0]), laid_out(b, layouts[1])
    )
    assert result.dtype == NAMES[dtype]
    assert result.shape == (*lead, m, n)
    check(result, a, b, dtype)


LONG = [(1, 70001, 1), (3, 9001, 7), (1, 3072, 768), (16, 10001, 16), (9, 2049, 300)]


@pytest.mark.parametrize("layouts", [("rows", "rows"), ("rows", "columns"), ("columns", "rows")])
@pytest.mark.parametrize("shape", LONG, ids=str)
@pytest.mark.parametrize("kind", PRODUCTS, ids=str)
def test_small_results_of_long_factors(kind, shape, layouts):
    """Which are computed in parts, for threads to share: whole and in batches."""
    dtype, elements = kind
    m, k, n = shape
    rng = np.random.default_rng(k)
    for lead in [(), (1, 2)]:
        a, b = numbers(rng, (*lead, m, k), elements), numbers(rng, (*lead, k, n), elements)
        graph = GRAPHS[dtype, elements, len(lead), "cpu"]
        (result,) = graph(laid_out(a, layouts[0]), laid_out(b, layouts[1]))
        check(result, a, b, dtype)


def test_steps_behind_a_product_in_parts():
    rng = np.random.default_rng(1)
    a, b = numbers(rng, (2, 20000), "f32"), numbers(rng, (20000, 33), "f32")
    bias, scale = numbers(rng, (33,), "f32"), numbers(rng, (2, 33), "f32")
    result, bare = dvm.CompiledGraph(EPILOGUE)(a, b, bias, scale)
    check(bare, a, b, "f32")
    np.testing.assert_allclose(result, np.tanh(bare + bias) * scale, rtol=1e-5, atol=1e-6)


EPILOGUE = """graph v1 {
  %0 = input f32[m, k]
  %1 = input f32[k, n]
  %2 = input f32[n]
  %3 = input f32[m, n]
  %4 = matmul(%0, %1) f32[m, n]
  %5 = broadcast(%2) f32[m, n]
  %6 = add(%4, %5) f32[m, n]
  %7 = tanh(%6) f32[m, n]
  %8 = mul(%7, %3) f32[m, n]
  return %8, %4
}"""


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=40, deadline=None)
@given(m=SIZES, k=SIZES, n=SIZES, seed=st.integers(0, 2**32 - 1))
def test_steps_behind_a_product(target, m, k, n, seed):
    rng = np.random.default_rng(seed)
    a, b = numbers(rng, (m, k), "f32"), numbers(rng, (k, n), "f32")
    bias, scale = numbers(rng, (n,), "f32"), numbers(rng, (m, n), "f32")
    result, bare = dvm.CompiledGraph(EPILOGUE, target=target)(a, b, bias, scale)
    check(bare, a, b, "f32")
    np.testing.assert_allclose(result, np.tanh(bare + bias) * scale, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%2 = matmul(%0, %0) f32[m, k]", r"no product of shapes \[m, k\] and \[m, k\]"),
        ("%2 = matmul(%0, %1) f64[m, n]", "no f64 of products of f32 and f32"),
    ],
)
def test_what_is_no_product(line, message):
    text = "graph v1 {\n  %0 = input f32[m, k]\n  %1 = input f32[k, n]\n  " + line
    with pytest.raises(dvm.Error, match=message):
        dvm.CompiledGraph(text + "\n  return %2\n}")
