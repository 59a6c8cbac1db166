"""ONNX models, compiled once for all sizes; needs the packages onnx and ml_dtypes.

model = dvm.onnx.load("model.onnx")
(logits,) = model(input_ids, attention_mask)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

try:
    import ml_dtypes as _ml_dtypes  # noqa: F401
    import onnx
except ImportError as error:
    raise ImportError(
        "dvm.onnx needs the packages onnx and ml_dtypes: pip install '.[onnx]' in a checkout of dvm"
    ) from error

from dvm.compiling import Options
from dvm.onnx import problems
from dvm.onnx.model import Model, Outputs
from dvm.onnx.outputs import with_outputs
from dvm.onnx.reading import read
from dvm.onnx.sizing import with_sizes

__all__ = ["Model", "Outputs", "load"]


def load(
    model: str | os.PathLike[str] | onnx.ModelProto,
    target: str = "cpu",
    *,
    numerics: str = "default",
    precision: str = "highest",
    passes: Iterable[Any] | None = None,
    sizes: Mapping[str, int] | None = None,
    outputs: Sequence[str] | None = None,
) -> Model:
    """Return an ONNX model as a callable, compiled for all sizes of its inputs.

    model: the path of a file, or what `onnx.load` gave.
    target, numerics, precision, passes: as `dvm.Options` has them.
    sizes: values for sizes of inputs that have these names; all others stay open.
    outputs: names of values of the model that it gives instead of its own outputs; `node:0` is the
        first output of a node.

    Raises OSError where the file cannot be read, FormatError for what is no model, or whose weights
    lie outside its folder, PassError for a pass that fails, UnsupportedError that names all
    operators without a meaning, or for sizes and outputs that the model does not name.
    """
    options = vars(Options(target, numerics, precision, passes))  # refuses what there is not
    folder = None
    if not isinstance(model, onnx.ModelProto):
        path = Path(os.fspath(model))
        model, folder = read(path), path.parent
    if outputs is not None:
        model = with_outputs(model, outputs)
    if sizes:
        model = with_sizes(model, sizes)
    with problems.told_of("the model"):
        return Model(model, folder, options)
