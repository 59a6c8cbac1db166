"""Exceptions that handlers of signals raise: they come at any instruction, dvm's own too."""

from __future__ import annotations


def is_of_a_signal(error: BaseException) -> bool:
    """Whether a handler of the program's that a signal called has raised it."""
    import signal
    import traceback

    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(handler, "__code__", None) for handler in handlers}
    return any(frame.f_code in codes for frame, _line in traceback.walk_tb(error.__traceback__))


__all__ = ["is_of_a_signal"]
