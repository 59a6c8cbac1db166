"""The kinds of passes: of patterns, of single ops, and of whole graphs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

from dvm import _dvm, errors
from dvm.building.builder import Builder, Size
from dvm.passes.terms import Written, read, written_at
from dvm.passes.values import Value, node_for

_F = TypeVar("_F", bound=Callable[..., Any])
_Location = tuple[str, int]
NOWHERE: _Location = ("", 0)


class Note(NamedTuple):
    """What a pass did at a node, or why not: a record as `dvm.explain` has them."""

    node: str
    verdict: str
    rule: str
    reason: str
    at: _Location = NOWHERE


class Node(NamedTuple):
    """A node that is being replaced: its op, operands, attributes, type and line."""

    op: str
    operands: tuple[Value, ...]
    attributes: Mapping[str, Any]
    dtype: str
    shape: tuple[Size, ...]
    at: _Location


class ReplacementError(Exception):
    """A replacement failed at a line of the program; the cause says how."""

    def __init__(self, at: _Location) -> None:
        super().__init__(at)
        self.at = at


def _missing(function: _F) -> _F:
    """Mark a method that a class of the user's has to have."""
    function._is_missing = True  # type: ignore[attr-defined]
    return function


class Pass:
    """What changes graphs before they are compiled.

    name: what reports and errors call it; the name of the class when None.
    after: which pass of dvm's it comes behind, such as "cse"; none when empty: it sees the graph
        that the program wrote.

    A pass must give the same graph for the same graph: it is run again for reports. A class that
    others are derived from, and that has not all methods, says so: `class Of(Pass, base=True)`.
    """

    name: str | None = None
    after: str = ""
    #: the method that a class has to have, and how its first line reads
    _method: ClassVar[tuple[str, str]] = ("run", "def run(self, graph):")

    def __init_subclass__(cls, base: bool = False, **more: Any) -> None:
        super().__init_subclass__(**more)
        if not base:
            cls.check_methods()

    @classmethod
    def check_methods(cls) -> None:
        """Refuse a class that lacks what it is there for."""
        name, written = cls._method
        if getattr(getattr(cls, name), "_is_missing", False):
            raise TypeError(
                f"the pass {cls.__name__} has no method {name!r}: write `{written}`, "
                f"or `class {cls.__name__}(..., base=True)` if others are derived from it"
            )

    @_missing
    def run(self, graph: _dvm.Graph) -> _dvm.Graph:
        """Return the graph that takes the place of one, which stays as it is.

        It has the same arguments and results, and is over the same sizes: `graph.body()` is an
        empty one to begin with.
        """
        raise NotImplementedError

    def apply(self, graph: _dvm.Graph) -> tuple[_dvm.Graph, list[Note]]:
        """Return what `run` does, and what reports are to say about it."""
        return self.run(graph), []

    @property
    def title(self) -> str:
        """What reports and errors call it."""
        return self.name or type(self).__name__


class _Rewriting(Pass, base=True):
    """A pass that replaces parts of a graph, one by one.

    again: whether what a replacement made is looked at, too. Without, a pass comes to an end by
        itself; with it, one that finds its own replacements again is stopped with an error.
    """

    again: bool = False

    def _patterns(self) -> list[_dvm.Pattern]:
        raise NotImplementedError

    def _replaced(self, builder: Builder, site: _Site) -> Any:
        raise NotImplementedError

    def run(self, graph: _dvm.Graph) -> _dvm.Graph:
        return self.apply(graph)[0]

    def apply(self, graph: _dvm.Graph) -> tuple[_dvm.Graph, list[Note]]:
        def replace(
            made: _dvm.Graph,
            pattern: int,
            variables: list[int],
            operands: list[int],
            at: _Location,
            node: tuple[str, dict[str, Any], str, list[Any]],
        ) -> list[int] | None:
            builder = Builder(made)
            op, attributes, dtype, dims = node
            shape = tuple(dim if dim.constant is None else dim.constant for dim in dims)
            result = Node(op, (), attributes, dtype, shape, at)
            try:
                values = self._replaced(builder, _Site(pattern, variables, operands, result))
                if values is None:
                    return None
                given = values if isinstance(values, tuple | list) else (values,)
                return [node_for(value, builder, dtype) for value in given]
            except Exception as error:
                raise ReplacementError(at) from error

        made, _, _, notes = _dvm.rewrite(graph, self._patterns(), replace, self.again)
        return made, [Note(*note) for note in notes]


@dataclass(frozen=True)
class _Site:
    pattern: int
    variables: list[int]
    operands: list[int]
    result: Node


def pattern(function: _F) -> _F:
    """Mark a method of a PatternPass as a pattern: its parameters are the variables.

    It is given terms, and returns what a graph has to have; the methods `replacement` gets values
    of the graph for parameters of the same names.
    """
    function._is_pattern = True  # type: ignore[attr-defined]
    return function


class PatternPass(_Rewriting, base=True):
    """A pass that replaces what its patterns find.

    Every method marked `@dvm.passes.pattern`, or named `pattern`, is one; all have the replacement
    of the class. Broadcasts, casts to a wider dtype, and axes of size 1 that come and go need no
    word in a pattern, operands of what commutes stand in any order, and chains of one op are put
    together in any way. A number stands for itself rounded to the dtype; a parameter that is
    annotated with `float` stands for any constant.
    """

    _forms: list[tuple[Written, _dvm.Pattern]] | None = None  # once they are looked for

    _method = ("replacement", "def replacement(self, x):")

    @classmethod
    def check_methods(cls) -> None:
        """See Pass; there is at least one pattern, too."""
        super().check_methods()
        if not cls._pattern_names():
            raise TypeError(
                f"the pass {cls.__name__} has no pattern: write `def pattern(self, x):`, "
                f"or `class {cls.__name__}(..., base=True)` if others are derived from it"
            )

    @classmethod
    def _pattern_names(cls) -> list[str]:
        """Methods that are patterns in the order in which they are written, a base's first."""
        found: dict[str, Any] = {}
        for each in reversed(cls.__mro__):
            found.update(vars(each))
        return [n for n, m in found.items() if n == "pattern" or hasattr(m, "_is_pattern")]

    @_missing
    def replacement(self, *values: Any, **more: Any) -> Any:
        """Return what stands for the root, or a tuple for several; None: it stays as it is.

        Beside the pattern's parameters there is `result`, whose dtype, shape and line are the
        root's.
        """
        raise NotImplementedError

    def _patterns(self) -> list[_dvm.Pattern]:
        if self._forms is None:
            functions = [getattr(self, name) for name in self._pattern_names()]
            self._forms = [(w, form) for w in map(read, functions) for form in w.forms]
        return [form for _, form in self._forms]

    def _replaced(self, builder: Builder, site: _Site) -> Any:
        assert self._forms is not None
        written = self._forms[site.pattern][0]
        given: dict[str, Any] = {}
        for name, node in zip(written.names, site.variables, strict=False):
            if node >= 0:
                value = Value(builder, builder.wrap(node))
                given[name] = _number_of(value) if name in written.numbers else value
        given.setdefault("result", site.result)
        parameters = inspect.signature(self.replacement).parameters.values()
        for p in parameters:
            is_wanted = p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.default is p.empty
            if is_wanted and p.name not in given:
                raise TypeError(
                    f"replacement takes {p.name!r}, but the pattern has {', '.join(given)}"
                    f"{written_at(self.replacement)}"
                )
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            names = {p.name for p in parameters}
            given = {name: value for name, value in given.items() if name in names}
        return self.replacement(**given)


def _number_of(value: Value) -> float:
    _, _, attributes, _ = _dvm.node_of(value.graph, value.node)
    number: float = attributes["value"]
    return number


class DecomposePass(_Rewriting, base=True):
    """A pass that writes single ops as others.

    ops: names of docs/ops.md, or one name.
    """

    ops: str | Sequence[str] = ()
    _method = ("decompose", "def decompose(self, node):")

    @classmethod
    def check_methods(cls) -> None:
        """See Pass; ops have to be there, too."""
        super().check_methods()
        if isinstance(cls.ops, str | Sequence):  # and no property
            _names_of(cls.ops)

    @_missing
    def decompose(self, node: Node) -> Value | None:
        """Return what stands for a node; None: it stays as it is."""
        raise NotImplementedError

    def _patterns(self) -> list[_dvm.Pattern]:
        if not self.ops:
            raise TypeError(
                f'the pass {self.title} has no ops: write `ops = "tanh"`, or a tuple of names'
            )
        patterns = []
        for op in _names_of(self.ops):
            made = _dvm.Pattern(associates=False)
            made.roots = [made.any_operands(op)]
            patterns.append(made)
        return patterns

    def _replaced(self, builder: Builder, site: _Site) -> Any:
        operands = tuple(Value(builder, builder.wrap(node)) for node in site.operands)
        return self.decompose(site.result._replace(operands=operands))


def _names_of(ops: str | Sequence[str]) -> Sequence[str]:
    """What `ops` names; what there is not is an error."""
    names = (ops,) if isinstance(ops, str) else ops
    for name in names:
        if name not in _dvm.op_names:
            raise errors.unknown("unknown_name", "op", name, _dvm.op_names)
    return names
