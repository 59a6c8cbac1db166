"""A path takes the call it was made of: an equal call, or a copy of one, is not captured again.

Every call of the semantics suite that was captured is asked for once more, with copies of its
arguments made before it. Guards that nothing can meet a second time (the identity of an object that
each call makes anew, the size of a container the guard cannot measure) fail here.
"""

from __future__ import annotations

import copy
import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from semantics import test_semantics, world
from whole import some

#: What the call itself may have changed, or a copy of an argument: not the path's fault.
ELSEWHERE = ("a closure variable", "global", "argument seen", "layout")
#: Cases whose calls change what their own guards ask, or whose arguments cannot be copied as they
#: are: views of one memory, byte-swapped, misaligned.
OTHERWISE = {
    "attributes:base_of_arrays_and_views",
    "attributes:flat_is_written",
    "derived:overridden_methods_run",
    "draws_and_shuffles:a_branch_on_what_was_drawn",
    "dropped:setdefault_and_missing_keys_then_a_branch",
    "counters:the_best_so_far_in_the_class",
    "dropped:attribute_writes_before_an_unseen_outcome",
    "dtypes:byte_swapped_operands",
    "host_arrays:dtypes_with_parameters_first_without_elements",
    "dtypes:methods_that_write_into_every_dtype",
    "function_attributes:a_cache_that_is_made_at_first",
    "host_arrays:the_written_array_is_the_callers",
    "mutation:a_counter_in_a_dict",
    "effects:a_callback_under_the_error_state",
    "inplace:the_result_is_the_out_array",
    "mixtures:arrays_kept_by_the_program",
    "promotion:a_type_as_argument",
    "sizes:a_size_as_a_key",
    "sizes:a_size_is_stored",
    "host_arrays:views_of_a_written_array_leave",
    "overlap:overlapping_slices_as_two_arguments",
    "paths:the_outcome_depends_on_the_state",
    "tables:default_dict_argument_as_cache",
    "targets:a_part_of_a_part",
    "ties:signed_zeros_of_ties",
}

#: Steps behind which the original runs: the path was the right one.
DROPS = ("run", "call", "operator", "call_random", "require")


class AsksAgain(world.World):
    """A world that notes why the path of a call would not take a copy of the call."""

    def __init__(self, compile: Any) -> None:
        super().__init__(compile)
        self.refused: list[str] = []

    def __call__(self, function: Any, /, *args: Any, **keywords: Any) -> Any:
        copies = None
        before = 0
        if isinstance(function, _dvm.Compiled):
            before = function.stats.captures
            try:
                copies = copy.deepcopy((args, keywords))
            except Exception:
                copies = None
        result = super().__call__(function, *args, **keywords)
        if copies is not None and function.stats.captures > before:
            missed = _dvm.explain_miss(function, *copies[0], **copies[1])
            reasons = "; ".join(reason["text"] for reason in missed)
            is_drop = missed and missed[-1]["step"] in DROPS
            if not is_drop and reasons and not any(word in reasons for word in ELSEWHERE):
                self.refused.append(reasons)
        return result


# What the cases do is tested in semantics; here paths are asked again, by one code for all.
@pytest.mark.parametrize("name", some(sorted(set(test_semantics.world.CASES) - OTHERWISE), 500))
def test_a_path_takes_the_call_it_was_made_of(name: str, monkeypatch: Any) -> None:
    made: list[AsksAgain] = []

    def observed(compile: Any) -> AsksAgain:
        made.append(AsksAgain(compile))
        return made[-1]

    monkeypatch.setattr(world, "World", observed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world.records_of(world.CASES[name], dvm.compile)
    assert not made[0].refused


Pair = namedtuple("Pair", "first second")
SQUARE = np.random.default_rng(0).normal(size=(6, 6))
SYMMETRIC = SQUARE @ SQUARE.T


def gap(values: Any, vectors: Any) -> Any:
    return values[-1] - values[0], vectors * 2


CALLS: dict[str, tuple[Any, Any]] = {
    "svd": (lambda m: np.linalg.svd(m)[1].sum(), SQUARE),
    "eigh": (lambda m: gap(*np.linalg.eigh(m)), SYMMETRIC),
    "eig by name": (lambda m: np.linalg.eig(m).eigenvalues.real.sum(), SYMMETRIC),
    "qr": (lambda m: np.linalg.qr(m).R * 2, SQUARE),
    "slogdet": (lambda m: np.linalg.slogdet(m)[1] + 1, SYMMETRIC),
    "an argument": (lambda p: p.first * 2 + p[1], Pair(SQUARE, 2.0)),
    "nested": (lambda p: p[0].second + p[1], (Pair(1, SQUARE), 2.0)),
    "a result": (lambda m: Pair(m * 2, m).first.sum(), SQUARE),
    "cov of one": (lambda m: np.cov(m[0]) * 2, SQUARE),
    "histogram2d": (lambda m: np.histogram2d(m[0], m[1])[0] * 2, SQUARE),
    "histogram2d, edges": (lambda m: np.histogram2d(m[0], m[1])[1] * 2, SQUARE),
    "a set": (lambda p: p[1] * 2 if 1 in p[0] else p[1], ({1, 2, "three"}, SQUARE)),
    "a number out of range": (lambda x: x < 300, np.arange(3, dtype="i1")),
    "a number given out of range": (lambda p: p[1] < p[0], (300, np.arange(3, dtype="i1"))),
    "a line between equal ends": (lambda p: np.linspace(p[0], p[1], 3), (0.5, 0.5)),
    "a method of a scalar": (lambda x: x.round(2), np.float16(3)),
}


@pytest.mark.parametrize(("function", "argument"), CALLS.values(), ids=CALLS)
def test_equal_calls_are_captured_once(function: Any, argument: Any) -> None:
    compiled = dvm.compile(function)
    for _ in range(5):
        found, plain = compiled(copy.deepcopy(argument)), function(argument)
        for one, other in (
            zip(found, plain, strict=True) if type(plain) is tuple else [(found, plain)]
        ):
            np.testing.assert_allclose(one, other)
    stats = compiled.stats
    assert (stats.captures, stats.hits, stats.drops) == (1, 4, 0), compiled.why_recompiled()


#: makes another object each time
DTYPES = [
    lambda: np.dtype("f8").newbyteorder("S"),
    lambda: np.dtype("i2").newbyteorder("S"),
    lambda: np.dtype("f8").newbyteorder("="),
    lambda: np.dtype("M8[s]"),
    lambda: np.dtype("m8[ns]"),
    lambda: np.dtype("S7"),
    lambda: np.dtype("f4", metadata={"unit": "m"}),
]
USES: list[Any] = [
    lambda x, dtype: x.astype(dtype),
    lambda x, dtype: (np.zeros(len(x), dtype), x * 2),
    lambda x, dtype: (dtype.itemsize + len(x), x * 2),
    lambda x, dtype: x * 2 if dtype == np.dtype("M8[s]") else x * 3,
    lambda x, dtype: np.asarray(x.astype(dtype), dtype=dtype)[1:],
]


@pytest.mark.parametrize("made", DTYPES)
@pytest.mark.parametrize("function", USES)
def test_dtypes_are_told_by_what_they_say(function: Any, made: Any) -> None:
    compiled = dvm.compile(function)
    x = np.arange(4)
    for _ in range(6):
        assert repr(compiled(x, made())) == repr(function(x, made()))
    assert compiled.stats.hits >= 4 or compiled.fallback_reasons, compiled.why_recompiled()
    for other in DTYPES:
        for _ in range(2):
            assert repr(compiled(x, other())) == repr(function(x, other()))
