"""Models in files."""

from __future__ import annotations

from pathlib import Path

import onnx

from dvm import errors


def read(path: Path) -> onnx.ModelProto:
    """Return the model in a file; raise FormatError for what is none."""
    made = onnx.ModelProto()
    try:
        made.ParseFromString(path.read_bytes())
        if made.opset_import and made.HasField("graph"):
            return made
    except OSError:
        raise
    except Exception as error:
        cause: Exception | None = error
    else:
        cause = None
    raise errors.make(
        "file_header", f"{path} is no ONNX model", "give the path of a .onnx file"
    ) from cause
