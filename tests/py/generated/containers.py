"""Statements about containers, objects and globals: the program's own and those it is given."""

from __future__ import annotations

from dataclasses import replace

from . import values
from .choices import Choices
from .expressions import Expression
from .facts import Facts, RefusedError, need_exact, settle
from .writes import Writes


class Containers(Writes):
    """Adds containers, attributes and globals to a generator."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.globals: dict[str, frozenset[int]] = {}  # arrays of the module

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
