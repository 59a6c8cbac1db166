"""Where to cut a function so that what cannot be compiled stands alone."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable

from dvm.splitting.flow import Flow

#: What asks for a function's own frame, or for how many refer to an object.
OF_THE_WHOLE = frozenset(
    {"locals", "vars", "dir", "eval", "exec", "super", "_getframe", "getrefcount", "resize"}
)
SUSPENDED = (
    inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
    | inspect.CO_ITERABLE_COROUTINE
)
#: Operations without which a part has nothing to compile.
WORK = frozenset(
    {"binary", "subscript", "slice", "compare", "compare_truth"}
    | {"call", "call_kw", "call_function_ex"}
)


def pieces_around(flow: Flow, lines: Iterable[int]) -> list[tuple[int, int]] | None:
    """Where to cut a function, (begin, end) of each piece; the lines are all in one of them.

    None if there is no more to gain by it than by running the function as it is.
    """
    code = flow.code
    names = {*code.co_names, *code.co_freevars}
    if code.co_flags & SUSPENDED or names & OF_THE_WHOLE:
        return None
    wanted = set(lines)
    places = [at for at, each in enumerate(flow.steps) if each.position[0] in wanted]
    points = flow.points()
    if not places or not points:
        return None
    first, last = flow.first, flow.last
    begin = max((point for point in points if point <= places[0]), default=first)
    end = min((point for point in points if point > places[-1]), default=last)

    def works(low: int, high: int) -> bool:
        return any(each.name in WORK for each in flow.steps[low:high])

    begin = begin if works(first, begin) else first
    end = end if works(end, last) else last
    if begin == first and end == last:
        return None
    cuts = sorted({first, begin, end, last})
    return list(itertools.pairwise(cuts))
