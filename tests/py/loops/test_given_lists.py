"""Loops over lists and tuples that a call is given, of any length, and over slices of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare
from loops.generated import function_of
from loops.given_lists import KINDS, NUMBERED, GivenWriter, Listed, Row, given
from loops.test_loops import PROGRAMS_WRITTEN
from loops.test_numbers import turns_of_numbers

LENGTHS = (3, 4, 0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12)
PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[function.__name__] = function
    return function


@program
def added_up(t):
    s = 0.0
    for v in t:
        s += v
    return s


@program
def by_place(t):
    s = 0.0
    for i in range(len(t)):
        s += t[i]
    return s


@program
def in_pairs(t):
    s = 0.0
    for v, w in zip(t, t[1:]):  # noqa: RUF007
        s += (v - w) * v
    return s


@program
def kept(t):
    out = []
    for v in t:
        out.append(v)
    return out


@program
def kept_by_place(t):
    out = []
    for i in range(len(t)):
        out.append(t[i])
    return out


@program
def kept_with_their_places(t):
    return [(v, i) for i, v in enumerate(t, 1)]


@program
def kept_where_large(t):
    return [v for v in t if v > 1], t


@program
def kept_under_another_name(t):
    out = []
    for v in t:
        w = v
        if len(out) < 4:
            out.append(w)
    return out, len(t)


@program
def behind_the_first(t):
    s = 0
    for v in t[1:]:
        s += v
    return s


@program
def of_two_halves(t):
    half, s = len(t) // 2, 0
    for v in t[:half]:
        s += v
    for v in t[half:]:
        s -= v
    return s, t[half:]


@program
def backwards(t):
    s = 0.0
    for i, v in enumerate(t[::-1]):
        s = s * 0.5 + v * i
    for v in reversed(t):
        s = s * 0.5 + v
    return s


@program
def from_each_place_on(t):
    s = 0
    for i in range(len(t)):
        for v in t[i:]:
            s += v
    return s


@program
def largest_so_far(t):
    best, rises = None, 0
    for v in t:
        if best is None or v > best:
            best = v
        if v > 1:
            rises += 1
    return best, rises


@program
def looked_through(t):
    place = 0
    while place < len(t) and t[place] < 3:
        place += 1
    return place, t[-2:]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("make", [list, tuple, Listed, Row])
def test_any_length_is_one_path(name: str, make: Any) -> None:
    function = PROGRAMS[name]
    with dvm.stance("force_capture"):
        for kind in NUMBERED:
            compiled = dvm.compile(function)
            for length in LENGTHS:
                compare(function, compiled, (make(map(KINDS[kind], range(length))),))
            # Of mixed ones a turn goes another way for each two types: a path that no other call
            # takes is not made again and again.
            if kind != "mixed":
                assert compiled.stats.fallbacks == 0, compiled.fallback_reasons
                assert compiled.stats.captures <= 5, (kind, compiled.why_recompiled())


@pytest.mark.parametrize("name", PROGRAMS)
def test_elements_that_are_no_numbers_are_what_they_are(name: str) -> None:
    function = PROGRAMS[name]
    with dvm.stance("force_capture"):
        for make in (list, tuple):
            for kind in KINDS:
                compiled = dvm.compile(function)
                for length in LENGTHS[:9]:
                    for other in (kind, "ints", "floats"):
                        compare(function, compiled, (make(map(KINDS[other], range(length))),))


@pytest.mark.parametrize("part", range(4))
def test_written_programs_over_given_lists_do_compiled_what_they_do_plain(part: int) -> None:
    with dvm.stance("force_capture"):
        for seed in range(part, PROGRAMS_WRITTEN, 4):
            source = GivenWriter(seed).source()
            function = function_of(source, seed)
            compiled = dvm.compile(function)
            for number in range(8):
                compare(function, compiled, given(seed, number), source)


def test_a_list_that_is_what_it_is_put_into_stays_one() -> None:
    def doubled(t, out):
        for v in t:
            if len(out) < 20:
                out.append(v)
        return out

    def first(t):
        out = t
        for v in t[:2]:
            out.append(v)
        return out is t, out

    compiled, other = dvm.compile(doubled), dvm.compile(first)
    with dvm.stance("force_capture"):
        for length in LENGTHS:
            one = list(range(length))
            compare(doubled, compiled, (one, one))
            compare(doubled, compiled, (one, [0.5]))
            compare(first, other, (one,))


@pytest.mark.parametrize("make", [list, tuple])
def test_arrays_of_a_list_are_kept_themselves(make: Any) -> None:
    def chosen(t):
        out = []
        for v in t:
            if v[0] > 1:
                out.append(v)
        return out

    compiled = dvm.compile(chosen)
    with dvm.stance("force_capture"):
        for length in LENGTHS:
            rows = make(np.full(2, i * 0.75) for i in range(length))
            plain, got = chosen(rows), compiled(rows)
            assert len(plain) == len(got)
            assert all(one is other for one, other in zip(plain, got, strict=True))


def test_how_long_a_tuple_is_matters_where_it_is_asked() -> None:
    def ends(t):
        return (t[0], t[-1], t[len(t) - 1]) if t else None

    def unpacked(*args):
        first, *others = args
        return first, others, len(args) > 2, args == (1, 2)

    compiled = dvm.compile(ends)
    with dvm.stance("force_capture"):
        for length in LENGTHS:
            compare(ends, compiled, (tuple(range(length)),))
        assert compiled.stats.captures <= 4
        compiled = dvm.compile(unpacked)
        for length in LENGTHS:
            compare(unpacked, compiled, tuple(range(length)))


def test_a_turn_asks_for_the_length_in_the_machine() -> None:
    def counted(t):
        place = 0
        while place < len(t):
            place += 1
        return place

    compiled = dvm.compile(counted)
    with dvm.stance("force_capture"):
        for length in (3, 4, 5, 200):
            assert compiled([0.5] * length) == length
    assert compiled.stats.captures <= 2
    assert turns_of_numbers(compiled) > 150


def test_turns_in_which_scalars_are_compared_twice_run_on_the_machine() -> None:
    x = np.arange(1.0, 400)

    def rises(n):
        s, top, count = 0.0, 0.0, 0
        for i in range(n):
            s += x[i]
            if s > top:
                top = s
            if s > 1:
                count += 1
        return top, count

    compiled = dvm.compile(rises)
    with dvm.stance("force_capture"):
        for n in (4, 11, 18, 5, 300, 0, 1):
            compare(rises, compiled, (n,))
    assert compiled.stats.captures <= 2
    assert turns_of_numbers(compiled) > 290


def test_scalars_are_one_object_or_two() -> None:
    a, b = np.float64(1), np.float64(1)

    def asked(a, b):
        return a is b, a is not b, a + b

    def of_a_loop(x, n):
        s = top = x[0]
        for i in range(n):
            s = s + x[i]
            if i % 2:
                top = s
        return top is s, top is not s, s

    for first in ((a, b), (a, a)):
        compiled = dvm.compile(asked)
        for args in (first, (a, b), (a, a), (b, a), (b, b)):
            assert compiled(*args) == asked(*args)
        assert compiled.stats.captures == 2
    compiled = dvm.compile(of_a_loop)
    with dvm.stance("force_capture"):
        for n in (3, 4, 5, 8, 9, 20, 0, 1, 2, 4, 5, 30, 31):
            assert compiled(np.ones(40), n) == of_a_loop(np.ones(40), n)


def reason_of(function: Callable[..., Any], *args: Any) -> str:
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for rows in args:
            report = dvm.explain(compiled)(copy.deepcopy(rows))
    return str(report.loops[-1]["reason"])


def test_a_reason_names_the_list() -> None:
    def kept_in_a_list(t):
        out = []
        for v in t:
            out.append(v)
        return out

    def counted(t):
        found = [0]
        for _ in t:
            found.append(1)
            if found.count(1) > 2:
                found.append(0)
        return found

    rows = [[[i] for i in range(length)] for length in (3, 4)]
    what = "is a list that is given parts of a list that are no numbers"
    assert reason_of(kept_in_a_list, *rows) == f"a loop whose variable out {what}"
    comprehension = "a loop whose variable (of a comprehension)"
    assert reason_of(lambda t: [v for v in t], *rows) == f"{comprehension} {what}"  # noqa: C416
    through = "is a list that its turns fill and look through"
    assert reason_of(counted, *rows) == f"a loop whose variable found {through}"


def test_loops_within_each_other_may_have_one_variable() -> None:
    def last(rows: Any, names: Any) -> Any:
        for each in list(names):
            for each in rows:
                if each > 9:
                    break
        return rows

    compiled = dvm.compile(last)
    with dvm.stance("force_capture"):
        for names in ({"a": 1}, {"a": 1, "b": 2}, {"c": 1}):
            assert compiled([1, 2, 3], names) == last([1, 2, 3], names)
    assert compiled.stats.fallbacks == 0, compiled.fallback_reasons
