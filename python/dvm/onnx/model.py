"""Models that are called: named inputs and outputs around compiled graphs."""

from __future__ import annotations

import itertools
import operator
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from dvm import _dvm, errors
from dvm.building.builder import Size, Tensor
from dvm.graphs import CompiledGraph, Step
from dvm.onnx import problems
from dvm.onnx.arguments import (
    Argument,
    argument_of,
    key_of,
    sizes_said,
    symbol_name,
    symbols_of_input,
    value_of,
)
from dvm.onnx.checking import check_operators
from dvm.onnx.external import ExternalData
from dvm.onnx.functions import Functions
from dvm.onnx.importer import Importer, Shared
from dvm.onnx.values import NUMPY, Known, Needs, Value, sizes_of

WRONG_ARGUMENTS = (
    errors.ShapeError,
    errors.DtypeError,
    TypeError,
    ValueError,
    AttributeError,
)


class Outputs(tuple[Any, ...]):
    """What a model gives, in the order of its outputs; `outputs["name"]` is one of them."""

    names: tuple[str, ...]

    def __new__(cls, values: Sequence[Any], names: tuple[str, ...]) -> Outputs:
        made = super().__new__(cls, values)
        made.names = names
        return made

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and key not in self.names:
            raise KeyError(f"{key!r}: the outputs are {', '.join(self.names)}")
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)

    def as_dict(self) -> dict[str, Any]:
        return dict(zip(self.names, self, strict=True))


@dataclass
class Variant:
    """The model for some values of what decides what is computed."""

    compiled: CompiledGraph
    arguments: list[tuple[str, int | None]]  # names of inputs; of sizes, which element
    forms: list[Any]  # of outputs: places among the results; lists of sequences
    graph: _dvm.Graph
    host_calls: dict[str, int]


class Model:
    """An ONNX model, compiled for all sizes.

    Call it with arrays, by position or by the names of inputs. It gives `Outputs`.
    """

    def __init__(
        self, model: onnx.ModelProto, folder: Path | None, options: Mapping[str, Any]
    ) -> None:
        if not model.graph.output:
            raise problems.bad_model("the model has no outputs", "name at least one value of it")
        self._model = model
        self._options = dict(options)
        self._load = ExternalData(folder)
        self._functions = Functions(model)
        self._opsets = {
            "" if o.domain == "ai.onnx" else o.domain: o.version for o in model.opset_import
        }
        self._constants: dict[int, np.ndarray[Any, Any]] = {}
        check_operators(model, self._functions, self._opsets)
        initial = {t.name for t in model.graph.initializer}
        self._arguments = [
            argument_of(value) for value in model.graph.input if value.name not in initial
        ]
        self._optional = [argument_of(v) for v in model.graph.input if v.name in initial]
        self._by_name = {a.name: a for a in (*self._arguments, *self._optional)}
        self._names = tuple(value.name for value in model.graph.output)
        self._by_value: set[str] = set()
        self._by_size: set[str] = set()
        self._by_symbol: set[str] = set()
        self._not_empty: set[str] = set()  # symbols, of which 0 is a variant of its own
        self._by_rank: set[str] = set()
        self._elements: dict[str, str] = {}  # symbols that are elements of inputs, and of which
        self._variants: dict[Any, Variant] = {}
        self._loaded: dict[str, Known] = {}
        self._plain: Variant | None = None  # the only one, where nothing is decided by values
        self._takes_arrays = False  # it is called with what the model is called with
        while self._plain is None and not self.by_value:
            try:
                self._plain = self._variants[((),)] = self._compile({})
            except Needs as needs:
                self._note(needs)
        if self._plain is not None:
            self._takes_arrays = self._plain.arguments == [(a.name, None) for a in self._arguments]

    # What it is

    @property
    def inputs(self) -> dict[str, str]:
        """What it is called with, by name: `f32[batch, 3]`."""
        return {a.name: str(a) for a in self._arguments}

    @property
    def outputs(self) -> dict[str, str]:
        """What it gives, by name, as far as the model says it."""
        return {v.name: str(argument_of(v)) for v in self._model.graph.output}

    @property
    def operators(self) -> dict[str, int]:
        """The operators of the model's graph, and how many there are of each."""
        return dict(Counter(node.op_type for node in self._model.graph.node))

    @property
    def by_value(self) -> dict[str, str]:
        """Inputs, and names of sizes, for each value of which the model is compiled once more."""
        return {
            **dict.fromkeys(sorted(self._by_value), "value"),
            **dict.fromkeys(sorted(self._by_symbol), "size"),
            **dict.fromkeys(sorted(self._by_rank), "rank"),
        }

    @property
    def variants(self) -> int:
        """How often it has been compiled."""
        return len(self._variants)

    @property
    def compiled(self) -> CompiledGraph:
        """The graph that calls run, to be looked at or profiled.

        Raises UnsupportedError where values of inputs decide which one that is.
        """
        if self._plain is None:
            raise problems.unsupported(
                f"values of {', '.join(self.by_value)} decide what the model computes",
                "make them constants of the model",
            )
        return self._plain.compiled

    @property
    def graph(self) -> str:
        """The text of the graph; of the latest, where there are several."""
        return str(self._latest().graph)

    @property
    def steps(self) -> list[Step]:
        """What the compiler did with the latest graph: `CompiledGraph.steps`."""
        return self._latest().compiled.steps

    @property
    def host_calls(self) -> dict[str, int]:
        """What the host computes, by name, and at how many places."""
        return dict(self._latest().host_calls)

    @property
    def target(self) -> str:
        return str(self._options["target"])

    def _latest(self) -> Variant:
        if not self._variants:
            raise problems.unsupported(
                f"values of {', '.join(self.by_value)} decide what the model computes",
                "call it first",
            )
        return next(reversed(self._variants.values()))

    def __repr__(self) -> str:
        inputs = ", ".join(f"{a.name}: {a}" for a in self._arguments)
        outputs = ", ".join(f"{name}: {text}" for name, text in self.outputs.items())
        return f"<dvm.onnx.Model ({inputs}) -> ({outputs}) target={self.target}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into a file that `dvm.load` reads, as `CompiledGraph.save` does.

        Raises UnsupportedError where values of inputs decide what is computed, or it has sequences.
        """
        compiled = self.compiled
        if self.host_calls:
            raise problems.unsupported(
                f"NumPy computes {', '.join(self.host_calls)}, which a file does not have",
                "save a model without these operators",
            )
        assert self._plain is not None
        if any(not isinstance(form, int) for form in self._plain.forms):
            raise problems.unsupported("outputs are sequences or nothing", "remove these outputs")
        names = [name for name, _ in self._plain.arguments]
        compiled.save(path, inputs=names, results=self._names)

    # Calls

    def __call__(self, *arrays: Any, **named: Any) -> Outputs:
        """Return the outputs for these inputs."""
        if self._takes_arrays and not named and len(arrays) == len(self._arguments):
            assert self._plain is not None
            try:
                results = self._plain.compiled(*arrays)
            except WRONG_ARGUMENTS:
                pass  # they are looked at, and maybe converted
            else:
                return self._given_out(self._plain, results, arrays)
        if named or len(arrays) != len(self._arguments):
            given = self._bound(arrays, named)
        else:
            given = {a.name: x for a, x in zip(self._arguments, arrays, strict=True)}
        return self.run(given)

    def run(self, given: Mapping[str, Any]) -> Outputs:
        """Return the outputs for inputs by name, whatever characters these have."""
        if given.keys() - self._by_name.keys() or len(given) < len(self._arguments):
            given = self._bound((), given)
        if self._plain is not None and len(given) == len(self._arguments):
            variant = self._plain
        else:
            variant = self._variant(given)
        try:
            results = variant.compiled(*[_taken(given[n], k) for n, k in variant.arguments])
        except WRONG_ARGUMENTS:
            self._check(given)
            given = {name: self._array(name, value) for name, value in given.items()}
            variant = self._variant(given)
            results = variant.compiled(*[_taken(given[n], k) for n, k in variant.arguments])
        return self._given_out(variant, results, given.values())

    def _given_out(
        self, variant: Variant, results: Sequence[Any], given: Collection[Any]
    ) -> Outputs:
        own = _own(results, given)
        return Outputs([_formed(own, form) for form in variant.forms], self._names)

    def _bound(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        hint = f"the inputs are {', '.join(self.inputs) or 'none'}"
        if len(arrays) > len(self._arguments):
            raise problems.wrong_arguments(f"{len(arrays)} inputs for {len(self._arguments)}", hint)
        given = {a.name: x for a, x in zip(self._arguments, arrays, strict=False)}
        for name, value in named.items():
            if name not in self._by_name:
                raise errors.unknown("unknown_name", "input", name, self._by_name)
            if name in given:
                raise problems.wrong_arguments(f"the input {name!r} is given twice", hint)
            given[name] = value
        if missing := [a.name for a in self._arguments if a.name not in given]:
            raise problems.wrong_arguments(f"no input {', '.join(map(repr, missing))}", hint)
        return given

    def _check(self, given: Mapping[str, Any]) -> None:
        """Raise the error that names the input which does not fit, if one does not."""
        sizes: dict[str, tuple[int, str]] = {}
        for name, value in given.items():
            argument = self._by_name[name]
            if argument.kind != "tensor":
                continue
            array = np.asarray(value)
            if array.dtype != NUMPY[argument.dtype] and not (
                argument.dtype == "bf16" and array.dtype == np.uint16
            ):
                raise problems.wrong_dtype(
                    f"the input {name!r} is of {NUMPY[argument.dtype].name}, not {array.dtype}"
                )
            if argument.shape is None:
                continue
            hint = f"it is {argument}"
            if array.ndim != len(argument.shape):
                raise problems.wrong_arguments(
                    f"the input {name!r} has rank {len(argument.shape)}, not {array.ndim}", hint
                )
            for axis, (wanted, size) in enumerate(zip(argument.shape, array.shape, strict=True)):
                known, where = sizes.setdefault(str(wanted), (size, name))
                if size != (wanted if isinstance(wanted, int) else known):
                    wants = wanted if isinstance(wanted, int) else f"{wanted} = {known} of {where}"
                    raise problems.wrong_arguments(
                        f"axis {axis} of the input {name!r} is {size}, not {wants}", hint
                    )

    def _array(self, name: str, value: Any) -> Any:
        if self._by_name[name].kind != "tensor":
            return value
        array = np.asarray(value)
        return array.view(np.uint16) if array.dtype == NUMPY["bf16"] else array

    # Compiling

    def _variant(self, given: Mapping[str, Any]) -> Variant:
        while True:
            key = self._key(given)
            if key in self._variants:
                return self._variants[key]
            self._check(given)
            try:
                variant = self._compile({n: self._array(n, v) for n, v in given.items()})
            except Needs as needs:
                self._note(needs)
                continue
            self._variants[key] = variant
            return variant

    def _key(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        key: list[Any] = [tuple(sorted(given.keys() & {a.name for a in self._optional}))]
        for name in sorted(self._by_value):
            if name in given:
                key.append(key_of(given[name]))
        key += sorted(self._fixed(given).items())
        key += [(n, np.ndim(given[n])) for n in sorted(self._by_rank) if n in given]
        return tuple(key)

    def _fixed(self, given: Mapping[str, Any]) -> dict[str, int]:
        """Return the sizes that are numbers in the variant for a call."""
        sizes = self._sizes(given).items()
        return {s: n for s, n in sizes if s in self._by_symbol or (n == 0 and s in self._not_empty)}

    def _sizes(self, given: Mapping[str, Any]) -> dict[str, int]:
        """Return symbols by name, as arguments tell them."""
        found: dict[str, int] = {}
        for name, value in given.items():
            argument = self._by_name[name]
            if argument.kind == "tensor":
                for symbol, size in zip(
                    symbols_of_input(argument, np.ndim(value)), np.shape(value), strict=False
                ):
                    if isinstance(symbol, str):
                        found.setdefault(symbol, size)
        return found

    def _note(self, needs: Needs) -> None:
        """Take note of what decides what is computed; of sizes, first that they are not 0."""
        before = self._noted()
        sizes = {n for n in needs.sizes if n not in self._by_size and self._may_be_sizes(n)}
        self._by_size |= sizes
        self._by_value |= (needs.sizes - sizes) | needs.values
        self._by_size -= self._by_value
        of_elements = {s: self._elements[s] for s in needs.symbols if s in self._elements}
        self._by_value |= set(of_elements.values())
        self._by_size -= self._by_value
        of_shapes = needs.symbols - of_elements.keys()
        self._by_symbol |= of_shapes & self._not_empty
        self._not_empty |= of_shapes
        self._by_rank |= needs.ranks
        if self._noted() == before:
            raise problems.unsupported(
                f"what the model computes depends on values that it computes itself: {needs}",
                "export it without that",
            )

    def _noted(self) -> list[int]:
        noted = self._by_value, self._by_size, self._by_symbol, self._not_empty, self._by_rank
        return list(map(len, noted))

    def _may_be_sizes(self, name: str) -> bool:
        argument = self._by_name[name]
        return (
            argument.dtype == "i64"
            and argument.shape is not None
            and len(argument.shape) < 2
            and all(isinstance(size, int) and size <= 16 for size in argument.shape)
        )

    def _compile(self, given: Mapping[str, Any]) -> Variant:
        """Import and compile the model; raises Needs for what the call has to tell first."""
        with problems.told_of("the model"):
            return self._imported(given)

    def _imported(self, given: Mapping[str, Any]) -> Variant:
        graph = _dvm.Graph()
        shared = Shared(self._functions, self._constant, self._fixed(given), self._not_empty)
        importer = Importer(
            shared, graph, self._opsets, said=sizes_said(self._model.graph, graph, shared)
        )
        names: dict[str, Value] = {}
        arguments: list[tuple[str, int | None]] = []
        scalars: list[tuple[str, int | None]] = []
        for argument in self._arguments + [a for a in self._optional if a.name in given]:
            names[argument.name] = self._input(importer, argument, given, arguments, scalars)
        made = importer.run(self._model.graph, names)
        outputs: list[int] = []
        forms = [_form(importer, value, outputs) for value in made]
        graph.outputs = outputs
        compiled = CompiledGraph(
            graph,
            functions=shared.host,
            constants=shared.constants,
            **self._options,
        )
        arguments += scalars
        compiled.name(
            [name if k is None else f"{name}[{k}]" for name, k in arguments],
            [f"y{k}" for k in range(len(outputs))],
        )
        return Variant(compiled, arguments, forms, graph, shared.host_calls)

    def _constant(self, tensor: onnx.TensorProto) -> np.ndarray[Any, Any]:
        """Return the elements of a tensor, one array for all variants."""
        key = id(tensor) if tensor.name else 0
        if not key:
            return self._load(tensor)
        if tensor.name not in self._loaded or self._loaded[tensor.name].dtype != str(key):
            self._loaded[tensor.name] = Known(self._load(tensor), str(key))
        return self._loaded[tensor.name].array

    def _input(
        self,
        importer: Importer,
        argument: Argument,
        given: Mapping[str, Any],
        arguments: list[tuple[str, int | None]],
        scalars: list[tuple[str, int | None]],
    ) -> Value:
        name, graph, shared = argument.name, importer.b.graph, importer.shared
        if argument.kind == "optional" and name in given and given[name] is None:
            return None
        if argument.kind != "tensor" or argument.dtype not in NUMPY or name in self._by_value:
            if name not in given:
                raise Needs(f"the elements of {name}", values=[name])
            self._by_value.add(name)
            return value_of(given[name], argument)
        if name in self._by_size:
            shape = tuple(int(size) for size in argument.shape or ())
            sizes = []
            for k in range(int(np.prod(shape))):
                symbol = graph.symbol(f"{symbol_name(name)}_element_{k}", -(2**62))
                self._elements[str(symbol)] = name
                shared.elements.add(str(symbol))
                graph.scalar("i64", size=symbol)
                sizes.append(symbol)
                scalars.append((name, k))
            return sizes_of(sizes, shape)
        if argument.shape is None and name not in given:
            raise Needs(f"the rank of {name}", ranks=[name])
        rank = np.ndim(given[name]) if argument.shape is None else len(argument.shape)
        if argument.shape is None:
            self._by_rank.add(name)
        shape_of: list[Size] = []
        for size in symbols_of_input(argument, rank):
            if isinstance(size, str):
                shape_of.append(shared.size(graph, size))
            else:
                shape_of.append(size)
        made = importer.b.wrap(graph.input(argument.dtype, shape_of))
        shared.input_names[made.node] = name
        arguments.append((name, None))
        return made


def _taken(value: Any, element: int | None) -> Any:
    """What a graph is given: an argument, or a number of it."""
    return value if element is None else int(np.asarray(value).reshape(-1)[element])


def _own(results: Sequence[Any], given: Collection[Any]) -> list[Any]:
    """Results that the caller may write to: none in memory of an input or of another one."""
    own: list[Any] = []
    for result in results:
        # An array without a base has memory of its own, which only the same object shares.
        shares: Callable[[Any, Any], bool]
        shares = np.may_share_memory if result.base is not None else operator.is_
        others = itertools.chain(given, own)
        is_shared = any(isinstance(other, np.ndarray) and shares(result, other) for other in others)
        own.append(result.copy() if is_shared else result)
    return own


def _formed(results: Sequence[Any], form: Any) -> Any:
    if isinstance(form, int):
        return results[form]
    if isinstance(form, list):
        return [_formed(results, each) for each in form]
    if isinstance(form, tuple):  # bits of a bfloat16
        return results[form[0]].view(NUMPY["bf16"])
    return form


def _form(importer: Importer, value: Value, outputs: list[int]) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_form(importer, each, outputs) for each in value]
    if isinstance(value, Known) and not value.dtype:
        return _Constant(value.array)
    tensor: Tensor = importer.tensor(value)
    outputs.append(tensor.node)
    place = len(outputs) - 1
    return (place,) if tensor.dtype == "bf16" else place


def _Constant(array: np.ndarray[Any, Any]) -> Any:  # noqa: N802
    return array
