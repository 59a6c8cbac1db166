"""Programs on tensors, drawn at random: text, a module it may call, and what changes it.

A program is `def program(x, y, v, flag)`: x and y of b rows and n columns, v of n. Each name that
a statement gives a value is kept with its shape ("bn": b rows and n columns, "n", "b", "": of rank
0), so that most programs raise in no call.
"""

from __future__ import annotations

import copy
import linecache
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from generated.choices import Choices

COLUMNS = 4  # where a program calls a module
UNARY = (
    "torch.sin({})",
    "{}.abs()",
    "-{}",
    "torch.relu({})",
    "F.gelu({})",
    "{}.sigmoid()",
    "torch.exp({}.clamp(max=2))",
    "{}.square()",
    "{} * 2",
    "1 - {}",
    "{}.clone()",
    "{}.float()",
    "F.silu({})",
    "{} / 4",
    "torch.tanh({})",
    "{}.clamp(-1, 1)",
    "{} ** 2",
    "{}.to(x.dtype)",
    "{}.detach()",
    "torch.zeros_like({})",
    "F.softmax({}, -1)",
    "{}.cumsum(-1)",
    "{}.contiguous()",
    "F.dropout({}, 0.5, False)",
    "torch.round({})",
    "{}.flip(0)",
    "torch.roll({}, 1, 0)",
    "{} * (x > 0).sum()",
    "{}.masked_fill({0} < 0, 0)",
    "torch.where({0} > 0, {0}, 0.5)",
    "{}.to(torch.float64).to(x.dtype)",
    "({} * 2).long()",
    "{}.int() + 0.5",
    "({} > 0) * {0}",
    "{} - {0}.max().item() if {0}.numel() else {0}",
    "torch.cat([{0}[:0], {0}])",
    "F.hardtanh({})",
    "F.elu({})",
    "torch.sort({}, -1)[0]",
    "{}[torch.arange({0}.shape[0])]",
    "torch.stack([{0}, {0} + 1])[1]",
    "torch.full_like({}, 2.5)",
    "{}.type(torch.float32)",
)
BINARY = (
    "{} + {}",
    "{} * {}",
    "{} - {}",
    "torch.maximum({}, {})",
    "torch.where({} > {}, x, y)",
    "torch.add({}, {}, alpha=2)",
    "torch.minimum({}, {})",
    "{0}.masked_fill({1} > 0, 0.5)",
    "torch.cat([{}, {}])[: {0}.shape[0]]",
    "torch.lerp({}, {}, 0.5)",
    "torch.stack([{}, {}]).mean(0)",
    "({} == {}).to(x.dtype)",
    "torch.logical_or({} > 0, {} > 1)",
    "{}.to({}.dtype)",
    "{0} + {1}[: {0}.shape[0]]",
    "torch.addcmul({0}, {0}, {1})",
)
#: of rows and columns with one for each row
WITH_COLUMN = ("{} + {}.unsqueeze(1)", "{0} * {1}[:, None]", "{} - {}.view(-1, 1)",
               "{0} / ({1}.reshape(-1, 1).abs() + 1)", "torch.where({1}[:, None] > 0, {0}, 0)",
               "{0} + {1}.unsqueeze(-1).expand_as({0})")  # fmt: skip
#: of anything with a tensor of rank 0
WITH_ONE = ("{} * {}", "{} + {}", "{0} / ({1} + 9)", "torch.where({1} > 0, {0}, {0} * 2)",
            "{0} + {1}.item()", "{0} - float({1})")  # fmt: skip
WITH_ROW = ("{} + {}", "{1} * {0}", "torch.maximum({}, {})", "{} - {}", "{0} / ({1}.abs() + 1)")
IN_PLACE = (
    "{}.add_(1)",
    "{}.mul_(0.5)",
    "{}.zero_()",
    "{}.clamp_(min=0)",
    "{} += 1",
    "{} *= 2",
    "{}.neg_()",
    "{}.fill_(0.25)",
    "{}.relu_()",
    "{}.masked_fill_({0} > 1, 0)",
    "{}[...] = 1",
    "{}.sub_({0})",
    "{}[::2] *= 2",
    "{}[1:].add_(1)",
    "{}[0:1].zero_()",
    "{}.view(-1)[::3] = 0",
    "{}.exp_().clamp_(max=3)",
    "{}.add_(1).mul_(2).sub_(0.5)",
    "{}[-1:] -= 1",
    "{}.unsqueeze(0)[0].mul_(2)",
    "{}.detach().add_(1)",
    "{}.copy_({0} * 2)",
    "{}.copy_({0})",
    "{}.reshape(-1)[:2] = 3",
    "{}.flatten()[0] = 5 if {0}.numel() else 0",
)
WRITTEN = (
    "{}.add_({})",
    "{}.copy_({})",
    "{} += {}",
    "{}.mul_({})",
    "{}[...] = {}",
    "{}[:] = {}",
    "{}.sub_({}, alpha=2)",
    "{}[{1} > 0] = 0",
    "{}[::2] = {}[::2]",
    "{}[1:] = {}[:-1]",
    "{}[0] += {}[-1]",
    "{}.view_as({}).add_(1)",
    "{0}.masked_fill_({1} > 0.5, 0)",
    "{0}[...] += {1}",
    "{0}.clamp_({1})",
)
#: a view of rows and columns, and its shape
VIEWS = {
    "{}[:, :]": "bn", "{}.view({0}.shape)": "bn", "{}.t().t()": "bn", "{}[...]": "bn",
    "{}.unsqueeze(0)[0]": "bn", "{}.reshape(-1, {0}.shape[1])": "bn", "{}.view_as({0})": "bn",
    "{}.expand(-1, -1)": "bn", "{}[0:]": "bn", "{}.transpose(0, 1).transpose(1, 0)": "bn",
    "{}.unsqueeze(1).squeeze(1)": "bn", "{}.narrow(0, 0, {0}.shape[0])": "bn",
    "{}[-1]": "n", "{}.select(0, 0)": "n", "{}[0, :]": "n", "{}[:, 0]": "b", "{}[:, -1]": "b",
    "{}.select(1, 0)": "b", "{}.unbind(1)[1]": "b", "{}.unbind(1)[-1]": "b", "{}[0, 1]": "",
}  # fmt: skip
ROWS = {"{}.sum(0)": "n", "{}.sum(1)": "b", "{}.mean(0)": "n", "{}.amax(1)": "b", "{}.sum()": "",
        "{}.mean(dim=1)": "b", "{}.max(1)[0]": "b", "{}.argmax(1).float()": "b",
        "{}.var(1, unbiased=False)": "b", "{}.norm()": "", "{0} @ v": "b",
        "{}.sum(0, keepdim=True).expand_as({0})": "bn", "{} @ ({0}.t() @ {0})": "bn",
        "F.layer_norm({0}, ({0}.shape[1],))": "bn", "{}.chunk(2, 0)[0].sum(0)": "n",
        "torch.cat([{0}, {0}], 1).sum(1)": "b", "torch.stack([{0}, {0}]).sum(0)": "bn",
        "torch.cat([{0}, {0}], 0)[:{0}.shape[0]]": "bn",
        "{}.split([1, {0}.shape[1] - 1], 1)[1].sum(1)": "b",
        "torch.bmm({0}.unsqueeze(1), {0}.unsqueeze(2)).reshape(-1)": "b",
        "{}.flatten().view({0}.shape)": "bn", "{}.any(1).float()": "b",
        "F.linear({0}, {0}.sum(0).expand(3, -1)).sum(1)": "b",
        "{}[::2].sum(0)": "n", "{}[:, ::2].sum(1)": "b", "{}[1::2, 1:].mean()": "",
        "{}[:0].sum(0)": "n", "{}[:, :0].sum(1)": "b", "{}[:, 1:2].squeeze(1)": "b",
        "{}.prod(1)": "b", "{}.std(0)": "n", "{}.amin(0)": "n", "{}.min(0)[0]": "n",
        "{}.logsumexp(1)": "b", "{}.topk(2, 1)[0].sum(1)": "b", "{}.cumsum(0)[-1]": "n",
        "torch.einsum('ij,ij->i', {0}, {0})": "b", "{}.gather(1, {0}.argsort(1))": "bn",
        "{}.index_select(0, torch.arange({0}.shape[0] - 1, -1, -1))": "bn",
        "{}[:, {0}[0].argsort()]": "bn", "torch.tril({})": "bn",
        "({} > 0).sum(0)": "n", "({} > 0).float().mean()": "", "{}.median()": "",
        "F.pad({}, (1, 0))[:, 1:]": "bn", "torch.outer({0}.sum(1), {0}.sum(0))": "bn",
        "torch.zeros({0}.shape[1]).to(x.dtype)": "n", "torch.arange({0}.shape[0])": "b",
        "torch.ones({0}.shape, dtype=torch.int64)": "bn", "{}.new_zeros({0}.shape[0])": "b",
        "torch.linspace(0, 1, {0}.shape[1])": "n",
        "sum(row for row in {})": "n", "torch.stack([row * 2 for row in {}])": "bn",
        "torch.stack([c.sum() for c in {}.unbind(1)])": "n"}  # fmt: skip
MODULE = {"module({})": "bn", "module.inner({})": "bn", "module.scale * {}": "bn",
          "{} + module.shift": "bn",
          "module.keep({})": "bn", "module.parts[0]({})": "bn", "module.count({})": "bn",
          "module.through({})": "bn", "module.norm({}) + 1": "bn", "module.set({})": "bn",
          "{} @ module.inner.weight": "bn", "module.inner.bias * 2": "n",
          "module.shift.clone()": "n", "module.named['a']({})": "bn",
          "module(x={})": "bn", "module.pick({})": "bn"}  # fmt: skip


def filled(text: str, *names: str) -> str:
    """With names instead of braces: `{}` for the next one, `{0}` for the first."""
    for place in range(text.count("{}")):
        text = text.replace("{}", f"{{{place}}}", 1)
    return text.format(*names)


class Layers(nn.Module):
    """Of columns to as many."""

    shift: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(COLUMNS, COLUMNS)
        self.norm = nn.LayerNorm(COLUMNS)
        self.parts = nn.ModuleList([nn.Linear(COLUMNS, COLUMNS), nn.ReLU()])
        self.register_buffer("shift", torch.arange(COLUMNS) / 4)
        self.named = nn.ModuleDict({"a": nn.Linear(COLUMNS, COLUMNS), "b": nn.Tanh()})
        self.scale: Any = 2.0
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.inner(x.to(self.inner.weight.dtype)))
        for part in self.parts:
            x = part(x) * self.scale
        return x if self.training else x + self.shift

    def count(self, x: torch.Tensor) -> torch.Tensor:
        """Counts in an attribute, and in a part of a buffer."""
        self.calls += 1
        self.shift[1:].add_(1)
        return x * self.calls

    def through(self, x: torch.Tensor) -> torch.Tensor:
        for name, part in self.named.items():
            x = part(x.to(self.inner.weight.dtype)) + len(name)
        return x

    def set(self, x: torch.Tensor) -> torch.Tensor:
        """Puts another tensor in place of a buffer."""
        self.shift = self.shift + x.detach().float().sum()
        return x + self.shift

    def pick(self, x: torch.Tensor) -> torch.Tensor:
        """One part or another, by what is in the tensor."""
        return self.parts[0](x) if x.sum() > 0 else self.named["b"](x)

    def keep(self, x: torch.Tensor) -> torch.Tensor:
        """Adds to a buffer."""
        self.shift += 1
        self.scale = self.scale + 1
        return x + self.shift


def new_weight(m: Layers) -> None:
    m.inner.weight = nn.Parameter(m.inner.weight.detach() * 2)


def written_weight(m: Layers) -> None:
    with torch.no_grad():
        m.inner.weight.mul_(0.5)


def weight_of_data(m: Layers) -> None:
    if m.inner.bias is not None:
        m.inner.bias.data = m.inner.bias.data + 1


def tied(m: Layers) -> None:
    m.parts[0].weight = m.inner.weight


def other_part(m: Layers) -> None:
    m.parts[1] = nn.Tanh() if isinstance(m.parts[1], nn.ReLU) else nn.ReLU()


def hooked(m: Layers) -> None:
    m.inner.register_forward_hook(lambda _module, _given, made: made + 1)


def hooked_before(m: Layers) -> None:
    m.norm.register_forward_pre_hook(lambda _module, given: (given[0] * 2,))


def loaded(m: Layers) -> None:
    m.load_state_dict({name: value + 0.5 for name, value in m.state_dict().items()})


def no_bias(m: Layers) -> None:
    m.inner.bias = None


def other_forward(m: Layers) -> None:
    m.inner.forward = lambda x: x * 3


CHANGES: tuple[Callable[[Layers], Any], ...] = (
    new_weight,
    written_weight,
    weight_of_data,
    tied,
    other_part,
    hooked,
    hooked_before,
    loaded,
    no_bias,
    other_forward,
    lambda m: m.train(not m.training),
    lambda m: m.inner.requires_grad_(not m.inner.weight.requires_grad),
    lambda m: setattr(m, "shift", m.shift * 2),
    lambda m: setattr(m, "scale", m.scale + 1),
    lambda m: setattr(m, "scale", torch.tensor(0.5)),
    lambda m: m.shift.add_(1),
    lambda m: m.register_buffer("shift", torch.ones(COLUMNS)),
    lambda m: m.parts.append(nn.Linear(COLUMNS, COLUMNS, bias=False)) if len(m.parts) < 4 else None,
    lambda m: m.parts.insert(0, nn.Dropout(0.5)) if len(m.parts) < 4 else None,
    lambda m: m.named.update({"c": nn.Sigmoid()}),
    lambda m: m.named.pop("c") if "c" in m.named else None,
    lambda m: setattr(m, "inner", copy.deepcopy(m.parts[0])),
    lambda m: setattr(m.parts[0], "weight", nn.Parameter(m.inner.weight.data)),
    lambda m: m.double() if m.inner.weight.dtype == torch.float32 else m.float(),
    lambda m: m.inner._forward_hooks.clear(),
    lambda m: setattr(m, "shift", m.shift[:1]),
    lambda m: m.norm.register_forward_hook(lambda _m, _x, made: made.mul_(2)),
    lambda m: m.register_forward_pre_hook(lambda _m, given: (given[0] + 1,) if given else None),
    lambda m: setattr(m, "calls", 0),
    lambda m: setattr(m, "norm", nn.Identity()),
    lambda m: setattr(m.inner.weight, "data", m.inner.weight.data.t()),
    lambda m: m.zero_grad(),
)


class Writer:
    """Writes one program."""

    def __init__(self, choices: Choices, has_module: bool) -> None:
        self.choices = choices
        self.has_module = has_module
        self.names = {"bn": ["x", "y"], "n": ["v"], "b": [], "": []}
        self.lines: list[str] = []
        self.count = 0

    def name_of(self, shape: str) -> str:
        return self.choices.pick(self.names[shape])

    def line(self, text: str, depth: int) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def assign(self, text: str, shape: str, depth: int) -> None:
        """To a new name, or to one of those there are, which all have that shape."""
        known = [name for name in self.names[shape] if name != "v"]
        if known and (depth or self.choices.chance(20)):
            name = self.choices.pick(known)
        elif depth:
            return
        else:
            self.count += 1
            name = f"t{self.count}"
            self.names[shape].append(name)
        self.line(f"{name} = {text}", depth)

    def shape(self) -> str:
        return self.choices.pick([s for s, names in self.names.items() if names for _ in names])

    def statement(self, depth: int) -> None:
        kinds = {self.unary: 18, self.binary: 14, self.view: 14, self.in_place: 12, self.write: 10,
                 self.reduction: 16}  # fmt: skip
        if self.has_module:
            kinds[self.of_module] = 16
        if depth < 1:
            kinds |= {self.branch: 12, self.loop: 12, self.list_of: 6, self.halving: 4}
        self.choices.weighted(kinds)(depth)

    def unary(self, depth: int) -> None:
        shape = self.shape() or "bn"
        self.assign(filled(self.choices.pick(UNARY), self.name_of(shape)), shape, depth)

    def binary(self, depth: int) -> None:
        kind = self.choices.weighted({"row": 30, "column": 20, "one": 15, "both": 45})
        rest = {"row": ("n", WITH_ROW), "column": ("b", WITH_COLUMN), "one": ("", WITH_ONE)}
        if kind != "both" and self.names[rest[kind][0]]:
            shape, texts = rest[kind]
            text = self.choices.pick(texts)
            self.assign(filled(text, self.name_of("bn"), self.name_of(shape)), "bn", depth)
            return
        text = self.choices.pick(BINARY)
        self.assign(filled(text, self.name_of("bn"), self.name_of("bn")), "bn", depth)

    def view(self, depth: int) -> None:
        text = self.choices.pick(list(VIEWS))
        self.assign(filled(text, self.name_of("bn")), VIEWS[text], depth)

    def in_place(self, depth: int) -> None:
        self.line(filled(self.choices.pick(IN_PLACE), self.name_of(self.shape())), depth)

    def write(self, depth: int) -> None:
        shape = self.shape()
        text = filled(self.choices.pick(WRITTEN), self.name_of(shape), self.name_of(shape))
        if self.choices.chance(30):
            text = self.choices.pick(
                (
                    "{}[0] = {}",
                    "{}[-1].add_({})",
                    "{}[1:] += {}",
                    "{}[:, 1:].mul_({}[1:])",
                    "{}.t()[1] = {}.sum()",
                    "{}[::2] += {}",
                    "{}[1::2] = {}",
                    "{}[:, ::2].sub_({}[::2])",
                    "{}[0].copy_({})",
                    "for row in {}: row += {}",
                    "{}.add_({}, alpha=2)",
                )
            )
            text = filled(text, self.name_of("bn"), self.name_of("n"))
        self.line(text, depth)

    def reduction(self, depth: int) -> None:
        text = self.choices.pick(list(ROWS))
        self.assign(filled(text, self.name_of("bn")), ROWS[text], depth)

    def of_module(self, depth: int) -> None:
        text = self.choices.pick(list(MODULE))
        self.assign(filled(text, self.name_of("bn")), MODULE[text], depth)

    def branch(self, depth: int) -> None:
        name = self.name_of("bn")
        tests = (
            "{}.shape[0] > 2",
            "{}.sum() > 0.37",
            "flag",
            "{}.dtype == torch.float64",
            "{}.max() > 1.1 if {0}.numel() else flag",
            "len({}) == 3",
            "{}.is_contiguous()",
            "x is y",
            "{}.numel()",
            "(x > 0).all()",
            "{}.requires_grad",
            "{}.shape == x.shape",
            "{}[0].sum() > 0.2 if {0}.shape[0] else flag",
            "{}.shape[0] % 2",
            "torch.any({} > 1.5)",
            "{}.mean() > v.mean()",
            "({} == x).all()",
            "{}.abs().sum() < 10 and flag",
            "not {}.any()",
            "{}.argmax() == 0 if {0}.numel() else flag",
            "{}.is_floating_point()",
            "{}.numel() and {0}.stride(0) == {0}.shape[1]",
        )
        self.line(f"if {filled(self.choices.pick(tests), name)}:", depth)
        self.block(depth + 1)
        if self.choices.chance(50):
            self.line("else:", depth)
            self.block(depth + 1)

    def block(self, depth: int) -> None:
        start = len(self.lines)
        for _ in range(self.choices.integer(1, 3)):
            self.statement(depth)
        if len(self.lines) == start:
            self.line("pass", depth)

    def loop(self, depth: int) -> None:
        heads = (
            "for k in range({}.shape[0]):",
            "for row in {}:",
            "for k in range(3):",
            "for k, row in enumerate({}):",
            "for a, b in zip(x, {}):",
            "for k in range(1, {}.shape[0]):",
            "for k in range({}.shape[0] - 1, -1, -1):",
            "for k in range(0, {}.shape[0], 2):",
            "for row in {}.unbind(0):",
            "for part in {}.split(2):",
            "for k in range(int({}[0, 0] > 0) + 1 if {0}.numel() else 1):",
            "for name in ('a', 'b'):",
        )
        head = self.choices.pick(heads)
        self.line(filled(head, self.name_of("bn")), depth)
        of_row = (
            {"n": ["row"]} if " row in" in head else {"n": ["a", "b"]} if " a, b" in head else {}
        )
        before = {shape: list(names) for shape, names in self.names.items()}
        self.names |= {shape: [*self.names[shape], *names] for shape, names in of_row.items()}
        if " k in range(" in head and "[0, 0]" not in head and self.choices.chance(50):
            self.at_place(depth + 1)
        if self.names["n"] != ["v"] and self.choices.chance(40):
            name = self.choices.pick([each for each in self.names["n"] if each != "v"])
            self.line(f"{name} = {name} * 0.5 + {self.name_of('n')}", depth + 1)
        self.block(depth + 1)
        self.names = before

    def at_place(self, depth: int) -> None:
        """What a turn does with the row that is its own."""
        text = self.choices.pick(
            (
                "{}[k] += {}",
                "{}[k] = {} * k",
                "{}[k].mul_({})",
                "{}[k].copy_({})",
                "{}[k - 1].add_({})",
            )
        )
        self.line(filled(text, self.name_of("bn"), self.name_of("n")), depth)

    def halving(self, depth: int) -> None:
        """A loop whose turns depend on what is in a tensor; infinities, too, come to an end."""
        name = self.choices.pick([each for each in self.names["bn"] if each not in "xy"] or ["x"])
        text = self.choices.pick(
            (
                "while {}.abs().max() > 1: {0} = {0}.clamp(-8, 8) / 2",
                "while {}.sum() < 3: {0} = {0}.abs() + 1",
                "while {}.shape[0] > 1: {0} = {0}[1:]",
                "while bool({}.any()) and {0}.sum() > 4: {0} = {0}.clamp(max=8) * 0.5",
            )
        )
        self.line(f"if {name}.numel():", depth)
        self.line(filled(text, name), depth + 1)

    def list_of(self, depth: int) -> None:
        self.count += 1
        name = f"l{self.count}"
        self.line(f"{name} = [{self.name_of('bn')}, {self.name_of('bn')}]", depth)
        self.line(f"{name}.append({self.name_of('bn')})", depth)
        self.line(f"for each in {name}:", depth)
        self.block(depth + 1)
        uses = (
            "torch.cat({}, 0).sum(0)",
            "torch.stack({}).amax(0).sum(0)",
            "sum({}).sum(0)",
            "{}[-1][0]",
        )
        self.assign(filled(self.choices.pick(uses), name), "n", depth)

    def returned(self) -> str:
        kinds = self.choices.integer(1, 4)
        made = [self.name_of(self.shape()) for _ in range(kinds)]
        if kinds == 1:
            return made[0]
        forms = ("({},)", "[{}]", "dict(enumerate([{}]))", "Pair(({},), len(x))")
        return self.choices.pick(forms).format(", ".join(made))


class Pair(NamedTuple):
    """What a program may return."""

    parts: Any
    rows: int


def written(choices: Choices, has_module: bool) -> str:
    """The text of a program."""
    writer = Writer(choices, has_module)
    for _ in range(choices.integer(2, 8)):
        writer.statement(0)
    lines = [*writer.lines, f"    return {writer.returned()}"]
    return "\n".join(["def program(x, y, v, flag):", *lines, ""])


def function_of(source: str, name: str, module: nn.Module | None) -> Callable[..., Any]:
    """The program; name: what tracebacks call its file."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    made: dict[str, Any] = {"torch": torch, "F": functional, "module": module, "Pair": Pair}
    exec(compile(source, name, "exec"), made)
    program: Callable[..., Any] = made["program"]
    return program


__all__ = ["CHANGES", "COLUMNS", "Layers", "function_of", "written"]
