"""`dvm.compile`: from a Python function to a compiled function.

Nothing is compiled here. The native type (cpp/bindings/compiled_type.cpp) takes every call: the
first one of a kind runs the original under the tracer and is lowered by `dvm.magpy_capture`, which
is only imported then.
"""

from __future__ import annotations

import _thread
import functools
import gc
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, overload

from dvm import _dvm, classes, errors, own_warnings, reasons
from dvm.handlers import is_of_a_signal

P = ParamSpec("P")
R = TypeVar("R")

PRECISIONS = ("highest", "high", "medium")
NUMERICS = ("default", "strict")
#: stands for `fn` in `dvm.compile(target=...)`
NOTHING: Any = object()
#: flags of code whose call only makes an object that computes later
ONE_STEP = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

#: Of a statement that was moved out; with more, and fewer calls served, it moves back.
MOST_PATHS_MOVED = 16
# Held while a thread imports what only a first compilation needs. A fork waits for it: in the child
# nobody would go on with the import, and its own would wait for that for ever.
_importing = _thread.RLock()
os.register_at_fork(
    before=_importing.acquire,
    after_in_parent=_importing.release,
    after_in_child=_importing.release,
)
# What other threads were in the midst of is over in the child.
os.register_at_fork(after_in_child=_dvm.after_fork)


@dataclass(frozen=True)
class Options:
    """How a function is compiled.

    target: "cpu", or a simulated NPU such as "ascend910b3" (`python -m dvm env` lists them).
    numerics: "default" computes float16 in float32 within a fused kernel; "strict" rounds after
        each operation, as NumPy does.
    precision: of products of float32 matrices, as in torch.set_float32_matmul_precision. "highest"
        multiplies what is there. Where the processor is faster with bfloat16, and the result has
        more than a few rows, "high" may take each factor for a sum of two of them
        (processors with AMX), "medium" for one (those, and AMD's with AVX512-BF16); elsewhere both
        are "highest". Sums stay float32. Beside what these round, an element is off by at most
        3 * 2**-16 ("high") or 2**-7 ("medium") of the sum of its products' magnitudes, and what is
        subnormal counts as zero. Such products raise no floating-point warnings.
    passes: of your own, in their order (docs/passes.md).
    """

    target: str = "cpu"
    numerics: str = "default"
    precision: str = "highest"
    passes: Any = None

    def __post_init__(self) -> None:
        if self.target not in _dvm.target_names:
            raise errors.unknown("unknown_target", "target", self.target, _dvm.target_names)
        if self.numerics not in NUMERICS:
            raise errors.unknown("unknown_name", "numerics", self.numerics, NUMERICS)
        if self.precision not in PRECISIONS:
            raise errors.unknown("unknown_name", "precision", self.precision, PRECISIONS)
        if self.passes is not None:
            from dvm.passes import pass_set

            object.__setattr__(self, "passes", pass_set.pass_set(self.passes))


@overload
def compile(
    fn: Callable[P, R],
    *,
    target: str = ...,
    numerics: str = ...,
    precision: str = ...,
    passes: Iterable[Any] | None = ...,
    name: str | None = ...,
) -> _dvm.Compiled[P, R]: ...
@overload
def compile(
    *,
    target: str = ...,
    numerics: str = ...,
    precision: str = ...,
    passes: Iterable[Any] | None = ...,
    name: str | None = ...,
) -> Callable[[Callable[P, R]], _dvm.Compiled[P, R]]: ...
def compile(
    fn: Any = NOTHING,
    *,
    target: str = "cpu",
    numerics: str = "default",
    precision: str = "highest",
    passes: Iterable[Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return a callable with the signature and the behaviour of `fn`, which compiles itself.

    Use it as a function, `f = dvm.compile(fn)`, or as a decorator with or without arguments. What
    cannot be compiled runs as it is; `f.fallback_reasons` and `dvm.explain(f)` say what and why.

    Args:
        fn: a Python function over NumPy arrays and Python numbers; or what calls one: a bound
            method, a functools.partial, an object whose class has `__call__`. Or a module of
            PyTorch, which stays one: see `dvm.torch.compile`, for functions on tensors, too.
        target: where the compiled part runs; see `Options`.
        numerics: "default" or "strict"; see `Options`.
        precision: "highest", "high" or "medium"; see `Options`.
        passes: passes of `dvm.passes` over what is compiled, in their order (docs/passes.md). One
            that fails is the reason why calls run uncompiled, with a warning.
        name: what reports call the function; its qualified name when None.

    Raises:
        UnsupportedError: for an unknown target, numerics or precision.
        TypeError: if `fn` is no such thing.
        CaptureError: for a function, on another Python than CPython 3.11, 3.13 and 3.14. Modules of
            PyTorch go through torch.compile there.
    """
    if fn is NOTHING:
        options = Options(target, numerics, precision, passes)  # refuses what there is not
        return lambda function: compile(function, name=name, **vars(options))
    if type(fn) is _dvm.Compiled:
        fn = fn.given
    how: Any = {"target": target, "numerics": numerics, "precision": precision, "passes": passes}
    if is_module(fn) and _dvm.can_capture:
        from dvm.torch import modules

        return modules.compile(fn, name=name, **how)
    if is_module(fn) or is_by_torch_compile(fn):
        from dvm.torch import modules, traced

        return traced.compile(fn, **modules.backend_options(**how))
    return compile_function(fn, name=name, **how)


def compile_function(
    fn: Any,
    *,
    target: str,
    numerics: str,
    precision: str,
    passes: Iterable[Any] | None = None,
    name: str | None,
) -> _dvm.Compiled[..., Any]:
    """As `compile`, of what is captured alike whatever it is: a function, or what calls one."""
    options = Options(target, numerics, precision, passes)
    given, fn = fn, _function_for(fn)
    if not isinstance(fn, types.FunctionType):
        raise TypeError(_what_to_compile(fn))
    if not _dvm.can_capture:
        here = ".".join(map(str, sys.version_info[:2]))
        raise errors.make(
            "other_cpython",
            f"dvm.compile captures Python functions on CPython 3.11, 3.13 and 3.14, not on {here}",
        )
    with _importing:  # the lowering names the functions that the recorder must not enter
        from dvm import magpy_capture, repro  # noqa: F401
        from dvm.explaining import inspection  # noqa: F401

        magpy_capture.look_around()

    compiled = _dvm.compile(fn)
    # functools.update_wrapper but for __wrapped__, which the native type itself answers.
    for attribute in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(fn, attribute):
            setattr(compiled, attribute, getattr(fn, attribute))
    vars(compiled).update(vars(fn))
    compiled.given = given
    compiled.options = options
    compiled.label = name or fn.__qualname__
    compiled.recorded = {}
    compiled.parts = compiled.cut = compiled.moved_from = None
    if fn.__code__.co_flags & ONE_STEP:
        reason: Any = compiled.fallback_reasons[0]
        own_warnings.warn(f"{compiled.label} runs uncompiled: {reason}. Hint: {reason.advice}.", 2)
    return compiled


def has_tensors(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call is given tensors of PyTorch, so that only its graphs can come of it."""
    torch = sys.modules.get("torch")
    return torch is not None and any(
        isinstance(value, torch.Tensor) for value in (*args, *kwargs.values())
    )


def is_module(fn: Any) -> bool:
    """Whether it is a module of PyTorch, if PyTorch is there at all, and nobody compiled it."""
    module_class = getattr(getattr(sys.modules.get("torch"), "nn", None), "Module", None)
    return (
        module_class is not None
        and issubclass(type(fn), module_class)
        and not issubclass(type(fn), _kinds_by_dynamo())
    )


def is_by_torch_compile(fn: Any) -> bool:
    """Whether torch.compile made it."""
    if issubclass(type(fn), _kinds_by_dynamo()):
        return True
    # It makes functions of functions; an object of another kind may see who asks it.
    is_function = "torch" in sys.modules and type(fn) is types.FunctionType
    return is_function and "_torchdynamo_orig_callable" in vars(fn)


def _kinds_by_dynamo() -> tuple[type, ...]:
    """What torch.compile makes of modules, once it has been used."""
    made = getattr(sys.modules.get("torch._dynamo"), "OptimizedModule", None)
    return () if made is None else (made,)


def _what_to_compile(given: Any) -> str:
    """Return why this is nothing to compile, and what is."""
    if isinstance(given, staticmethod | classmethod):
        kind = type(given).__name__
        return f"dvm.compile needs a function: write @{kind} above @dvm.compile"
    if given is None:
        return "dvm.compile was given None: what made it, a decorator perhaps, returns nothing"
    if isinstance(given, list | tuple | dict | set):
        kind = type(given).__name__
        return f"dvm.compile takes one function, not a {kind}: [dvm.compile(f) for f in functions]"
    if isinstance(given, str | bytes):
        return "dvm.compile takes a function, not its text or name: define it with def, and pass it"
    name = getattr(given, "__name__", None)
    if isinstance(given, type):
        return (
            f"dvm.compile needs a Python function, not the class {name}: compile its methods, each "
            "with @dvm.compile"
        )
    kind, of_numpy = type(given).__name__, type(given).__module__.partition(".")[0] == "numpy"
    wrapped = getattr(given, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType) and not of_numpy:
        return (
            f"dvm.compile needs a Python function, not the {kind} around "
            f"{wrapped.__name__}: compile the function under it, with @dvm.compile as the last "
            "decorator above def"
        )
    if callable(given):
        called = f"np.{name}" if of_numpy else name or "function"
        return (
            f"dvm.compile needs a function written in Python, not the {kind} {name or given!r}: "
            f"call it within one, as in dvm.compile(lambda x: {called}(x))"
        )
    return f"dvm.compile needs a Python function, not the {kind} {given!r:.40}"


def _function_for(fn: Any) -> Any:
    """The function to record: `fn`, or one that calls it where it holds a function and arguments.

    So the object is reached through a closure: what it holds is looked at on each call.
    """
    if issubclass(type(fn), type):
        return fn
    bound = issubclass(type(fn), types.MethodType | functools.partial)
    if not bound and type(classes.lookup(type(fn), "__call__")) is not types.FunctionType:
        return fn

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    called = fn
    if classes.is_mutable_class(cls := type(fn)):  # it may see that somebody asks for its name
        called = types.MethodType(classes.lookup(cls, "__call__"), fn)
        call.__name__, call.__qualname__ = classes.name_of(cls), classes.qualname_of(cls)
        call.__module__, call.__doc__ = classes.module_of(cls), classes.lookup(cls, "__doc__")
    else:
        functools.update_wrapper(call, getattr(fn, "func", fn), updated=())
        del call.__wrapped__  # type: ignore[attr-defined]
    call.__signature__ = inspect.signature(called)  # type: ignore[attr-defined]
    return call


def _lower(
    compiled: _dvm.Compiled[..., Any], recording: Any, _arguments: tuple[Any, ...], nanos: int
) -> Any:
    """Lower one recording; what that would take, if it is longer than so many nanoseconds, or None.

    The call has run already and its result is the caller's, so nothing may be raised here but what
    a signal's handler raises: a bug becomes the reason of a fallback, with a warning.
    """
    from dvm import magpy_capture, repro
    from dvm.explaining import inspection

    if magpy_capture.look_around():
        return None  # it was recorded before anybody knew what tensors are
    if compiled.moved_from is not None and not compiled.moved_from.has(compiled):
        return None
    # A recording is many objects; to look through them again and again takes a fifth of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        spec = magpy_capture.lower(compiled, recording, nanos)
        inspection.record(compiled, spec)
        if compiled.cut is not None and compiled.cut.code is not compiled.__wrapped__.__code__:
            compiled.parts = compiled.cut = None  # parts of code that was replaced
        if spec.reason:
            _cut(compiled, spec.reason, spec.refused_lines)
            if compiled.parts is not None and spec.steps_before_loop is not None:
                spec.steps = spec.steps_before_loop  # it runs in parts, whatever the loop's count
        elif compiled.moved_from is not None and not _pays(compiled, spec.computes):
            compiled.moved_from.leave(compiled)
        return spec
    except magpy_capture.OutOfTime as over:
        return int(nanos / over.share)
    except Exception as error:
        if is_of_a_signal(error):
            raise
        what = f"lowering {compiled.label}: {type(error).__name__}: {error}"
        bug = errors.make("internal", what + repro.written(compiled, recording, error))
        own_warnings.warn(str(bug), stacklevel=2)
        reason = reasons.BUG(bug)
        return magpy_capture.PathSpec(reason=reason, steps=[("fallback", reason, ("", 0))])
    finally:
        if collects:
            gc.enable()


def _pays(compiled: _dvm.Compiled[..., Any], computes: bool) -> bool:
    """Whether to go on calling what was moved out of a function: nobody asked for it to be one."""
    stats = compiled.stats
    return computes and not stats.hits < stats.captures > MOST_PATHS_MOVED


def _cut(compiled: _dvm.Compiled[..., Any], reason: str, lines: list[int]) -> None:
    """Let the function run in parts, of which that with these lines stays as it is."""
    from dvm.splitting import compiled_parts

    if compiled.moved_from is not None:
        compiled.moved_from.refuse(lines)
    elif compiled.cut is None and reasons.may_be_cut_at(reason):
        compiled_parts.Cut(compiled, lines, compile)


_dvm.set_lower(_lower)
