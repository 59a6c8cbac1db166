"""Statements: assignments, in-place writes, branches, loops, containers, helpers, effects.

Each method returns the lines it made, after running them on the example values. A branch that the
example does not take is generated on a copy of the scope, and what it does to Facts is joined.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from . import values
from .choices import Choices
from .expressions import Expression, is_array, is_scalar
from .facts import Facts, RefusedError, need_exact, settle
from .language import Language

#: How much a value may grow in one round of a loop; loops run at most four.
GROWTH = 2.0
LOOP_BOUND = 64.0


def indent(lines: list[str]) -> list[str]:
    return [textwrap.indent(line, "    ") for line in lines]


class Statements(Language):
    """The generator of statements over a scope."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.helpers: list[str] = []
        self.globals: dict[str, frozenset[int]] = {}  # arrays of the module
        self.depth = 0

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
        if self.choices.chance(30):
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
             "{}.resize({}.shape)", "np.negative({}, {})", "np.cumsum({}, axis=0, out={})",
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

    # -- containers

    def container(self) -> list[str]:
        """Put arrays into a tuple, list or dict and take some out again."""
        a, b = self.array_variable(), self.attempt(lambda: self.operand(1))
        both = a.facts.join(b.facts)
        kind = self.choices.pick(["swap", "tuple", "list", "dict", "star", "comprehension", "zip"])
        c = self.new_name("c")
        p, q = self.new_name(), self.new_name()
        lines: list[str]
        match kind:
            case "swap":
                lines = [f"{p}, {q} = {b.text}, {a.text}"]
            case "tuple":
                lines = [f"{c} = ({a.text}, {b.text})", f"{p} = {c}[0]", f"{q} = {c}[-1]"]
            case "list":
                lines = [f"{c} = [{a.text}]", f"{c}.append({b.text})", f"{p}, {q} = {c}"]
                if self.choices.chance(40):
                    lines.insert(2, f"{c}.reverse()")
            case "dict":
                lines = [f"{c} = {{'a': {a.text}, 'b': {b.text}}}",
                         f"{c}['c'] = {c}.pop('a')",
                         f"{p} = {c}['c']", f"{q} = {c}.get('b')"]  # fmt: skip
            case "star":
                lines = [f"{p}, *{c} = [{a.text}, {b.text}, 3]", f"{q} = {c}[0]"]
            case "comprehension":
                lines = [f"{c} = [u + u for u in ({a.text}, {b.text})]", f"{p}, {q} = {c}"]
                both = values.added(both, both)
            case _:
                lines = [f"{c} = list(zip([{a.text}], [{b.text}]))", f"{p}, {q} = {c}[0]"]
        text = "\n".join(lines)
        self.run_on_copy(text)
        self.execute(text)
        both = settle(both, a.value).join(settle(both, b.value))
        self.note(both, a.value)
        self.note(both, b.value)
        known = a.memory | b.memory | self.group(both)
        for name in (p, q):
            self.scope.memory[name] = known
        return lines

    def container_argument(self) -> list[str]:
        """Read, write, replace or add an element of a container the caller passed."""
        if "c" not in self.scope.memory or "c" not in self.scope.live:
            raise RefusedError
        c, memory = self.scope.live["c"], self.scope.memory["c"]
        known = self.facts_of(memory)
        places: dict[type, list[str]] = {list: ["c[0]", "c[-1]"], dict: ["c['a']", "c['b']"]}
        place = self.choices.pick(places.get(type(c), ["c.value", "c.bias"]))
        kind = self.choices.pick(["read", "read", "store", "inplace", "add", "other"])
        name = self.new_name()
        if kind in ("read", "inplace"):
            element = Expression(place, self.evaluate(place), known, memory)
            if kind == "read":
                text = f"{name} = {place}"
                self.bind(name, element)
            else:
                made = self.value_for(element)
                text = f"{place} += {made.text}"
                self.run_on_copy(text)
                self.written(element, values.added(known, made.facts))
            self.execute(text)
            return [text]
        if kind == "other":
            forms: dict[type, list[str]] = {
                list: ["{} = len(c)", "{} = c.pop()", "{}, *_ = c", "{} = sum(c)"],
                dict: [
                    "{} = len(c)",
                    "{} = c.pop('a')",
                    "{} = c.get('d')",
                    "{} = [*c.values()][0]",
                ],
            }
            text = self.choices.pick(forms.get(type(c), ["{} = c.doubled", "{} = c.put(c.bias)"]))
            text = text.format(name)
            self.run_on_copy(text)
            facts = values.added(known, known)
            if self.scope.loops:
                self.keep_loop_facts(known, facts)
            self.execute(text)
            self.note(facts, self.scope.live[name])
            self.scope.memory[name] = memory | self.group(replace(facts, bound=facts.bound + 9))
            return [text]
        made = self.attempt(lambda: self.expression(1))
        adding: dict[type, str] = {list: "c.append({})", dict: "c['new'] = {}"}
        added = adding.get(type(c), "c.put({})")
        text = (f"{place} = {{}}" if kind == "store" else added).format(made.text)
        self.run_on_copy(text)
        if self.scope.loops:
            self.keep_loop_facts(known, made.facts)
        self.scope.memory["c"] = memory | made.memory | self.group(made.facts)
        self.execute(text)
        return [text]

    # -- control flow

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
    def groups_of(scope: object) -> set[int]:
        """Return the groups of every variable: after a loop their bounds stay inflated."""
        return {group for memory in scope.memory.values() for group in memory}  # type: ignore[attr-defined]

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

    def effect(self) -> list[str]:
        """Change a global or an object, at a place in the order of things."""
        a = self.array_variable()
        need_exact(a.facts)
        return [
            self.choices.pick(
                ["LOG.append({}.shape)", "STATE['calls'] += 1", "STATE['last'] = {}",
                 "LOG.append({}.ndim)", "BOX.value = {}", "BOX.count += 1", "LOG.append({})"]
            ).replace("{}", a.text)
        ]  # fmt: skip

    def global_read(self) -> list[str]:
        name = self.new_name()
        source = self.choices.pick(["WEIGHT", "SCALE", "BOX.count", "BOX.bias", "STATE['calls']"])
        made = Expression(source, self.evaluate(source), Facts(True, True, 64.0))
        self.bind(name, made)
        self.execute(f"{name} = {source}")
        if source == "WEIGHT" or source == "BOX.bias":
            self.scope.memory[name] = self.globals[source]
        return [f"{name} = {source}"]

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
