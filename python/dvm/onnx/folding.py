"""What is computed while a model is imported: arithmetic of sizes, and small constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto

from dvm import _dvm
from dvm.building.builder import is_same
from dvm.onnx.values import DTYPES, NUMPY, Known, Value, known, sizes_of

#: what gives another value each time, or is no function of arrays
_NEVER = """
    Shape Size
RandomNormal RandomNormalLike RandomUniform RandomUniformLike Multinomial Bernoulli Dropout
    If Loop Scan SequenceMap Constant ConstantOfShape Expand Tile EyeLike Optional
    OptionalGetElement OptionalHasElement SequenceConstruct ConcatFromSequence SplitToSequence
    SequenceAt SequenceEmpty SequenceErase SequenceInsert SequenceLength NonMaxSuppression
"""
NEVER = frozenset(_NEVER.split())


class Undecided(Exception):  # noqa: N818
    """Raised for what cannot be said of sizes that calls tell."""


def fold(
    node: NodeProto, version: int, operands: Sequence[Value], attributes: dict[str, Any]
) -> list[Value] | None:
    """Return what a node gives where its operands are known; None where one is not."""
    if not operands or node.domain not in ("", "ai.onnx"):
        return None
    given = [value for value in operands if value is not None]
    if not given or not all(isinstance(value, Known) for value in given):
        return None
    if any(value.is_symbolic for value in given):  # type: ignore[union-attr]
        return _of_sizes(node.op_type, operands, attributes)
    if node.op_type in NEVER or not all(v.dtype or v.array.dtype != object for v in given):  # type: ignore[union-attr]
        return None
    return _of_arrays(node, version, operands, attributes)


def _of_arrays(
    node: NodeProto, version: int, operands: Sequence[Value], attributes: dict[str, Any]
) -> list[Value] | None:
    if any(a.type == a.GRAPH for a in node.attribute):
        return None
    if (plain := PLAIN.get(node.op_type)) is not None:
        arrays = [value.array if isinstance(value, Known) else None for value in operands]
        try:
            with np.errstate(all="raise"):
                return [known(np.asarray(plain(*arrays, **attributes)))]
        except (Undecided, TypeError, FloatingPointError, ValueError, IndexError):
            pass  # the reference decides, or raises
    # It is imported for models that need it alone: that takes as long as many models do.
    from onnx.reference import ReferenceEvaluator

    try:
        runner = ReferenceEvaluator(_one_node(node, version, operands))
        feeds = {
            name: value.array
            for name, value in zip(node.input, operands, strict=False)
            if isinstance(value, Known)
        }
        with np.errstate(all="ignore"):
            made = runner.run(None, feeds)
    except Exception:
        return None
    if not all(isinstance(array, np.ndarray | np.generic) for array in made):
        return None
    return [known(np.asarray(array)) for array in made]


def _one_node(node: NodeProto, version: int, operands: Sequence[Value]) -> Any:
    from onnx import helper

    inputs = [
        helper.make_value_info(name, helper.make_tensor_type_proto(_element(value), None))
        for name, value in {
            n: v for n, v in zip(node.input, operands, strict=False) if v is not None
        }.items()
    ]
    outputs = [
        helper.make_value_info(name, helper.make_tensor_type_proto(0, None))
        for name in node.output
        if name
    ]
    graph = helper.make_graph([node], "one", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])


def _element(value: Any) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(value.array.dtype))


# Sizes


def _of_sizes(
    name: str, operands: Sequence[Value], attributes: dict[str, Any]
) -> list[Value] | None:
    rule = RULES.get(name)
    if rule is None:
        return None
    arrays = [value.array if isinstance(value, Known) else None for value in operands]
    if name == "Div" and any(isinstance(v, Known) and v.dtype[0] == "f" for v in operands):
        return None
    try:
        made = rule(*arrays, **attributes)
    except (Undecided, TypeError):
        return None
    first = operands[0]
    assert first is None or isinstance(first, Known)
    dtype = first.dtype if first is not None else "i64"
    if name == "Cast":
        dtype = DTYPES.get(attributes["to"], "")
        if dtype == "bool" or not dtype:
            return None
    if name == "Where":
        dtype = next(v.dtype for v in operands[1:] if isinstance(v, Known))
    results = made if isinstance(made, tuple) else (made,)
    return [_result(array, dtype) for array in results]


def _result(array: Any, dtype: str) -> Known:
    array = np.asarray(array)
    if array.dtype != object:
        return Known(array, known(array).dtype)
    plain = sizes_of(array.reshape(-1), array.shape)
    if plain.array.dtype != object:
        return Known(plain.array.astype(NUMPY[dtype]), dtype)
    return Known(plain.array, dtype)


def _each(rule: Callable[..., Any], gives: type = object) -> Callable[..., Any]:
    def apply(*arrays: Any, **_: Any) -> Any:
        whole = np.broadcast_arrays(*arrays)
        flat = [rule(*items) for items in zip(*(a.reshape(-1) for a in whole), strict=True)]
        made = np.empty(len(flat), object)
        made[:] = flat
        return made.astype(gives).reshape(whole[0].shape)

    return apply


def _whole(x: Any) -> Any:
    if isinstance(x, _dvm.Dim):
        return x
    if float(x) != int(x):
        raise Undecided
    return int(x)


def _multiplied(x: Any, y: Any) -> Any:
    return _whole(x) * _whole(y)


def _divided(x: Any, y: Any) -> Any:
    if isinstance(x, _dvm.Dim) and x.is_natural:
        y = _whole(y)
        if isinstance(y, int) and y == 1:
            return x
        return _quotient(x, y)
    if not isinstance(x, _dvm.Dim) and isinstance(y, _dvm.Dim) and x >= 0 and y.is_natural:
        return (y * 0 + int(x)) // y
    raise Undecided


def _quotient(x: Any, y: Any) -> Any:
    if isinstance(y, int) and y <= 0:
        raise Undecided
    if isinstance(y, _dvm.Dim) and not y.is_natural:
        raise Undecided
    return x // y


def _is_equal(x: Any, y: Any) -> bool:
    if is_same(x, y):
        return True
    apart = x - y
    if isinstance(apart, _dvm.Dim):
        if apart.constant is not None:
            return apart.constant == 0
        if (apart - 1).is_natural or (0 - apart - 1).is_natural:
            return False
        raise Undecided
    return bool(apart == 0)


def _is_less(x: Any, y: Any) -> bool:
    apart = y - x
    if not isinstance(apart, _dvm.Dim):
        return bool(apart > 0)
    if apart.constant is not None:
        return apart.constant > 0
    if (apart - 1).is_natural:
        return True
    if (0 - apart).is_natural:
        return False
    raise Undecided


def _extreme(which: str) -> Callable[..., Any]:
    def rule(*items: Any) -> Any:
        made = items[0]
        for item in items[1:]:
            if isinstance(made, _dvm.Dim):
                made = getattr(made, which)(_whole(item))
            elif isinstance(item, _dvm.Dim):
                made = getattr(item, which)(_whole(made))
            else:
                made = min(made, item) if which == "min" else max(made, item)
        return made

    return rule


def _gather(x: Any, places: Any, axis: int = 0) -> Any:
    return np.take(x, places, axis=axis)


def _slice(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    key: list[Any] = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if any(isinstance(each, _dvm.Dim) for each in (start, end, step)):
            raise Undecided
        start, end, step = int(start), int(end), int(step)
        if step < 0 and end < -x.shape[axis]:
            end = None
        key[int(axis)] = slice(start, end, step)
    return x[tuple(key)]


def _concat(*arrays: Any, axis: int = 0) -> Any:
    return np.concatenate(arrays, axis=axis)


def _unsqueeze(x: Any, axes: Any = None) -> Any:
    return np.expand_dims(x, tuple(int(a) for a in np.asarray(axes).reshape(-1)))


def _squeeze(x: Any, axes: Any = None) -> Any:
    if axes is None:
        return np.squeeze(x)
    return np.squeeze(x, tuple(int(a) for a in np.asarray(axes).reshape(-1)))


def _product(x: Any, axes: Any = None, keepdims: int = 1, **_: Any) -> Any:
    if axes is not None and len(np.asarray(axes).reshape(-1)) != x.ndim:
        raise Undecided
    made = 1
    for item in x.reshape(-1):
        made = _whole(item) * made
    return np.array(made, object).reshape([1] * x.ndim if keepdims else [])


def _total(x: Any, axes: Any = None, keepdims: int = 1, **_: Any) -> Any:
    if axes is not None and len(np.asarray(axes).reshape(-1)) != x.ndim:
        raise Undecided
    made = 0
    for item in x.reshape(-1):
        made = _whole(item) + made
    return np.array(made, object).reshape([1] * x.ndim if keepdims else [])


def _where(condition: Any, x: Any, y: Any) -> Any:
    if condition.dtype == object:
        raise Undecided
    return np.where(condition, x, y)


def _reshape(x: Any, shape: Any, allowzero: int = 0) -> Any:
    if shape.dtype == object:
        raise Undecided
    sizes = [x.shape[k] if s == 0 and not allowzero else int(s) for k, s in enumerate(shape)]
    return x.reshape(sizes)


def _modulo(x: Any, y: Any) -> Any:
    if isinstance(x, _dvm.Dim) and x.is_natural and (isinstance(y, _dvm.Dim) or y > 0):
        return x % _whole(y)
    raise Undecided


def _split(x: Any, split: Any = None, axis: int = 0, **_: Any) -> Any:
    if split is None:
        raise Undecided
    return tuple(np.split(x, np.cumsum(split)[:-1], axis=axis))


RULES: dict[str, Callable[..., Any]] = {
    "Add": _each(lambda x, y: _whole(x) + _whole(y)),
    "Sub": _each(lambda x, y: _whole(x) - _whole(y)),
    "Mul": _each(_multiplied),
    "Div": _each(_divided),
    "Mod": _each(_modulo),
    "Neg": _each(lambda x: 0 - x),
    "Min": _each(_extreme("min")),
    "Max": _each(_extreme("max")),
    "Equal": _each(_is_equal, bool),
    "Less": _each(_is_less, bool),
    "Greater": _each(lambda x, y: _is_less(y, x), bool),
    "GreaterOrEqual": _each(lambda x, y: not _is_less(x, y), bool),
    "LessOrEqual": _each(lambda x, y: not _is_less(y, x), bool),
    "Floor": lambda x: x,
    "Ceil": lambda x: x,
    "Identity": lambda x: x,
    "Cast": lambda x, **_: x,
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshape,
    "ReduceProd": _product,
    "ReduceSum": _total,
    "Where": _where,
    "Split": _split,
}


def _cast(x: Any, to: int, **_: Any) -> Any:
    if to not in DTYPES or x.dtype.kind not in "biuf":
        raise Undecided
    return x.astype(NUMPY[DTYPES[to]])


def _plain_div(x: Any, y: Any) -> Any:
    if x.dtype.kind != "f" and ((x < 0).any() or (y <= 0).any()):
        raise Undecided
    return x / y if x.dtype.kind == "f" else x // y


def _plain_product(x: Any, axes: Any = None, keepdims: int = 1, **_: Any) -> Any:
    if axes is not None or x.dtype.kind != "i":
        raise Undecided
    return np.prod(x, keepdims=bool(keepdims), dtype=x.dtype)


#: of arrays, what exported models compute of constants, as NumPy has it
PLAIN: dict[str, Callable[..., Any]] = {
    **{name: RULES[name] for name in ("Gather", "Slice", "Concat", "Unsqueeze", "Squeeze")},
    **{name: RULES[name] for name in ("Reshape", "Where", "Identity")},
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": _plain_div,
    "Sqrt": np.sqrt,
    "Equal": np.equal,
    "Less": np.less,
    "Greater": np.greater,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Not": np.logical_not,
    "Cast": _cast,
    "ReduceProd": _plain_product,
    "Transpose": lambda x, perm=None: np.ascontiguousarray(np.transpose(x, perm)),
}
