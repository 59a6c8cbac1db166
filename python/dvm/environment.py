"""`python -m dvm env`: what a bug report needs to know about this machine and this build."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dvm import _dvm
from dvm._version import __version__

#: of the flags of /proc/cpuinfo, those that decide which kernels can run
SIMD_FLAGS = (
    *("sse4_2", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "amx_tile"),
    *("asimd", "sve"),
)


def describe() -> dict[str, Any]:
    """Return versions, CPU, targets and build in JSON types."""
    model, flags = _cpu()
    return {
        "dvm": __version__,
        "extension": _dvm.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "platform": platform.platform(),
        "cpu": model,
        "cpu_flags": flags,
        "threads": _dvm.thread_count(),
        "simd": _dvm.simd_level(),
        "targets": list(_dvm.target_names),
        "can_capture": _dvm.can_capture,
        "build": Path(_dvm.__file__).name,
        "executable": sys.executable,
    }


def _cpu() -> tuple[str, list[str]]:
    """Return model name and SIMD flags, where the kernel tells them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor(), []
    fields: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    present = (fields.get("flags") or fields.get("Features") or "").split()
    return fields.get("model name", platform.machine()), [f for f in SIMD_FLAGS if f in present]
