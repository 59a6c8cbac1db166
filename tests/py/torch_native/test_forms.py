"""Forms of functions that are captured, one path for all sizes, and what it leaves to torch.

What they do is compared in cases/forms.py; here is that they are not run uncompiled.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dvm
from torch_native.cases import grid, program_of
from torch_native.cases.forms import Running
from torch_native.observing import observe

#: program -> how many calls of torch's own a call makes
FORMS = {
    "return torch.add(x, 1, out=y) * 2": 0,
    "return torch.matmul(x, y.t(), out=torch.zeros(x.shape[0], x.shape[0])) + 1": 0,
    "torch.mul(x, y, out=x); return x": 0,
    "return torch.max(x, 1, out=(y[:, 0].clone(), i)), y": 0,
    "return torch.rand(2, 3, generator=g) + x[0]": 1,
    "return x.clone().normal_(generator=g) + 1": 1,
    "return torch.multinomial(x.softmax(-1), 1, generator=g) + 1": 1,
    "return x.data * 2": 0,
    "x[i] = 1.5; return x * 2": 1,
    "x[i] = y[i]; return x * 2": 1,
    "x[:, i % 3] = y[:, :1]; return x * 2": 1,
    "x[i, 0] = 7; return x * 2": 1,
    "x[y > 0] = y[0, 0]; return x + 1": 1,
    "x.scatter_(1, y.argmax(1, keepdim=True), 1.0); return x * 2": 1,
    "return torch.fft.rfft(x * 2).abs() + 1": 2,
    "return torch.view_as_real(torch.polar(x, y) * torch.polar(y, x)).sum(-1)": 4,
    'with torch.autocast("cpu"): z = x @ y.t() :: return z + 1': 0,
    'with torch.autocast("cpu"): z = torch.sort(x.t() @ y).values :: return z + 1': 1,
    "m.mean = m.mean * 0.5 + x.mean(0); return x - m.mean": 0,
    "return x.to(copy=True, dtype=torch.float32, device=x.device).add_(1), x": 0,
    "return torch.full((2,), x.shape[0] >= 4, dtype=torch.bool), x * (x.shape[0] > 4)": 0,
    "return x.sum() + 1 if x.shape[0] + 2 >= len(y) + 1 else x": 0,
    "s = {x, y}; s.add(x); return len(s), x in s, {x: 2}[x], y * 2": 0,
    "return torch.full((2,), (x > 2).sum()) + 1, x": 0,
    "n = (x[0] > 0).sum(); return x[:, :n] * 2, y[-n:].sum(0), n": 0,
    "for k in range(9): x = torch.cat([x, x[:, -1:] * 2 + x[..., -2:-1]], 1) :: return x": 0,
}


@pytest.mark.parametrize("text", FORMS)
def test_one_path_serves_all_sizes(text: str) -> None:
    plain, ours = torch.Generator(), torch.Generator()
    modules = [Running(), Running()]
    program = program_of(text, "x, y, i, g, m", {})
    compiled = dvm.compile(program)
    sizes = (3, 3, 5, 4, 6)
    with torch.no_grad(), dvm.stance("force_capture"):
        for rows in sizes:

            def given(generator: Any, module: Any, rows: int = rows) -> list[Any]:
                index = torch.arange(rows).flip(0)
                return [grid(rows), grid(rows) + 1, index, generator, module]

            wanted = observe(program, given(plain, modules[0]), lambda: modules[0])
            found = observe(compiled, given(ours, modules[1]), lambda: modules[1])
            assert not (difference := found.difference(wanted)), difference
    stats = compiled.stats
    about = [str(reason) for reason in compiled.fallback_reasons]
    assert (stats.captures, stats.hits, stats.fallbacks) == (1, len(sizes) - 1, 0), about
    assert stats.opaque == FORMS[text] * stats.hits


def test_what_torch_wrote_into_a_copy_is_copied_once() -> None:
    def copied(x: Any, i: Any, y: Any) -> Any:
        return x.index_copy_(0, i, y)

    f = dvm.compile(copied)
    args = torch.zeros(5), torch.tensor([3, 1]), torch.ones(2)
    assert f(*args) is args[0]
    (path,) = dvm._dvm.paths(f)
    assert "copyto r0" in path["steps"]
    assert "run segment" not in path["steps"]
    for _ in range(3):
        x = torch.rand(4)
        expected = copied(x.clone(), *args[1:])
        assert f(x, *args[1:]) is x
        assert torch.equal(x, expected)
