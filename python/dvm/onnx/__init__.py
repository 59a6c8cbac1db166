"""ONNX models, compiled once for all sizes; needs the packages onnx and ml_dtypes.

model = dvm.onnx.load("model.onnx")
(logits,) = model(input_ids, attention_mask)
"""

from __future__ import annotations

import os
from pathlib import Path

from dvm import errors

try:
    import ml_dtypes as _ml_dtypes  # noqa: F401
    import onnx
except ImportError as error:
    raise ImportError(
        "dvm.onnx needs the packages onnx and ml_dtypes: pip install 'dvm-compiler[onnx]'"
    ) from error

from dvm.compiling import Options
from dvm.onnx.model import Model, Outputs

__all__ = ["Model", "Outputs", "load"]


def load(
    model: str | os.PathLike[str] | onnx.ModelProto,
    target: str = "cpu",
    *,
    numerics: str = "default",
    precision: str = "highest",
) -> Model:
    """Return an ONNX model as a callable, compiled for all sizes of its inputs.

    model: the path of a file, or what `onnx.load` gave.
    target, numerics, precision: as `dvm.Options` has them.

    Raises OSError where the file cannot be read, FormatError for what is no model, or whose weights
    lie outside its folder, UnsupportedError that names all operators without a meaning.
    """
    Options(target, numerics, precision)  # refuses what there is not
    options = {"target": target, "numerics": numerics, "precision": precision}
    if isinstance(model, onnx.ModelProto):
        return Model(model, None, options)
    path = Path(os.fspath(model))
    made = onnx.ModelProto()
    try:
        made.ParseFromString(path.read_bytes())
    except Exception as error:
        if isinstance(error, OSError):
            raise
        raise errors.make(
            "file_header", f"{path} is no ONNX model", "give the path of a .onnx file"
        ) from error
    if not made.opset_import or not made.HasField("graph"):
        raise errors.make(
            "file_header", f"{path} is no ONNX model", "give the path of a .onnx file"
        )
    return Model(made, path.parent, options)
