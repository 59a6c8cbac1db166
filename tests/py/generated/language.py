"""Statements about Python rather than NumPy: built-in functions, conversions, containers.

Templates: {a} and {b} are arrays, {s} and {t} scalars, {v} the variable that is bound. Everything
{s} and {t} stand for is exact, because most of these functions decide something by it.
"""

from __future__ import annotations

from dataclasses import replace

from . import values
from .expressions import Expressions, is_array, is_scalar
from .facts import Facts, RefusedError, need_exact

SCALARS = [
    "{v} = max({s}, {t})", "{v} = min({s}, 2, {t})", "{v} = abs({s})", "{v} = divmod({s}, 3)[1]",
    "{v} = round({s}, 1)", "{v} = pow({s}, 2)", "{v} = {s} if {t} > 0 else {t}",
    "{v} = {s} and {t}", "{v} = {s} or {t}", "{v} = 0 < {s} < 3", "{v} = not {s}",
    "{v} = isinstance({s}, int)", "{v} = type({s}) is type({t})",
    "{v} = sorted([{s}, {t}, 1])[0]", "{v} = sum([{s}, {t}])",
    "{v} = sum(i * {s} for i in range(3))", "{v} = len({{{s}, {t}}})", "{v} = int({s})",
    "{v} = float({s})", "{v} = bool({s})", "{v} = complex({s}).real", "{v} = math.floor({s})",
    "{v} = math.sqrt(abs({s}))", "{v} = math.copysign(2.0, {s})", "{v} = math.isnan({s})",
    "{v} = {s} in (0, 1, 2)", "{v} = {s} == {t}", "{v} = float(str({s}))",
    "{v} = len(f'{{{s}}}')", "{v} = hash({s}) == hash({t})",
    "{v} = {s}.__class__.__name__ == 'float'", "{v} = np.float32({s})", "{v} = np.int64({s})",
    "{v} = {s} ** 2 - {t} // 2", "{v} = -{s}", "{v} = [{s}, {t}].index({t})",
    "{v} = (lambda n: n + 1)({s})", "{v} = {{'k': {s}}}.get('k', 2)",
    "{v} = functools.reduce(max, [{s}, {t}])", "{v} = next(i for i in range(5) if i >= {s})",
    "{v} = any([{s}, {t}])", "{v} = all([{s}, {t}])",
    "{v} = max([{s}, {t}, 1], key=lambda n: -n)", "{v} = any(n > 1 for n in ({s}, {t}))",
    "{v} = sorted([{s}, {t}, 2], key=lambda n: (n > 1, -n))[0]",
    "{v} = sum(map(lambda n: n * 2, [{s}, {t}]))",
    "{v} = len(list(filter(lambda n: n > 0, [{s}, {t}, 0])))",
    "{v} = functools.reduce(lambda m, n: m * 2 + n, [{s}, {t}], 1)",
    "{v} = list(itertools.accumulate([{s}, {t}], lambda m, n: m - n))[-1]",
    "{v} = len([*itertools.takewhile(lambda n: n < 2, [{s}, {t}, 3])])",
    "{v} = min(itertools.chain([{s}], (n + 1 for n in [{t}])))",
    "{v} = sum(len([*group]) * key for key, group in itertools.groupby([{s}, {t}, {t}]))",
]  # fmt: skip
ARRAYS = [
    "{v} = {a} if {s} > 0 else {b}", "{v} = getattr({a}, 'T')",
    "{v} = {a} if isinstance({a}, np.ndarray) else {b}",
    "{v} = functools.partial(np.add, {a})({b})",
    "{v} = functools.reduce(np.add, [{a}, {a}, {b}])",
    "{v} = list(map(np.negative, ({a}, {b})))[1]", "{v} = np.array([{s}, {t}])",
    "{v} = np.array([float(i) for i in range(4)])", "{v} = sum([{a}, {a}])",
    "{v}, {a} = {a}, {b}", "{v} = max([{a}, {b}], key=np.size)",
    "{v} = sorted(({a}, {b}), key=lambda n: n.ndim)[0]", "{v} = {a}; del {a}; {a} = {v}",
    "{v} = [*{a}]; {v} = np.stack({v}) if {v} else {a}", "{v} = (n := {a} + 1) + n",
    "{v} = {a} if {a} is not None and {a} is not {b} else {b}", "{v} = dict(p={a}, q={b})['q']",
    "{v} = np.stack([*({a}, {a})])", "{v} = [n for n in ({a}, {b}) if n.ndim][0]",
    "{v} = {a}[tuple(slice(1, None) for _ in {a}.shape)]",
    "{v} = np.empty_like({a}); {v}[...] = 2", "{v} = {a}[(slice(None), *[0] * ({a}.ndim - 1))]",
    "{v} = {a}.__add__({b})", "{v} = operator.sub({a}, {b})", "{v} = {a}.astype({b}.dtype)",
    "{v} = np.result_type({a}, {b}).type(2) * {a}", "{v} = {a}.copy(); {v}.shape = (-1,)",
    "{v} = {a}.reshape(*{a}.shape, 1)", "{v} = type({a})({a}.shape, {a}.dtype); {v}.fill(1)",
    "{v} = np.asarray([[{s}, {t}]])", "{v} = sum(n for n in {a}[:2])",
    "{v} = {a} + (lambda n: n * 2)({b})",
    "{v} = max(({a}, {b}), key=lambda n: (n.ndim, n.size))",
    "{v} = sorted([{a}, {b}, {a} + 1], key=lambda n: -n.size)[-1]",
    "{v} = next(filter(lambda n: n.ndim, ({a}, {b})))",
    "{v} = list(map(lambda m, n: m - n, [{a}, {b}], [{b}, {a}]))[1]",
    "{v} = functools.reduce(lambda m, n: m + n, ({a}, {b}, {a}))",
    "{v} = sum(n * 2 for n in ({a}, {b}))", "{v} = [*(n for n in ({a}, {b}) if n.size > 2)][0]",
    "{v} = list(itertools.accumulate([{a}, {a}]))[-1]",
    "{v} = [m + n for m, n in itertools.product([{a}], [{b}, {a}])][-1]",
    "{v} = collections.deque([{a}, {b}], 1).pop()",
    "{v} = (n for n in ({a}, {b})); {v} = next({v})",
]  # fmt: skip


class Language(Expressions):
    """Adds the statements of this file to a generator."""

    def exact_scalar(self) -> str:
        made = self.attempt(self.scalar)
        need_exact(made.facts)
        if not made.facts.signed_zero:
            raise RefusedError
        return made.atom

    def language(self) -> list[str]:
        name = self.new_name()
        s, t = self.exact_scalar(), self.exact_scalar()
        if self.choices.chance(50):
            text = self.choices.pick(SCALARS).format(v=name, s=s, t=t)
            known, memory = Facts(True, False, 64.0), frozenset[int]()
        else:
            one, other = self.array_variable(), self.array_variable()
            both = one.facts.join(other.facts)
            known = replace(values.added(values.added(both, both), both), integral=False)
            known = replace(known, bound=max(known.bound, 4.0))
            template = self.choices.pick(ARRAYS)
            if self.scope.loops and "{a} =" in template.removeprefix("{v} = {a}"):
                raise RefusedError
            text = template.format(v=name, a=one.text, b=other.text, s=s, t=t)
            memory = one.memory | other.memory
            if ".dtype)" in text or "type(2)" in text:
                need_exact(both)
        lines = text.split("; ")
        self.run_on_copy("\n".join(lines))
        self.execute("\n".join(lines))
        made = self.scope.live[name]
        if not (is_array(made) or is_scalar(made)) or (is_array(made) and made.dtype.kind == "O"):
            raise RefusedError
        if memory:
            for operand in (one, other):
                self.scope.memory[operand.text] = memory
        self.note(known, made)
        self.scope.memory[name] = memory | self.group(known)
        return lines
