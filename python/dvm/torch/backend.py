"""The backend of torch.compile: `torch.compile(model, backend="dvm")`."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch.fx import GraphModule
from torch.optim.optimizer import register_optimizer_step_post_hook

from dvm import _dvm, errors
from dvm.compiling import NUMERICS, PRECISIONS
from dvm.passes.pass_set import pass_set
from dvm.torch import graphs, layouts, tensors  # noqa: F401
from dvm.torch.decompositions import decompositions
from dvm.torch.partition import partition
from dvm.torch.reports import GraphRecord
from dvm.torch.symbols import Untranslatable

_dvm.use_placement(layouts.placed_copy)
_dvm.use_profiler(torch.autograd.profiler, torch.autograd.profiler.record_function)

FALLBACKS = ("torch", "error")
MOST_THREADS = 1024


@dataclass(frozen=True)
class Options:
    """What `torch.compile(options={...})` may say.

    target: where compiled ops run: "cpu", or a simulated NPU such as "ascend910b3" (`python -m dvm
        env` lists them). What torch computes stays on the cpu.
    numerics: "default" computes halves in f32 within a fused kernel; "strict" rounds after each
        operation, as torch does.
    precision: of products of float32, as `dvm.Options` has it; None: what
        `torch.get_float32_matmul_precision()` says when a graph is compiled.
    frozen: whether products in inference arrange parameters and buffers of a module for the
        processor once, which takes as much memory again, instead of on every call. Writes that
        torch counts are noticed, steps of an optimizer of torch.optim's, and parameters that others
        take the place of; other writes through `.data`, or past torch, are not.
    threads: the most that a call computes on, the calling one included; None: as many as dvm has
        in this process. Of what torch computes, `torch.set_num_threads` tells.
    passes: of your own, in their order (docs/passes.md).
    fallback: "torch" runs ops without a row in docs/torch-ops.md as torch does, and counts them;
        "error" raises UnsupportedError for them instead.
    """

    target: str = "cpu"
    numerics: str = "default"
    precision: str | None = None
    frozen: bool = False
    threads: int | None = None
    fallback: str = "torch"
    passes: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "passes", pass_set(self.passes))
        table = {"numerics": NUMERICS, "precision": PRECISIONS, "fallback": FALLBACKS}
        if self.target not in _dvm.target_names:
            raise errors.unknown("unknown_target", "target", self.target, _dvm.target_names)
        if self.precision is None:
            del table["precision"]
        if not isinstance(self.frozen, bool):
            raise errors.unknown("unknown_name", "frozen", self.frozen, ["False", "True"])
        if self.threads is not None and not _is_thread_count(self.threads):
            valid_counts = ["None", f"1 to {MOST_THREADS}"]
            raise errors.unknown("unknown_name", "threads", self.threads, valid_counts)
        for name, valid in table.items():
            if getattr(self, name) not in valid:
                raise errors.unknown("unknown_name", name, getattr(self, name), valid)

    @staticmethod
    def of(given: Mapping[str, Any]) -> Options:
        names = [field.name for field in fields(Options)]
        for name in given:
            if name not in names:
                raise errors.unknown("unknown_name", "option", name, names)
        return Options(**given)


def _is_thread_count(threads: Any) -> bool:
    return type(threads) is int and 1 <= threads <= MOST_THREADS


def backend(
    module: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    **others: Any,
) -> Callable[..., Any]:
    """Compile a graph of Dynamo's; torch calls this.

    Raises UnsupportedError for unknown options, and for modes, which dvm has none of.
    """
    if others.get("mode") not in (None, "default"):
        raise errors.unknown("unknown_name", "mode", others["mode"], ["default"])
    chosen = Options.of(options or {})
    handed_over: list[str] = []

    def compiler(kind: str) -> Callable[..., Any]:
        def compile_one(graph: GraphModule, inputs: Sequence[Any]) -> Any:
            handed_over.append(kind)
            return compile_graph(graph, inputs, options=chosen, kind=kind)

        return compile_one

    def compiled(table: dict[Any, Any]) -> Callable[..., Any]:
        made: Callable[..., Any] = aot_autograd(
            fw_compiler=compiler("forward"),
            bw_compiler=compiler("backward"),
            inference_compiler=compiler("inference"),
            decompositions=table,
            partition_fn=partition,
            keep_inference_input_mutations=True,
        )(module, example_inputs)
        return made

    try:
        return compiled(decompositions())
    except torch._dynamo.exc.RestartAnalysis:
        raise  # no refusal: Dynamo traces once more, knowing better
    except Exception:
        if handed_over:
            raise
        # Some of torch's decompositions refuse what their ops take, complex numbers mostly. Where
        # they are not to blame, the same error comes again.
        return compiled({})


def compile_graph(
    module: GraphModule, _example_inputs: Sequence[Any], *, options: Options, kind: str
) -> Any:
    """Compile a graph of AOTAutograd's: a callable that takes one list, and empties it."""
    record, begin = GraphRecord(kind), time.perf_counter()
    context = TracingContext.try_get()
    if kind == "backward" and context is not None and context.fw_metadata is not None:
        # No memory is taken from arguments, so a graph may be gone through backwards twice.
        context.fw_metadata.bw_donated_idxs = []
    precision = options.precision or torch.get_float32_matmul_precision()
    try:
        has_exact_products = options.target == "cpu" and precision == "highest"
        returned = _returned(context, kind)
        lowered = graphs.lower(module, options.fallback, has_exact_products, returned)
        compiled = _dvm.TorchGraph(
            lowered.graph,
            target=options.target,
            strict=options.numerics == "strict",
            precision=precision,
            threads=options.threads or 0,
            functions=lowered.functions,
            arguments=lowered.arguments,
            results=lowered.results,
            returned=returned if kind == "forward" else None,
            written=lowered.written,
            held=lowered.held,
            frozen=_weights(lowered, context) if options.frozen and kind == "inference" else [],
            label=f"dvm: graph {record.number} ({kind})",
            otherwise=_otherwise(module, record, options.fallback),
            passes=None if options.passes is None else options.passes.native,
        )
    except errors.PassError as error:
        raise error from options.passes.take_cause()
    except (Untranslatable, errors.GraphError, errors.ShapeError) as reason:
        if options.fallback == "error":
            raise errors.make("unsupported", f"the graph has {reason}") from reason
        return _uncompiled(module, record, str(reason))
    if context is not None and (metadata := context.fw_metadata) is not None:
        counted = metadata.mutated_graph_handled_indices_seen_by_autograd
        counted[:] = [k for k in counted if k not in lowered.uncounted]
    record.ops, record.refusals = lowered.ops, lowered.refusals
    record.seconds = time.perf_counter() - begin
    record.belongs_to(compiled)
    return compiled


def _weights(lowered: graphs.Lowered, context: Any) -> list[int]:
    """Which arguments are parameters and buffers of a module, as the graph may pack them."""
    _notice_optimizers()
    metadata = context.fw_metadata if context is not None else None
    found = metadata.static_input_indices if metadata is not None else None
    return [k for k in found or [] if lowered.arguments[k][0] == "tensor"]


@functools.cache
def _notice_optimizers() -> None:
    """Have what was packed of weights forgotten when an optimizer has taken a step with them.

    torch counts no writes of its fused optimizers, nor those of others that write to `.data`.
    """

    @torch._dynamo.disable  # type: ignore[untyped-decorator]
    def forget(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        _dvm.forget_packed([p for group in optimizer.param_groups for p in group["params"]])

    register_optimizer_step_post_hook(forget)


def _returned(context: Any, kind: str) -> int | None:
    """How many results of a graph the program gets; None: all of them."""
    if kind == "inference" or context is None or context.fw_metadata is None:
        return None
    return 0 if kind == "backward" else int(context.fw_metadata.num_forward_returns)


def _otherwise(
    module: GraphModule, record: GraphRecord, fallback: str
) -> Callable[[tuple[Any, ...], str], list[Any]]:
    """What takes the calls that a compiled graph gives up: torch runs them, with its own errors."""

    def otherwise(args: tuple[Any, ...], reason: str) -> list[Any]:
        if fallback == "error":
            raise errors.make("wrong_arguments", reason)
        record.given_up[reason] += 1
        return list(module(*args))

    return otherwise


class Uncompiled:
    """A graph that torch runs, all of it."""

    def __init__(self, module: GraphModule) -> None:
        self._module = module
        self._calls = 0

    def __call__(self, args: list[Any]) -> list[Any]:
        given = list(args)
        args.clear()
        self._calls += 1
        return list(self._module(*given))

    def stats(self) -> dict[str, Any]:
        return {"calls": self._calls}


def _uncompiled(module: GraphModule, record: GraphRecord, reason: str) -> Uncompiled:
    record.reason = reason
    called = (node.target for node in module.graph.nodes if node.op == "call_function")
    record.ops["fallback"].update(map(graphs.name_of, called))
    made = Uncompiled(module)
    record.belongs_to(made)
    return made
