"""`dvm.profile` of modules and functions on tensors: the graphs that a call of one runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from dvm import _dvm, errors
from dvm.compiling import compile, is_module
from dvm.profiling.profile import Profile, profile_of
from dvm.profiling.subjects import FunctionSubject, Subject
from dvm.torch import modules, reports, traced


class TorchSubject:
    """What calls graphs of torch: a compiled module or function, or any function that calls such.

    A graph that `torch.compile` handed over is a path: forward and backward, and each part between
    graph breaks. They are known once `serve` has called it.
    """

    def __init__(self, fn: Callable[..., Any], target: str | None) -> None:
        self._fn = fn if target is None else _for_target(fn, target)
        self._graphs: list[_dvm.TorchGraph] = []
        self._paths: list[_dvm.PathRecord] = []
        self.name: str = getattr(fn, "__qualname__", type(fn).__qualname__)
        self.target = target or "cpu"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._fn(*args, **kwargs)

    def serve(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], _watched: bool, /
    ) -> tuple[Any, _dvm.WatchedCall] | None:
        self(*args, **kwargs)
        ran = reports.explain(self)(*args, **kwargs).graphs
        self._graphs = [g for record in ran if (g := record.compiled_graph()) is not None]
        self._paths = []
        if self._graphs:
            self.target = self._graphs[0].target
            return None
        why = next((record.reason for record in ran), "it runs no graph that dvm compiled")
        raise errors.make("capture_refused", f"{self.name} runs uncompiled: {why}")

    def paths(self) -> list[_dvm.PathRecord]:
        # Describing a graph compiles it once more, and a page or what-if asks several times.
        if not self._paths:
            self._paths = [graph.describe() for graph in self._graphs]
        return self._paths

    def watch(
        self, keeps: bool, room: int, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, _dvm.WatchedCall]:
        return _dvm.watch_call(self, self._graphs, keeps, room, *args, **kwargs)

    def first_call(self, _args: Sequence[Any], _kwargs: Mapping[str, Any], /) -> dict[str, int]:
        return {}


class ModuleSubject:
    """A module of `dvm.compile`: its own path, or graphs of torch where those serve the call."""

    def __init__(self, call: modules.Captured) -> None:
        self._call = call
        self._way: FunctionSubject | TorchSubject = FunctionSubject(call.compiled)
        self.name: str = call.compiled.label
        self.target: str = call.compiled.options.target

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def serve(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], watched: bool, /
    ) -> tuple[Any, _dvm.WatchedCall] | None:
        if not self._call.keeps_gradients(args, kwargs):
            try:
                return self._way.serve(args, kwargs, watched)
            except _dvm.CaptureError:
                pass  # the graphs of torch say more
        self._way = TorchSubject(self._call, None)
        self._way.name, self._way.target = self.name, self.target
        return self._way.serve(args, kwargs, watched)

    def paths(self) -> list[_dvm.PathRecord]:
        return self._way.paths()

    def watch(
        self, keeps: bool, room: int, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, _dvm.WatchedCall]:
        return self._way.watch(keeps, room, args, kwargs)

    def first_call(self, args: Sequence[Any], kwargs: Mapping[str, Any], /) -> dict[str, int]:
        return self._way.first_call(args, kwargs)


def subject_of(fn: Callable[..., Any], target: str | None) -> Subject:
    """Return a module, or what torch.compile made, as a subject; compiled, if it is not yet."""
    if is_module(fn) and not isinstance(fn, modules.CompiledModule):
        fn = compile(fn)
    if isinstance(fn, modules.CompiledModule) and isinstance(fn.call, modules.Captured):
        if target not in (None, fn.call.compiled.options.target):
            return subject_of(fn.again(fn.original, target=target), None)
        return ModuleSubject(fn.call)
    is_compiled = isinstance(fn, modules.CompiledModule) or _original(fn) is not fn
    return TorchSubject(fn, target or (None if is_compiled else "cpu"))


def profile(fn: Callable[..., Any], *, target: str | None = None) -> Callable[..., Profile]:
    """Return a function that calls `fn` and returns a `dvm.Profile` of the graphs that it runs.

    As `dvm.profile`, which takes compiled modules and functions; this one takes any function that
    calls such, a step of training with its backward graph for example. With `target`, `fn` itself
    is compiled for that one.

    Raises:
        UnsupportedError: for an unknown target.
    """
    return profile_of(TorchSubject(fn, target), {})


def _for_target(fn: Callable[..., Any], target: str) -> Callable[..., Any]:
    """Return it compiled for a target, as it is compiled already otherwise."""
    if isinstance(fn, modules.CompiledModule):
        return fn.again(fn.original, target=target)  # type: ignore[no-any-return]
    return traced.compile(_original(fn), target=target)  # type: ignore[no-any-return]


def _original(fn: Any) -> Callable[..., Any]:
    """What torch.compile was given; a function or module that it did not make itself."""
    if isinstance(fn, torch._dynamo.OptimizedModule):
        return fn._orig_mod  # type: ignore[no-any-return]
    return getattr(fn, "_torchdynamo_orig_callable", fn)  # type: ignore[no-any-return]
