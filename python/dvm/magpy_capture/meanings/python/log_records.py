"""What a replay does about a call of `logging`: asks, makes the record, hands it on.

These run on every replay. The record is made where the program logs, so that it has the time of
then and the place of the call; handlers get it once the replay has committed.
"""

from __future__ import annotations

import io
import logging
from typing import Any

#: functions and methods of `logging` -> the level of what they log
LEVELS: dict[Any, int] = {
    getattr(owner, name): level
    for name, level in (
        ("debug", logging.DEBUG),
        ("info", logging.INFO),
        ("warning", logging.WARNING),
        ("warn", logging.WARNING),
        ("error", logging.ERROR),
        ("critical", logging.CRITICAL),
    )
    for owner in (logging, logging.Logger)
}
#: those that are told the level
LEVELLED = (logging.log, logging.Logger.log)
WITH_TRACEBACK = (logging.exception, logging.Logger.exception)
IS_ENABLED = logging.Logger.isEnabledFor
LOGGING = frozenset({*LEVELS, *LEVELLED, *WITH_TRACEBACK})

#: What a logger class of the program's own may have made otherwise.
LOGGER = ("isEnabledFor", "makeRecord", "handle", "filter", "callHandlers", "hasHandlers")
#: The same of a handler, and the packages whose handlers look at nothing but their records.
HANDLER = ("handle", "emit", "format", "filter", "acquire", "release", "handleError", "flush")
PACKAGES = frozenset({"logging", "_pytest"})

OFF, PLAIN, OWN = "off", "plain", "the program's own"


def is_plain_stream(stream: Any) -> bool:
    """Whether it cannot tell when it is written: a file of Python's, or text in memory."""
    cls = type(stream)  # asked for its __class__, an object of the program may run code
    text = issubclass(cls, io.TextIOWrapper) and cls.write is io.TextIOWrapper.write
    return text or cls is io.StringIO


def standing(logger: logging.Logger, level: int) -> str:
    """What happens to a record of this level: nothing (OFF), or who gets it."""
    cls = type(logger)
    if cls not in (logging.Logger, logging.RootLogger):
        if any(getattr(cls, name) is not getattr(logging.Logger, name) for name in LOGGER):
            return OWN
    if not logger.isEnabledFor(level):
        return OFF
    if logger.filters or logging.getLogRecordFactory() is not logging.LogRecord:
        return OWN
    asked: logging.Logger | None = logger
    while asked is not None:
        if not all(map(_is_plain, asked.handlers)):
            return OWN
        asked = asked.parent if asked.propagate else None
    return PLAIN


def _is_plain(handler: logging.Handler) -> bool:
    """Whether nobody but this handler gets to know when it handles a record."""
    if handler.filters or any(_package_of(type(handler), name) not in PACKAGES for name in HANDLER):
        return False
    stream = getattr(handler, "stream", None)
    formatter = type(handler.formatter)
    plain = handler.formatter is None or _package_of(formatter, "format") in PACKAGES
    return plain and (stream is None or is_plain_stream(stream))


def _package_of(cls: type, name: str) -> str:
    module: str = getattr(getattr(cls, name, None), "__module__", None) or ""
    return module.partition(".")[0]


def made_record(
    logger: logging.Logger,
    level: int,
    place: tuple[str, int, str],
    message: Any,
    arguments: Any,
    extra: Any,
) -> logging.LogRecord:
    """The record of a call at `place`: file, line, function."""
    file, line, function = place
    return logger.makeRecord(
        logger.name, level, file, line, message, arguments, None, function, extra, None
    )


def hand_on(logger: logging.Logger, record: logging.LogRecord) -> None:
    """Give a record to the handlers, as `Logger._log` does."""
    logger.handle(record)


def hand_on_from_root(logger: logging.Logger, record: logging.LogRecord) -> None:
    """The same for `logging.info(...)`, which sets logging up where nobody has."""
    if not logger.handlers:
        logging.basicConfig()
    logger.handle(record)
