"""dvm's own warnings: told so that they never become an exception of the program.

A filter such as `warnings.simplefilter("error")` makes an exception of a warning. What dvm has to
say of itself comes behind a call whose result stands, so it is logged instead where that is so.
"""

from __future__ import annotations

import warnings


def warn(message: str, stacklevel: int = 1) -> None:
    """Warn of `message` at the caller, or the one `stacklevel` - 1 frames above it."""
    try:
        warnings.warn(message, RuntimeWarning, stacklevel + 1)
    except Exception:  # a filter's, or of a `showwarning` that the program has put there
        import logging  # importing dvm does without it

        logging.getLogger("dvm").warning("%s", message)
