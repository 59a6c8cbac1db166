"""The calls of a program: for each, source text that builds its arguments.

Sizes are named, so that arguments fit one another in every call: an array of dims ("n", "m") has
those sizes of that call. Everything is text, so a failing program prints whole and runs anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .choices import Choices
from .facts import Facts

SHAPES: dict[tuple[str, ...], int] = {
    ("n",): 8, ("n", "m"): 8, ("m",): 4, ("n", "n"): 2, ("1", "m"): 2, ("n", "1"): 2, (): 2,
    ("k", "n", "m"): 2, ("m", "n"): 1,
}  # fmt: skip
DTYPES = {
    "f8": 10, "f4": 7, "i8": 5, "i4": 3, "?": 2, "f2": 2, "u1": 2, "i2": 1, "i1": 1, "c16": 1,
    "u2": 1, "u4": 1, "u8": 1,
}  # fmt: skip
#: Scalars, Python's and NumPy's.
SCALARS = {
    "int": 6, "float": 4, "bool": 2, "np.float64": 2, "np.int64": 2, "np.float32": 1, "np.int8": 1,
    "np.uint8": 1, "np.bool_": 1,
}  # fmt: skip
LAYOUTS = {
    "c": 10, "fortran": 2, "strided": 2, "negative": 2, "transposed": 1, "offset": 1,
    "read-only": 1, "broadcast": 1,
}  # fmt: skip
#: How a container parameter is built of its members.
CONTAINERS = {
    "list": "{name} = [{a}, {b}]",
    "dict": "{name} = {{'a': {a}, 'b': {b}}}",
    "box": "{name} = Box()\n{name}.value, {name}.bias = {a}, {b}",
}
HOME = {"n": 3, "m": 4, "k": 2}


@dataclass(frozen=True)
class Parameter:
    """A parameter of the program.

    kind: "array", a Python scalar type by name, or a key of CONTAINERS, whose members are arrays.
    real: fractions rather than whole numbers.
    """

    name: str
    kind: str
    dims: tuple[str, ...] = ()
    dtype: str = ""
    real: bool = False
    members: tuple[Parameter, ...] = ()

    @property
    def facts(self) -> Facts:
        if self.members:
            return self.members[0].facts.join(self.members[1].facts)
        if self.kind != "array":
            return Facts(True, "float" not in self.kind, 4.0)
        return Facts(True, not self.real, 9.0)


def parameters(choices: Choices) -> list[Parameter]:
    """Return one to five parameters, at least the first an array."""
    common = choices.weighted(DTYPES)

    def array(name: str) -> Parameter:
        dims = choices.weighted(SHAPES)
        dtype = common if choices.chance(60) else choices.weighted(DTYPES)
        return Parameter(name, "array", dims, dtype, dtype[0] in "f" and choices.chance(40))

    made = [array(name) for name in "xyzw"[: choices.weighted({1: 3, 2: 6, 3: 3})]]
    if choices.chance(45):
        made.append(Parameter("s", choices.weighted(SCALARS)))
    if choices.chance(25):
        one = array("c_a")
        other = replace(one, name="c_b") if choices.chance(50) else array("c_b")
        kind = choices.pick(list(CONTAINERS))
        made.append(Parameter("c", kind, members=(one, other)))
    return made


@dataclass(frozen=True)
class Freedom:
    """What calls may hold without making a difference that is none.

    signed_zeros: the program's zeros have defined signs, so there may be negative ones.
    anything: no result is rounded and none relies on small numbers: extremes and other dtypes too.
    """

    signed_zeros: bool = False
    anything: bool = False


class CallWriter:
    """Writes the source of the calls' arguments."""

    def __init__(self, choices: Choices, wanted: list[Parameter]) -> None:
        self.choices = choices
        self.wanted = wanted
        self.arrays: list[Parameter] = []
        for parameter in wanted:
            self.arrays += parameter.members or ([parameter] if parameter.kind == "array" else [])
        self.freedom = Freedom()

    # -- one array

    def specials(self, parameter: Parameter) -> list[str]:
        kind = parameter.dtype[0]
        if kind == "?":
            return ["True"]
        if kind in "iu":
            limits = [f"np.iinfo({parameter.dtype!r}).{m}" for m in ("min", "max")]
            return [*limits, "0"] if self.freedom.anything else ["0", "1"]
        made = ["np.nan", "np.inf", "-np.inf"]
        if self.freedom.signed_zeros:
            made += ["-0.0", "0.0"]
        # (Half precision is computed in single precision within a kernel: nothing overflows there.)
        if self.freedom.anything and kind == "f" and parameter.dtype != "f2":
            made += [f"np.finfo({parameter.dtype!r}).{m}" for m in ("max", "tiny", "eps")]
            made += [f"-np.finfo({parameter.dtype!r}).smallest_subnormal"]
        return made

    def numbers(self, parameter: Parameter, count: int, special: bool) -> str:
        kind = parameter.dtype[0]
        specials = self.specials(parameter) if special else []
        values: list[str] = []
        for _ in range(min(count, 24)):
            whole = self.choices.integer(-4, 4)
            if specials and self.choices.chance(15):
                values.append(self.choices.pick(specials))
            elif kind == "?":
                values.append(str(whole > 0))
            elif kind in "iu":
                values.append(str(abs(whole) if kind == "u" else whole))
            elif parameter.real:
                values.append(str(self.choices.integer(-9000, 9000) / 1000))
            else:
                values.append(str(float(whole)))
        return f"[{', '.join(values)}]"

    def array(self, parameter: Parameter, sizes: dict[str, int], layout: str, special: bool) -> str:
        shape = tuple(sizes[d] if d in sizes else int(d) for d in parameter.dims)
        count = 1
        for size in shape:
            count *= size
        flat = f"np.array({self.numbers(parameter, count, special)}, dtype={parameter.dtype!r})"
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
        if layout == "transposed" and rank == 2:
            return f"np.ascontiguousarray({text}.T).T"
        if layout == "offset" and rank:
            return f"np.concatenate([{text}, {text}])[{shape[0]}:]"
        if layout == "broadcast" and rank == 2:
            return f"np.broadcast_to({text}[:1], {shape})"
        return text

    # -- one call

    def call(
        self,
        sizes: dict[str, int],
        layouts: bool = False,
        alias: str = "",
        special: bool = False,
        retyped: bool = False,
    ) -> str:
        """Return lines that assign every parameter, and `arguments`."""
        lines: list[str] = []
        done: list[Parameter] = []
        for given in self.arrays:
            parameter = given
            if retyped and self.choices.chance(50):
                parameter = replace(given, dtype=self.choices.weighted(DTYPES), real=False)
            layout = self.choices.weighted(LAYOUTS) if layouts else "c"
            twin = next((d for d in done if d.dtype == given.dtype and d.real == given.real), None)
            aliased = self.aliased(given, twin, alias) if alias and twin else ""
            if alias == "overlap" and not twin:
                text = self.array(parameter, sizes, "c", special)
                if parameter.dims:
                    lines.append(f"base = {text}\nbase = np.concatenate([base, base[:1]])")
                    text = "base[: len(base) - min(1, len(base))]"
                lines.append(f"{given.name} = {text}")
            else:
                text = aliased or self.array(parameter, sizes, layout, special)
                lines.append(f"{given.name} = {text}")
            if layout == "read-only" and not aliased:
                lines.append(f"{given.name}.flags.writeable = False")
            if alias == "recycled" and not done:
                lines.append(RECYCLE.replace("{}", given.name))
            done.append(given)
        lines += [self.other(p, retyped) for p in self.wanted if p.kind != "array"]
        names = ", ".join(p.name for p in self.wanted)
        return "\n".join([*lines, f"arguments = ({names},)"])

    def aliased(self, parameter: Parameter, twin: Parameter, alias: str) -> str:
        """Return `parameter` as something that shares memory with `twin`; empty if it cannot."""
        if twin.dims == parameter.dims:
            if alias == "same":
                return twin.name
            if parameter.dims and alias == "reversed":
                return f"{twin.name}[::-1]"
            if parameter.dims and alias == "overlap" and twin is self.arrays[0]:
                return "base[min(1, len(base)) :]"
        if alias == "view" and twin.dims[1:] == parameter.dims and twin.dims:
            name = twin.name
            return f"{name}[0, ...] if len({name}) else np.zeros({name}.shape[1:], {name}.dtype)"
        return ""

    def other(self, parameter: Parameter, retyped: bool) -> str:
        """Return the line of a parameter that is no array."""
        if parameter.members:
            a, b = (member.name for member in parameter.members)
            return CONTAINERS[parameter.kind].format(name=parameter.name, a=a, b=b)
        kind = parameter.kind
        if retyped:
            text = self.choices.pick(
                ["2.5", "1", "True", "np.float32(0.5)", "np.int64(2)", "np.float64(-1.0)", "2**40",
                 "np.int8(100)", "np.array(2.0)"]
            )  # fmt: skip
            return f"{parameter.name} = {text}"
        value: object = self.choices.pick([0, 1, 2, -1, 3] if "u" not in kind else [0, 1, 2, 3])
        if "float" in kind:
            value = self.choices.pick([0.5, 1.5, -2.0, 0.0, 1.0])
        elif "bool" in kind:
            value = self.choices.chance(50)
        text = f"{kind}({value!r})" if kind.startswith("np.") else repr(value)
        return f"{parameter.name} = {text}"

    # -- the calls

    def first(self) -> str:
        """Return the call a program is written by: plain arrays of distinct sizes."""
        return self.call(HOME)

    def rest(self, freedom: Freedom, big: bool) -> list[str]:
        """Return four to seven further calls: same sizes, other sizes, layouts, aliases, values.

        big: sizes around the tiles' may occur; not for programs that loop over them.
        """
        self.freedom = freedom
        calls = [self.call(HOME)]
        kinds = {"sizes": 5, "layout": 4, "alias": 4, "special": 3}
        if freedom.anything:
            kinds |= {"retyped": 2, "special": 4}
        for _ in range(self.choices.integer(3, 5)):
            kind = self.choices.weighted(kinds)
            sizes = HOME
            if kind == "sizes" or self.choices.chance(30):
                sizes = {d: self.choices.pick([0, 1, 2, 3, 5, 7, 4]) for d in "nmk"}
                if big and self.choices.chance(20):
                    square = any(p.dims == ("n", "n") for p in self.arrays)
                    sizes["n"] = 35 if square else self.choices.pick([65, 130, 1025])
                    sizes["m"] = min(sizes["m"], 3)
            alias = ""
            if kind == "alias":
                alias = self.choices.pick(["same", "overlap", "view", "reversed", "recycled"])
            calls.append(
                self.call(sizes, kind == "layout", alias, kind == "special", kind == "retyped")
            )
        if self.choices.chance(25):
            calls.append("arguments = last_arguments")
        return calls


#: The storage of what the last call returned comes back as an argument, as in `x = step(x)`.
RECYCLE = """\
if type(last_result) is np.ndarray and last_result.flags.writeable \\
        and (last_result.shape, last_result.dtype) == ({}.shape, {}.dtype):
    last_result[...] = {}
    {} = last_result"""
