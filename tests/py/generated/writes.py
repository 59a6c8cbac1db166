"""Statements that bind names and write elements, and what they do to the scope's Facts.

Each method returns the lines it made, after running them on the example values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import values
from .expressions import Expression, is_scalar
from .facts import Facts, RefusedError, need_exact, settle
from .language import Language

#: How much a value may grow in one round of a loop.
GROWTH = 2.0


class Writes(Language):
    """Adds assignments and in-place writes to a generator."""

    # -- what a statement does to the scope

    def bind(self, name: str, made: Expression) -> None:
        """Record that `name` now holds `made`; in a loop it may only keep what was known."""
        if self.scope.loops and name in self.scope.memory:
            self.keep_loop_facts(self.facts_of(self.scope.memory[name]), made.facts)
        memory = made.memory
        if not memory or self.facts_of(memory) != made.facts:
            memory |= self.group(made.facts)
        if self.scope.loops and name in self.scope.memory:
            memory |= self.scope.memory[name]
        self.scope.memory[name] = memory

    def keep_loop_facts(self, before: Facts, after: Facts) -> None:
        worse = (before.exact and not after.exact) or (before.integral and not after.integral)
        sign_lost = before.signed_zero and not after.signed_zero
        if worse or sign_lost or after.bound > GROWTH * before.bound + 8:
            raise RefusedError

    def written(self, target: Expression, facts: Facts) -> None:
        """Record that elements of `target` now are as `facts` says."""
        facts = settle(facts, target.value)
        self.note(facts, target.value)
        for group in target.memory:
            before = self.scope.facts[group]
            joined = before.join(facts)
            if any(group in loop for loop in self.scope.loops):
                self.keep_loop_facts(before, joined)
            self.scope.facts[group] = joined

    # -- simple statements

    def assignment(self) -> list[str]:
        made = self.attempt(lambda: self.expression(2))
        names = [n for n in self.scope.memory if type(self.scope.live[n]) is type(made.value)]
        name = self.new_name()
        if names and self.choices.chance(35):
            name = self.choices.pick(names)
            if self.scope.loops and np.shape(self.scope.live[name]) != np.shape(made.value):
                raise RefusedError
        text = f"{name} = {made.text}"
        self.bind(name, made)
        self.execute(text)
        return [text]

    def value_for(self, target: Expression) -> Expression:
        made = self.attempt(lambda: self.operand(1))
        whole_target = np.asarray(target.value).dtype.kind in "biu"
        if whole_target and np.asarray(made.value).dtype.kind == "f":
            need_exact(made.facts)
        return made

    def place(self) -> Expression:
        """Return an array or a part of one, as the target of a write."""
        a = self.array_variable()
        if self.choices.chance(25):
            return a
        if self.choices.chance(15):
            mask = self.condition_array(0)
            return Expression(f"{a.text}[{mask.text}]", a.value, a.facts, a.memory)
        return self.built(f"{a.text}[{self.index(a.value)}]", a.facts, a.memory)

    def store(self) -> list[str]:
        target = self.place()
        made = self.value_for(target)
        place = target.text if "[" in target.text else f"{target.text}[...]"
        text = f"{place} = {made.text}"
        self.run_on_copy(text)
        self.written(replace(target, memory=target.memory), made.facts)
        self.execute(text)
        return [text]

    def inplace(self) -> list[str]:
        target = self.place()
        made = self.value_for(target)
        operator, rule = self.choices.pick(list(values.INPLACE.items()))
        if self.choices.chance(60):
            operator, rule = self.choices.pick(list(values.INPLACE.items())[:3])
        facts = rule(target.facts, made.facts)
        text = f"{target.text} {operator} {made.text}"
        self.run_on_copy(text)
        self.written(target, facts)
        self.execute(text)
        return [text]

    def scalar_update(self) -> list[str]:
        names = self.names(lambda v: is_scalar(v) and not isinstance(v, bool))
        if not names:
            raise RefusedError
        old = self.variable(self.choices.pick(names))
        other = self.scalar()
        operator, rule = self.choices.pick([("+", values.added), ("*", values.multiplied)])
        made = self.built(f"{old.text} {operator} {other.atom}", rule(old.facts, other.facts))
        if type(made.value) is not type(old.value):
            raise RefusedError
        self.bind(old.text, made)
        text = f"{old.text} {operator}= {other.text}"
        self.execute(text)
        return [text]

    def with_out(self) -> list[str]:
        target = self.array_variable()
        a, b = self.array(0), self.value_for(target)
        name, rule = self.choices.pick(list(values.WITH_OUT.items()))
        facts = rule(a.facts, b.facts)
        where = ""
        # NumPy crashes where an int out of the range of an array meets it in a masked comparison.
        if self.choices.chance(30) and name != "np.greater":
            where = f", where={self.condition_array(0).text}"
        kept = self.new_name() if self.choices.chance(40) and not self.scope.loops else ""
        text = f"{name}({a.text}, {b.text}, out={target.text}{where})"
        self.run_on_copy(text)
        self.written(target, facts)
        if kept:
            text = f"{kept} = {text}"
            self.scope.memory[kept] = target.memory
        self.execute(text)
        return [text]

    def method_write(self) -> list[str]:
        target = self.array_variable()
        form = self.choices.pick(
            ["{}.fill(2)", "{}.sort()", "np.copyto({}, {value})", "np.clip({}, -1, 1, out={})",
             "{}.resize({}.shape)", "np.absolute({}, {})", "np.cumsum({}, axis=0, out={})",
             "np.put({}, [0], 1)", "np.add.at({}, 0, 1)", "{}.flat[0] = 1", "{}.flat = 2"]
        )  # fmt: skip
        facts = replace(target.facts, bound=target.facts.bound + 2)
        if "sort" in form or "clip" in form:
            need_exact(target.facts)
            facts = replace(facts, signed_zero=False)
        if "cumsum" in form and (self.scope.loops or not target.facts.integral):
            raise RefusedError
        if "cumsum" in form:
            facts = replace(facts, bound=facts.bound * 64)
        if "{value}" in form:
            value = self.value_for(target)
            form = form.replace("{value}", value.text)
            facts = facts.join(value.facts)
        text = form.replace("{}", target.text)
        self.run_on_copy(text)
        self.written(target, facts)
        self.execute(text)
        return [text]

    def to_python(self) -> list[str]:
        """Bind a Python scalar: a size, an element, a converted reduction, a text of one."""
        a = self.array_variable()
        kind = self.choices.pick(["size", "item", "float", "int", "bool", "round"])
        if kind == "size":
            sizes = ["{}.shape[0]", "len({})", "{}.size", "{}.ndim", "{}.shape[-1] - 1",
                     "{}.size // 2", "max({}.shape)"]  # fmt: skip
            text = self.choices.pick(sizes).format(a.text)
            made = self.built(text, Facts(True, True, 4096.0))
        else:
            need_exact(a.facts)
            total = self.attempt(lambda: self.reduction(whole=True))
            if kind in ("int", "bool", "round"):
                need_exact(total.facts)
                if np.asarray(total.value).dtype.kind == "f" and kind != "bool":
                    self.choices.integer(0, 0)
            form = "{}.item()" if kind == "item" else kind + "({})"
            made = self.built(form.format(total.atom if kind == "item" else total.text),
                              total.facts)  # fmt: skip
        name = self.new_name("s")
        self.bind(name, made)
        text = f"{name} = {made.text}"
        self.execute(text)
        return [text]
