"""What the backend does besides computing: options, aliases, writes, arguments of other kinds."""

import concurrent.futures
import copy
import itertools
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest
import torch

import dvm
import dvm.torch
from dvm import _dvm
from torch_door.one_op import OneOp

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def _from_nothing():
    torch._dynamo.reset()


def compiled(function: Any, **options: str) -> Any:
    return torch.compile(function, backend="dvm", dynamic=True, options=options)


def test_it_is_listed():
    assert "dvm" in torch._dynamo.list_backends()


def test_dvm_is_imported_without_torch():
    code = "import dvm, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numeric": "strict"}, "there is no option 'numeric'; did you mean 'numerics'"),
        ({"numerics": "exact"}, "there is no numerics 'exact'"),
        ({"fallback": "none"}, "there is no fallback 'none'"),
        ({"frozen": 1}, "there is no frozen 1; valid are False, True"),
        ({"threads": 0}, "there is no threads 0; valid are None, 1 to 1024"),
        ({"threads": 1025}, "there is no threads 1025; valid are None, 1 to 1024"),
        ({"threads": True}, "there is no threads True; valid are None, 1 to 1024"),
    ],
)
def test_unknown_options(options, message):
    with pytest.raises(Exception, match=message) as caught:
        compiled(lambda x: x + 1, **options)(torch.ones(3))
    assert "DVM-U003" in str(caught.value)


def test_an_unknown_mode():
    with pytest.raises(Exception, match="there is no mode 'max-autotune'"):
        torch.compile(lambda x: x + 1, backend="dvm", mode="max-autotune")(torch.ones(3))


def test_writes_to_arguments():
    def f(x, y):
        x.add_(y)
        y.mul_(2)
        return x * y, x.clone()

    x, y = torch.rand(3, 4), torch.rand(4)
    ours, theirs = (x.clone(), y.clone()), (x, y)
    torch.testing.assert_close(compiled(f)(*ours), f(*theirs))
    torch.testing.assert_close(ours, theirs)


def test_results_are_what_they_are_in_eager():
    def f(x):
        y = x * 2
        return x, x.t(), x.clone(), y, y.t(), y.view(-1), x[1:]

    x = torch.rand(3, 4)
    for got, wanted in zip(compiled(f)(x), f(x), strict=True):
        torch.testing.assert_close(got, wanted)
        assert got.stride() == wanted.stride()
        assert got._is_view() == wanted._is_view()
        shared = got.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert shared == (wanted.untyped_storage().data_ptr() == x.untyped_storage().data_ptr())


@pytest.mark.parametrize("needs_gradient", [False, True])
def test_results_that_repeat_elements(needs_gradient):
    def f(x, y):
        return x.expand(4, -1), (x * y).sum(1, keepdim=True).expand(-1, 3), y.expand(2, 3, 5).mT

    f_compiled = compiled(f)
    for rows in (1, 6):
        x = torch.rand(1, 5, requires_grad=needs_gradient)
        y = torch.rand(3, 5) if rows == 1 else torch.rand(3, 5) + 1
        for got, wanted in zip(f_compiled(x, y), f(x, y), strict=True):
            torch.testing.assert_close(got, wanted)
            assert got.stride() == wanted.stride()


def test_a_graph_twice_backwards():
    x = torch.rand(4, requires_grad=True)
    y = compiled(lambda x: (x.exp() * x).sum())(x)
    (once,) = torch.autograd.grad(y, x, retain_graph=True)
    (again,) = torch.autograd.grad(y, x)
    torch.testing.assert_close(once, again)


def test_saved_results_know_of_later_writes():
    x = torch.rand(4, requires_grad=True)
    y = compiled(torch.exp)(x)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_layouts():
    def f(x, y):
        return (x * 2 + y).softmax(-1)

    f_compiled = compiled(f)
    base = torch.rand(6, 8)
    arguments = [
        (base.t(), torch.rand(6)),
        (base[::2, ::3], torch.rand(1)),
        (torch.rand(1, 5).expand(4, 5), torch.rand(5)),
        (torch.rand(12).as_strided((4, 3), (2, 1)), torch.rand(3)),
        (torch.rand(0, 3), torch.rand(3)),
        (base.flip(0), torch.rand(8)),
    ]
    for args in arguments:
        torch.testing.assert_close(f_compiled(*args), f(*args))


def test_strides_over_tensors_of_any_layout():
    def f(x, y):
        return (x * y).as_strided((2, 3), (1, 2), 1)

    x = torch.rand(4, 5)
    for args in [(x, x), (torch.rand(6, 5).t()[:4, 1:6], torch.rand(4, 5))]:
        torch.testing.assert_close(compiled(f)(*args), f(*args))


@pytest.mark.parametrize("graph_of_its_own", [True, False])
def test_sizes_that_a_call_tells(graph_of_its_own):
    def f(x):
        places = x.nonzero()
        return places * 2, x[x > 0.5].exp()

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=graph_of_its_own):
        f_compiled = compiled(f)
        for size in (5, 9):
            x = (torch.arange(size) % 3) / 2.0
            torch.testing.assert_close(f_compiled(x), f(x))


def test_two_threads_run_one_graph():
    module = Net().eval()
    made = dvm.torch.compile(module)
    arguments = [torch.rand(n, 4) for n in range(2, 30)]
    with torch.no_grad():
        expected = [module(x) for x in arguments]
        made(arguments[0])

    def run() -> list[torch.Tensor]:
        with torch.no_grad():
            return [made(x) for _ in range(20) for x in arguments]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for made_by_one in [pool.submit(run) for _ in range(2)]:
            for got, wanted in zip(made_by_one.result(), expected * 20, strict=True):
                torch.testing.assert_close(got, wanted)


def test_random_numbers_are_torchs():
    def f(x):
        return torch.nn.functional.dropout(x, 0.5) + torch.rand(x.shape) * torch.randn(3)

    x = torch.ones(5, 3)
    torch.manual_seed(3)
    expected = f(x)
    torch.manual_seed(3)
    torch.testing.assert_close(compiled(f)(x), expected)


def test_an_op_without_a_row_is_counted():
    def f(x):
        return torch.special.i0e(x) + 1

    x = torch.rand(3)
    f_compiled = compiled(f)
    report = dvm.torch.explain(f_compiled)(x)
    torch.testing.assert_close(f_compiled(x), f(x))
    assert report.count("fallback") == 1
    assert "fallback: 1 x aten.special_i0e.default" in str(report)
    torch._dynamo.reset()
    with pytest.raises(Exception, match=r"aten\.special_i0e\.default is none of"):
        compiled(f, fallback="error")(x)


def test_calls_are_ranges_of_torchs_profiler():
    f_compiled = compiled(lambda x: torch.special.i0e(x) + 1)
    x = torch.rand(3)
    f_compiled(x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        f_compiled(x)
        f_compiled(x)
    f_compiled(x)
    (graph,) = [event for event in profile.key_averages() if event.key.startswith("dvm: graph")]
    assert graph.count == 2
    assert graph.key.endswith("(inference)")
    nested = [event for event in profile.events() if event.name == "aten::special_i0e"]
    assert len(nested) == 2
    assert all(event.cpu_parent.name == graph.key for event in nested)


def test_a_graph_is_called_with_a_list():
    one = OneOp(aten.sin.default, (torch.rand(3),), {})
    for wrong in [(), ((3, torch.rand(3)),), ([3, torch.rand(3)], 1)]:
        with pytest.raises(TypeError, match="one list of arguments"):
            one.compiled(*wrong)


def test_an_embedding_whose_padding_the_call_tells():
    weight, places = torch.rand(9, 4), torch.tensor([0, 2, 2, 5])
    f = lambda w, k: torch.nn.functional.embedding(places, w, padding_idx=k)  # noqa: E731
    for padding in (2, 5, 3):
        ours, theirs = (weight.clone().requires_grad_() for _ in range(2))
        compiled(f)(ours, padding).sin().sum().backward()
        f(theirs, padding).sin().sum().backward()
        torch.testing.assert_close(ours.grad, theirs.grad)


def test_what_no_graph_holds_runs_as_in_torch():
    def f(x):
        return (x * (1 + 2j)).abs()

    x = torch.rand(3)
    f_compiled = compiled(f)
    torch.testing.assert_close(f_compiled(x), f(x))
    assert "runs as torch does: a tensor of torch.complex64" in str(
        dvm.torch.explain(f_compiled)(x)
    )


def test_results_that_torch_inferred_wrongly():
    args = (torch.zeros(5), False, False, -1)  # of which torch makes a number, and infers a matrix
    one = OneOp(aten.unique_consecutive.default, args, {})
    torch.testing.assert_close(one(args, {})[0], aten.unique_consecutive.default(*args)[0])
    (reason,) = one.compiled.record.given_up
    assert "gave" in reason


def test_an_index_out_of_range_is_torchs_error():
    x = torch.rand(3, 4)
    one = OneOp(aten.index.Tensor, (x, [torch.tensor([0, 1])]), {})
    with pytest.raises(IndexError, match="out of bounds"):
        one((x, [torch.tensor([0, 3])]), {})
    (reason,) = one.compiled.record.given_up
    assert "indices" in reason


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.inner(x)).relu()


def test_a_module_stays_one():
    module, x = Net(), torch.rand(5, 4)
    made = dvm.compile(module)
    assert isinstance(made, Net)
    assert list(made.state_dict()) == list(module.state_dict())
    assert {id(p) for p in made.parameters()} == {id(p) for p in module.parameters()}
    made.eval()
    assert not module.training
    torch.testing.assert_close(made(x), module(x))
    hook = made.register_forward_hook(lambda _module, _args, result: result + 1)
    torch.testing.assert_close(made(x), module(x))
    hook.remove()
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), copy.copy(made)):
        torch.testing.assert_close(other(x), made(x))
        assert type(other).__name__ == "Net"
    made.to(torch.float64)
    assert module.inner.weight.dtype == torch.float64
    torch.testing.assert_close(made(x.double()), module(x.double()))
    assert dvm.explain(made)(x.double()).count("fallback") == 0
    simulated = dvm.compile(module, target="ascend910b3")
    torch.testing.assert_close(simulated(x.double()), module(x.double()))
    made.train()
    made(x.double()).sum().backward()
    assert module.inner.weight.grad is not None


def test_precision_is_that_of_torch_or_the_option():
    def seen(**options):
        torch._dynamo.reset()
        plans = []
        x = torch.rand(64, 64)
        f = dvm.torch.compile(lambda x: x @ x, **options)
        made = dvm._dvm.TorchGraph
        dvm._dvm.TorchGraph = lambda *a, **k: plans.append(made(*a, **k)) or plans[-1]
        try:
            torch.testing.assert_close(f(x), x @ x, rtol=2**-7, atol=1e-2)
        finally:
            dvm._dvm.TorchGraph = made
        return ["precision = medium" in p.plan for p in plans]

    assert seen() == [False]
    assert seen(precision="medium") == [True]
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        assert seen() == [True]
        assert seen(precision="highest") == [False]
    finally:
        torch.set_float32_matmul_precision(before)
    with pytest.raises(dvm.UnsupportedError, match="there is no precision 'low'"):
        dvm.torch.compile(lambda x: x, precision="low")


def test_a_graph_that_nothing_has_initialised():
    graph = _dvm.TorchGraph.__new__(_dvm.TorchGraph)
    with pytest.raises(TypeError, match="this graph was not initialised"):
        graph([])


WITH_THREADS = """
import os, sys, torch, dvm.torch
torch.set_num_threads(1)
made = dvm.torch.compile(lambda x: x.exp().sin().abs(), threads=eval(sys.argv[1]))
threads = []
for size in (4, 3_000_000):
    x = torch.linspace(-3, 3, size)
    torch.testing.assert_close(made(x), x.exp().sin().abs())
    threads.append(len(os.listdir("/proc/self/task")))
used = len(dvm.profile(made)(x).threads)
print(threads[1] - threads[0], used <= (eval(sys.argv[1]) or 4))
"""


@pytest.mark.parametrize(("threads", "started"), [(None, 3), (2, 3), (1, 0), (9, 3)])
def test_threads(threads, started):
    """Those of the process start with the first kernel that is large enough for several."""
    done = subprocess.run(
        [sys.executable, "-c", WITH_THREADS, str(threads)],
        env=os.environ | {"DVM_NUM_THREADS": "4"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(started), "True"]


def test_a_function_on_tensors():
    f = dvm.torch.compile(lambda x, y: (x @ y).sum(0), numerics="strict")
    x, y = torch.rand(3, 4), torch.rand(4, 2)
    torch.testing.assert_close(f(x, y), (x @ y).sum(0))
    with pytest.raises(TypeError, match="takes a module or a function"):
        dvm.torch.compile(3)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_results_are_views_of_each_other_in_any_order(order):
    def call(x):
        made = x + 1
        parts = (made, made[:, :2], made.t(), made[1:, 1::2])
        return [parts[k] for k in order]

    torch._dynamo.reset()
    with torch.no_grad():
        results, wanted = (f(torch.rand(4, 5)) for f in (torch.compile(call, backend="dvm"), call))
    for result, like in zip(results, wanted, strict=True):
        assert result.shape == like.shape
        assert result.untyped_storage().data_ptr() == results[0].untyped_storage().data_ptr()
    results[0].zero_()
    assert min(int((result == 0).sum()) for result in results) > 0


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_function_that_calls_what_is_compiled_is_explained_by_its_graphs(is_compiled):
    model = dvm.compile(torch.nn.Linear(4, 4))

    def f(x):
        return model(x) + 1

    model(torch.ones(3, 4))  # finds out that it is the backend's, where gradients are kept
    function = dvm.compile(f) if is_compiled else f
    for report in (dvm.explain(function)(torch.ones(3, 4)), dvm.explain(f)(x=torch.ones(3, 4))):
        (graph,) = report.graphs
        assert graph.kind == "forward"
    assert dvm.explain(lambda x: x + 1)(torch.ones(3)).outcome == "captured"
    kept = dvm.explain(lambda x: x + 1)(torch.ones(3, requires_grad=True))
    assert (kept.outcome, "gradients" in kept.paths[0]["reason"]) == ("fallback", True)
