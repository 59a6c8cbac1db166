"""Iterators that C code makes: zip, map, filter, and those of itertools; and functools.reduce.

Each pulls from the iterators below it in the order in which Python's own does, one item at a time,
for the bodies of the functions that it calls were recorded in that order. A truth that decides
whether an item passes is an outcome.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from dvm import reasons
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.python_functions import NONE, PythonFunctions
from dvm.magpy_capture.spec import BodyRaised
from dvm.magpy_capture.values import (
    Abstract,
    Converter,
    End,
    IteratorValue,
    Literal,
    Sequence,
    Tensor,
)

ADD = Literal(operator.add)


def lazily(make: Callable[..., Iterator[Abstract]]) -> Callable[..., Abstract]:
    """Let a generator method give an iterator; it begins when the first item is pulled."""

    def made(self: Iterators, *arguments: Any, **named: Any) -> Abstract:
        items = make(self, *arguments, **named)
        broken = False

        def pull() -> Any:
            nonlocal broken
            if broken:  # Python's own would go on, but a generator has no way back
                raise self.refuse(reasons.ITERATOR_GOES_AFTER_EXCEPTION)
            try:
                return next(items, End)
            except BodyRaised:
                broken = True
                raise

        return IteratorValue(pull)

    made.__wrapped__ = make  # type: ignore[attr-defined]
    return made


class Iterators(PythonFunctions):
    """What Python's iterators do to abstract values."""

    def columns(self, iterables: tuple[Abstract, ...]) -> list[Callable[[], Any]]:
        return [self.iterator(iterable).pull for iterable in iterables]

    # ---- builtins

    def make_iter(self, iterable: Abstract, sentinel: Abstract | None = None) -> Abstract:
        if sentinel is None:
            return self.iterator(iterable)
        return self._until(iterable, sentinel)

    @lazily
    def _until(self, function: Abstract, sentinel: Abstract) -> Iterator[Abstract]:
        while not self.same_value(sentinel, part := self.resolve(self.apply(function, []))):
            yield part

    def same_value(self, a: Abstract, b: Abstract) -> bool:
        """`a == b` as C code asks it, which is an outcome."""
        raise NotImplementedError

    def make_reversed(self, sequence: Abstract) -> Abstract:
        return self.iterator(Sequence(self.elements(sequence)[::-1]))

    def take_next(self, iterator: Abstract, default: Abstract | None = None) -> Abstract:
        if not isinstance(iterator, IteratorValue):
            raise self.refuse(reasons.NEXT, describe(iterator))
        part = iterator.pull()
        if part is not End:
            return self.resolve(part)
        if default is None:
            raise self.refuse(reasons.NEXT_ITERATOR_END)
        return default

    def make_zip(self, *iterables: Abstract, strict: Abstract = Literal(False)) -> Abstract:
        columns = self.columns(iterables)
        same_length = bool(self.plain(strict))

        def pull() -> Any:
            row: list[Abstract] = []
            for column in columns:
                part = column()
                if part is End:
                    others = columns[1:] if same_length and not row else []
                    if (same_length and row) or any(other() is not End for other in others):
                        raise self.refuse(reasons.ZIP_UNEQUAL_LENGTHS)
                    return End
                row.append(part)
            return Sequence(row) if row else End

        return IteratorValue(pull)

    def make_enumerate(self, iterable: Abstract, start: Abstract = Literal(0)) -> Abstract:
        numbers = itertools.count(self.integer(start))
        pull = self.iterator(iterable).pull

        def numbered() -> Any:
            part = pull()
            return End if part is End else Sequence([Literal(next(numbers)), part])

        return IteratorValue(numbered)

    def make_map(self, function: Abstract, *iterables: Abstract) -> Abstract:
        rows = self.make_zip(*iterables)

        def pull() -> Any:
            row = rows.pull()
            return End if row is End else self.apply(function, row.elements)

        return IteratorValue(pull)

    def make_filter(self, function: Abstract, iterable: Abstract) -> Abstract:
        return self._passing(function, iterable, True)

    def make_filter_false(self, predicate: Abstract, iterable: Abstract) -> Abstract:
        return self._passing(predicate, iterable, False)

    def _passing(self, function: Abstract, iterable: Abstract, wanted: bool) -> Abstract:
        pull = self.iterator(iterable).pull

        def passing() -> Any:
            while (part := pull()) is not End:
                if self._holds(function, part) == wanted:
                    return part
            return End

        return IteratorValue(passing)

    def _holds(self, function: Abstract, part: Abstract) -> bool:
        return self.decided(part if self.is_none(function) else self.apply(function, [part]))

    def reduced(
        self, function: Abstract, iterable: Abstract, initial: Abstract | None = None
    ) -> Abstract:
        pull = self.iterator(iterable).pull
        result = pull() if initial is None else initial
        if result is End:
            raise self.refuse(reasons.FUNCTOOLS_REDUCE_NOTHING)
        while (part := pull()) is not End:
            result = self.combined(function, self.resolve(result), self.resolve(part))
        return self.resolve(result)

    def combined(self, function: Abstract, a: Abstract, b: Abstract) -> Abstract:
        """`function(a, b)`, where it is an operator perhaps."""
        raise NotImplementedError

    # ---- itertools

    @lazily
    def make_chain(self, *iterables: Abstract) -> Iterator[Abstract]:
        for iterable in iterables:
            yield from self.each(iterable)

    @lazily
    def make_chain_of(self, iterables: Abstract) -> Iterator[Abstract]:
        for iterable in self.each(iterables):
            yield from self.each(iterable)

    @lazily
    def make_star_map(self, function: Abstract, iterable: Abstract) -> Iterator[Abstract]:
        for row in self.each(iterable):
            yield self.apply(function, self.elements(row))

    @lazily
    def make_take_while(self, predicate: Abstract, iterable: Abstract) -> Iterator[Abstract]:
        for part in self.each(iterable):
            if not self._holds(predicate, part):
                return
            yield part

    @lazily
    def make_drop_while(self, predicate: Abstract, iterable: Abstract) -> Iterator[Abstract]:
        dropping = True
        for part in self.each(iterable):
            dropping = dropping and self._holds(predicate, part)
            if not dropping:
                yield part

    @lazily
    def make_accumulate(
        self, iterable: Abstract, func: Abstract = NONE, *, initial: Abstract = NONE
    ) -> Iterator[Abstract]:
        pull = self.iterator(iterable).pull
        total = pull() if self.is_none(initial) else initial
        if total is End:
            return
        yield total
        function = ADD if self.is_none(func) else func
        while (part := pull()) is not End:
            total = self.combined(function, self.resolve(total), self.resolve(part))
            yield total

    @lazily
    def make_compress(self, data: Abstract, selectors: Abstract) -> Iterator[Abstract]:
        for part, selector in zip(self.each(data), self.each(selectors), strict=False):
            if self.decided(selector):
                yield part

    @lazily
    def make_pairwise(self, iterable: Abstract, /) -> Iterator[Abstract]:
        pull = self.iterator(iterable).pull
        before = pull()
        while before is not End and (part := pull()) is not End:
            yield Sequence([before, part])
            before = part

    @lazily
    def make_count(
        self, start: Abstract = Literal(0), step: Abstract = Literal(1)
    ) -> Iterator[Abstract]:
        for number in itertools.count(self.integer(start), self.integer(step)):
            yield Literal(number)

    @lazily
    def make_repeat(self, object: Abstract, times: Abstract | None = None) -> Iterator[Abstract]:
        forever = itertools.repeat(object)
        yield from forever if times is None else [object] * self.integer(times)

    @lazily
    def make_cycle(self, iterable: Abstract, /) -> Iterator[Abstract]:
        saved = []
        for part in self.each(iterable):
            saved.append(part)
            yield part
        while saved:
            yield from saved

    @lazily
    def make_islice(self, iterable: Abstract, /, *bounds: Abstract) -> Iterator[Abstract]:
        places = [self.plain(bound) for bound in bounds]
        yield from itertools.islice(self.each(iterable), *places)

    @lazily
    def make_longest(self, *iterables: Abstract, fillvalue: Abstract = NONE) -> Iterator[Abstract]:
        columns: list[Callable[[], Any] | None] = [*self.columns(iterables)]
        while True:
            row: list[Abstract] = []
            for place, pull in enumerate(columns):
                part = End if pull is None else pull()
                if part is End:
                    columns[place] = None
                    if not any(columns):
                        return
                    part = fillvalue
                row.append(part)
            if not row:
                return
            yield Sequence(row)

    def make_tee(self, iterable: Abstract, n: Abstract = Literal(2)) -> Abstract:
        pull = self.iterator(iterable).pull
        seen: list[Abstract] = []

        def follower() -> IteratorValue:
            places = itertools.count()

            def next_of_all() -> Any:
                place = next(places)
                if place == len(seen) and (part := pull()) is not End:
                    seen.append(part)
                return seen[place] if place < len(seen) else End

            return IteratorValue(next_of_all)

        return Sequence([follower() for _ in range(self.integer(n))])

    def make_group_by(self, iterable: Abstract, key: Abstract = NONE) -> Abstract:
        """Groups end where another one is asked for, as Python's own do."""
        pull = self.iterator(iterable).pull
        rank: list[Abstract] = []  # the key of what was pulled last
        part: list[Abstract] = []  # that itself, until it was given
        target: list[Abstract] = []  # the key of the group that was given last
        group: object = None

        def advance() -> bool:
            if (item := pull()) is End:
                return False
            rank[:] = [self.resolve(item if self.is_none(key) else self.apply(key, [item]))]
            part[:] = [item]
            return True

        def next_group() -> Any:
            nonlocal group
            mine = group = object()
            while not rank or (target and self.same_value(target[0], rank[0])):
                if not advance():
                    return End
            of_group = target[:] = rank[:]

            def member() -> Any:
                if group is not mine or not (part or advance()):
                    return End
                return part.pop() if self.same_value(of_group[0], rank[0]) else End

            return Sequence([rank[0], IteratorValue(member)])

        return IteratorValue(next_group)

    def make_product(self, *iterables: Abstract, repeat: Abstract = Literal(1)) -> Abstract:
        pools = [self.elements(iterable) for iterable in iterables] * self.integer(repeat)
        return self._rows(itertools.product(*pools))

    def make_nd_index(self, *shape: Abstract) -> Abstract:
        given = [self.resolve(part) for part in shape]
        if len(given) == 1 and isinstance(given[0], (Sequence, Literal)):
            single = given[0]
            if isinstance(single, Sequence) or isinstance(single.object, tuple):
                given = self.elements(single)
        pools = [[Literal(i) for i in range(self.integer(size))] for size in given]
        return self._rows(itertools.product(*pools))

    def make_converter(self, *arrays: Abstract) -> Abstract:
        parts = [self.resolve(array) for array in arrays]
        if not all(isinstance(part, Tensor) and not part.is_scalar for part in parts):
            raise self.refuse(reasons.NUMPY_S_CONVERSION_NO_ARRAY)
        return Converter(parts)

    def converted(
        self, base: Converter, name: str, positional: list[Abstract], named: dict[str, Abstract]
    ) -> Abstract:
        """Arrays stay what they are, and so does what was made of them."""
        if name == "wrap" and len(positional) == 1 and not named:
            return self.resolve(positional[0])
        if name == "as_arrays" and not positional and not named:
            return Sequence(list(base.arrays))
        raise self.refuse(reasons.NUMPY_S_CONVERSION, name)

    def make_combinations(self, iterable: Abstract, r: Abstract) -> Abstract:
        return self._rows(itertools.combinations(self.elements(iterable), self.integer(r)))

    def make_combinations_again(self, iterable: Abstract, r: Abstract) -> Abstract:
        rows = itertools.combinations_with_replacement(self.elements(iterable), self.integer(r))
        return self._rows(rows)

    def make_permutations(self, iterable: Abstract, r: Abstract = NONE) -> Abstract:
        length = None if self.is_none(r) else self.integer(r)
        return self._rows(itertools.permutations(self.elements(iterable), length))

    def _rows(self, rows: Iterator[tuple[Abstract, ...]]) -> Abstract:
        made = (Sequence(list(row)) for row in rows)
        return IteratorValue(lambda: next(made, End))


__all__ = ["Iterators"]
