"""Functions in Python of the standard library that have a meaning here: nobody enters them."""

from __future__ import annotations

import collections
import copy
import enum
import logging
import sys
import traceback
import types
import warnings
from typing import Any

from dvm.magpy_capture.meanings.python.data_classes import LEAVES as DATA_CLASSES
from dvm.magpy_capture.meanings.python.log_records import IS_ENABLED, LOGGING
from dvm.magpy_capture.meanings.python.signatures import LEAVES as SIGNATURES
from dvm.magpy_capture.values.tables import DEFINING


def leaves() -> list[Any]:
    """Those of the modules that the program has imported."""
    return [
        *_managers(),
        *(*LOGGING, IS_ENABLED, logging.getLogger),
        copy.deepcopy,
        *SIGNATURES,
        *DATA_CLASSES,
        *DEFINING,
        enum.property.__get__,
        collections.Counter,
        *(f for f in vars(collections.Counter).values() if isinstance(f, types.FunctionType)),
    ]


def _managers() -> list[Any]:
    """Those of `with` that dvm knows (contexts)."""
    caught = warnings.catch_warnings
    made = [caught, warnings.simplefilter, warnings.filterwarnings]
    made += [getattr(caught, name) for name in ("__init__", "__enter__", "__exit__")]
    raises = getattr(sys.modules.get("pytest"), "raises", None)
    if raises:
        manager = type(raises(Exception))
        made += [raises, manager.__enter__, manager.__exit__]
    return [*made, traceback.clear_frames]


__all__ = ["leaves"]
