"""The passes of one function, model or graph, as the core runs them."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dvm import _dvm, errors, own_warnings
from dvm.passes.base import NOWHERE, Note, Pass, ReplacementError

_OWN = str(Path(__file__).parents[1])


class _RefusedError(Exception):
    """What the core makes a PassError of: a message, and a line of the program."""

    def __init__(self, message: str, at: tuple[str, int]) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class _Runner:
    """What the core calls. It holds no set, for no garbage collection sees what the core holds."""

    def __init__(self, passes: tuple[Pass, ...]) -> None:
        self.passes = passes
        self.cause: BaseException | None = None

    def run(self, index: int, graph: _dvm.Graph) -> tuple[_dvm.Graph, list[Note]]:
        """Run one pass. Raises nothing but what the core makes a PassError of."""
        done = self.passes[index]
        self.cause = None
        try:
            made, notes = done.apply(graph)
            if not isinstance(made, _dvm.Graph):
                raise TypeError(f"run returns {made!r:.60}, not a graph")
        except errors.PassError as error:
            self.cause = error
            what = f"the pass {done.title}: {errors.message_of(error)}"
            raise _RefusedError(what, _location(error.location)) from error
        except ReplacementError as error:
            raise self._raised(done, error.__cause__ or error, error.at) from error.__cause__
        except Exception as error:
            raise self._raised(done, error, NOWHERE) from error
        return made, [note._replace(node=f"pass {done.title} {note.node}") for note in notes]

    def _raised(self, done: Pass, error: BaseException, at: tuple[str, int]) -> _RefusedError:
        self.cause = error
        what = f"the pass {done.title} raises {type(error).__name__}: {error}{line_of(error)}"
        return _RefusedError(what, at)


class PassSet:
    """Passes in their order. It does not change, and copies of it are itself."""

    def __init__(self, passes: Iterable[Any]) -> None:
        given = tuple(passes)
        self._off = tuple(_switched_off(each) for each in given if isinstance(each, str))
        self._passes = tuple(_made(each) for each in given if not isinstance(each, str))
        for each in self._passes:
            if each.after and each.after not in graph_passes():
                raise errors.unknown("unknown_name", "pass", each.after, graph_passes())
        self._runner = _Runner(self._passes)
        entries = [(each.title, each.after) for each in self._passes]
        self.native = _dvm.Passes(entries, self._runner.run, None, self._off)
        # Where a call runs uncompiled that one refuses, for what a program does is not for a pass
        # to break.
        self.captured = _dvm.Passes(entries, self._runner.run, _warn, self._off)

    def take_cause(self) -> BaseException | None:
        """What made the last pass fail, once."""
        cause, self._runner.cause = self._runner.cause, None
        return cause

    @property
    def are_first(self) -> bool:
        """Whether all come before dvm's own, and none of these is off."""
        return not self._off and not any(each.after for each in self._passes)

    def __iter__(self) -> Iterator[Pass]:
        return iter(self._passes)

    def __len__(self) -> int:
        return len(self._passes) + len(self._off)

    def __copy__(self) -> PassSet:
        return self

    def __deepcopy__(self, memo: Any) -> PassSet:
        return self

    def __reduce__(self) -> Any:
        return PassSet, ((*self._passes, *(f"{name}:off" for name in self._off)),)

    def __repr__(self) -> str:
        names = [*(each.title for each in self._passes), *(f"{name}:off" for name in self._off)]
        return f"<dvm.passes {', '.join(names)}>"


def graph_passes() -> list[str]:
    """The names that `after` may have: dvm's own passes of graphs, in their order."""
    return [name for name, _, _ in _dvm.graph_pass_table]


def pass_set(passes: Any) -> PassSet | None:
    """What `passes=` was given, which may be made already; None where there are none."""
    if passes is None or isinstance(passes, PassSet):
        return passes or None
    if isinstance(passes, Pass | str) or not isinstance(passes, Iterable):
        raise TypeError(f"passes is a list of passes, not {passes!r:.60}")
    made = PassSet(passes)
    return made if len(made) else None


def _switched_off(given: str) -> str:
    """The name of a pass in "name:off"."""
    name, _, state = given.partition(":")
    valid = [name for name, is_needed, _ in _dvm.graph_pass_table if not is_needed]
    if state != "off" or name not in valid:
        raise errors.unknown("unknown_name", "switch", given, [f"{name}:off" for name in valid])
    return name


def _made(given: Any) -> Pass:
    """A pass, of itself or its class."""
    if isinstance(given, type) and issubclass(given, Pass):
        given = given()
    if not isinstance(given, Pass):
        raise TypeError(f"a pass is an instance of a class of dvm.passes, not {given!r:.60}")
    given.check_methods()
    return given


def _warn(error: str) -> None:
    own_warnings.warn(f"{error} Calls run uncompiled.", 2)


def line_of(error: BaseException) -> str:
    """Where in the pass it was raised, or what the pass called was."""
    frames = traceback.extract_tb(error.__traceback__)
    of_pass = [frame for frame in frames if not frame.filename.startswith(_OWN)]
    return f" ({of_pass[-1].filename}:{of_pass[-1].lineno})" if of_pass else ""


def _location(text: str) -> tuple[str, int]:
    file, _, line = text.rpartition(":")
    return (file, int(line)) if file else NOWHERE
