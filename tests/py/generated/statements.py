"""Control flow: blocks, branches, loops, helpers, and what a program returns.

A branch that the example does not take is generated on a copy of the scope, and what it does to
Facts is joined; in a loop nothing may become less than it was known to be.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace

from .choices import Choices
from .containers import Containers
from .expressions import Scope, is_array, is_scalar
from .facts import Facts, RefusedError, need_exact, settle

#: How much values may grow over all rounds of a loop; loops run at most four.
LOOP_BOUND = 64.0


def indent(lines: list[str]) -> list[str]:
    return [textwrap.indent(line, "    ") for line in lines]


class Statements(Containers):
    """The generator of statements over a scope."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.helpers: list[str] = []
        self.depth = 0

    def block(self, most: int) -> list[str]:
        lines: list[str] = []
        self.depth += 1
        for _ in range(self.choices.integer(1, most)):
            lines += self.statement()
        self.depth -= 1
        return lines or ["pass"]

    def branch(self) -> list[str]:
        condition = self.attempt(self.condition)
        before = self.scope.copy()
        taken = self.block(2)
        if self.choices.chance(6):
            taken.append("raise ValueError('asked for')")
        elif self.choices.chance(8):
            taken.append(f"return {self.result()}")
        one, self.scope = self.scope, before.copy()
        lines = [f"if {condition.text}:", *indent(taken)]
        if self.choices.chance(60):
            lines += ["else:", *indent(self.block(2))]
        for name in before.memory:
            self.scope.memory[name] |= one.memory[name]
        for group, facts in one.facts.items():
            mine = self.scope.facts.get(group)
            self.scope.facts[group] = facts if mine is None else mine.join(facts)
        for name in list(self.scope.memory):
            if name not in before.memory:
                del self.scope.memory[name]
        return lines

    def loop(self) -> list[str]:
        arrays = self.names(is_array)
        if not arrays:
            raise RefusedError
        over = self.choices.pick(arrays)
        item = self.new_name("i")
        head, facts = self.choices.pick(
            [
                (f"for {item} in range(3):", Facts(True, True, 4.0)),
                (f"for {item} in range(min(3, {over}.size)):", Facts(True, True, 4.0)),
                (f"for {item} in (1, 2.0, -1):", Facts(True, True, 4.0)),
                (f"for {item}, _ in enumerate({over}[:3]):", Facts(True, True, 4.0)),
                (f"for {item} in {over}[:3]:", None),
                (f"for {item} in [{over}, {over}[::-1]]:", None),
                (f"while {item} < 3:", Facts(True, True, 4.0)),
            ]
        )
        start = [f"{item} = 0"] if head.startswith("while") else []
        before = self.scope.copy()
        # A later round sees what an earlier one made of the values.
        for group, known in list(self.scope.facts.items()):
            self.scope.facts[group] = replace(known, bound=LOOP_BOUND * known.bound + 512)
        self.scope.loops = [*self.scope.loops, dict(self.scope.facts)]
        self.execute("\n".join([*start, head, "    break"]))
        if item not in self.scope.live:
            raise RefusedError
        if facts is None:
            memory = self.scope.memory[over]
            if not is_array(self.scope.live[item]) and not is_scalar(self.scope.live[item]):
                raise RefusedError
            self.scope.memory[item] = memory | self.group(self.facts_of(memory))
        elif not start:
            self.scope.memory[item] = self.group(facts)
        body = self.block(2)
        if self.choices.chance(15):
            s = self.attempt(self.condition)
            body += [f"if {s.text}:", "    " + self.choices.pick(["break", "continue"])]
        if start:
            body.insert(0, f"{item} += 1")
        after = self.scope
        self.scope = before
        for group, facts_after in after.facts.items():
            if group not in before.facts or facts_after != after.loops[-1].get(group):
                before.facts[group] = facts_after
            elif group in self.groups_of(after):
                before.facts[group] = after.facts[group]
        for name in before.memory:
            before.memory[name] |= after.memory[name]
            before.live[name] = after.live[name]
        return [*start, head, *indent(body)]

    @staticmethod
    def groups_of(scope: Scope) -> set[int]:
        """Return the groups of every variable: after a loop their bounds stay inflated."""
        return {group for memory in scope.memory.values() for group in memory}

    def shielded(self) -> list[str]:
        """Return a `try` around something that may fail for other sizes, or an errstate block."""
        if self.choices.chance(50):
            mode = self.choices.pick(["ignore", "warn", "raise"])
            return [f"with np.errstate(all={mode!r}):", *indent(self.block(2))]
        target = self.new_name()
        a = self.array_variable()
        risky = self.choices.pick(
            ["{}.reshape(2, -1)", "{} + np.ones(3)", "{}[2]", "{}.max(axis=1)", "np.linalg.inv({})",
             "{}.shape[5]", "{} @ {}"]
        )  # fmt: skip
        if "inv" in risky or ("@" in risky and not a.facts.integral) or a.value.dtype.kind == "f":
            need_exact(a.facts)
        if "inv" in risky:
            raise RefusedError
        lines = ["try:", f"    {target} = {risky.replace('{}', a.text)}",
                 "except (ValueError, IndexError, np.exceptions.AxisError):",
                 f"    {target} = {a.text}"]  # fmt: skip
        self.execute("\n".join(lines))
        if not (is_array(self.scope.live[target]) or is_scalar(self.scope.live[target])):
            raise RefusedError
        facts = Facts(a.facts.exact, False, a.facts.bound**2 * 64, a.facts.signed_zero)
        self.scope.memory[target] = a.memory | self.group(settle(facts, self.scope.live[target]))
        return lines

    def helper(self) -> list[str]:
        """Call a function of the same module, a closure, or a lambda, written for the occasion."""
        if self.scope.loops or self.depth > 1:
            raise RefusedError
        a, b = self.array_variable(), self.attempt(lambda: self.operand(0))
        outer, name, target = self.scope, self.new_name("h"), self.new_name()
        memory = {"p": a.memory, "q": b.memory or self.group(b.facts)}
        kind = self.choices.pick(["module", "module", "closure", "lambda"])
        live = outer.live | {"p": a.value, "q": b.value}
        if kind == "closure":
            memory = outer.memory | memory
        self.scope = type(outer)(live, memory, outer.facts, outer.loops)
        try:
            body = self.block(2) if kind != "lambda" else []
            made = self.attempt(lambda: self.expression(1))
        finally:
            inner, self.scope = self.scope, outer
        outer.facts.update(inner.facts)
        if kind == "closure" and any(line.lstrip().split(" ")[0] in outer.memory for line in body):
            raise RefusedError  # an assignment would make the outer variable a local of the helper
        call = self.choices.pick(["{}({}, {})", "{}({}, q={})", "{}(*({}, {}))"])
        lines = [f"{target} = {call.format(name, a.text, b.text)}"]
        if kind == "lambda":
            lines.insert(0, f"{name} = lambda p, q: {made.text}")
        else:
            function = [f"def {name}(p, q=2):", *indent([*body, f"return {made.text}"])]
            if kind == "module":
                self.helpers += function
            else:
                lines = [*function, *lines]
        self.scope.memory[target] = made.memory | self.group(made.facts)
        self.scope.live[target] = made.value
        return lines

    def statement(self) -> list[str]:
        kinds: dict[Callable[[], list[str]], int] = {
            self.assignment: 40, self.store: 12, self.inplace: 14, self.with_out: 5,
            self.method_write: 3, self.to_python: 6, self.scalar_update: 4, self.container: 6,
            self.effect: 2, self.global_read: 4, self.language: 9,
        }  # fmt: skip
        if self.depth < 2:
            kinds |= {self.branch: 9, self.loop: 7, self.shielded: 3, self.helper: 5}
        if "c" in self.scope.memory:
            kinds[self.container_argument] = 20
        for _ in range(6):
            before = self.scope.copy()
            depth = self.depth
            try:
                return self.choices.weighted(kinds)()
            except RefusedError:
                self.scope, self.depth = before, depth
        return []

    def result(self) -> str:
        """Return what the function returns: values, views, inputs, in a container or not."""
        names = list(self.scope.memory)
        chosen = [self.choices.pick(names) for _ in range(self.choices.integer(1, 4))]
        if names and self.choices.chance(60):
            chosen[0] = names[-1]
        arrays = [n for n in chosen if is_array(self.scope.live.get(n)) and self.scope.live[n].ndim]
        if arrays and self.choices.chance(20):
            chosen.append(f"{arrays[0]}[::-1]")
        if len(chosen) == 1:
            return chosen[0]
        form = self.choices.pick(["{}", "{}", "({})", "[{}]", "dict"])
        if form == "dict":
            return "{" + ", ".join(f"{i}: {name}" for i, name in enumerate(chosen)) + "}"
        return form.format(", ".join(chosen))
