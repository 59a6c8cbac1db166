"""Ops that are said to raise no status flag raise none in NumPy, whatever their operands."""

import itertools
import warnings

import numpy as np
import pytest

import dvm
from dvm import _dvm

NAMES = dict(_dvm.dtype_table)


def specials(dtype: str) -> list[object]:
    if dtype == "bool":
        return [False, True]
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        return [0, 1, 2, limits.min, limits.max]
    limits = np.finfo(dtype)
    tiny = limits.smallest_subnormal
    return [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, limits.max, limits.min, tiny, -tiny]


def warns(ufunc: np.ufunc, values: np.ndarray) -> bool:
    """Whether some operands make NumPy raise a flag."""
    for operands in itertools.product(values, repeat=ufunc.nin):
        try:
            with np.errstate(all="raise"):  # arrays: scalar integers tell of overflows besides
                ufunc(*(np.full(3, operand) for operand in operands))
        except FloatingPointError:
            return True
    return False


@pytest.mark.parametrize(("op", "name"), _dvm.ufunc_table)
def test_what_is_quiet_never_warns(op: str, name: str) -> None:
    ufunc = getattr(np, name)
    for dtype in NAMES:
        values = np.array(specials(dtype), dtype)
        try:
            made = ufunc.resolve_dtypes((values.dtype,) * ufunc.nin + (None,) * ufunc.nout)
        except TypeError:
            continue
        if any(each != values.dtype for each in made[: ufunc.nin]):
            continue  # computed in another dtype
        result = NAMES.get(made[ufunc.nin].name)
        if result is None or not _dvm.may_raise(op, result):
            assert not warns(ufunc, values), f"{name} of {dtype}"


def test_quiet_and_loud() -> None:
    assert _dvm.may_raise("exp", "f32")
    assert _dvm.may_raise("floor_divide", "i64")
    assert _dvm.may_raise("cast", "i8")
    assert not _dvm.may_raise("add", "i64")
    assert not _dvm.may_raise("maximum", "f32")
    assert not _dvm.may_raise("reshape", "f32")


@pytest.mark.parametrize("nan", [0x7E00, 0x7D01])  # one that is quiet, and one that signals
@pytest.mark.parametrize("size", [2, 40, 5000, 70000])
@pytest.mark.parametrize("ufunc", [np.abs, np.negative])
def test_sorted_halves_warn_behind_quiet_ops(ufunc: np.ufunc, size: int, nan: int) -> None:
    """NumPy's sort may give NaNs that signal (AVX-512's does), `abs` leaves them so."""

    def plain(x):
        return np.sqrt(ufunc(ufunc(np.sort(x))))

    compiled = dvm.compile(plain)
    halves = np.linspace(0, 2, size, dtype=np.float16)
    for _ in range(3):
        compiled(halves)
    assert compiled.stats.hits
    halves.view(np.uint16)[size // 2] = nan
    told = []
    for function in (plain, compiled):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            function(halves)
        told.append([str(warning.message) for warning in seen])
    assert told[0] == told[1]
