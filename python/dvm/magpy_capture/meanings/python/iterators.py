"""Iterators that C code makes: zip, map, filter, and those of itertools; and functools.reduce.

Each pulls from the iterators below it in the order in which Python's own does, one item at a time,
for the bodies of the functions that it calls were recorded in that order. A truth that decides
whether an item passes is an outcome.
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from dvm import reasons
from dvm.magpy_capture.meanings.python.functions import NONE
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import BodyRaised, refuse
from dvm.magpy_capture.registry import means, methods_of
from dvm.magpy_capture.values import (
    Abstract,
    Converter,
    End,
    IteratorValue,
    Literal,
    Sequence,
    Tensor,
    is_none,
    resolve,
)

ADD = Literal(operator.add)
#: by which NumPy's own functions take several arrays at once, where it has it
CONVERTERS = [
    vars(module)["_array_converter"]
    for module in [sys.modules.get("numpy._core._multiarray_umath")]
    if module is not None and "_array_converter" in vars(module)
]


def lazily(make: Callable[..., Iterator[Abstract]]) -> Callable[..., Abstract]:
    """Let a generator method give an iterator; it begins when the first item is pulled."""

    @functools.wraps(make)
    def made(self: Iterators, *arguments: Any, **named: Any) -> Abstract:
        items = make(self, *arguments, **named)
        broken = False

        def pull() -> Any:
            nonlocal broken
            if broken:  # Python's own would go on, but a generator has no way back
                raise refuse(reasons.ITERATOR_GOES_AFTER_EXCEPTION)
            try:
                return next(items, End)
            except BodyRaised:
                broken = True
                raise

        return IteratorValue(pull)

    return made


class Iterators(PythonPart):
    """What Python's iterators do to abstract values."""

    needs = "caller containers indexing operators python sorting"

    def columns(self, iterables: tuple[Abstract, ...]) -> list[Callable[[], Any]]:
        return [self.containers.iterator(iterable).pull for iterable in iterables]

    # ---- builtins

    @means(iter)
    def make_iter(self, iterable: Abstract, sentinel: Abstract | None = None) -> Abstract:
        if sentinel is None:
            return self.containers.iterator(iterable)
        return self._until(iterable, sentinel)

    @lazily
    def _until(self, function: Abstract, sentinel: Abstract) -> Iterator[Abstract]:
        while not self.sorting.same_value(
            sentinel, part := resolve(self.caller.apply(function, []))
        ):
            yield part

    @means(reversed)
    def make_reversed(self, sequence: Abstract) -> Abstract:
        return self.containers.iterator(sequence, backwards=True)

    @means(next)
    def take_next(self, iterator: Abstract, default: Abstract | None = None) -> Abstract:
        if not isinstance(iterator, IteratorValue):
            raise refuse(reasons.NEXT, describe(iterator))
        part = iterator.pull()
        if part is not End:
            return resolve(part)
        if default is None:
            raise refuse(reasons.NEXT_ITERATOR_END)
        return default

    @means(zip)
    def make_zip(self, *iterables: Abstract, strict: Abstract = Literal(False)) -> Abstract:
        columns = self.columns(iterables)
        same_length = bool(self.indexing.plain(strict))

        def pull() -> Any:
            row: list[Abstract] = []
            for column in columns:
                part = column()
                if part is End:
                    others = columns[1:] if same_length and not row else []
                    if (same_length and row) or any(other() is not End for other in others):
                        raise refuse(reasons.ZIP_UNEQUAL_LENGTHS)
                    return End
                row.append(part)
            return Sequence(row) if row else End

        source = None if same_length else (zip, [*iterables])
        return IteratorValue(pull, source=source)

    @means(enumerate)
    def make_enumerate(self, iterable: Abstract, start: Abstract = Literal(0)) -> Abstract:
        first = self.indexing.integer(start)
        numbers = itertools.count(first)
        pull = self.containers.iterator(iterable).pull

        def numbered() -> Any:
            part = pull()
            return End if part is End else Sequence([Literal(next(numbers)), part])

        return IteratorValue(numbered, source=(enumerate, [iterable, Literal(first)]))

    @means(map)
    def make_map(self, function: Abstract, *iterables: Abstract) -> Abstract:
        rows = self.make_zip(*iterables)

        def pull() -> Any:
            row = rows.pull()
            return End if row is End else self.caller.apply(function, row.elements)

        return IteratorValue(pull)

    @means(filter)
    def make_filter(self, function: Abstract, iterable: Abstract) -> Abstract:
        return self._passing(function, iterable, True)

    @means(itertools.filterfalse)
    def make_filter_false(self, predicate: Abstract, iterable: Abstract) -> Abstract:
        return self._passing(predicate, iterable, False)

    def _passing(self, function: Abstract, iterable: Abstract, wanted: bool) -> Abstract:
        pull = self.containers.iterator(iterable).pull

        def passing() -> Any:
            while (part := pull()) is not End:
                if self._holds(function, part) == wanted:
                    return part
            return End

        return IteratorValue(passing)

    def _holds(self, function: Abstract, part: Abstract) -> bool:
        return self.python.decided(
            part if is_none(function) else self.caller.apply(function, [part])
        )

    @means(functools.reduce)
    def reduced(
        self, function: Abstract, iterable: Abstract, initial: Abstract | None = None
    ) -> Abstract:
        pull = self.containers.iterator(iterable).pull
        result = pull() if initial is None else initial
        if result is End:
            raise refuse(reasons.FUNCTOOLS_REDUCE_NOTHING)
        while (part := pull()) is not End:
            result = self.operators.combined(function, resolve(result), resolve(part))
        return resolve(result)

    # ---- itertools

    @means(itertools.chain)
    @lazily
    def make_chain(self, *iterables: Abstract) -> Iterator[Abstract]:
        for iterable in iterables:
            yield from self.containers.each(iterable)

    @means(itertools.chain.from_iterable)
    @lazily
    def make_chain_of(self, iterables: Abstract) -> Iterator[Abstract]:
        for iterable in self.containers.each(iterables):
            yield from self.containers.each(iterable)

    @means(itertools.starmap)
    @lazily
    def make_star_map(self, function: Abstract, iterable: Abstract) -> Iterator[Abstract]:
        for row in self.containers.each(iterable):
            yield self.caller.apply(function, self.containers.elements(row))

    @means(itertools.takewhile)
    @lazily
    def make_take_while(self, predicate: Abstract, iterable: Abstract) -> Iterator[Abstract]:
        for part in self.containers.each(iterable):
            if not self._holds(predicate, part):
                return
            yield part

    @means(itertools.dropwhile)
    @lazily
    def make_drop_while(self, predicate: Abstract, iterable: Abstract) -> Iterator[Abstract]:
        dropping = True
        for part in self.containers.each(iterable):
            dropping = dropping and self._holds(predicate, part)
            if not dropping:
                yield part

    @means(itertools.accumulate)
    @lazily
    def make_accumulate(
        self, iterable: Abstract, func: Abstract = NONE, *, initial: Abstract = NONE
    ) -> Iterator[Abstract]:
        pull = self.containers.iterator(iterable).pull
        total = pull() if is_none(initial) else initial
        if total is End:
            return
        yield total
        function = ADD if is_none(func) else func
        while (part := pull()) is not End:
            total = self.operators.combined(function, resolve(total), resolve(part))
            yield total

    @means(itertools.compress)
    @lazily
    def make_compress(self, data: Abstract, selectors: Abstract) -> Iterator[Abstract]:
        for part, selector in zip(
            self.containers.each(data), self.containers.each(selectors), strict=False
        ):
            if self.python.decided(selector):
                yield part

    @means(itertools.pairwise)
    @lazily
    def make_pairwise(self, iterable: Abstract, /) -> Iterator[Abstract]:
        pull = self.containers.iterator(iterable).pull
        before = pull()
        while before is not End and (part := pull()) is not End:
            yield Sequence([before, part])
            before = part

    @means(itertools.count)
    @lazily
    def make_count(
        self, start: Abstract = Literal(0), step: Abstract = Literal(1)
    ) -> Iterator[Abstract]:
        for number in itertools.count(self.indexing.integer(start), self.indexing.integer(step)):
            yield Literal(number)

    @means(itertools.repeat)
    @lazily
    def make_repeat(self, object: Abstract, times: Abstract | None = None) -> Iterator[Abstract]:
        forever = itertools.repeat(object)
        yield from forever if times is None else [object] * self.indexing.integer(times)

    @means(itertools.cycle)
    @lazily
    def make_cycle(self, iterable: Abstract, /) -> Iterator[Abstract]:
        saved = []
        for part in self.containers.each(iterable):
            saved.append(part)
            yield part
        while saved:
            yield from saved

    @means(itertools.islice)
    @lazily
    def make_islice(self, iterable: Abstract, /, *bounds: Abstract) -> Iterator[Abstract]:
        places = [self.indexing.plain(bound) for bound in bounds]
        yield from itertools.islice(self.containers.each(iterable), *places)

    @means(itertools.zip_longest)
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

    @means(itertools.tee)
    def make_tee(self, iterable: Abstract, n: Abstract = Literal(2)) -> Abstract:
        pull = self.containers.iterator(iterable).pull
        seen: list[Abstract] = []

        def follower() -> IteratorValue:
            places = itertools.count()

            def next_of_all() -> Any:
                place = next(places)
                if place == len(seen) and (part := pull()) is not End:
                    seen.append(part)
                return seen[place] if place < len(seen) else End

            return IteratorValue(next_of_all)

        return Sequence([follower() for _ in range(self.indexing.integer(n))])

    @means(itertools.groupby)
    def make_group_by(self, iterable: Abstract, key: Abstract = NONE) -> Abstract:
        """Groups end where another one is asked for, as Python's own do."""
        pull = self.containers.iterator(iterable).pull
        rank: list[Abstract] = []  # the key of what was pulled last
        part: list[Abstract] = []  # that itself, until it was given
        target: list[Abstract] = []  # the key of the group that was given last
        group: object = None

        def advance() -> bool:
            if (item := pull()) is End:
                return False
            rank[:] = [resolve(item if is_none(key) else self.caller.apply(key, [item]))]
            part[:] = [item]
            return True

        def next_group() -> Any:
            nonlocal group
            mine = group = object()
            while not rank or (target and self.sorting.same_value(target[0], rank[0])):
                if not advance():
                    return End
            of_group = target[:] = rank[:]

            def member() -> Any:
                if group is not mine or not (part or advance()):
                    return End
                return part.pop() if self.sorting.same_value(of_group[0], rank[0]) else End

            return Sequence([rank[0], IteratorValue(member)])

        return IteratorValue(next_group)

    @means(itertools.product)
    def make_product(self, *iterables: Abstract, repeat: Abstract = Literal(1)) -> Abstract:
        pools = [
            self.containers.elements(iterable) for iterable in iterables
        ] * self.indexing.integer(repeat)
        return self._rows(itertools.product(*pools))

    @means(*CONVERTERS)
    def make_converter(self, *arrays: Abstract) -> Abstract:
        parts = [resolve(array) for array in arrays]
        if not all(isinstance(part, Tensor) and not part.is_scalar for part in parts):
            raise refuse(reasons.NUMPY_S_CONVERSION_NO_ARRAY)
        return Converter(parts)

    @methods_of(Converter)
    def converted(
        self,
        base: Converter,
        name: str,
        positional: list[Abstract],
        named: dict[str, Abstract],
        seen: Any,
    ) -> Abstract:
        """Arrays stay what they are, and so does what was made of them."""
        if name == "wrap" and len(positional) == 1 and not named:
            return resolve(positional[0])
        if name == "as_arrays" and not positional and not named:
            return Sequence(list(base.arrays))
        raise refuse(reasons.NUMPY_S_CONVERSION, name)

    @means(itertools.combinations)
    def make_combinations(self, iterable: Abstract, r: Abstract) -> Abstract:
        return self._rows(
            itertools.combinations(self.containers.elements(iterable), self.indexing.integer(r))
        )

    @means(itertools.combinations_with_replacement)
    def make_combinations_again(self, iterable: Abstract, r: Abstract) -> Abstract:
        rows = itertools.combinations_with_replacement(
            self.containers.elements(iterable), self.indexing.integer(r)
        )
        return self._rows(rows)

    @means(itertools.permutations)
    def make_permutations(self, iterable: Abstract, r: Abstract = NONE) -> Abstract:
        length = None if is_none(r) else self.indexing.integer(r)
        return self._rows(itertools.permutations(self.containers.elements(iterable), length))

    def _rows(self, rows: Iterator[tuple[Abstract, ...]]) -> Abstract:
        made = (Sequence(list(row)) for row in rows)
        return IteratorValue(lambda: next(made, End))


__all__ = ["Iterators"]
