"""Writes loop programs that keep histories: lists that turns append to, look into and change."""

from __future__ import annotations

from loops.generated import ARRAYS, NUMBERS, Writer


class HistoryWriter(Writer):
    """`f(x, y, A, n)` with lists `h` of arrays and `g` of numbers, never empty in the loops.

    Where the seed says so also with `d`, of `n + 3` numbers at first, of which turns replace
    elements, and `e`, a stack of pairs.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        # Loops that are not rolled show little: with arrays in a list those that write into arrays.
        self.has_arrays, self.writes = seed % 3 > 0, seed % 3 == 2
        self.changes = 0.45 if seed % 2 else 0.0  # how many statements change lists
        self.looks = 0.3 if self.writes else 0.7
        if not self.writes:
            self.kinds = ("array", "number")

    def block(self, most: int) -> None:
        super().block(most if self.writes else 2)

    def array(self) -> str:
        if self.has_arrays and self.random.random() < self.looks:
            place = self.pick("-1", "0", "-1", "len(h) // 2", "n % len(h)")
            return f"h[{place}] {self.pick('* 0.5', '+ 0.25', '')}".strip()
        return super().array()

    def place(self) -> str:
        """Of an element of `d`, which may be one that is not there."""
        index = self.pick("n", *self.indices())
        return self.pick("0", "-1", "2", index, f"{index} % 3", f"{index} - 1", f"-{index} - 1")

    def change(self) -> None:
        """Of `d` or `e`, or of another name of `d`."""
        name = self.pick("d", "d", "d", "c")
        place, other, value = self.place(), self.place(), f"float({self.number()})"
        self.say(
            self.pick(
                f"{name}[{place}] = {value}",
                f"{name}[{place}] += {self.pick('0.5', value)}",
                f"{name}[{place}] = d[{other}]",
                f"{name}[{place}], d[{other}] = d[{other}], {name}[{place}]",
                f"if d[{place}] > d[{other}]: {name}[{place}] = d[{other}]",
                f"d.append({value})",
                f"{self.pick(*NUMBERS)} = d.pop() * 0.5",
                f"if len(d) > 3: {self.pick(*NUMBERS)} = {name}.pop({self.pick('', '0', place)})",
                f"if len({name}) > 3: del d[{self.pick('-1', '0', place)}]",
                f"if {self.pick(*NUMBERS)} > 0.5: {name}.reverse()",
                f"d.insert({place}, {value})",
                f"if len(d) > 9: {name}.clear()",
                f"{self.pick(*NUMBERS)} = d[{place}] + {name}[{other}] * 0.5",
                f"if {name}: {self.pick(*NUMBERS)} = sum({name}) * 0.125",
                f"e.append(({self.number()}, {place}))",
                f"e.append(({self.number()}, {place}))",
                f"if e: {self.pick(*NUMBERS)}, v = e.pop()",
                f"while len(e) > 2: {self.pick(*NUMBERS)} = float(e.pop()[{self.pick('0', '1')}])",
                f"for j in range(len(d) - 1): d[j] = {name}[j + 1] * 0.5",
                "d = d[1:] + [0.5]",
                f"d = [v * 0.5 + {self.pick(*NUMBERS)} for v in d]",
                f"w = [{value}, 0.5, 1.0]; w[1] = d[0]; d = w",
                "d, c = c, d",
                f"c = {self.pick('d', 'list(d)', '[0.5] * n + [1.0] * 3')}",
                f"if {place} * 0.5 in {name}: {name}.append({value})",
                f"for j in range(n): d[j] = max(d[j], {self.pick(*NUMBERS)})",
            )
        )

    def number(self) -> str:
        if self.random.random() < self.changes * 0.5:
            place = self.pick(f"d[{self.place()}]", "len(d)", "len(e)", "c[-1]", "len(c)")
            return f"{place} * 0.5 + {self.pick('0.125', *self.indices())}"
        if self.random.random() < self.looks:
            place = self.pick("g[-1]", "g[-1]", "g[0]", "len(g)", "sum(g)", "max(g)", "sum(g[-2:])")
            return f"{place} * 0.5 + {self.pick('0.125', *self.indices())}"
        return super().number()

    def search(self) -> str:
        index = self.pick("n", *self.indices())
        return self.pick(
            f"any(v > {self.pick(*NUMBERS)} for v in g)",
            f"all(k % 3 != 2 for k in range({index}))",
            f"any(k * j == 6 for k in range({index}) for j in range(k))",
        )

    def taken(self) -> str:
        """What C code makes of a generator's items."""
        index, name = self.pick("n", *self.indices()), self.pick(*NUMBERS)
        items = self.pick(
            "v * 0.5 for v in g",
            f"v for v in g if v > {name}",
            f"k * {name} for k in range({index})",
            f"k * j for k in range({index}) for j in range(k)",
            f"sum(v for v in g) * k for k in range({index} % 4)",
            "max(v, u) for v, u in zip(g, range(n))",
        )
        whole = self.pick(
            "sum({})", "max(({}), default=0.5)", "len(list({}))", "sorted({})[:1] != []"
        )
        search = f"{self.pick('any', 'all')}(w % 3 > 1 for w in [{items}])"
        return self.pick(whole.format(items), whole.format(items), search)

    def condition(self) -> str:
        if self.random.random() < 0.3:
            return self.pick(
                "len(h) > 3",
                "g[-1] > 0.5",
                "len(g) % 2",
                "0.25 in g",
                "g[-1] < g[0]",
                self.search(),
            )
        return super().condition()

    def statement(self) -> None:
        kind = self.random.random()
        if self.random.random() < self.changes:
            self.change()
        elif kind < 0.2 and self.has_arrays:
            self.say(f"h.append({self.pick(self.array(), *ARRAYS)})")
        elif kind < 0.4:
            self.say(f"g.append(float({self.number()}))")
        elif kind < 0.43:
            self.say(f"g[{self.pick('-1', '0')}] = float({self.number()})")
        elif kind < 0.46:
            name = self.pick("g", "h") if self.has_arrays else "g"
            self.say(f"if len({name}) > 2: {name}.pop({self.pick('', '0')})")
        elif kind < 0.48 and self.writes:
            self.say(f"h[-1][:] = {self.array()}")
        elif kind < 0.5:
            self.say(f"for v in g: {self.pick(*NUMBERS)} = v * 0.5")
        elif kind < 0.6:
            self.say(f"{self.pick(*NUMBERS)} = float({self.taken()})")
        else:
            super().statement()

    def source(self) -> str:
        self.lines = ["def f(x, y, A, n):", "    z, s, t = x * 0, 1.0, 0.0"]
        self.say(f"h, g = [{self.pick(*ARRAYS)}], [{self.pick('1.0', '0.125', 's')}]")
        if self.changes:
            made = self.pick("[0.5] * (n + 3)", "[0] + [1.5] * (n + 2)", "list(range(n + 3))")
            self.say(f"e, d = [], {made}")
            self.say(f"c = {self.pick('d', 'd', 'list(d)')}")
        if self.random.random() < 0.5:
            self.statement()
        for _ in range(self.random.randint(1, 2)):
            self.loop()
        if self.random.random() < 0.3:
            self.statement()
        shown = self.pick(
            "g, h",
            "len(g), len(h)",
            "sum(g), h[-1]",
            "max(g), min(g), h[0]",
            "sorted(g), h",
            "g[-1], g[1:], h[-2:]",
            "sum(g) / len(g), np.array(g)",
            "[v * 2 for v in g], list(h)",
            "tuple(g), any(v > 1 for v in g)",
            "np.mean(g), g and g[0]",
        )
        if self.changes:
            shown += self.pick(", d, e, c", ", sum(d), e", ", d, c is d, len(d)", ", c, d == c")
        self.lines.append(f"    return x, y, z, s, t, {shown}")
        return "\n".join(self.lines) + "\n"
