"""What work costs on this machine: `python -m dvm calibrate` measures it, importing dvm reads it.

The constants (cpp/vm/target/cost.def) decide how finely work is cut and spread over threads, never
what is computed. Their file is dvm/calibration.txt in $XDG_CACHE_HOME (by default ~/.cache);
DVM_CALIBRATION names another one, and `DVM_CALIBRATION=off` none. A file that cannot be used is a
warning of the logger "dvm.calibration", and the defaults hold.
"""

from __future__ import annotations

import os

from dvm import _dvm, errors


def path() -> str | None:
    """Return where the calibration of this process is read and written; None where it is off."""
    named = os.environ.get("DVM_CALIBRATION", "")
    if named == "off":
        return None
    if named:
        return named
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # as the XDG specification asks
        cache = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "dvm", "calibration.txt")


def from_file() -> bool:
    """Use the calibration of this machine if there is one."""
    file = path()
    if file is None or not (os.path.exists(file) or os.environ.get("DVM_CALIBRATION")):
        return False
    try:
        with open(file, encoding="utf-8") as text:
            if _dvm.use_calibration(text.read()):
                return True
        problem = "it was measured on another machine, or at another SIMD level"
    except (OSError, UnicodeDecodeError, errors.Error) as error:
        problem = str(error)
    import logging  # only now: importing dvm does not need it

    logging.getLogger("dvm.calibration").warning(
        "%s is not used: %s; `python -m dvm calibrate` writes it anew", file, problem
    )
    return False


def measure() -> str:
    """Measure this machine, use and store that where there is a file for it; return a table."""
    text = _dvm.calibrate()
    _dvm.use_calibration(text)
    file = path()
    stored = "not stored: DVM_CALIBRATION is off"
    if file is not None:
        os.makedirs(os.path.dirname(file) or ".", exist_ok=True)
        # Whole or not at all, also where two processes calibrate at once.
        draft = f"{file}.{os.getpid()}"
        with open(draft, "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(draft, file)
        stored = f"stored in {file}"
    return f"{table()}\n{stored}"


def table() -> str:
    """Return every constant with its default and the value in use."""
    rows = [("constant", "default", "in use", "what it costs, in nanoseconds where it is a time")]
    for name, default, value, synopsis in _dvm.cost_table():
        rows.append((name, f"{default:.4g}", f"{value:.4g}", synopsis))
    return "\n".join(
        f"{name:20}{default:>12}{value:>12}  {what}" for name, default, value, what in rows
    )
