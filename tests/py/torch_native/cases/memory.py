"""Which memory results share, and what writes into views and arguments leave."""

from __future__ import annotations

from typing import Any

import torch

from torch_native.cases import (
    ONE,
    TWO,
    Made,
    calls_of,
    case,
    each,
    grid,
    table,
)

VIEWS = """
return x.t().t(), x.t().t().t()
return x[0], x[-1], x[:, 0], x[:, -1]
return x[::2], x[:, ::2], x[1:][0], x[..., 1:]
return x.unsqueeze(1).squeeze(1), x.unsqueeze(0).unsqueeze(0)
return x.view(-1) if x.is_contiguous() else x.reshape(-1)
return x.reshape(x.shape[0], -1, 1), x.reshape(1, *x.shape)
return x.expand(2, *x.shape), x[:1].expand(5, -1)
return x.flatten(), x.flatten(0, 1), x.unflatten(1, (1, 3))
return x.chunk(2), x.split(1), x.unbind(1), x.tensor_split(2)
return x.permute(1, 0), x.movedim(0, 1), x.transpose(0, 1), x.swapaxes(0, 1), x.mT
return x.narrow(0, 1, 1), x.select(1, 2), x.diagonal()
return x.as_strided((2,), (1,)), x.view(torch.int32) if x.is_contiguous() else x
return x.T is x, x[:] is x, x.detach() is x, x.contiguous() is x, x.to("cpu") is x
return x.clone(), x.detach().clone(), x.clone().t(), x.t().clone()
return x + 0, x * 1, +x, x.positive()
return x.real, x.resolve_conj() is x, x.resolve_neg() is x
return x.untyped_storage().data_ptr() == x[1:].untyped_storage().data_ptr(), x[1:].storage_offset()
return x.stride(), x.t().stride(), x[:, 1:].stride(), x.storage_offset()
return x._base is None, x[0]._base is x, x.is_leaf
return x[None], x[:, None], x[..., None], x[None, 1]
return x[x > 0], x[torch.tensor([1, 0])], x[[1, 0]], x[torch.tensor(1)]
return x.numpy() is x.numpy(), x.data_ptr() == x.data.data_ptr()
y = x.detach(); y[0] = 5; return x, y
y = x.data; y.zero_(); return x + 1, y
y = x.view_as(x); y += 1; return y, x
y = x.T; y[0] += x[:, 1]; return y
y = x[1:]; z = y[:, 1:]; z.fill_(7); return x, y, z
y = x.expand(2, *x.shape); x += 1; return y
y = x.diagonal(); y.mul_(10); return x
y = x + 0; y[0] = x[1]; x[1] = 3; return x, y
a, b = x.unbind(0)[:2]; a.copy_(b); return x, a
a, b = x[0], x[0]; a += 1; return b, a is b
x[0], x[1] = x[1].clone(), x[0].clone(); return x
x[:, 0], x[:, 1] = x[:, 1], x[:, 0]; return x
x[1:] = x[:-1]; return x
x[...] = x.flip(0); return x
x[x > 0] = 0; return x
x[0, 1] = 9; x[-1, -1] = x[0, 0]; return x
x[torch.tensor([0, 1])] = 4; return x
x.index_fill_(0, torch.tensor([1]), 3); return x
x.masked_fill_(x < 0, 2).add_(1); return x
x.add_(x); x.mul_(x.sum()); return x
x.sub_(x[0].clone()); x.div_(2); return x, x.sum()
x[1] += x[0]; x[-1] -= x[0]; return x
for k in range(1, x.shape[0]): x[k] += x[k - 1] :: return x
y = x.clone(); y[1:].add_(y[:-1]); return y
y = x.clone(); y[:, 1:] = y[:, :-1]; return y
y = torch.zeros(4); y[1:] = y[:-1]; return y
x.clamp_(-1, 1).neg_().abs_(); return x
x.t_(); return x, x.shape
x.unsqueeze_(0); return x
x.resize_(1, 2); return x
x.transpose_(0, 1); x += 1; return x
x.set_(torch.ones(2)); return x
x.data = torch.ones(2, 2); return x
x.copy_(x); return x
x.copy_(x.t()[:1].t()); return x
x.copy_(torch.tensor(3)); x.copy_(torch.ones(3, dtype=torch.int64)); return x
x += 1; x -= 1; x *= 2; x /= 4; x //= 1; x **= 2; x %= 3; return x
y = x; y += 1; y = y + 1; y += 1; return x, y
y = torch.zeros_like(x); y += x; y[0] = 1; return y, torch.empty_like(x).fill_(2)
torch.add(x, 1, out=x); return x
return torch.sin(x, out=torch.empty(0)), torch.mul(x, 2, out=torch.empty_like(x))
torch.nn.functional.relu(x, inplace=True); return x
torch.sigmoid_(x); torch.exp_(x); return x
for row in x: row += row.sum() :: return x
for k in range(x.shape[0]): x[k] *= k :: return x
for k in range(3): x.add_(k) :: return x
for k in range(x.shape[0]): x.add_(1); x.mul_(2) :: return x
y = x[0:] :: for row in y: row += 1 :: return x
y = x.reshape(-1, 3) :: for k in range(x.shape[0]): y.relu_(); y.sub_(1) :: return x
x.copy_(x); x[1:].add_(1); return x
x[0].copy_(x[0]); return x
y = x.sum(); y += 1; y[...] = y * 2; return y
y = x.clone(); v = y.view(-1) if y.is_contiguous() else y; v.zero_(); return y, x
"""
table("memory", "x", ONE, VIEWS)

#: How often new memory was written, and that it is no view, torch tells of results, too.
NEW = """
y = x * 2; y += 1; y[0] = 3; return y, y.t(), y.detach(), y.data
y = z = x.clone(); y += 1; v = z.view(-1) if z.is_contiguous() else z; v *= 2; return y, v
y = torch.tril(x @ x.t()); y += 1; return y
y = (x * 2).masked_fill_(x > 0, 2.0); return y.index_fill_(0, torch.tensor([0]), 1.0)
return x.new_zeros(3).fill_(2).add_(1), nn.init.ones_(torch.empty(2)), torch.zeros(2)
return torch.add(x, 1, out=torch.empty_like(x)), (x.t() + 1).detach(), x.t() @ x
y = x.clone(); y.data.mul_(2); y.data[0] = 1; return y
y = torch.zeros(x.shape[1]) :: for row in x: y += row :: y *= 2 :: return y
y = torch.zeros_like(x) :: for k in range(x.shape[0]): y[k] = x[k]; y[k] += 1 :: return y, y[1:]
y = x * 2 :: for k in range(1, x.shape[0]): y[k].add_(y[k - 1]) :: y.neg_() :: return y
y = x.exp().mul_(2) :: for k in range(3): y.sub_(k) :: for row in y: row += 1 :: return y
y = x[0] :: for row in x: y = torch.tanh(y + row); y += 1 :: return y
y = torch.zeros(3) :: while y.sum() < 9: y += 1; y[0] += 1 :: return y
y = x + 1 :: if y.sum() > 0: y.relu_(); y.add_(1) :: return y
"""
table("new memory", "x", ONE, NEW)

PAIRS = """
x += y; return x, y
x.copy_(y); y.add_(1); return x, y
x[0] = y[-1]; return x, y
x.add_(y, alpha=2); return y * 2
x.t().add_(y.t()); return x
y[...] = x * 2; return x + y
z = x * 2; x += 1; y += z; return x, y, z
x[:, 2:] += y[:, :1]; return x, y
x.swapaxes(0, 1)[0] = y[:, 1]; return y
torch.add(x, y, out=y); return x
x.mul_(y).sub_(y); return x is y
return x is y, x.data_ptr() == y.data_ptr(), x + y
return torch.equal(x, y), x.shape == y.shape, x.is_set_to(y)
return torch.cat([x, y]), torch.stack((x, y), 1), x.maximum(y)
return [x, y, x], {"a": x, "b": y[0]}
y = y.clone(); y += x; x += y; return x, y
x.data.copy_(y); return x
x.lerp_(y, 0.5); x.addcmul_(y, y); return x
x.where(x > 0, y).add_(1); return x
"""
table("memory", "x, y", TWO, PAIRS)


@case
def returns_its_argument() -> Made:
    return (lambda x: x), each(grid())


@case
def returns_its_argument_beside_a_view() -> Made:
    return (lambda x: (x, x[:], x.t(), x.detach(), x.view(-1))), each(grid())


@case
def returns_one_tensor_twice() -> Made:
    def program(x: Any) -> Any:
        y = x + 1
        return y, y, y[0]

    return program, each(grid())


@case
def writes_a_view_and_returns_the_whole() -> Made:
    def program(x: Any) -> Any:
        y = x.clone()
        part = y[:, 1:]
        part.mul_(3)
        return y, part

    return program, each(grid())


@case
def writes_through_two_views() -> Made:
    def program(x: Any) -> Any:
        a, b = x[0], x.t()
        a.add_(1)
        b[1] *= 2
        return a.sum() + b.sum()

    return program, each(grid())


@case
def two_names_of_one_argument() -> Made:
    def program(x: Any, y: Any) -> Any:
        x.add_(1)
        return y * 2

    def same() -> Any:
        x = grid()
        return x, x

    def view() -> Any:
        x = grid()
        return x, x.view(-1)

    return program, calls_of(lambda: (grid(), grid()), same, view, lambda: (grid(), grid()))


@case
def overlapping_arguments() -> Made:
    def program(x: Any, y: Any) -> Any:
        x.copy_(y)
        return x + y

    def over() -> Any:
        whole = grid(4)
        return whole[1:], whole[:-1]

    return program, calls_of(lambda: (grid(3), grid(3) + 1), over)


@case
def adds_a_row_to_itself() -> Made:
    def program(x: Any) -> Any:
        x += x[0]
        return x

    return program, each(grid())


@case
def writes_an_expanded_argument() -> Made:
    return (lambda x: x.add_(1)), calls_of(lambda: (grid(),), lambda: (grid(1).expand(2, 3),))


@case
def reshape_that_may_copy() -> Made:
    def program(x: Any) -> Any:
        y = x.reshape(-1)
        y.add_(1)
        return y

    return program, calls_of(lambda: (grid(),), lambda: (grid(3, 2).t(),), lambda: (grid(1),))


@case
def view_that_there_is_not() -> Made:
    return (lambda x: x.view(-1)), calls_of(lambda: (grid(),), lambda: (grid(3, 2).t(),))


@case
def contiguous_is_the_same() -> Made:
    return (lambda x: x.contiguous()), calls_of(
        lambda: (grid(),), lambda: (grid(3, 2).t(),), lambda: (grid(3, 1).t(),)
    )


@case
def to_the_same_dtype_is_the_same() -> Made:
    return (lambda x: (x.to(torch.float32), x.float())), calls_of(
        lambda: (grid(),), lambda: (grid(dtype=torch.float64),)
    )


@case
def writes_into_data() -> Made:
    def program(x: Any) -> Any:
        x.data.add_(1)
        return x * 2

    return program, each(grid())


@case
def unbound_rows_are_views() -> Made:
    def program(x: Any) -> Any:
        for row in x.unbind():
            row.mul_(2)
        return x.chunk(2), x.split(1)

    return program, each(grid())


@case
def out_arguments() -> Made:
    def program(x: Any, y: Any) -> Any:
        return torch.add(x, 1, out=y)

    return program, each(grid(), grid())
