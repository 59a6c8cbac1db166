"""Files that were built before, by the content of all that they were made of.

An entry appears at once, by a rename, under a lock that builders of the same one wait for. So a
builder that is killed leaves a draft and a lock that nobody holds, and one that comes later builds.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx

import dvm
from dvm import _dvm, errors, graphs
from dvm.onnx.atc.options import files_of_passes
from dvm.onnx.atc.record import Record
from dvm.onnx.external import ExternalData

#: options that change nothing in the file
NOT_IN_FILES = frozenset(
    {"model", "output", "mode", "dump", "dump_stages", "report", "cache_dir", "options"}
)
_PACKAGE = Path(dvm.__file__).parent


def key_of(model: onnx.ModelProto, options: argparse.Namespace) -> str:
    """Return the hash of the model, its weights, passes, options, and dvm itself."""
    made = hashlib.sha256()
    chosen = {k: v for k, v in vars(options).items() if k not in NOT_IN_FILES}
    made.update(json.dumps([dvm.__version__, chosen], sort_keys=True).encode())
    weights = ExternalData(options.model.parent).files_of(model)
    own = [Path(_dvm.__file__), *sorted(_PACKAGE.rglob("*.py"))]
    for path in (options.model, *weights, *files_of_passes(options.passes), *own):
        made.update(_digest(path))
    return made.hexdigest()


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def copied(source: Path, to: Path) -> None:
    """Copy a file; `to` is replaced once all is written."""
    draft = to.with_name(f"{to.name}.{os.getpid()}.draft")
    try:
        shutil.copyfile(source, draft)
        os.replace(draft, to)
    finally:
        draft.unlink(missing_ok=True)


class Cache:
    """A folder of built files."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        self._entry = folder / f"{key}.dvm"
        self._told = folder / f"{key}.json"

    def get(self, to: Path, build: Callable[[], Record]) -> tuple[Record, bool]:
        """Write the file to `to`, by `build` where there is none yet.

        Return what is known of it, and whether it is new.
        """
        with self._locked():
            known = Record.read(self._told)
            if known is not None and self._is_whole():
                copied(self._entry, to)
                return known, False
            record = build()
            record.write(self._told)  # an entry is there once its file is
            copied(to, self._entry)
            return record, True

    def _is_whole(self) -> bool:
        """Whether the entry is there, all hashes as they were; what is damaged goes."""
        if not self._entry.is_file():
            return False
        try:
            graphs.open_graph(self._entry, check=True)
        except errors.Error:
            self._entry.unlink()
            return False
        return True

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._entry.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
