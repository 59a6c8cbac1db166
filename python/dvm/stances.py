"""Stances: what compiled functions may do with a call that no known path takes.

    default             replay known paths, capture what is new
    force_eager         every call runs the original
    force_capture       capture what is new, however long that takes
    fail_on_recompile   a call that would be captured raises `CaptureError` (DVM-C002)
    eager_on_recompile  a call that would be captured runs the original

By default a capture may take a part of the time that the function's calls take, so that no program
is much slower than without dvm: a call of many steps on small arrays is captured once it is known
to be worth it. A benchmark or a server that warms up forces captures instead.

`set_stance` is for the process, `with stance(...)` for the thread that runs it: a server may forbid
captures once it is warm, and a test may forbid them around one call without any other thread
noticing. Calls left to the original count in `stats.eager`. Under the default stance a call pays
one comparison.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from dvm import _dvm, errors, own_warnings

P = ParamSpec("P")
R = TypeVar("R")

STANCES = dict(_dvm.stances)


def _checked(name: str) -> str:
    if name not in STANCES:
        raise errors.unknown("unknown_name", "stance", name, STANCES)
    return name


def set_stance(name: str) -> str:
    """Set the stance of the process, for all threads without one of their own.

    Returns:
        The one it was.

    Raises:
        UnsupportedError: if there is no such stance; the message lists them.
    """
    return _dvm.set_stance(_checked(name))


class stance:  # noqa: N801  used as a function is
    """`with dvm.stance(name):` or `@dvm.stance(name)`: a stance for this thread.

    It holds for what the thread runs inside, threads that it starts excepted, and nests. A
    coroutine that is suspended inside keeps it set for the others of its thread: wrap whole runs.

    Raises:
        UnsupportedError: if there is no such stance; the message lists them.
    """

    def __init__(self, name: str) -> None:
        self._name = _checked(name)
        self._before: list[str | None] = []
        self._used = False

    def __enter__(self) -> None:
        self._used = True
        self._before.append(_dvm.set_thread_stance(self._name))

    def __exit__(self, *_: object) -> None:
        _dvm.set_thread_stance(self._before.pop())

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function with the stance around each of its calls."""
        self._used = True
        name = self._name

        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            with stance(name):
                return function(*args, **kwargs)

        return wrapper

    def __del__(self) -> None:
        # `dvm.stance("force_eager")` on a line of its own reads as if it did something.
        if not getattr(self, "_used", True):
            own_warnings.warn(
                f'dvm.stance("{self._name}") was neither entered nor used as a decorator; '
                "dvm.set_stance sets one for the process",
                stacklevel=2,
            )
