"""What programs on tensors and modules do at the edges, compiled beside themselves in eager torch.

A case makes a program and its calls anew: `case() -> (program, calls)`, each call a function
without arguments that changes what it likes and returns the arguments of the program. It is run
twice, plain and compiled.
"""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

import dvm
from torch_native.observing import Seen, observe

Program = Callable[..., Any]
Calls = list[Callable[[], Any]]
Case = Callable[[], tuple[Program, Calls]]
CASES: dict[str, Case] = {}


def case(make: Case) -> Case:
    CASES[make.__name__] = make
    return make


def grid(rows: int = 2, columns: int = 3, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.arange(rows * columns).reshape(rows, columns) - 2).to(dtype) / 2


def each(*arguments: Any) -> Calls:
    """Three calls with copies of these arguments, and no gradients."""
    return [lambda: copy.deepcopy(arguments)] * 3


def calls_of(*steps: Callable[[], Any]) -> Calls:
    """Each step twice."""
    return [step for step in steps for _ in range(2)]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(3))
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.second(torch.relu(self.first(x))))


def changed(*changes: Callable[[Layer], Any]) -> tuple[Program, Calls]:
    """A module called before and after each of the changes."""
    module = Layer().eval()

    def step(change: Callable[[Layer], Any] | None) -> Callable[[], Any]:
        def make() -> Any:
            if change is not None:
                change(module)
            return (grid(),)

        return make

    plain = step(None)
    steps = [plain, plain, plain]
    for change in changes:
        steps += [step(change), plain, plain]
    return (lambda x: module(x)), steps


# ---- memory


@case
def returns_its_argument() -> tuple[Program, Calls]:
    return (lambda x: x), each(grid())


@case
def returns_its_argument_beside_a_view() -> tuple[Program, Calls]:
    return (lambda x: (x, x[:], x.t(), x.detach(), x.view(-1))), each(grid())


@case
def returns_one_tensor_twice() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        y = x + 1
        return y, y, y[0]

    return program, each(grid())


@case
def writes_a_view_and_returns_the_whole() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        y = x.clone()
        part = y[:, 1:]
        part.mul_(3)
        return y, part

    return program, each(grid())


@case
def writes_through_two_views() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        a, b = x[0], x.t()
        a.add_(1)
        b[1] *= 2
        return a.sum() + b.sum()

    return program, each(grid())


@case
def two_names_of_one_argument() -> tuple[Program, Calls]:
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
def overlapping_arguments() -> tuple[Program, Calls]:
    def program(x: Any, y: Any) -> Any:
        x.copy_(y)
        return x + y

    def over() -> Any:
        whole = grid(4)
        return whole[1:], whole[:-1]

    return program, calls_of(lambda: (grid(3), grid(3) + 1), over)


@case
def adds_a_row_to_itself() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        x += x[0]
        return x

    return program, each(grid())


@case
def writes_an_expanded_argument() -> tuple[Program, Calls]:
    return (lambda x: x.add_(1)), calls_of(lambda: (grid(),), lambda: (grid(1).expand(2, 3),))


@case
def reshape_that_may_copy() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        y = x.reshape(-1)
        y.add_(1)
        return y

    return program, calls_of(lambda: (grid(),), lambda: (grid(3, 2).t(),), lambda: (grid(1),))


@case
def view_that_there_is_not() -> tuple[Program, Calls]:
    return (lambda x: x.view(-1)), calls_of(lambda: (grid(),), lambda: (grid(3, 2).t(),))


@case
def contiguous_is_the_same() -> tuple[Program, Calls]:
    return (lambda x: x.contiguous()), calls_of(
        lambda: (grid(),), lambda: (grid(3, 2).t(),), lambda: (grid(3, 1).t(),)
    )


@case
def to_the_same_dtype_is_the_same() -> tuple[Program, Calls]:
    return (lambda x: (x.to(torch.float32), x.float())), calls_of(
        lambda: (grid(),), lambda: (grid(dtype=torch.float64),)
    )


@case
def writes_into_data() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        x.data.add_(1)
        return x * 2

    return program, each(grid())


@case
def unbound_rows_are_views() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        for row in x.unbind():
            row.mul_(2)
        return x.chunk(2), x.split(1)

    return program, each(grid())


@case
def out_arguments() -> tuple[Program, Calls]:
    def program(x: Any, y: Any) -> Any:
        return torch.add(x, 1, out=y)

    return program, each(grid(), grid())


# ---- dtypes, layouts and classes of arguments


@case
def complex_tensors() -> tuple[Program, Calls]:
    return (lambda x: x * 2 + 1), calls_of(
        lambda: (grid(),), lambda: (grid().to(torch.complex64),), lambda: (grid().cfloat().conj(),)
    )


@case
def halves() -> tuple[Program, Calls]:
    return (lambda x: (x * 2 + 1, x.sum())), calls_of(
        lambda: (grid().bfloat16(),), lambda: (grid().half(),)
    )


@case
def sparse_tensors() -> tuple[Program, Calls]:
    return (lambda x: x * 2), calls_of(lambda: (grid(),), lambda: (grid().to_sparse(),))


@case
def tensors_without_memory() -> tuple[Program, Calls]:
    return (lambda x: x * 2), calls_of(lambda: (grid(),), lambda: (grid().to("meta"),))


class Tagged(torch.Tensor):
    pass


@case
def subclasses() -> tuple[Program, Calls]:
    return (lambda x: x * 2 + 1), calls_of(lambda: (grid(),), lambda: (grid().as_subclass(Tagged),))


@case
def parameters_as_arguments() -> tuple[Program, Calls]:
    return (lambda x: (x * 2, type(x) is nn.Parameter)), calls_of(
        lambda: (grid(),), lambda: (nn.Parameter(grid(), requires_grad=False),)
    )


@case
def negated_views() -> tuple[Program, Calls]:
    return (lambda x: x + 1), calls_of(
        lambda: (grid(),), lambda: (torch.view_as_complex(grid(3, 2)).conj().imag,)
    )


@case
def dtypes_meet() -> tuple[Program, Calls]:
    return (lambda x, y: (x + y, x * 2, x / 2, x > y)), calls_of(
        lambda: (grid(), grid(dtype=torch.int64)),
        lambda: (grid(dtype=torch.int64), torch.tensor(1.5)),
        lambda: (grid(dtype=torch.int32), torch.tensor(1.5, dtype=torch.float64)),
        lambda: (grid(dtype=torch.bool), grid(dtype=torch.uint8)),
    )


@case
def numbers_that_differ() -> tuple[Program, Calls]:
    return (lambda x, k: (x + k, x * k)), [
        (lambda k=k: (grid(dtype=torch.int64), k)) for k in (1, 2, 2.5, True, 3, 10**6, -1)
    ]


@case
def sizes_as_results() -> tuple[Program, Calls]:
    return (lambda x: (x.shape, x.size(), x.size(0), x.numel(), x.dim(), len(x), x.stride())), [
        (lambda n=n: (grid(n),)) for n in (2, 2, 3, 1, 0)
    ]


@case
def attributes_as_results() -> tuple[Program, Calls]:
    return (lambda x: (x.dtype, x.device, x.requires_grad, x.is_contiguous(), x.layout)), calls_of(
        lambda: (grid(),), lambda: (grid(3, 2).t(),), lambda: (grid(dtype=torch.int8),)
    )


@case
def numbers_as_results() -> tuple[Program, Calls]:
    return (lambda x: (x.sum().item(), float(x.max()), int(x.argmax()), bool(x.any()))), each(
        grid()
    )


# ---- modes


@case
def gradients_wanted_between_calls() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        y = x * 2
        return y, y.requires_grad, torch.is_grad_enabled()

    return program, calls_of(
        lambda: (grid(),), lambda: (torch.set_grad_enabled(True), (grid().requires_grad_(),))[1],
        lambda: (torch.set_grad_enabled(False), (grid().requires_grad_(),))[1],
        lambda: (torch.set_grad_enabled(True), (grid(),))[1],
    )  # fmt: skip


@case
def in_place_on_a_leaf_that_wants_gradients() -> tuple[Program, Calls]:
    return (lambda x: x.add_(1)), calls_of(
        lambda: (torch.set_grad_enabled(True), (grid(),))[1],
        lambda: (grid().requires_grad_(),),
    )


@case
def without_gradients_within() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        with torch.no_grad():
            y = x * 2
        return y, y.requires_grad

    return program, calls_of(
        lambda: (grid(),), lambda: (torch.set_grad_enabled(True), (grid().requires_grad_(),))[1]
    )


@case
def inference_tensors() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        y = x * 2
        return y, y.is_inference()

    def made() -> Any:
        with torch.inference_mode():
            return (grid(),)

    return program, calls_of(lambda: (grid(),), made)


@case
def inference_mode_within() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        with torch.inference_mode():
            return x * 2

    return program, each(grid())


@case
def autocast_within() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x.t()

    return program, each(grid())


@case
def default_dtypes() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        return torch.zeros(2), x + 1, torch.arange(x.shape[0]) / 2

    return program, calls_of(
        lambda: (grid(dtype=torch.int64),),
        lambda: (torch.set_default_dtype(torch.float64), (grid(dtype=torch.int64),))[1],
    )


# ---- modules


@case
def modules_whose_weight_is_replaced() -> tuple[Program, Calls]:
    return changed(lambda m: setattr(m.first, "weight", nn.Parameter(torch.ones(3, 3))))


@case
def modules_whose_weight_is_written() -> tuple[Program, Calls]:
    return changed(lambda m: m.first.weight.data.mul_(2), lambda m: m.first.bias.detach().zero_())


@case
def modules_whose_weights_are_tied() -> tuple[Program, Calls]:
    return changed(lambda m: setattr(m.second, "weight", m.first.weight))


@case
def modules_whose_parts_are_swapped() -> tuple[Program, Calls]:
    return changed(
        lambda m: setattr(m, "first", nn.Identity()), lambda m: setattr(m, "second", nn.Tanh())
    )


@case
def modules_that_are_hooked() -> tuple[Program, Calls]:
    return changed(
        lambda m: m.first.register_forward_hook(lambda _m, _x, y: y * 2),
        lambda m: m.second.register_forward_pre_hook(lambda _m, x: (x[0] + 1,)),
        lambda m: m.first._forward_hooks.clear(),
    )


@case
def modules_with_a_hook_of_all() -> tuple[Program, Calls]:
    handles: list[Any] = []
    hook = nn.modules.module.register_module_forward_hook
    return changed(
        lambda _m: handles.append(hook(lambda _m, _x, y: y + 1)), lambda _m: handles[0].remove()
    )


@case
def modules_in_training() -> tuple[Program, Calls]:
    return changed(
        lambda m: (m.train(), torch.manual_seed(5)), lambda m: m.eval(), lambda m: m.drop.train()
    )


@case
def modules_of_another_dtype() -> tuple[Program, Calls]:
    return changed(lambda m: m.double(), lambda m: m.float())


@case
def modules_without_a_bias() -> tuple[Program, Calls]:
    return changed(lambda m: setattr(m.first, "bias", None))


@case
def modules_with_another_forward() -> tuple[Program, Calls]:
    return changed(lambda m: setattr(m.first, "forward", lambda x: x * 3))


@case
def modules_that_are_loaded() -> tuple[Program, Calls]:
    return changed(lambda m: m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()}))


@case
def modules_that_are_frozen() -> tuple[Program, Calls]:
    return changed(lambda m: m.requires_grad_(False), lambda m: m.requires_grad_(True))


@case
def modules_that_are_copied() -> tuple[Program, Calls]:
    def swap(module: Layer) -> None:
        module.first = copy.deepcopy(module.second)
        module.first.weight.data.add_(1)

    return changed(swap)


@case
def buffers_that_count() -> tuple[Program, Calls]:
    module = Layer().eval()

    def program(x: Any) -> Any:
        module.seen += x.sum(0)
        module.seen = module.seen * 2
        return module.seen

    return program, each(grid())


@case
def buffers_that_are_replaced_in_a_call() -> tuple[Program, Calls]:
    module = Layer().eval()

    def program(x: Any) -> Any:
        old = module.seen
        module.seen = x[0] + 1
        return old, module.seen

    return program, each(grid())


@case
def caches_that_grow() -> tuple[Program, Calls]:
    kept: list[Any] = []

    def program(x: Any) -> Any:
        kept.append(x * 2)
        return torch.cat(kept, 0), len(kept)

    return program, each(grid())


# ---- errors and warnings


@case
def raises_half_way() -> tuple[Program, Calls]:
    def program(x: Any, y: Any) -> Any:
        x.add_(1)
        z = x @ y
        x.mul_(2)
        return z

    return program, calls_of(
        lambda: (grid(), grid(3, 2)), lambda: (grid(), grid(2, 2)), lambda: (grid(), grid(3, 4))
    )


@case
def raises_an_own_error() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        x.add_(1)
        if x.sum() > 3:
            raise ValueError(f"{x.shape[0]} rows")
        return x * 2

    return program, calls_of(lambda: (grid(),), lambda: (grid(4),), lambda: (grid(1),))


@case
def catches_an_error_of_torch() -> tuple[Program, Calls]:
    def program(x: Any, y: Any) -> Any:
        try:
            return x + y
        except RuntimeError:
            return x - 1

    return program, calls_of(lambda: (grid(), grid()), lambda: (grid(), grid(4)))


@case
def out_of_bounds() -> tuple[Program, Calls]:
    return (lambda x, k: x[k] * 2), calls_of(*[lambda k=k: (grid(), k) for k in (0, 1, -1, 2, -3)])


@case
def places_out_of_bounds() -> tuple[Program, Calls]:
    return (lambda x, k: nn.functional.embedding(k, x)), calls_of(
        *[lambda k=k: (grid(), torch.tensor([0, k])) for k in (1, 0, 2, -1)]
    )


@case
def warns_itself() -> tuple[Program, Calls]:
    def program(x: Any) -> Any:
        warnings.warn("mind the gap", stacklevel=1)
        return x * 2

    return program, each(grid())


@case
def not_broadcastable() -> tuple[Program, Calls]:
    return (lambda x, y: x * y), calls_of(
        lambda: (grid(), grid()), lambda: (grid(), grid(1)), lambda: (grid(), grid(3))
    )


@case
def truth_of_many() -> tuple[Program, Calls]:
    return (lambda x: 1 if x else 2), calls_of(
        lambda: (torch.tensor(1.0),), lambda: (torch.tensor([0.0]),), lambda: (grid(),)
    )


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    grads, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    yield
    torch.set_grad_enabled(grads)
    torch.set_default_dtype(dtype)


def seen_of(make: Case, run: Callable[[Program], Program]) -> list[Seen]:
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float32)
    program, calls = make()
    tried = run(program)
    found = []
    for number, call in enumerate(calls):
        arguments = call()
        torch.manual_seed(number)
        found.append(observe(tried, list(arguments)))
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_program_does_what_it_does_in_eager_torch(name: str) -> None:
    wanted = seen_of(CASES[name], lambda program: program)
    found = seen_of(CASES[name], dvm.compile)
    for call, (one, other) in enumerate(zip(found, wanted, strict=True)):
        difference = one.difference(other)
        assert not difference, f"call {call}: {difference}"


def test_threads_share_a_program() -> None:
    module = Layer().eval()
    compiled = dvm.compile(lambda x: module(x) + x.sum())
    wrong: list[int] = []

    def work(rows: int) -> None:
        with torch.no_grad():
            for turn in range(20):
                x = grid(rows + turn % 3)
                if not torch.allclose(compiled(x), module(x) + x.sum(), 1e-4, 1e-5):
                    wrong.append(rows)

    threads = [threading.Thread(target=work, args=(rows,)) for rows in (1, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
