"""The calls of a program: for each, source text that builds its arguments.

Sizes are named, so that arguments fit one another in every call: an array of dims ("n", "m") has
those sizes of that call. Everything is text, so a failing program prints whole and runs anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from .choices import Choices
from .facts import Facts

SHAPES: dict[tuple[str, ...], int] = {
    ("n",): 8, ("n", "m"): 8, ("m",): 4, ("n", "n"): 2, ("1", "m"): 2, ("n", "1"): 2, (): 2,
    ("k", "n", "m"): 2, ("m", "n"): 1,
}  # fmt: skip
DTYPES = {"f8": 10, "f4": 7, "i8": 5, "i4": 3, "?": 2, "f2": 1, "u1": 2, "i2": 1, "i1": 1, "c16": 1}
LAYOUTS = {
    "c": 10, "fortran": 2, "strided": 2, "negative": 2, "transposed": 1, "offset": 1,
    "read-only": 1, "broadcast": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """kind: "array", or a Python scalar type by name, or "none"; real: fractions, not integers."""

    name: str
    kind: str
    dims: tuple[str, ...] = ()
    dtype: str = ""
    real: bool = False

    @property
    def facts(self) -> Facts:
        if self.kind != "array":
            return Facts(True, self.kind != "float", 4.0)
        return Facts(True, not self.real, 9.0)


def parameters(choices: Choices) -> list[Parameter]:
    """Return one to four parameters, at least the first an array."""
    made = []
    common = choices.weighted(DTYPES)
    for name in "xyzw"[: choices.weighted({1: 3, 2: 6, 3: 3})]:
        dims = choices.weighted(SHAPES)
        dtype = common if choices.chance(60) else choices.weighted(DTYPES)
        made.append(Parameter(name, "array", dims, dtype, dtype[0] in "f" and choices.chance(40)))
    if choices.chance(45):
        made.append(Parameter("s", choices.pick(["int", "float", "bool", "int"])))
    return made


class CallWriter:
    """Writes the source of one call's arguments."""

    def __init__(self, choices: Choices, signed_zeros: bool) -> None:
        self.choices = choices
        self.signed_zeros = signed_zeros

    def numbers(self, parameter: Parameter, count: int, special: bool) -> str:
        kind = parameter.dtype[0] if parameter.dtype != "?" else "?"
        values: list[object] = []
        for _ in range(min(count, 24)):
            whole = self.choices.integer(-4, 4)
            if kind == "?":
                values.append(whole > 0)
            elif kind == "u":
                values.append(abs(whole))
            elif kind == "i":
                values.append(whole)
            elif special and self.choices.chance(12):
                signed = ["-0.0"] if self.signed_zeros else []
                values.append(_Text(self.choices.pick(["np.nan", "np.inf", "-np.inf", *signed])))
            elif parameter.real:
                values.append(self.choices.integer(-9000, 9000) / 1000)
            else:
                values.append(float(whole))
        return f"[{', '.join(map(repr, values))}]"

    def array(self, parameter: Parameter, sizes: dict[str, int], layout: str, special: bool) -> str:
        shape = tuple(sizes[d] if d in sizes else int(d) for d in parameter.dims)
        count = 1
        for size in shape:
            count *= size
        data = self.numbers(parameter, count, special)
        flat = f"np.array({data}, dtype={parameter.dtype!r})"
        if count > 24:
            text = f"np.resize({flat}, {shape})"
        elif shape == (count,):
            text = flat
        else:
            text = f"{flat}.reshape({shape})"
        rank = len(shape)
        if layout == "fortran":
            return f"np.asfortranarray({text})" if rank else text
        if layout == "strided" and rank:
            return f"np.repeat({text}, 2, axis=-1)[..., ::2]"
        if layout == "negative" and rank:
            return f"{text}[::-1]"
        if layout == "transposed" and rank == 2 and parameter.dims[0] != parameter.dims[1]:
            return f"np.ascontiguousarray({text}.T).T"
        if layout == "offset" and rank:
            return f"np.concatenate([{text}, {text}])[{shape[0]}:]"
        if layout == "broadcast" and rank == 2:
            return f"np.broadcast_to({text}[:1], {shape})"
        return text

    def call(
        self, wanted: list[Parameter], sizes: dict[str, int], layouts: list[str], alias: str,
        special: bool
    ) -> str:  # fmt: skip
        """Return lines that assign every parameter."""
        lines = []
        done: list[Parameter] = []
        for parameter, layout in zip(wanted, layouts, strict=True):
            if parameter.kind != "array":
                value = {
                    "int": self.choices.pick([0, 1, 2, -1, 3]),
                    "float": self.choices.pick([0.5, 1.5, -2.0, 0.0, 1.0]),
                    "bool": self.choices.chance(50),
                }[parameter.kind]
                lines.append(f"{parameter.name} = {value!r}")
                continue
            twin = next((d for d in done if d.dtype == parameter.dtype), None)
            if alias and twin and twin.real == parameter.real:
                if alias == "same" and twin.dims == parameter.dims:
                    lines.append(f"{parameter.name} = {twin.name}")
                    continue
                if alias == "overlap" and twin.dims and twin.dims == parameter.dims:
                    base = self.array(twin, sizes, "c", special)
                    lines[done.index(twin)] = (
                        f"base = np.concatenate([{base}, {base}[:1]])\n"
                        f"{twin.name} = base[: len(base) - min(1, len(base))]"
                    )
                    lines.append(f"{parameter.name} = base[min(1, len(base)) :]")
                    continue
                if alias == "view" and twin.dims[-1:] == parameter.dims and len(twin.dims) == 2:
                    lines.append(
                        f"{parameter.name} = {twin.name}[0] if len({twin.name}) else "
                        f"np.zeros({twin.name}.shape[1:], {twin.name}.dtype)"
                    )
                    continue
                if alias == "reversed" and twin.dims and twin.dims == parameter.dims:
                    lines.append(f"{parameter.name} = {twin.name}[::-1]")
                    continue
            lines.append(f"{parameter.name} = {self.array(parameter, sizes, layout, special)}")
            if layout == "read-only":
                lines.append(f"{parameter.name}.flags.writeable = False")
                done.append(parameter)  # keeps done's indices those of lines
            done.append(parameter)
        names = ", ".join(p.name for p in wanted)
        return "\n".join([*lines, f"arguments = ({names},)"])

    def first(self, wanted: list[Parameter]) -> str:
        """Return the call a program is written by: plain arrays of distinct sizes."""
        return self.call(wanted, {"n": 3, "m": 4, "k": 2}, ["c"] * len(wanted), "", False)

    def rest(self, wanted: list[Parameter], big: bool) -> list[str]:
        """Return three to five further calls: same sizes, other sizes, layouts, aliases, values."""
        plain = ["c"] * len(wanted)
        calls = [self.call(wanted, {"n": 3, "m": 4, "k": 2}, plain, "", False)]
        sizes = [0, 1, 2, 3, 5, 7, 4]
        for _ in range(self.choices.integer(2, 4)):
            kind = self.choices.weighted({"sizes": 5, "layout": 4, "alias": 3, "special": 3})
            chosen = {"n": 3, "m": 4, "k": 2}
            if kind == "sizes" or self.choices.chance(30):
                chosen = {d: self.choices.pick(sizes) for d in "nmk"}
                if big and self.choices.chance(20):
                    chosen["n"] = self.choices.pick([65, 130, 1025])
                    chosen["m"] = min(chosen["m"], 3)
                    if any(p.dims == ("n", "n") for p in wanted):
                        chosen["n"] = 35
            layouts = plain
            if kind == "layout":
                layouts = [self.choices.weighted(LAYOUTS) for _ in wanted]
            alias = ""
            if kind == "alias":
                alias = self.choices.pick(["same", "overlap", "view", "reversed"])
            calls.append(self.call(wanted, chosen, layouts, alias, kind == "special"))
        if self.choices.chance(25):
            again = "arguments = last_arguments"
            calls.append(again)
        return calls


class _Text(str):
    """Text whose repr is itself: a name within a literal list."""

    def __repr__(self) -> str:
        return str(self)
