"""Expressions: text, an example of its value, its Facts, and the memory it may share.

Every candidate is evaluated on example values at once, so that ranks, dtypes and axes fit without a
type system for NumPy; what raises is refused and another candidate is drawn. Example values only
guide: what holds in every call is in the Facts alone.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import values
from .choices import Choices
from .facts import MOST_ELEMENTS, Facts, RefusedError, need_exact, of, settle, summed

#: Larger examples are refused: the program would only be slow.
MOST_EXAMPLE_ELEMENTS = 400
DTYPES = {"f8": 8, "f4": 6, "i8": 5, "i4": 3, "?": 3, "f2": 1, "u1": 2, "i2": 1, "i1": 1}


@dataclass(frozen=True)
class Expression:
    """memory: groups of storage it may share; empty for what is not an array or holds none."""

    text: str
    value: Any
    facts: Facts
    memory: frozenset[int] = frozenset()

    @property
    def atom(self) -> str:
        """Return the text so that any operator may stand beside it."""
        plain = self.text.replace(".", "").replace("_", "").isalnum()
        return self.text if plain else f"({self.text})"


@dataclass
class Scope:
    """Variables of the function being written: example values and memory groups by name."""

    live: dict[str, Any]
    memory: dict[str, frozenset[int]]
    facts: dict[int, Facts]
    #: Groups that exist longer than the loop being written, with what must stay true of them.
    loops: list[dict[int, Facts]] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(dict(self.live), dict(self.memory), dict(self.facts), self.loops)


def is_array(value: Any) -> bool:
    return type(value) is np.ndarray


def is_scalar(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.generic))


class Expressions:
    """The generator of expressions over a scope."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.scope = Scope({}, {}, {})
        self.groups = 0
        self.counter = 0
        # Of the whole program: what a comparison of results must tolerate.
        self.rounded_bound = 0.0
        self.rounded_eps = 0.0
        self.signed_zeros = True
        self.bounds_matter = False  # something is exact because numbers are small

    # -- building

    def group(self, facts: Facts) -> frozenset[int]:
        self.groups += 1
        self.scope.facts[self.groups] = facts
        return frozenset([self.groups])

    def facts_of(self, memory: frozenset[int]) -> Facts:
        return of([self.scope.facts[group] for group in sorted(memory)])

    def variable(self, name: str) -> Expression:
        memory = self.scope.memory[name]
        return Expression(name, self.scope.live[name], self.facts_of(memory), memory)

    def evaluate(self, text: str) -> Any:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                value = eval(text, self.scope.live)
            except Exception as error:
                raise RefusedError from error
        if isinstance(value, np.ndarray) and (
            value.size > MOST_EXAMPLE_ELEMENTS or value.ndim > 4 or value.dtype.kind not in "biufc"
        ):
            raise RefusedError
        if isinstance(value, int) and abs(value) > 2**62:
            raise RefusedError
        return value

    def built(
        self,
        text: str,
        facts: Facts | Callable[[Any], Facts],
        memory: frozenset[int] = frozenset(),
    ) -> Expression:
        """Return the expression if its text evaluates; `memory` is what the result may share."""
        value = self.evaluate(text)
        if not (is_array(value) or is_scalar(value)):
            raise RefusedError
        known = settle(facts(value) if callable(facts) else facts, value)
        self.note(known, value)
        self.signed_zeros &= known.signed_zero
        return Expression(text, value, known, memory)

    def note(self, facts: Facts, value: Any) -> None:
        """Remember how coarse and how large a rounded value may be."""
        if not facts.exact:
            self.rounded_bound = max(self.rounded_bound, facts.bound, 1.0)
            dtype = np.asarray(value).dtype
            eps = float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0
            self.rounded_eps = max(self.rounded_eps, eps)

    def attempt(self, make: Callable[[], Expression], tries: int = 6) -> Expression:
        for _ in range(tries):
            try:
                return make()
            except RefusedError:
                continue
        raise RefusedError

    def new_name(self, prefix: str = "v") -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def execute(self, text: str) -> None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                exec(text, self.scope.live)
            except Exception as error:
                raise RefusedError from error

    def run_on_copy(self, text: str) -> None:
        """Refuse `text` if it raises, before anything is recorded or written."""
        live = self.scope.live
        self.scope.live = dict(live)
        try:
            for name in self.scope.memory:
                self.scope.live[name] = copy.deepcopy(live[name])
            self.execute(text)
        finally:
            self.scope.live = live

    # -- operands

    def names(self, fits: Callable[[Any], bool]) -> list[str]:
        return [n for n in self.scope.memory if fits(self.scope.live.get(n))]

    def array_variable(self) -> Expression:
        names = self.names(is_array)
        if not names:
            raise RefusedError
        return self.variable(self.choices.pick(names))

    def array(self, depth: int = 1) -> Expression:
        """Return something that is an array; `depth` bounds how deep expressions nest."""
        if depth <= 0 or self.choices.chance(60):
            return self.array_variable()
        made = self.expression(depth - 1)
        if not is_array(made.value):
            raise RefusedError
        return made

    def literal(self) -> Expression:
        text = self.choices.pick(
            ["2", "1", "-1", "3", "0", "0.5", "2.0", "-1.5", "0.25", "1.0", "True", "-0.0",
             "np.float32(1.5)", "np.int8(3)", "np.float64(2.0)", "np.int64(-2)"]
        )  # fmt: skip
        value = eval(text, {"np": np})
        return Expression(text, value, Facts(True, float(value).is_integer(), 4.0))

    def scalar(self) -> Expression:
        names = self.names(is_scalar)
        if names and self.choices.chance(50):
            return self.variable(self.choices.pick(names))
        if self.choices.chance(20):
            return self.reduction(whole=True)
        return self.literal()

    def operand(self, depth: int) -> Expression:
        return self.scalar() if self.choices.chance(35) else self.array(depth)

    # -- kinds of expressions

    def unary(self, depth: int) -> Expression:
        a = self.array(depth) if self.choices.chance(85) else self.scalar()
        template, rule = self.choices.pick(list(values.UNARY.items()))
        return self.built(template.format(a.atom), rule(a.facts))

    def binary(self, depth: int) -> Expression:
        a, b = self.array(depth), self.operand(depth)
        if self.choices.chance(30):
            a, b = b, a
        # The arithmetic that programs are made of is as likely as all the rest.
        table = list(values.BINARY.items())
        template, rule = self.choices.pick(table[:3] if self.choices.chance(45) else table)
        return self.built(template.format(a.atom, b.atom), rule(a.facts, b.facts))

    def axis(self, value: Any) -> tuple[str, str]:
        """Return the text of axis and keepdims for a reduction, and the axis alone."""
        rank = np.ndim(value)
        axes = [""] * 2
        if rank:
            axes += [str(i) for i in range(-1, rank)]
        if rank > 1:
            axes.append("(0, 1)")
        axis = self.choices.pick(axes)
        text = f", axis={axis}" if axis else ""
        if self.choices.chance(25):
            text += ", keepdims=True"
        return text, axis

    def reduction(self, depth: int = 0, whole: bool = False) -> Expression:
        a = self.array(depth)
        template, kind = self.choices.pick(list(values.REDUCTIONS.items()))
        axis = "" if whole else self.axis(a.value)[0]
        text = template.replace("{}", a.atom)
        text = text.replace("({axis}", "(" + axis.lstrip(", ")).replace("{axis}", axis)
        made = self.built(text, lambda value: self.reduced(kind, a.facts, value))
        if whole and not is_scalar(made.value):
            raise RefusedError
        return made

    def summed(self, facts: Facts, value: Any, factor: float = MOST_ELEMENTS) -> Facts:
        made = summed(facts, value, factor)
        if np.asarray(value).dtype.kind not in "biu" and made.exact:
            self.bounds_matter = True
        return made

    def reduced(self, kind: str, facts: Facts, value: Any) -> Facts:
        match kind:
            case "sum":
                return self.summed(facts, value)
            case "masked":
                need_exact(facts)
                return self.summed(facts, value)
            case "mean":
                total = self.summed(facts, value)
                return replace(total, integral=False, bound=facts.bound)
            case "variance" | "deviation":
                if kind == "deviation" and not (facts.exact and facts.integral):
                    raise RefusedError  # the root of a variance that is rounded to almost zero
                return Facts(False, False, facts.bound**2)
            case "product":
                if np.asarray(value).dtype.kind == "f" and facts.bound > 1:
                    raise RefusedError
                need_exact(facts)
                self.bounds_matter = True
                return facts
            case "either" | "order":
                if kind == "order":
                    need_exact(facts)
                return replace(facts, integral=False, signed_zero=False)
            case "truth":
                return values.truth(facts)
            case "discrete":
                need_exact(facts)
                return Facts(True, True, 4096.0)
        return facts

    def rearranged(self, depth: int) -> Expression:
        a = self.array(depth)
        template = self.choices.weighted(values.REARRANGED)
        facts = replace(a.facts, bound=max(a.facts.bound, 2.0))
        if "unique" in template:
            need_exact(a.facts)
        return self.built(template.replace("{}", a.atom), facts, a.memory)

    def index(self, value: Any) -> str:
        rank = np.ndim(value)
        ints = self.names(lambda v: type(v) is int and -3 <= v <= 3)
        parts: list[str] = []
        for _ in range(max(1, self.choices.integer(0, rank))):
            part = self.choices.weighted(values.AXIS_INDICES)
            if ints and self.choices.chance(15):
                part = self.choices.pick(["{}", "{}:", ":{}"]).format(self.choices.pick(ints))
            parts.append(part)
        return ", ".join(parts)

    def indexed(self, depth: int) -> Expression:
        a = self.array(depth)
        return self.built(f"{a.atom}[{self.index(a.value)}]", a.facts, a.memory)

    def masked(self, depth: int) -> Expression:
        a, mask = self.array_variable(), self.condition_array(depth)
        return self.built(f"{a.atom}[{mask.text}]", a.facts)

    def condition_array(self, depth: int) -> Expression:
        """Return an array of truth values."""
        masks = self.names(lambda v: is_array(v) and v.dtype.kind == "b")
        if masks and self.choices.chance(30):
            return self.variable(self.choices.pick(masks))
        a, b = self.array(depth), self.scalar()
        need_exact(a.facts, b.facts)
        sign = self.choices.pick([">", "<", ">=", "=="])
        return self.built(f"{a.atom} {sign} {b.atom}", Facts(True, True, 1.0))

    def chosen(self, depth: int) -> Expression:
        """Return a where or a clip."""
        if self.choices.chance(35):
            a, low, high = self.operand(depth), *sorted([self.literal(), self.literal()], key=str)
            facts = replace(of([a.facts, low.facts, high.facts]), signed_zero=False)
            form = self.choices.pick(["np.clip({}, {}, {})", "np.clip({}, {}, None)"])
            return self.built(form.format(a.text, low.text, high.text), facts)
        mask, a, b = self.condition_array(depth), self.operand(depth), self.operand(depth)
        return self.built(f"np.where({mask.text}, {a.text}, {b.text})", a.facts.join(b.facts))

    def joined(self, depth: int) -> Expression:
        a, b = self.array(depth), self.array(depth)
        form = self.choices.pick(
            ["np.concatenate([{}, {}])", "np.concatenate(({}, {}), axis=-1)", "np.stack([{}, {}])",
             "np.stack([{}, {}], axis=-1)", "np.append({}, {})", "np.array([{}, {}])",
             "np.concatenate([{}, {}], axis=None)"]
        )  # fmt: skip
        return self.built(form.format(a.text, b.text), a.facts.join(b.facts))

    def cast(self, depth: int) -> Expression:
        a = self.array(depth)
        dtype = self.choices.weighted(DTYPES)
        if dtype == "?" or dtype[0] in "iu":
            need_exact(a.facts)
        form = self.choices.pick(
            ["{}.astype({!r})", "{}.astype({!r})", "{}.astype({!r}, copy=False)",
             "np.asarray({}, dtype={!r})"]
        )  # fmt: skip
        return self.built(form.format(a.atom, dtype), a.facts, a.memory)

    def made(self, _: int) -> Expression:
        """Return a new array sized by another."""
        a = self.array_variable()
        rank = np.ndim(a.value)
        size = f"{a.text}.shape[{self.choices.integer(0, rank - 1)}]" if rank else "3"
        form = self.choices.pick(
            ["np.zeros({})", "np.ones({}, dtype=np.float32)", "np.full({}, 2.5)", "np.arange({})",
             "np.arange({}, dtype=np.float64)", "np.eye({})", "np.zeros(({}, 2))",
             "np.linspace(0.0, 1.0, {})", "np.arange(1, {} + 1)[:, None]"]
        )  # fmt: skip
        whole = "linspace" not in form and "2.5" not in form
        return self.built(
            form.format(size), Facts(True, whole, 4096.0 if "arange" in form else 3.0)
        )

    def product(self, depth: int) -> Expression:
        """Return a matrix product or a relative of it."""
        a, b = self.array(depth), self.array(depth)
        form = self.choices.pick(["{} @ {}", "np.dot({}, {})", "np.outer({}, {})", "{} @ {}.T",
                                  "np.add.outer({}, {})", "np.matmul({}, {})"])  # fmt: skip
        facts = values.multiplied(a.facts, b.facts)
        if "add.outer" in form:
            facts = values.added(a.facts, b.facts)
        return self.built(form.format(a.atom, b.atom), lambda v: self.summed(facts, v, 64))

    def expression(self, depth: int = 1) -> Expression:
        kind = self.choices.weighted(
            {self.binary: 30, self.unary: 14, self.reduction: 12, self.indexed: 14,
             self.rearranged: 12, self.chosen: 8, self.joined: 5, self.cast: 5, self.made: 4,
             self.masked: 2, self.product: 2}
        )  # fmt: skip
        return kind(depth)

    def condition(self) -> Expression:
        """Return what an `if` may ask: of data, of sizes, of scalars, of identity or type."""
        arrays, scalars = self.names(is_array), self.names(is_scalar)
        kind = self.choices.weighted({"data": 6, "size": 3, "scalar": 3, "identity": 1})
        if kind == "scalar" and scalars:
            s = self.variable(self.choices.pick(scalars))
            return self.built(
                self.choices.pick(["{} > 0", "{} < 2", "{} == 1", "{}", "not {}"]).format(s.text),
                values.truth(s.facts),
            )
        if not arrays:
            raise RefusedError
        a = self.variable(self.choices.pick(arrays))
        if kind == "size":
            text = self.choices.pick(
                ["{}.size > 3", "len({}) > 2", "{}.ndim == 2", "{}.shape[0] > {}.shape[-1]",
                 "{}.shape[0] % 2 == 0", "{}.size == 0"]
            )  # fmt: skip
            return self.built(text.replace("{}", a.text), Facts(True, True, 1.0))
        if kind == "identity" and len(arrays) > 1:
            b = self.choices.pick(arrays)
            text = self.choices.pick(["{} is {}", "{} is not {}", "{}.shape == {}.shape"])
            return self.built(text.format(a.text, b), Facts(True, True, 1.0))
        need_exact(a.facts)
        text = self.choices.pick(
            ["{}.sum() > 0", "{}.any()", "np.all({} > -2)", "float({}.sum()) > 1.0", "{}.max() > 1",
             "np.isnan({}).any()", "{}[0] > 0", "{}.flat[0] == 1", "int({}.sum()) % 2 == 0",
             "np.count_nonzero({}) > 2", "{}.mean() > 0", "{}.argmax() == 0"]
        )  # fmt: skip
        # The sum behind a mean of integers is one of floats.
        total = "np.mean" if "mean" in text else "np.sum"
        return self.built(
            text.replace("{}", a.text),
            lambda _: values.truth(self.summed(a.facts, self.evaluate(f"{total}({a.text})"))),
        )
