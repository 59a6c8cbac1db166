"""Every reduction of NumPy in every form, compiled and plain: equal in all that can be observed.

A form is an expression over an array `a`, a mask `m` of its shape and an array `o` that can hold
the result. Compiled once, it is called with arrays of several sizes (0 and 1 among them) and
layouts; it must not be captured more than once per layout, and only calls that NumPy raises or
warns in may be dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm, reasons
from programs.observe import TOLERANCE, differences, observe
from programs.running import opaque_names
from whole import by_turns

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["bool", *INTEGERS, *FLOATS]
SHAPES: dict[int, list[tuple[int, ...]]] = {
    0: [()],
    1: [(5,), (1,), (0,), (700,)],
    2: [(3, 4), (1, 5), (0, 3), (3, 0), (40, 33)],
    3: [(2, 3, 4), (1, 1, 1), (4, 0, 2)],
}
AXES: dict[int, list[str]] = {
    0: ["None", "()", "0", "-1"],
    1: ["None", "0", "()", "(-1,)"],
    2: ["None", "0", "-1", "(0, 1)", "()"],
    3: ["None", "1", "(0, 2)", "(-1, 0)"],
}
LAYOUTS = 4

FOLDS = ("sum", "prod", "max", "min")
AVERAGES = ("mean", "var", "std")
POSITIONS = ("argmax", "argmin")
SCANS = ("cumsum", "cumprod")
REDUCTIONS = (*FOLDS, "any", "all", "count_nonzero", *AVERAGES, *POSITIONS, *SCANS)


def forms(name: str, axis: str) -> Iterator[str]:
    """The calls of one reduction along one axis."""
    if axis.startswith("(") and name in (*SCANS, *POSITIONS):
        return
    yield f"np.{name}(a, {axis})"
    if name in SCANS:
        yield f"a.{name}(axis={axis}, dtype='f4')"
        yield f"a.{name}({axis}, None, o)"
        return
    yield f"np.{name}(a, axis={axis}, keepdims=True)"
    if name == "count_nonzero":
        return
    if name in POSITIONS:
        yield f"a.{name}({axis}, out=o)"
        return
    yield f"np.{name}(a, axis={axis}, out=o)"
    if name in FOLDS:
        yield f"a.{name}({axis}, initial=1)"
        yield f"np.{name}(a, axis={axis}, initial=0, where=m, keepdims=True)"
    else:
        yield f"a.{name}(axis={axis}, where=m)"
    if name in ("sum", "prod", *AVERAGES):
        yield f"a.{name}({axis}, 'f4')"
    if name in AVERAGES[1:]:
        yield f"a.{name}({axis}, ddof=1)"


# Forms of less regular kinds, and what each may call instead of compiling it.
PERCENTILE = {"divide", "floor", "add", "subtract", "unique", "partition", "getitem"}
OTHERS: dict[str, set[str]] = {
    "np.ptp(a, 0)": set(),
    "np.ptp(a, -1, keepdims=True)": set(),
    "np.average(a, 0)": set(),
    "np.average(a, weights=m + 1.0)": {"average"},
    "np.median(a)": {"median"},
    "np.median(a, 0)": {"median"},
    "np.percentile(a, 50)": PERCENTILE,
    "np.nansum(a, 0)": set(),
    "np.nansum(a, keepdims=True, initial=3)": set(),
    "np.nansum(a, where=m)": set(),
    "np.nanprod(a, 0, 'f4')": set(),
    "np.nancumsum(a)": set(),
    "np.nancumprod(a, 0)": set(),
    "np.nanmax(a, 0)": set(),
    "np.nanmin(a, -1, keepdims=True)": set(),
    "np.nanmax(a, initial=0)": set(),
    "np.nanmin(a, 0, initial=0, where=m)": set(),
    "np.nanargmax(a, 0)": set(),
    "np.nanargmin(a)": set(),
    "np.nanmean(a)": set(),
    "np.nanmean(a, 0, out=o)": set(),
    "np.nanmean(a, 0, 'f4', keepdims=True)": set(),
    "np.nanstd(a, 0)": {"nanstd"},
    "np.fmax.reduce(a, 0)": set(),
    "np.fmin.reduce(a, axis=None, initial=2)": set(),
    "np.logical_xor.reduce(a)": set(),
    "np.minimum.reduce(a, axis=None, initial=3.0)": set(),
    "np.maximum.reduce(a, initial=1, where=m[:1])": set(),
    "np.maximum.reduce(a, 0, 'f4', initial=2.5)": set(),
    "np.add.reduce(a, dtype='f4', out=o)": set(),
    "np.add.reduce(a, 0, None, (o,))": set(),
    "np.maximum.accumulate(a, -1)": set(),
    "np.add.accumulate(a, 0, out=o)": set(),
    "np.logical_and.reduce(a, where=m)": set(),
    "np.sum(a, initial=None)": {"sum"},
    "np.sum(a, where=None)": set(),
    "np.max(a, initial=None)": set(),
    "np.max(a, initial=m.sum())": {"max"},
    "np.max(a, initial=(m.sum() > 0))": set(),
    "np.max(a, initial=int(m.sum()))": set(),
    "np.max(a, initial=np.float64(2.5))": set(),
    "np.sum(a, dtype=bool)": set(),
    "np.sum(a, dtype=np.int8)": set(),
    "np.prod(a, 0, np.uint16)": set(),
    "np.cumsum(a, -1, 'i8')": set(),
    "np.cumprod(a, dtype=bool)": set(),
    "np.mean(a, 0, np.int64)": set(),
    "np.mean(a, dtype='f2')": set(),
    "np.mean(a, 0, where=m[:1])": set(),
    "np.mean(a, 0, out=o, where=m)": set(),
    "np.var(a, dtype=np.int32)": set(),
    "np.var(a, 0, where=m, ddof=1, keepdims=True)": set(),
    "np.std(a, 0, correction=1)": set(),
    "np.sum([a, a], axis=0)": set(),
    "np.max([1, 2]) + a": set(),
    "a.T.sum(0)": set(),
    "a[::-1].max(0, initial=2)": set(),
    "np.sum(a, 0, where=m, out=o)": set(),
}


def made(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Small numbers of which products are small too."""
    if dtype in FLOATS:
        return rng.normal(size=shape).astype(dtype)
    return rng.integers(0 if dtype[0] in "bu" else -2, 2 if dtype == "bool" else 4, shape).astype(
        dtype
    )


def layouts(array: Any) -> list[Any]:
    """The array itself, and arrays of the same elements that lie otherwise in memory."""
    wide = np.empty(tuple(2 * n for n in array.shape), array.dtype)
    spread = wide[(..., *(slice(None, None, 2) for _ in array.shape))]
    spread[...] = array
    return [array, np.asfortranarray(array), spread, np.flip(np.flip(array).copy())]


def room(form: Callable[..., Any], a: Any, m: Any) -> Any:
    """An array that can hold the result of a form (as it comes out without one to write into)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.zeros_like(np.asarray(form(a, m, None)))
        except (TypeError, ValueError, ArithmeticError, LookupError):
            return np.zeros(())


def wrong(text: str, dtype: str, rank: int, opaque: set[str], holes: float = 0.0) -> list[str]:
    """What a compiled form does otherwise, or less, than it should."""
    form = eval(f"lambda a, m, o: {text}", {"np": np})
    compiled = dvm.compile(form)
    rng = np.random.default_rng(0)
    # Between the runs of a mask NumPy rounds a sum to f16, where dvm rounds once.
    coarse = 4 if "where" in text else 1
    tolerance = max(coarse * TOLERANCE.get(np.dtype(dtype), 0.0), TOLERANCE[np.dtype("f4")])
    found, loud, calls = [], 0, 0
    for shape in SHAPES[rank]:
        a, m = made(rng, shape, dtype), np.asarray(rng.random(shape) < 0.7)
        if holes and dtype in FLOATS and rank:
            a[rng.random(shape) < holes] = np.nan
        o = room(form, a, m)
        for layout, b in enumerate(layouts(a)):
            plain = observe(form, (b, m, o.copy()), {})
            actual = observe(compiled, (b, m, o.copy()), {})
            loud, calls = loud + bool(plain.error or plain.warnings), calls + 1
            options = {"tolerance": tolerance, "scale": 4.0}
            found += [
                f"{shape} layout {layout}: {each}" for each in differences(plain, actual, **options)
            ]
    stats = compiled.stats
    if stats.drops > loud:
        found.append(f"{stats.drops} drops, but {loud} calls that raise or warn")
    # Where every call raises or warns, replays stop calling what dvm does not know; a capture that
    # the calls after that have paid for begins anew, and the reason is gone.
    rests = loud == calls and set(compiled.fallback_reasons) <= {str(reasons.OPAQUE_LOST())}
    if stats.fallbacks and not rests:
        found.append(f"fallbacks: {compiled.fallback_reasons}")
    if stats.captures > LAYOUTS:
        found.append(f"{stats.captures} captures")
    if loud < calls and not opaque_names(compiled) <= opaque:
        found.append(f"{sorted(opaque_names(compiled))} is called")
    return [f"{text} of {dtype}, rank {rank}: {each}" for each in found]


# Integers share their code, and of all dtypes ranks do: each reduction has some of those.
OF_ALL_RANKS = ("bool", "int8", "float64")
PAIRS = [
    (name, dtype)
    for turn, name in enumerate(REDUCTIONS)
    for dtype in ("bool", "int8", *by_turns(INTEGERS[1:], turn, 2), *FLOATS)
]


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_a_reduction_is_compiled_and_equals_numpys(name: str, dtype: str) -> None:
    every = dtype in by_turns(OF_ALL_RANKS, REDUCTIONS.index(name))
    ranks = (0, 1, 2, 3) if every else (2,)
    for rank in ranks:
        for axis in AXES[rank]:
            for text in forms(name, axis):
                assert wrong(text, dtype, rank, set()) == []


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64"])
@pytest.mark.parametrize("text", OTHERS)
def test_less_regular_forms(text: str, dtype: str) -> None:
    for rank in (
        (1, 2) if "accumulate" in text else (0, 1, 2)
    ):  # NumPy 2.4 frees out= of rank 0 twice
        opaque = OTHERS[text]
        if dtype == "float16" and "maximum.accumulate" in text:
            opaque = opaque | {"accumulate"}  # of two zeros NumPy keeps the first, for halves alone
        assert wrong(text, dtype, rank, opaque, holes=0.2) == []


LINES = (1, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1025, 33_000)
FOLDED = "fmax fmin subtract bitwise_xor bitwise_or logical_and logical_xor hypot"
ALONG = [f"np.{name}(a, {{axis}})" for name in POSITIONS]
ALONG += [f"np.{name}.reduce(a, {{axis}})" for name in FOLDED.split()]


@pytest.mark.parametrize("text", ALONG)
def test_long_lines_are_numpys_too(text: str) -> None:
    """Ties, and NaN, in and behind the blocks in which long lines are worked on."""
    rng = np.random.default_rng(3)
    for dtype in DTYPES:
        along = [eval(f"lambda a: {text.format(axis=axis)}", {"np": np}) for axis in (0, 1)]
        long = dtype in by_turns(("bool", "float32", "int32"), ALONG.index(text))
        for size in LINES if long else LINES[:-1:3]:
            line = made(rng, (size,), dtype)
            lines = [line, np.zeros_like(line), line.copy()]
            if dtype in FLOATS:
                lines[2][rng.integers(size)] = np.nan
            elif dtype != "bool":
                lines[2][rng.integers(size)] = np.iinfo(dtype).min
            for a in (np.array(lines), np.array(lines * 10)):
                for form, b in ((along[1], a), (along[0], a.T.copy()), (along[0], a)):
                    plain, actual = observe(form, (b,), {}), observe(dvm.compile(form), (b,), {})
                    found = differences(plain, actual, tolerance=0.0, scale=4.0)
                    assert not found, (dtype, size, b.shape, found)


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_in_columns_that_are_searched_together(dtype: str) -> None:
    """Ties, both zeros, NaN and the last row, in as many rows as are looked at and in few more."""
    rng = np.random.default_rng(6)
    forms = [lambda a: a.argmax(0), lambda a: a.argmin(0)]
    compiled = [dvm.compile(form) for form in forms]
    for side in (2, 3, 7, 8, 15, 16, 17, 100, 257, 511, 513):
        together = max(1, 512 // side)
        for count in (1, 2, together - 1, together, together + 1, 2 * together, 5 * together + 3):
            if count < 1:
                continue
            a = made(rng, (count, side), dtype)
            last = a.copy()
            last[-1] = 1 if dtype == "bool" else 100
            arrays = [a, np.zeros_like(a), last, np.concatenate([a, a], 1)[:, :side]]
            if dtype in FLOATS:
                holes = a.copy()
                holes[rng.random(a.shape) < 0.01] = np.nan
                arrays += [holes, np.where(a > 0, a.dtype.type(0), -a * 0)]
            for b in arrays:
                for form, fast in zip(forms, compiled, strict=True):
                    found = differences(observe(form, (b,), {}), observe(fast, (b,), {}))
                    assert not found, (side, count, found)


CASTING = [
    "a.any(0)",
    "a.all(0)",
    "a.any()",
    "np.all(a, axis=1)",
    "(a.any(0), a.all(0))",
]
CASTING_INTEGERS = [
    "a.sum()",
    "a.sum(0)",
    "a.sum(1)",
    "a.prod(0)",
    "a.mean(0)",
    "(a.mean(0), a.sum(0))",
    "a.sum(0, dtype='u8')",
    "np.sum(a > 1, axis=0)",
    "(a.sum(0), a.prod(0), a.max(0))",
    "(a.astype('i8'), a.astype('i8').sum(0))",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_that_cast_what_they_read(dtype: str) -> None:
    """Rows, columns and all, in any layout, extreme elements among them."""
    rng = np.random.default_rng(5)
    texts = CASTING if dtype in FLOATS else CASTING + CASTING_INTEGERS
    forms = [eval(f"lambda a: {text}", {"np": np}) for text in texts]
    compiled = [dvm.compile(form) for form in forms]
    shapes = [(1, 1), (3, 5), (513, 7), (7, 513), (100, 257), (1000, 300), (2, 3000), (4097, 1)]
    for shape in shapes:
        base = made(rng, (2 * shape[0], 2 * shape[1]), dtype)
        if dtype in FLOATS:
            base[rng.random(base.shape) < 0.9] = 0
            base[rng.random(base.shape) < 0.01] = np.nan
        elif dtype != "bool":
            base[rng.random(base.shape) < 0.1] = np.iinfo(dtype).min
            base[rng.random(base.shape) < 0.1] = np.iinfo(dtype).max
        half = base[: shape[0], : shape[1]]
        for a in (half.copy(), half, half.T.copy().T, base[::2, ::2], half.copy()[::-1, ::-1]):
            for form, fast in zip(forms, compiled, strict=True):
                found = differences(observe(form, (a,), {}), observe(fast, (a,), {}))
                assert not found, (shape, a.strides, found)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_element_that_decides_may_be_anywhere(dtype: str) -> None:
    """Lines and rows with one true or one false element, or none, and strided ones."""
    texts = ("a.any()", "a.all()", "np.any(a, -1)", "(a.all(axis=-1), a.any(axis=-1))")
    texts += ("a.max()", "a.min(-1)") if dtype == "bool" else ()
    forms = [eval(f"lambda a: {text}", {"np": np}) for text in texts]
    compiled = [dvm.compile(form) for form in forms]
    odd = [2, -1] if dtype in FLOATS else [1]
    odd += [np.nan, np.inf, 6e-8] if dtype in FLOATS else []
    for size in (0, 1, 2, 63, 64, 65, 511, 2047, 2048, 2049, 70_001, 300_001):
        zeros = np.zeros(2 * size, dtype)
        if dtype in FLOATS:
            zeros[::3] = -0.0
        for start, hits in ((zeros, odd), (np.full(2 * size, odd[-1], dtype), [0])):
            places = {0, 1, 63, 64, size // 2, 2048, 16_384, size - 1}
            for at in [None, *sorted(p for p in places if 0 <= p < size)]:
                a = start.copy()
                if at is not None:
                    a[at] = hits[at % len(hits)]
                for b in (a[:size], a.reshape(2, size), a[::-2]):
                    for form, fast in zip(forms, compiled, strict=True):
                        found = differences(observe(form, (b,), {}), observe(fast, (b,), {}))
                        assert not found, (size, at, b.shape, found)


CUT = [
    "(a * 2, (a * 2).sum(axis=-1))",
    "(a.sum(axis=-1), a.max(axis=-1), (a * a).mean(axis=-1))",
    "((a + b).min(axis=-1), (a * b).sum(axis=-1))",
    "a.var(axis=-1)",
]


@pytest.mark.parametrize("text", CUT)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_lines_cut_into_chunks(text: str, dtype: str) -> None:
    """Sums too long for a tile: stored elements, several sums, a broadcast, all strides."""
    rng = np.random.default_rng(4)
    compiled = dvm.compile(eval(f"lambda a, b: {text}", {"np": np}))
    plain = eval(f"lambda a, b: {text}", {"np": np})
    for size in (70_001, 131_072, 131_073):
        base = (rng.uniform(-3, 3, (3, 2 * size))).astype(dtype)
        for a in (base[0, :size], base[0, :size][::-1], base[:, ::2], base[:, ::-1][:, :size]):
            for b in (a, a[..., :1]):
                want, got = plain(a, b), compiled(a, b)
                pairs = zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]
                for w, g in pairs:
                    assert w.dtype == g.dtype
                    rtol = 1e-3 if dtype == "float32" else 1e-9
                    np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol * 100)


@pytest.mark.parametrize("count", [2**41, 2**61])
@pytest.mark.parametrize("axis", [None, 0])
def test_idempotent_reductions_need_one_of_what_repeats(count: int, axis: int | None) -> None:
    compiled = dvm.compile(lambda x: (x.any(axis=axis), x.max(axis=axis)))
    compiled(np.broadcast_to(True, (3,)))
    found = compiled(np.broadcast_to(True, (count,)))
    assert found == (True, True)
    assert compiled.stats.hits + compiled.stats.drops == 1


def test_extremes_of_numbers_need_one_of_what_repeats() -> None:
    compiled = dvm.compile(lambda x: (np.fmax.reduce(x), np.fmin.reduce(x), (x + x).max()))
    compiled(np.broadcast_to(2.0, (3,)))
    assert compiled(np.broadcast_to(2.0, (2**41,))) == (2.0, 2.0, 4.0)
    assert compiled.stats.hits == 1


@pytest.mark.parametrize("target", _dvm.target_names)
def test_warnings_are_numpys_on_every_target(target: str) -> None:
    compiled = dvm.compile(lambda x: 1 / x, target=target)
    compiled(np.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(compiled(np.full(3, 2.0)), np.full(3, 0.5))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        compiled(np.zeros(3))
