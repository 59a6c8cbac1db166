"""Forms of functions: outputs that are told, writes at places, complex tensors, `.data`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_native.cases import TWO, Made, calls_of, case, grid, table

#: x, a tensor of its size, places of its rows
PLACES = calls_of(
    lambda: (grid(3), grid(3) + 1, torch.tensor([0, 2])),
    lambda: (grid(5), grid(5) + 1, torch.tensor([1, 1])),
    lambda: (grid(3, 3).t(), grid(3) * 2, torch.tensor([2, 0])),
    lambda: (x := grid(3), x, torch.tensor([0, 2])),
    lambda: (grid(6, 3)[::2], grid(3), torch.tensor([0, 2])),
    lambda: (grid(3), grid(3) + 1, torch.tensor([0, 5])),
    lambda: (grid(1), grid(1) + 1, torch.tensor([0, 0])),
)
WRITTEN = """
x[i] = 1; return x
x[i] = 1.5; return x * 2, x
x[i] = y[i]; return x, y
x[:, i] = 0; return x.sum()
x[i, i] = 7; return x
x[i, 0] = y[0, 1]; return x
x[i] += 1; return x
x[0] = y[1]; x[i] = y[0]; return x
x[y > 0] = y[y > 0] * 2; return x
x[y > 0] = y.sum(); return x
x[y[:, 0] > 0] = 3; return x
x[None, i] = y[i]; return x
x[..., i] = 2; return x
z = x.clone(); z[i] = 0; return z, x
z = x[1:]; z[i - 1] = 4; return x
v = x[:, 0]; v[i] = 5; return x, v
x[i] = x[0]; return x
x[i] = x; return x
x[i.tolist()] = 6; return x
x[torch.tensor(1)] = 8; return x
x.index_put_((i,), y[i], accumulate=True); return x
x.index_add_(0, i, y[:2]); return x
x.index_copy_(0, i, y[:2]); return x, y
x.scatter_(1, i[:, None], y); return x
x.scatter_add_(0, i[:, None].expand(2, 3), y); return x
x.masked_scatter_(y > 0, y); return x
x.masked_fill_(y > 0, y[0, 0]); return x
torch.index_put(x, (i,), y[i]); return x
for k in range(x.shape[0]): x[k, i] = y[k, i] :: return x
"""
table("writes at places", "x, y, i", PLACES, WRITTEN)

OUTPUTS = """
z = torch.empty_like(x); return torch.add(x, y, out=z), z
return torch.add(x, 1, out=y) is y, y
torch.mul(x, y, out=x); return x
torch.mul(x, y, out=x[:]); return x
torch.matmul(x, y.t(), out=torch.empty(x.shape[0], x.shape[0])); return x
return torch.matmul(x, y.t(), out=torch.empty(2, 2)), y
a, b = torch.empty(len(x)), torch.empty(len(x)).long() :: return torch.max(x, 1, out=(a, b)), a, b
return torch.gt(x, y, out=torch.empty(x.shape, dtype=torch.bool))
return torch.gt(x, y, out=torch.empty(x.shape))
return torch.add(x, y, out=torch.empty(x.shape, dtype=torch.float64))
return torch.sum(x, 0, out=y[0]), y
return torch.cat([x, y], out=torch.empty(2 * x.shape[0], 3))
return torch.cumsum(x, 0, out=x), x
return torch.exp(x, out=None), y
torch.add(x[1:], 1, out=x[:-1]); return x
z = torch.empty(x.shape); torch.where(x > 0, x, y, out=z); return z
z = torch.zeros(3, x.shape[0]).t(); torch.sub(x, y, out=z); return z, z.stride()
torch.sort(x, 0, out=(y, torch.empty(x.shape, dtype=torch.int64))); return y
"""
table("outputs", "x, y", TWO, OUTPUTS)

COMPLEX = """
return torch.fft.rfft(x).abs(), y
return torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(y), n=x.shape[1])
z = torch.complex(x, y); return z, z.real, z.imag + 1
z = torch.complex(x, y); return torch.view_as_real(z * z.conj()).sum(-1)
z = torch.polar(x.abs(), y); return z.abs() * 2, z.angle()
z = torch.complex(x, y); return z == z, z.shape, z.dtype, z.is_complex()
z = torch.complex(x, y); z += 1; return z
z = torch.complex(x, y); return z.sum().item(), x.sum()
z = torch.complex(x, y) @ torch.complex(y, x).t(); return z.abs() + 1
z = torch.complex(x, y); return [each.abs() for each in z]
z = torch.complex(x, y) + x; return (2 * z - y).real
z = torch.complex(x, y)[1:]; return z.reshape(-1), z.mT
"""
table("complex tensors", "x, y", TWO, COMPLEX)

DATA = """
return x.data * 2, x.data is x
z = x.data; return z, z.data_ptr() == x.data_ptr()
z = x.data; x += 1; return z, z + y
x.data.mul_(2); return x, y
x.data[0] = y[0]; return x
z = (x * 2).data; return z + 1, z
z = x.t().data; return z.contiguous(), z
"""
table("data", "x, y", TWO, DATA)


class Running(nn.Module):
    """Keeps statistics in buffers that it puts others in place of."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("count", torch.zeros(()), persistent=False)
        self.cache: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean = self.mean * 0.5 + x.mean(0) * 0.5
        self.count = self.count + x.shape[0]
        self.cache = x if self.cache is None else torch.cat([self.cache, x])[-4:]
        return (x - self.mean) / self.count + self.cache.mean(0)


@case
def buffers_that_are_assigned() -> Made:
    module = Running()
    return (
        (lambda x: module(x)),
        calls_of(lambda: (grid(),), lambda: (grid(4),), lambda: (grid(2) + 1,)),
        lambda: [module, module.cache],
    )


@case
def a_tensor_that_says_it_is_a_buffer() -> Made:
    module = Running()

    def program(x: Any) -> Any:
        module.mean = x
        return module.mean + 1

    def marked() -> Any:
        x = grid()
        x._is_buffer, x.persistent = True, True  # type: ignore[attr-defined]
        return (x,)

    return program, calls_of(lambda: (grid(),), marked), lambda: module


@case
def a_complex_buffer_within_a_module() -> Made:
    """Positions that turn with the place, as Llama's first model has them."""
    turns = torch.polar(torch.ones(8, 2), torch.arange(16.0).reshape(8, 2))

    def program(x: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        assert pairs.dim() == 2
        turned = pairs * turns[: x.shape[0]]
        return torch.view_as_real(turned).flatten(1) + x, pairs.numel()

    return program, calls_of(lambda: (grid(3, 4),), lambda: (grid(5, 4),), lambda: (grid(1, 4),))
