"""Why a call is no graph alone."""

from __future__ import annotations

from dvm import errors


class NeedsPythonError(Exception):
    """The call has something that is no part of a graph; the text says what."""


def refused(reason: str, at: tuple[str, int] = ("", 0)) -> errors.Error:
    """Return the exception for a call that is no graph alone."""
    where = f"{at[0]}:{at[1]}: " if at[0] else ""
    return errors.make(
        "capture_refused",
        f"{where}the call cannot be saved: {reason}",
        "save a function that computes arrays of its arguments and nothing else",
    )
