"""Compiled modules, which stay modules, and the way that a call of one takes.

`dvm.compile(module)` records and replays as it does for functions; calls that are refused there,
those that keep gradients above all, go through torch.compile. Dynamo, whose import takes seconds,
comes with the first of these.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from dvm import _dvm, compiling, own_warnings, splitting
from dvm.stances import stance


def backend_options(
    target: str, numerics: str, precision: str, passes: Any = None
) -> dict[str, Any]:
    """Options of `dvm.compile` as the backend has them: what is not asked for is as torch says."""
    chosen: dict[str, Any] = {} if precision == "highest" else {"precision": precision}
    if passes is not None:
        chosen["passes"] = passes
    return {"target": target, "numerics": numerics, **chosen}


class Captured:
    """A module as dvm's own capture has it: how a call goes.

    Calls that keep gradients, and those that the capture refuses, go through torch.compile.
    """

    #: nanoseconds that the last module took on its way through torch.compile; before the first,
    #: what Dynamo's import and a small model's graph do
    took = 3_000_000_000

    def __init__(self, module: torch.nn.Module, options: dict[str, Any]) -> None:
        self.module = module
        self._policy = _dvm.Policy()  # towards torch.compile
        self.compiled = compiling.compile_function(module, **options)
        self.code = self.compiled.__wrapped__.__code__
        self._traced: Callable[..., Any] | None = None
        self._is_refused: bool | None = None  # what keeps gradients; None: nobody knows yet
        self.compiled.cut = self  # nor is it to run in parts of its own
        _dvm.set_parts(self.compiled, (splitting.End, (self.through_torch, 0)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.keeps_gradients(args, kwargs):
            return self.compiled(*args, **kwargs)
        if self._is_refused is None and not is_saved_elsewhere():
            with self.finding_out():
                return self.compiled(*args, **kwargs)
        goes_natively = self._is_refused is False
        return (self.compiled if goes_natively else self.through_torch)(*args, **kwargs)

    @contextlib.contextmanager
    def finding_out(self) -> Iterator[None]:
        """A call that keeps gradients says whether such are refused, if none has said it yet.

        They are not where all runs without gradients. At any price, which is milliseconds, for
        torch.compile takes seconds.
        """
        before = len(_dvm.paths(self.compiled))
        waits = self._is_refused is None and _dvm.stance() == "default"
        with stance("force_capture") if waits else contextlib.nullcontext():
            yield
        if self._is_refused is None and len(paths := _dvm.paths(self.compiled)) > before:
            self._is_refused = bool(paths[-1]["reason"])

    def goes_through_torch(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether it is known that such a call does, for its gradients."""
        if not self.keeps_gradients(args, kwargs):
            return False
        return bool(self._is_refused) or (self._is_refused is None and is_saved_elsewhere())

    def keeps_gradients(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether a parameter or an argument wants one; of containers, the capture finds out."""
        if not torch.is_grad_enabled():
            return False
        given = (each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor))
        return any(each.requires_grad for each in given) or has_trained(self.module)

    def through_torch(self, *args: Any, **kwargs: Any) -> Any:
        """Call it by Dynamo's graphs, once its calls have taken as long as making these does."""
        if self._traced is not None:
            return self._by_graphs(*args, **kwargs)
        may_wait = _dvm.stance() == "default" and not is_saved_elsewhere()
        if may_wait and not self._policy.may_capture(Captured.took):
            return self._plain(*args, **kwargs)
        begin = time.thread_time_ns()
        from dvm.torch import backend, traced

        options = backend_options(**vars(self.compiled.options))
        self._traced = traced.traced(self.module, vars(backend.Options.of(options)))
        try:
            return self._by_graphs(*args, **kwargs)
        finally:
            Captured.took = time.thread_time_ns() - begin

    def _plain(self, *args: Any, **kwargs: Any) -> Any:
        if not self._policy.wants_plain():
            return self.module(*args, **kwargs)
        begin = time.thread_time_ns()
        try:
            return self.module(*args, **kwargs)
        finally:
            self._policy.plain(time.thread_time_ns() - begin)

    def _by_graphs(self, *args: Any, **kwargs: Any) -> Any:
        assert self._traced is not None
        try:
            return self._traced(*args, **kwargs)
        except torch._dynamo.exc.TorchDynamoException as error:
            from dvm.torch.traced import nothing_ran

            if not nothing_ran(error, self.module):
                raise
            refusal = str(error)
        # Here, so that an error of the program's own does not come from Dynamo's.
        result = self.module(*args, **kwargs)
        what = f"{self.compiled.label} runs uncompiled, torch.compile refused a call: {refusal}"
        own_warnings.warn(what, 2)
        return result


def has_trained(module: torch.nn.Module) -> bool:
    """Whether a parameter of a module, or of one within it, wants a gradient.

    On every call, so not by `module.parameters()`, which takes four times as long.
    """
    pending, met = [module], set[torch.nn.Module]()
    while pending:
        each = pending.pop()
        if any(p is not None and p.requires_grad for p in each._parameters.values()):
            return True
        met.add(each)
        pending += [m for m in each._modules.values() if m is not None and m not in met]
    return False


def is_saved_elsewhere() -> bool:
    """Whether somebody takes what calls save for their gradients, as torch.utils.checkpoint does.

    It may call again for them, and wants as many then: both calls have to go one way.
    """
    return torch._C._autograd._top_saved_tensors_default_hooks(False) is not None


def compile(module: torch.nn.Module, /, **options: Any) -> CompiledModule:
    """Return the module compiled by dvm's own capture; see `dvm.compile`, and its options."""
    if isinstance(module, CompiledModule):
        module = module.original
    return wrapped(module, Captured(module, options), compile, options)


def wrapped(
    module: torch.nn.Module,
    call: Callable[..., Any],
    compiles: Callable[..., torch.nn.Module],
    options: dict[str, Any],
) -> CompiledModule:
    """Return a module of the same class and state that `call` is called for.

    compiles: makes one of another module, with these options.
    """
    made: CompiledModule = object.__new__(_class_for(module.__class__))
    # One __dict__ for both: parameters, hooks, `training`, and what users set.
    object.__setattr__(made, "__dict__", module.__dict__)
    again = functools.partial(compiles, **options)
    for slot, value in (("call", call), ("original", module), ("again", again)):
        object.__setattr__(made, slot, value)
    return made


class CompiledModule(torch.nn.Module):  # type: ignore[misc]
    """What a compiled module is besides its own class.

    call: what was compiled. original: the module as it was given. again: compiles another alike.
    """

    #: what is asked of a compiled function, and of such a module where it has no such name itself
    OF_COMPILED = frozenset(
        {"stats", "fallback_reasons", "inspect", "why_recompiled", "why_not_fused"}
    )
    # Beside the __dict__, which is the original's.
    __slots__ = ("again", "call", "original")
    call: Any
    again: functools.partial[torch.nn.Module]
    original: torch.nn.Module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_dynamo_compiling():  # in a graph of others it is the module
            return self.original(*args, **kwargs)
        return self.call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name not in self.OF_COMPILED or not isinstance(self.call, Captured):
                raise
        return getattr(self.call.compiled, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.nn.Module:
        return self.again(copy.deepcopy(self.original, memo))

    def __copy__(self) -> torch.nn.Module:
        return self.again(copy.copy(self.original))

    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, ...]:
        return self.again, (self.original,)


@functools.cache
def _class_for(kind: Any) -> Any:
    """Return a subclass of a module's class whose instances call what was compiled."""
    return type(kind)(
        kind.__name__, (CompiledModule, kind), {"__slots__": (), "__module__": kind.__module__}
    )
