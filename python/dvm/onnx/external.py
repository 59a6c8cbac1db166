"""Elements of tensors, some of which lie in files beside the model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from dvm.onnx import problems

#: element types of which several share a byte
PACKED = frozenset({TensorProto.UINT4, TensorProto.INT4, getattr(TensorProto, "FLOAT4E2M1", -1)})


class ExternalData:
    """Maps files of weights, read-only, none of which lies outside the model's folder.

    folder: where the model lies; None for one that came from no file.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder.resolve()
        self._mapped: dict[Path, np.ndarray[Any, Any]] = {}

    def __call__(self, tensor: onnx.TensorProto) -> np.ndarray[Any, Any]:
        """Return the elements of a tensor."""
        if tensor.data_location != TensorProto.EXTERNAL:
            return np.asarray(numpy_helper.to_array(tensor))
        given = _said_of(tensor)
        path = self._path(tensor.name, given.get("location", ""))
        data = self._map(path, tensor.name)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        count = int(np.prod(tensor.dims, dtype=np.int64)) if tensor.dims else 1
        needed = count * dtype.itemsize
        if tensor.data_type in PACKED:
            raise problems.bad_model(f"the weight {tensor.name!r} has packed elements in a file")
        try:
            offset = int(given.get("offset") or 0)
            length = int(given.get("length") or needed)
        except ValueError as error:
            raise problems.bad_model(f"the place of {tensor.name!r} is no number") from error
        if min(tensor.dims, default=0) < 0 or length != needed:
            raise problems.bad_model(
                f"the weight {tensor.name!r} takes {needed} bytes, not {length}"
            )
        if offset < 0 or offset + length > data.size:
            raise problems.bad_model(
                f"the weight {tensor.name!r} lies beyond the end of {path.name}",
                "copy the file again, with the files beside it",
            )
        if offset % dtype.itemsize:
            part = np.frombuffer(bytes(data[offset : offset + length]), dtype)
        else:
            part = data[offset : offset + length].view(dtype)
        return part.reshape(tuple(tensor.dims))

    def files_of(self, model: onnx.ModelProto) -> list[Path]:
        """Return the files that weights of the model lie in, each once."""
        tensors = [t for t in _tensors(model) if t.data_location == TensorProto.EXTERNAL]
        said = [(t.name, _said_of(t).get("location", "")) for t in tensors]
        return list(dict.fromkeys(self._path(name, location) for name, location in said))

    def _path(self, name: str, location: str) -> Path:
        if self._folder is None:
            raise problems.bad_model(
                f"the weight {name!r} lies in a file, and the model came from none",
                "give the path of the model",
            )
        hint = "put the model and the files that it names into one folder, without links"
        inside = Path(location)
        if not location or inside.is_absolute() or ".." in inside.parts:
            raise problems.bad_model(
                f"the weight {name!r} lies outside the model's folder: {location!r}", hint
            )
        path = self._folder / inside
        if path.resolve() != path or path.is_symlink() or not path.is_file():
            raise problems.bad_model(
                f"the weight {name!r} lies in no file of the model's folder: {location!r}", hint
            )
        return path

    def _map(self, path: Path, name: str) -> np.ndarray[Any, Any]:
        if path not in self._mapped:
            if os.stat(path).st_nlink > 1:
                raise problems.bad_model(
                    f"the file of the weight {name!r} has other names: {path.name!r}",
                    "copy the file into the model's folder",
                )
            if path.stat().st_size == 0:
                return np.empty(0, np.uint8)
            self._mapped[path] = np.memmap(path, np.uint8, mode="r")
        return self._mapped[path].view(np.ndarray)


def _said_of(tensor: onnx.TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Give all tensors of a model: weights, and attributes, those of bodies among them."""
    for function in model.functions:
        yield from _of_nodes(function.node)
    yield from _of_graph(model.graph)


def _of_graph(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _of_nodes(graph.node)


def _of_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for body in (attribute.g, *attribute.graphs):
                yield from _of_graph(body)
