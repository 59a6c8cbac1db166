"""`dvm.save`: what a captured function computes with arrays, as a graph in a file.

A call is recorded once more and lowered for a file: objects of the program are what they are now.
Of that the Graph of the results is taken, and what the path has asked of sizes. What would need
Python when the file is run is refused, with its line.
"""

from __future__ import annotations

import inspect
import os
import types
from typing import Any, Never

from dvm import _dvm, errors
from dvm.compiling import compile, is_by_torch_compile, is_module
from dvm.graphs import CompiledGraph
from dvm.saving.refusals import refused


def save(fn: Any, path: str | os.PathLike[str], *misplaced: Never, **named: Never) -> Any:
    """Return a function that saves what a call of `fn` with its arguments computes.

        dvm.save(f, "f.dvm")(x, weight)

    fn: a compiled function or module, or a plain one. The call is an example: the original runs
    once. Arrays and numbers among the arguments are inputs of the graph, under the names of the
    parameters, for any sizes that take the same way through the function; arrays that it reaches
    otherwise, such as globals and weights of a module, are constants, as they are now. Other
    arguments are as in the example. Results are the arrays of what it gives, in C order.

    Raises, when the call is made:
        CaptureError: where something of Python would be needed: effects, branches on elements,
            functions that dvm does not know, loops that are not part of the graph. The message says
            what and where.
        OSError: where the file cannot be written.
    """
    if misplaced or named:
        raise errors.misplaced("save")
    if is_by_torch_compile(fn):
        raise refused("it is compiled by torch.compile; give the module or function itself")
    compiled: Any = fn if isinstance(fn, _dvm.Compiled) else compile(fn)
    signature = inspect.signature(compiled.forward if is_module(compiled) else compiled)
    if is_module(compiled):
        compiled = compiled.call.compiled

    def saved(*args: Any, **kwargs: Any) -> None:
        ordered = [name for name in signature.parameters if name in kwargs]
        kwargs = {name: kwargs[name] for name in dict.fromkeys([*ordered, *kwargs])}
        made = graph_of(compiled, args, kwargs)
        known_as = names_of(signature, args, kwargs)
        made.save(path, inputs=[renamed(name, known_as) for name in made.arguments])

    return saved


def names_of(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, str]:
    """What a function around another one calls its arguments -> the other's parameters."""
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [name for name, each in signature.parameters.items() if each.kind in plain]
    by_place = {f"args.{k}": name for k, name in enumerate(names[: len(args)])}
    return by_place | {f"kwargs.{name}": name for name in kwargs}


def renamed(name: str, known_as: dict[str, str]) -> str:
    """The name of an argument, or of what lies in one, with the parameter's."""
    for before, after in known_as.items():
        if name == before or name.startswith(f"{before}."):
            return after + name[len(before) :]
    return name


def graph_of(compiled: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CompiledGraph:
    """Return the graph that a call of a compiled function is, if it is one and nothing else."""
    from dvm import magpy_capture  # the first capture is what takes the time to load it
    from dvm.saving.reader import Reader

    recording = _dvm.record(compiled.__wrapped__, *args, **kwargs)
    arguments = slots_of(compiled.__wrapped__, args, kwargs)
    pinned: frozenset[str] = frozenset()
    while True:
        path = Reader()
        example = magpy_capture.Example(list(arguments.items()), pinned)
        try:
            spec = magpy_capture.lower(compiled, recording, example=example, read=path.read)
        except magpy_capture.NotCapturable as refusal:
            raise refused(str(refusal.reason), refusal.at) from refusal
        if spec.reason:
            raise refused(str(spec.reason), spec.reason_at)
        if not path.pinned:
            break
        pinned |= path.pinned
    options = compiled.options
    try:
        made = CompiledGraph(
            path.graph,
            target=options.target,
            numerics=options.numerics,
            precision=options.precision,
            constants={name: elements_of(*kept) for name, kept in path.constants.items()},
            checks=path.checks,
            passes=options.passes,
        )
    except (errors.GraphError, errors.ShapeError) as error:  # once sizes of constants are numbers
        raise refused(str(error)) from error
    made.name(path.inputs, path.results)
    return made


def slots_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the names of the function's own slots, in their order."""
    code = function.__code__
    bare = types.FunctionType(
        code, function.__globals__, None, function.__defaults__, function.__closure__
    )
    bare.__kwdefaults__ = function.__kwdefaults__
    binding = inspect.signature(bare).bind(*args, **kwargs)
    binding.apply_defaults()
    given = binding.arguments
    return {name: given[name] for name in code.co_varnames if name in given}


def elements_of(array: Any, order: tuple[int, ...]) -> Any:
    """What NumPy reads of an array or a tensor, whose bits a bfloat16 is to NumPy."""
    if hasattr(array, "detach"):
        import torch

        tensor = array.detach()
        array = (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return array.transpose(order)
