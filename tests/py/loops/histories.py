"""Writes loop programs that keep histories: lists that turns append to, look into and shorten."""

from __future__ import annotations

from loops.generated import ARRAYS, NUMBERS, Writer


class HistoryWriter(Writer):
    """`f(x, y, A, n)` with lists `h` of arrays and `g` of numbers, never empty in the loops."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        # Loops that are not rolled show little: with arrays in a list those that write into arrays.
        self.has_arrays, self.writes = seed % 3 > 0, seed % 3 == 2
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

    def number(self) -> str:
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
        if kind < 0.2 and self.has_arrays:
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
        self.lines.append(f"    return x, y, z, s, t, {shown}")
        return "\n".join(self.lines) + "\n"
