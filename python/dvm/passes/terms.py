"""Patterns: what a function over `Term`s computes, as the core looks for it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dvm import _dvm
from dvm.passes.chains import Chain
from dvm.passes.operands import Axes, Operand, axes_of

#: what one pattern may be written as; each is looked for
MOST_FORMS = 64
#: powers that are products
_FACTORS = (2, 3, 4)


@dataclass(frozen=True)
class Near:
    """A number, and which others stand for it."""

    value: float
    tolerance: float


class Term(Operand):
    """A part of a pattern: a variable, a number, or an op of other terms."""

    def __init__(self, kind: str, operands: tuple[Term, ...] = (), **more: Any) -> None:
        self.kind = kind
        self.operands = operands
        self.more = more

    def apply(self, op: str, *operands: Any) -> Term:
        """See Operand; small powers are products."""
        given = tuple(map(term_of, operands))
        exponent = 2 if op == "square" else 0
        if op == "power" and given[1].kind == "number":
            exponent = given[1].more["value"]
        if exponent in _FACTORS:
            return given[0] ** exponent
        return Term("op", given, op=op)

    def reduce(self, op: str, axis: Axes) -> Term:
        """See Operand."""
        made = self
        # Neighbours are reduced at once, others one after the other.
        axes = axes_of(axis)
        for run in reversed(_runs(axes)):
            made = Term("op", (made,), op=op, axes=run)
        return made

    def mean(self, axis: Axes = -1) -> Term:
        """See Operand."""
        total = self.sum(axis)
        return Term("op", (total, Term("count", (total,))), op="div")

    def split(self, parts: int, axis: int = -1) -> list[Term]:
        """See Operand."""
        return [Term("split", (self,), axis=axis, part=k, parts=parts) for k in range(parts)]

    def join(self, *others: Term, axis: int = -1) -> Term:
        """See Operand."""
        return Term("join", (self, *others), axis=axis)

    def transpose(self, *axes: int) -> Term:
        """See Operand."""
        return Term("op", (self,), op="transpose", axes=list(axes))

    def either(self, *forms: Term) -> Term:
        """See Operand."""
        return Term("either", (self, *forms)) if forms else self

    def __matmul__(self, other: Any) -> Term:
        return Term("op", (self, term_of(other)), op="matmul")

    def __rmatmul__(self, other: Any) -> Term:
        return Term("op", (term_of(other), self), op="matmul")

    def __pow__(self, exponent: float) -> Term:
        if exponent not in _FACTORS:
            return self.apply("power", self, exponent)
        product = self
        for _ in range(int(exponent) - 1):
            product = product * self
        return product


def term_of(value: Any) -> Term:
    """A term, or the number that stands for one."""
    if isinstance(value, Term):
        return value
    if isinstance(value, Near):
        return Term("number", value=value.value, tolerance=value.tolerance)
    is_number = isinstance(value, bool | int | float) or hasattr(value, "__float__")
    if is_number and not getattr(value, "ndim", 0):
        return Term("number", value=float(value), tolerance=0.0)
    raise TypeError(f"a pattern has terms and numbers, not {value!r:.60}: a variable is any array")


def _runs(axes: list[int]) -> list[list[int]]:
    """Neighbours among axes, in ascending order."""
    runs: list[list[int]] = []
    for axis in sorted(axes):
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs


@dataclass(frozen=True)
class Written:
    """A pattern as its author wrote it: the forms it may have, and the names of its variables."""

    forms: list[_dvm.Pattern]
    names: list[str]
    numbers: frozenset[str]
    results: int


def read(function: Callable[..., Any]) -> Written:
    """What a function says that is given a term for each of its parameters.

    A parameter annotated with `float` stands for constants alone.
    """
    parameters = inspect.signature(function).parameters
    names = list(parameters)
    numbers = frozenset(
        name for name, p in parameters.items() if p.annotation in (float, "float", int, "int")
    )
    kinds = ["any_number" if name in numbers else "variable" for name in names]
    terms = [Term(kind, variable=k) for k, kind in enumerate(kinds)]
    given = function(*terms)
    roots = tuple(given) if isinstance(given, tuple | list) else (given,)
    for root in roots:
        if not isinstance(root, Term) or root.kind in ("variable", "any_number", "number"):
            what = "a variable" if isinstance(root, Term) else f"{root!r:.60}"
            raise TypeError(
                f"a pattern returns an op of its variables, not {what}{written_at(function)}"
            )
    forms = [_compiled(form) for form in _forms(roots)]
    return Written(forms, names, numbers, len(roots))


def written_at(function: Callable[..., Any]) -> str:
    """Where a function is written, as messages end with it."""
    code = getattr(function, "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""


def _forms(roots: tuple[Term, ...]) -> Iterator[tuple[Term, ...]]:
    """The roots with one form chosen wherever there are several."""
    choices: dict[int, Term] = {}
    for root in roots:
        _choices_in(root, choices)
    count = 0
    seen: set[str] = set()
    for chosen in itertools.product(*(range(len(term.operands)) for term in choices.values())):
        picks = dict(zip(choices, chosen, strict=True))
        known: dict[int, Term] = {}
        form = tuple(_chosen(root, picks, known) for root in roots)
        text = _text(form)
        if text in seen:
            continue
        seen.add(text)
        count += 1
        if count > MOST_FORMS:
            raise ValueError(f"a pattern of more than {MOST_FORMS} forms: write several of them")
        yield form


def _choices_in(term: Term, found: dict[int, Term]) -> None:
    if term.kind == "either":
        found[id(term)] = term
    for operand in term.operands:
        _choices_in(operand, found)


def _chosen(term: Term, picks: dict[int, int], known: dict[int, Term]) -> Term:
    if id(term) not in known:
        if term.kind == "either":
            made = _chosen(term.operands[picks[id(term)]], picks, known)
        else:
            operands = tuple(_chosen(operand, picks, known) for operand in term.operands)
            made = Term(term.kind, operands, **term.more)
        known[id(term)] = made
    return known[id(term)]


def _text(roots: tuple[Term, ...]) -> str:
    """A form as text, by which equal ones are known."""
    numbers: dict[int, str] = {}
    lines: list[str] = []

    def visit(term: Term) -> str:
        if id(term) not in numbers:
            operands = ", ".join(map(visit, term.operands))
            numbers[id(term)] = f"t{len(numbers)}"
            lines.append(f"{term.kind}({operands}) {sorted(term.more.items())}")
        return numbers[id(term)]

    return "\n".join([*map(visit, roots), *lines])


def _compiled(roots: tuple[Term, ...]) -> _dvm.Pattern:
    made = _dvm.Pattern(associates=True)
    known: dict[int, int] = {}
    uses: dict[int, int] = {}
    for root in roots:
        _count_uses(root, uses)

    def visit(term: Term) -> int:
        if id(term) not in known:
            known[id(term)] = add(term)
        return known[id(term)]

    def add(term: Term) -> int:
        more = term.more
        match term.kind:
            case "variable":
                return made.variable(more["variable"])
            case "any_number":
                return made.any_number(more["variable"])
            case "number":
                return made.number(more["value"], more["tolerance"])
            case "count":
                return made.count(visit(term.operands[0]))
            case "split":
                return made.split(
                    visit(term.operands[0]), more["axis"], more["part"], more["parts"]
                )
            case "join":
                return made.join([visit(operand) for operand in term.operands], more["axis"])
            case _:
                return add_op(term)

    def add_op(term: Term) -> int:
        chain = Chain(term, uses)
        is_root = any(term is root for root in roots)
        if chain.is_nothing and not is_root:
            return visit(chain.operands[0][0])
        # A root that changes nothing, such as -(-x), is looked for as it is written.
        if chain.is_nothing or not chain.head:
            operands = [visit(operand) for operand in term.operands]
            return made.op(term.more["op"], operands, term.more.get("axes", []))
        operands = [visit(operand) for operand, _ in chain.operands]
        inverse = [is_inverse for _, is_inverse in chain.operands]
        return made.chain(chain.head, operands, inverse, chain.is_negative)

    made.roots = [visit(root) for root in roots]
    return made


def _count_uses(term: Term, uses: dict[int, int]) -> None:
    uses[id(term)] = uses.get(id(term), 0) + 1
    if uses[id(term)] == 1:
        for operand in term.operands:
            _count_uses(operand, uses)
