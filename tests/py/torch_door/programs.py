"""Programs on tensors of torch, drawn line by line as people write them."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

#: sizes of B and N of one call after another
SIZES = [(3, 4), (5, 7), (2, 2), (1, 4), (8, 3), (3, 1), (0, 5), (1, 1), (6, 9)]


@dataclass(frozen=True)
class Value:
    """A variable of a program: its name, its axes as text, and what kind of elements it has."""

    name: str
    axes: tuple[str, ...]
    kind: str  # "float", "half", "int" or "bool"


@dataclass
class Program:
    """Source of a function `f(x, y, *, scale, flag)` of x: [B, N] and y: [N] in f32."""

    seed: int
    lines: list[str] = field(default_factory=list)
    has_halves: bool = False

    @property
    def source(self) -> str:
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"def f(x, y, *, scale=0.5, flag=False):\n{body}\n"

    def function(self) -> Callable[..., Any]:
        scope: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
        exec(compile(self.source, f"<program {self.seed}>", "exec"), scope)
        made: Callable[..., Any] = scope["f"]
        return made


def _each(text: str) -> list[str]:
    return text.split()


UNARY = _each("""
torch.sin({0}) {0}.cos() torch.tanh({0}) {0}.relu() F.gelu({0}) F.silu({0}) {0}.sigmoid()
{0}.abs() -{0} {0}*{0} ({0}*0.1).exp() torch.log1p({0}.abs()) {0}.clamp(-0.5,0.8)
F.leaky_relu({0},0.1) {0}.square() {0}*scale {0}+1 2-{0} {0}/({0}.abs()+1) F.softplus({0})
torch.where({0}>0,{0},0.5) {0}.masked_fill({0}>0.5,-1) torch.sign({0}) {0}.clone() {0}.round()
F.dropout({0},0.3,training=flag) {0}.contiguous() {0}.detach()+{0} {0}.erf() {0}.pow(2) F.elu({0})
""")
BINARY = _each("""
{0}+{1} {0}-{1} {0}*{1} torch.maximum({0},{1}) {0}/({1}.abs()+0.5) torch.where({0}>{1},{0},{1})
torch.addcmul({0},{0},{1},value=0.3) torch.lerp({0},{1},0.25) {0}.add({1},alpha=2)
torch.atan2({0},{1}) F.mse_loss({0}.expand_as({0}+{1}),{1}.expand_as({0}+{1}),reduction='none')
""")
WRITES = _each("""
{0}.add_(1) {0}.mul_(0.5) {0}.clamp_(-0.7,0.7) {0}.sin_() {0}.neg_() {0}.relu_() {0}.zero_()
{0}.masked_fill_({0}>0.3,0.1) {0}.sub_({0}*0.1) {0}.copy_({0}.cos())
""")
#: along the last axis, which goes away
REDUCED = _each("""
{0}.sum(-1) {0}.mean(-1) {0}.var(-1,unbiased=False) {0}.norm(dim=-1) {0}.prod(-1)
torch.logsumexp({0},-1) {0}.cumsum(-1).sum(-1)
""")
#: along the last axis, which stays
ALONG = _each("""
{0}.softmax(-1) F.log_softmax({0},-1) {0}.cumsum(-1) {0}.flip(-1) {0}.sort(-1).values
{0}-{0}.mean(-1,keepdim=True) F.layer_norm({0},{0}.shape[-1:]) F.normalize({0},dim=-1)
{0}.roll(1,-1)
""")


class Drawing:
    """A program under construction."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.program = Program(seed)
        self.values = [Value("x", ("B", "N"), "float"), Value("y", ("N",), "float")]
        self.made = 0
        self.leave_alone: set[str] = set()  # expanded memory, in which no write is defined

    def run(self, length: int) -> Program:
        for _ in range(length):
            self.random.choice(
                [self.unary] * 4
                + [self.binary] * 4
                + [self.write] * 2
                + [self.view] * 3
                + [self.reduced, self.along, self.product, self.joined, self.branch]
                + [self.cast, self.gathered, self.source, self.scattered, self.ranked, self.masked]
            )()
        self.results()
        return self.program

    def pick(self, *kinds: str) -> Value:
        fitting = [v for v in self.values if v.kind in (kinds or ("float",))]
        return self.random.choice(fitting[-5:] if self.random.random() < 0.7 else fitting)

    def add(self, text: str, axes: tuple[str, ...], kind: str = "float") -> Value:
        made = Value(f"v{self.made}", axes, kind)
        self.made += 1
        self.program.lines.append(f"{made.name} = {text}")
        self.values.append(made)
        return made

    def unary(self) -> None:
        v = self.pick()
        self.add(self.random.choice(UNARY).format(v.name), v.axes)

    def binary(self) -> None:
        v = self.pick()
        fitting = [w for w in self.values if w.kind == "float" and _broadcast(v.axes, w.axes)]
        w = self.random.choice(fitting)
        axes = _broadcast(v.axes, w.axes)
        assert axes is not None
        text = self.random.choice(BINARY)
        if "addcmul" in text and axes != v.axes:
            text = "{0}*{1}"
        self.add(text.format(v.name, w.name), axes)

    def write(self) -> None:
        v = self.pick()
        if v.name in self.leave_alone:
            return
        target = v.name
        if v.axes and v.axes[-1] != "1" and self.random.random() < 0.5:
            target = self.random.choice([f"{target}[..., ::2]", f"{target}[..., :1]"])
            if self.random.random() < 0.4:
                self.program.lines.append(f"{target} = {self.random.choice(['0.25', 'scale'])}")
                return
        self.program.lines.append(self.random.choice(WRITES).format(target))

    def view(self) -> None:
        v = self.pick()
        options: list[tuple[str, tuple[str, ...]]] = [(f"{v.name}[None]", ("1", *v.axes))]
        if len(v.axes) >= 2:
            swapped = (*v.axes[:-2], v.axes[-1], v.axes[-2])
            options += [(f"{v.name}.transpose(-1, -2)", swapped), (f"{v.name}.mT", swapped)]
            options.append((f"{v.name}.reshape(-1)", ("*".join(v.axes),)))
            options.append((f"{v.name}.flatten(0, 1)", ("*".join(v.axes[:2]), *v.axes[2:])))
            back = ", ".join(map(str, reversed(range(len(v.axes)))))
            options.append((f"{v.name}.permute({back})", v.axes[::-1]))
        if v.axes:
            options.append((f"{v.name}.unsqueeze(-1)", (*v.axes, "1")))
            options.append((f"{v.name}[..., :1]", (*v.axes[:-1], f"min({v.axes[-1]},1)")))
            options.append((f"{v.name}.narrow(-1, 0, {v.name}.shape[-1] // 2)",
                            (*v.axes[:-1], f"{v.axes[-1]}//2")))  # fmt: skip
            options.append((f"{v.name}[..., 1:]", (*v.axes[:-1], f"max({v.axes[-1]}-1,0)")))
        if len(v.axes) == 1 and len(v.axes[0]) == 1:
            options.append((f"{v.name}.expand(3, -1)", ("3", *v.axes)))
        text, axes = self.random.choice(options)
        if len(axes) > 4:
            return
        made = self.add(text, axes)
        if "expand" in text or v.name in self.leave_alone:
            self.leave_alone.add(made.name)

    def reduced(self) -> None:
        v = self.pick()
        if v.axes:
            self.add(self.random.choice(REDUCED).format(v.name), v.axes[:-1])

    def along(self) -> None:
        v = self.pick()
        if v.axes:
            self.add(self.random.choice(ALONG).format(v.name), v.axes)

    def product(self) -> None:
        v = self.pick()
        if len(v.axes) == 2:
            self.add(f"{v.name} @ {v.name}.t()", (v.axes[0], v.axes[0]))
        elif len(v.axes) == 3:
            self.add(f"torch.einsum('bij,bkj->bik', {v.name}, {v.name})",
                     (v.axes[0], v.axes[1], v.axes[1]))  # fmt: skip

    def joined(self) -> None:
        v = self.pick()
        if not v.axes:
            return
        last = v.axes[-1]
        text, axes = self.random.choice(
            [
                (f"torch.cat([{v.name}, {v.name} * 2], -1)", (*v.axes[:-1], f"2*({last})")),
                (f"torch.stack([{v.name}, {v.name}.neg()], 0)", ("2", *v.axes)),
                (f"F.pad({v.name}, (1, 0))", (*v.axes[:-1], f"({last})+1")),
                (f"torch.cat({v.name}.split(2, -1)[::-1], -1)", v.axes),
                (f"{v.name}.repeat_interleave(2, -1)", (*v.axes[:-1], f"2*({last})")),
            ]
        )
        if len(axes) <= 4:
            self.add(text, axes)

    def branch(self) -> None:
        v = self.pick()
        condition = self.random.choice(
            ["x.shape[0] > 2", "x.size(1) % 2 == 0", "flag", "y.numel() < x.numel()",
             f"{v.name}.dim() > 1", f"{v.name}.shape == x.shape", "x.shape[0] == x.shape[1]"]
        )  # fmt: skip
        left, right = (self.random.choice(UNARY).format(v.name) for _ in range(2))
        self.add(f"{left} if {condition} else {right}", v.axes)

    def cast(self) -> None:
        v = self.pick()
        dtype = self.random.choice(["bfloat16", "float16", "float64", "int64", "int32"])
        self.program.has_halves |= "16" in dtype
        text = self.random.choice(
            [f"{v.name}.to(torch.{dtype}).float()", f"({v.name}.to(torch.{dtype}) * 3).float()",
             f"({v.name}.to(torch.{dtype}) + {v.name}).float()",
             f"({v.name} * 4).to(torch.{dtype}).sum(0).float() if {v.name}.dim() == 1 else "
             f"{v.name}.to(torch.{dtype}).type_as({v.name})"]
        )  # fmt: skip
        self.add(text, () if "sum(0)" in text and len(v.axes) == 1 else v.axes)

    def gathered(self) -> None:
        self.add("x.new_ones(4, 3)[torch.arange(x.shape[0]) % 4]", ("B", "3"))
        v = self.values[-1]
        self.add(f"{v.name}.cumsum(0) * x.sum()", v.axes)

    def source(self) -> None:
        text, axes = self.random.choice(
            [
                ("torch.arange(x.shape[1], dtype=torch.float32)", ("N",)),
                ("torch.zeros(x.shape[0], x.shape[1])", ("B", "N")),
                ("torch.full_like(x, scale)", ("B", "N")),
                ("torch.linspace(0, 1, x.shape[1])", ("N",)),
                ("x.new_zeros(x.shape[0])", ("B",)),
                ("torch.eye(x.shape[1])", ("N", "N")),
                ("torch.tril(torch.ones(x.shape[1], x.shape[1]))", ("N", "N")),
                ("torch.rand_like(x)", ("B", "N")),
                ("torch.ones(x.shape[1]) * x.shape[0]", ("N",)),
            ]
        )
        self.add(text, axes)

    def scattered(self) -> None:
        rows = "torch.arange(x.shape[0]) % 3"
        self.add(f"torch.zeros(3, x.shape[1]).index_add(0, {rows}, x)", ("3", "N"))
        self.add(f"F.one_hot({rows}, 3).float().t() @ x", ("3", "N"))

    def ranked(self) -> None:
        v = self.pick()
        if v.axes:
            self.add(f"torch.argsort({v.name}, dim=-1, stable=True).float()", v.axes)

    def masked(self) -> None:
        v = self.pick()
        text = self.random.choice(
            [
                "(({0} > 0) & ({0} < 0.5)).float()",
                "torch.isfinite({0}).to({0}.dtype)",
                "({0} > 0).long().float()",
                "({0} >= {0}.amax()).float() if {0}.numel() else {0}",
            ]
        )
        self.add(text.format(v.name), v.axes)

    def results(self) -> None:
        names = [v.name for v in self.values]
        some = self.random.sample(names, min(3, len(names)))
        last = names[-1]
        self.program.lines.append(
            self.random.choice(
                [
                    f"return {last}, {some[0]}",
                    f"return {{'a': {last}, 'b': [{', '.join(some)}], 'n': x.shape[0] * 2}}",
                    f"return ({last}, ({some[0]}, {last}), None, {some[-1]})",
                    f"return [{last}, {some[0]} * 2, {last}.detach()]",
                    f"return {last}.sum() + {some[0]}.sum(), {last}",
                ]
            )
        )


def _broadcast(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...] | None:
    """The axes of what two give together; None where they do not fit for all sizes."""
    longer, shorter = sorted((a, b), key=len, reverse=True)
    shorter = ("1",) * (len(longer) - len(shorter)) + shorter
    axes = []
    for left, right in zip(longer, shorter, strict=True):
        if left != right and "1" not in (left, right):
            return None
        axes.append(right if left == "1" else left)
    return tuple(axes)


def program(seed: int) -> Program:
    return Drawing(seed).run(random.Random(seed + 1).randint(4, 14))
