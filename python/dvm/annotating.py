"""`dvm.annotate`: what a user vouches for about functions and classes that dvm cannot see into.

Each property is a statement of its own and false until somebody makes it; none implies another. The
recorder asks whether a call is one event (`leaf`, `never`), the lowering what such an event may be
taken for (the others). Paths that exist keep what they were made with.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar, overload

from dvm import classes, errors
from dvm.classes import is_plain_key

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Annotation:
    """What is vouched for; see `annotate`."""

    leaf: bool = False
    pure: bool = False
    deterministic: bool = False
    fresh: bool = False
    writes: frozenset[str] = frozenset()
    never: bool = False
    constant: frozenset[str] = frozenset()
    op: Callable[..., Any] | None = None


NOTHING = Annotation()
#: Of functions of a leaf package, which are called as they are; what a call shows of its effects is
#: looked at (magpy_capture.annotated).
PACKAGED = Annotation(leaf=True, pure=True)
_packages = {"scipy"}
_annotations: dict[Any, Annotation] = {}
#: The same of callables that have a hash or an equality of their own, which nobody asks for it.
_of_own_equality: dict[int, tuple[Any, Annotation]] = {}


@overload
def annotate(
    function: F,
    *,
    leaf: bool | None = ...,
    pure: bool | None = ...,
    deterministic: bool | None = ...,
    fresh: bool | None = ...,
    writes: Iterable[str] | Literal[False] | None = ...,
    never: bool | None = ...,
    constant: Iterable[str] | Literal[False] | None = ...,
    op: Callable[..., Any] | Literal[False] | None = ...,
) -> F: ...
@overload
def annotate(
    function: None = None,
    *,
    leaf: bool | None = ...,
    pure: bool | None = ...,
    deterministic: bool | None = ...,
    fresh: bool | None = ...,
    writes: Iterable[str] | Literal[False] | None = ...,
    never: bool | None = ...,
    constant: Iterable[str] | Literal[False] | None = ...,
    op: Callable[..., Any] | Literal[False] | None = ...,
) -> Callable[[F], F]: ...
def annotate(
    function: Any = None,
    *,
    leaf: bool | None = None,
    pure: bool | None = None,
    deterministic: bool | None = None,
    fresh: bool | None = None,
    writes: Iterable[str] | Literal[False] | None = None,
    never: bool | None = None,
    constant: Iterable[str] | Literal[False] | None = None,
    op: Callable[..., Any] | Literal[False] | None = None,
) -> Any:
    """Vouch for properties of a function or a class; also as a decorator.

    Call it before the first call of what uses the function. A property that is not given stays as
    it was, and so does one that is None: annotations add up. Given as False it is taken back,
    whatever kind it is of. `None` as the function makes a decorator. The function itself is
    returned unchanged.

    Args:
        function: a Python function, a builtin one, a function of a C extension, or a class; or a
            package, itself or by its name, of which `leaf` may be said.
        leaf: it is not followed: a call is one opaque call. Builtins are leaves by nature. Of a
            package: a call of any of its functions is, which is taken to change nothing; calls that
            hand over a function, a random generator, `out` or `overwrite_...` are no part of a
            path. SciPy is such a package from the start.
        pure: it changes nothing (but what `writes` names) and keeps nothing of its arguments, so
            that a replay that is dropped may call it. It may read arrays, numbers, containers and
            objects.
        deterministic: equal arguments give equal results: if all are constants of the path, so is
            the result (where it is a number, a string or a tuple of such).
        fresh: its results share no memory with its arguments, nor with anything that outlives the
            call. Without it that is checked in every call, and writes into a result reach it.
        writes: names of parameters whose arrays it writes into; pure says that it changes nothing
            besides.
        never: it must not run as part of a compiled path: who calls it runs uncompiled from there.
        constant: of a class: names of attributes that no instance ever rebinds once it was seen.
            Their numbers and strings become part of the path, which is then the path of that
            instance alone.
        op: what it computes, as a function of the same parameters in operators and
            `dvm.passes.ops`, which is called with values of the graph, sizes and constants, and
            gives a value. Such a
            function is not followed, changes nothing and makes a new array; what the op makes takes
            the place of a call.

    Raises:
        CaptureError: for what cannot be annotated so; the message says why.
    """
    given: dict[str, Any] = {
        "leaf": leaf,
        "pure": pure,
        "deterministic": deterministic,
        "fresh": fresh,
        "writes": writes,
        "never": never,
        "constant": constant,
        "op": op,
    }
    changes = {name: _taken(name, value) for name, value in given.items() if value is not None}
    if isinstance(function, str | types.ModuleType):
        return _annotate_package(function, changes)
    if function is None:
        return lambda decorated: annotate(decorated, **changes)
    known = annotation_of(function)
    wanted = replace(known, **changes)
    if reason := _contradiction(function, wanted):
        raise errors.make("bad_annotation", reason)
    if is_plain_key(function):
        _annotations[function] = wanted
    else:
        _of_own_equality[id(function)] = function, wanted
    if lowering := sys.modules.get("dvm.magpy_capture"):
        lowering.refresh_leaves()
    return function


def annotation_of(function: Any) -> Annotation:
    """Return what is vouched for about a function or a class; NOTHING for most."""
    if not is_plain_key(function):
        return _of_own_equality.get(id(function), (function, NOTHING))[1]
    if (known := _annotations.get(function)) is not None:
        return known
    return PACKAGED if is_packaged(function) and not isinstance(function, type) else NOTHING


def is_packaged(thing: Any) -> bool:
    """Return whether a function or a class is of a leaf package, by the module that it names."""
    if isinstance(thing, type):
        module = classes.module_of(thing)
    else:
        module = (
            None if classes.is_mutable_class(type(thing)) else getattr(thing, "__module__", None)
        )
    return isinstance(module, str) and module.partition(".")[0] in _packages


def annotated_leaves() -> list[Any]:
    """Return the functions that the recorder must not enter."""
    known = [*_annotations.items(), *_of_own_equality.values()]
    return [function for function, each in known if each.leaf or each.never or each.op]


def leaf_packages() -> list[str]:
    """Return the packages of which the recorder must enter no function."""
    return sorted(_packages)


def _annotate_package(package: str | types.ModuleType, changes: dict[str, Any]) -> Any:
    from importlib.util import find_spec  # importing dvm does without it

    name = package if isinstance(package, str) else package.__name__
    if set(changes) != {"leaf"}:
        reason = f"{name} is a package, of which leaf= can be said, and nothing else"
        raise errors.make("bad_annotation", reason, f"dvm.annotate({name!r}, leaf=True)")
    top = name.partition(".")[0]
    if top != name or not name:
        reason = f"{name!r} is no top-level name, by which a package is known"
        raise errors.make("bad_annotation", reason, f"dvm.annotate({top!r}, leaf=True)")
    if changes["leaf"] and name not in sys.modules and find_spec(name) is None:
        reason = f"there is no package {name!r} that could be imported"
        hint = "give the name that one imports it by, and install it first"
        raise errors.make("bad_annotation", reason, hint)
    (_packages.add if changes["leaf"] else _packages.discard)(name)
    if lowering := sys.modules.get("dvm.magpy_capture"):
        lowering.refresh_leaves()
    return package


def _taken(name: str, value: Any) -> Any:
    """A property as it is kept: what it is without a statement, where False takes that back."""
    if value is False:
        return getattr(NOTHING, name)
    if name in ("writes", "constant"):
        return frozenset([value] if isinstance(value, str) else value)
    return value


def _parameters(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a builtin one that does not tell
        return set()


def _contradiction(function: Any, wanted: Annotation) -> str:
    name = getattr(function, "__qualname__", repr(function))
    if not callable(function):
        return f"{name} is neither a function nor a class"
    try:
        hash(function)
    except TypeError:
        return f"{name} is not hashable, so it would not be found again"
    others = [f.name for f in fields(wanted) if f.name != "constant" and getattr(wanted, f.name)]
    if isinstance(function, type) and others:
        return f"{name} is a class, of which only constant= can be said, not {', '.join(others)}="
    if wanted.constant and not isinstance(function, type):
        return f"{name} is no class, so it has no constant attributes"
    if unknown := wanted.writes - _parameters(function):
        return f"{name} has no parameter {', '.join(sorted(unknown))} that it could write into"
    if wanted.op is not None and not callable(wanted.op):
        return f"the op of {name} is no function"
    if wanted.op is not None and (wanted.writes or wanted.never):
        return f"{name} cannot be an op of the graph and write into arrays, or be never compiled"
    if wanted.never and (wanted.pure or wanted.leaf):
        return f"{name} cannot be never a part of a path and one opaque call of it"
    return ""
