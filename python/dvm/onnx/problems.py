"""Errors of the ONNX door."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from dvm import errors
from dvm.onnx.values import Needs

MOST_LISTED = 40


def in_a_line(text: str) -> str:
    """Return a text with what no line shows escaped: names in a file may have any characters."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def unsupported(message: str, hint: str) -> errors.Error:
    return errors.make("unsupported", in_a_line(message), in_a_line(hint))


def missing_operators(missing: Mapping[str, int]) -> errors.Error:
    """Return the error that names all operators that dvm has no meaning for."""
    listed = [
        f"{name} ({count})" if count > 1 else name
        for name, count in sorted(missing.items(), key=lambda item: (-item[1], item[0]))
    ]
    more = len(listed) - MOST_LISTED
    text = ", ".join(listed[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
    return unsupported(
        f"the model has operators that dvm has no meaning for: {text}",
        "export the model without them, or split it there; docs/onnx.md lists what there is",
    )


def bad_model(message: str, hint: str = "export the model again") -> errors.Error:
    return errors.make("file_header", in_a_line(message), in_a_line(hint))


@contextlib.contextmanager
def told_of(what: str) -> Iterator[None]:
    """Make a FormatError of whatever else reading a model, or a part of one, raises.

    A file may have anything anywhere, and rows of operators rely on what ONNX says of operands and
    attributes: what Python then raises is about the model, and names it here.
    """
    try:
        yield
    except (errors.Error, OSError, Needs):
        raise
    except Exception as error:
        said = f"{error}".strip().splitlines()
        detail = ": ".join([type(error).__name__, *said[:1]])
        hint = "onnx.checker.check_model may say more; export the model again"
        raise bad_model(f"{what} is not as ONNX has it ({detail})", hint) from error


def wrong_arguments(message: str, hint: str) -> errors.Error:
    return errors.make("wrong_arguments", in_a_line(message), in_a_line(hint))


def wrong_dtype(message: str) -> errors.Error:
    return errors.make("dtype_mismatch", in_a_line(message))
