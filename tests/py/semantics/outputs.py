"""What a program tells others: print to streams, warnings.warn, logging."""

# ruff: noqa: B028, C417, RUF015  (the level of a warning that has none, frames that C code calls)

from __future__ import annotations

import io
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from semantics.world import World, case, floats

FORMAT = "%(name)s %(levelname)s %(filename)s:%(lineno)d %(funcName)s: %(message)s"


@contextmanager
def logger(w: World, handler: Any = None) -> Iterator[logging.Logger]:
    """A logger of its own, whose text is noted at the end."""
    text = io.StringIO()
    made = logging.Logger("case")
    made.addHandler(handler or logging.StreamHandler(text))
    made.handlers[0].setFormatter(logging.Formatter(FORMAT))
    yield made
    w.note(text.getvalue())


@case
def printed_and_flushed(w: World) -> None:
    seen = w.watch([])

    @w.compiled
    def f(x, loud):
        print("sum", x.sum(), flush=True)
        seen.append(len(x))
        print(x, end="!", sep="-", flush=loud)
        return x + 1

    for n in (2, 2, 3, 2):
        w(f, floats(n), True)
    w.replayed(f)
    w(f, floats(2), False)
    w(f, floats(2), [])


@case
def printed_to_a_stream(w: World) -> None:
    one, other = io.StringIO(), io.StringIO()

    @w.compiled
    def f(x, stream):
        print("to one", x[0], file=one)
        print("to both", file=stream)
        print("to stdout", file=sys.stdout)
        print("as well", file=None)
        return x * 2

    for n in (2, 2, 3):
        w(f, floats(n), other)
        w.note(one.getvalue(), other.getvalue())
    w.replayed(f)
    w(f, floats(2), one)
    w.note(one.getvalue())


@case
def printed_to_a_stream_that_is_closed(w: World) -> None:
    stream, counts = io.StringIO(), w.watch([0])

    @w.compiled
    def f(x):
        print("text", file=stream)
        counts[0] += 1
        return x + 1

    for n in (2, 2, 3):
        w(f, floats(n))
    w.replayed(f)
    stream.close()
    for n in (2, 2):
        w(f, floats(n))


class Tee(io.StringIO):
    """A stream that tells what the program's state is when it is written."""

    def __init__(self, state: list[Any]) -> None:
        super().__init__()
        self.state = state
        self.seen: list[Any] = []

    def write(self, text: str) -> int:
        self.seen.append(list(self.state))
        return super().write(text)


@case
def printed_to_a_stream_of_ones_own(w: World) -> None:
    state = w.watch([0])
    stream = Tee(state)

    @w.compiled
    def f(x):
        state[0] += 1
        print("between", file=stream)
        state[0] += 1
        return x + state[0]

    for n in (2, 2, 3):
        w(f, floats(n))
        w.note(stream.seen, stream.getvalue())


@case
def written_to_standard_output(w: World) -> None:
    state = w.watch([])

    @w.compiled
    def f(x):
        count = sys.stdout.write(f"{x.max():.2f} is the most\n")
        state.append(count)
        sys.stdout.write("ü\n")
        sys.stdout.flush()
        return x * count

    for n in (2, 2, 40):
        w(f, floats(n))
    w.replayed(f)


@case
def warned(w: World) -> None:
    state = w.watch([])

    @w.compiled
    def f(x):
        warnings.warn("as it is")
        if x[0] < 0:
            warnings.warn(f"the least is {x.min()}", RuntimeWarning)
        state.append(len(x))
        return x + 1

    for n in (2, 2, 3):
        w(f, floats(n))
    w.replayed(f)
    with warnings.catch_warnings(record=True):
        for action in ("error", "ignore", "default", "error"):
            warnings.simplefilter(action)
            w.note(told(f, floats(2)), list(state))


def told(function: Any, *args: Any) -> Any:
    """What it gives or raises; the warnings go where the program's filters send them."""
    try:
        return function(*args)
    except Warning as error:
        return f"raised {error}"


@case
def warned_as_of_a_caller(w: World) -> None:
    def deepest(x, level):
        warnings.warn("here", DeprecationWarning, stacklevel=level)
        return x

    def deep(x, level):
        y = sum(deepest(x, level) for _ in range(1))
        z = list(map(lambda v: deepest(v, level), [x]))[0]
        return deepest(x, level) + z + y

    @w.compiled
    def plain(x, level):
        return deepest(x, level) * 2

    @w.compiled
    def f(x, level):
        return deep(x, level) * 2

    for level in (1, 2, 3, 4, 0):
        for n in (2, 2, 3):
            w(plain, floats(n), level)
            w(f, floats(n), level)
    w.replayed(plain, 5)


@case
def warned_once_for_each_place(w: World) -> None:
    @w.compiled
    def f(x, text):
        warnings.warn(text)
        warnings.warn(text)
        return x + 1

    def counted(action):
        with warnings.catch_warnings(record=True) as log:
            warnings.simplefilter(action)
            for text in ("a", "a", "b"):
                f(floats(2), text)
                f(floats(3), text)
        return [(str(each.message), each.lineno) for each in log]

    for action in ("default", "once", "module", "always", "ignore"):
        w.note(counted(action))


@case
def warned_within_managers_and_handlers(w: World) -> None:
    @w.compiled
    def f(x):
        with warnings.catch_warnings(record=True) as log:
            warnings.simplefilter("always")
            warnings.warn("kept")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn("raised")
            except UserWarning as error:
                log.append(error)
        return x + len(log)

    for n in (2, 2, 3):
        w(f, floats(n))


@case
def warnings_shown_by_the_program(w: World) -> None:
    state, seen = w.watch([0]), w.watch([])

    @w.compiled
    def f(x):
        state[0] += 1
        warnings.warn("now")
        state[0] += 1
        return x + state[0]

    def shown(*_: Any) -> None:
        seen.append(state[0])

    for own in (False, True, True, False):
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            if own:
                warnings.showwarning = shown
            f(floats(2))
        w.note(state, seen)


@case
def logged(w: World) -> None:
    with logger(w) as log:
        state = w.watch([])

        @w.compiled
        def f(x):
            log.debug("the shape is %s", x.shape)
            log.info("begins with %d of %s", len(x), "text")
            y = x * 2
            log.warning(f"the sum is {y.sum()}")
            state.append(len(x))
            log.log(logging.ERROR, "mean %.3f, all %s", y.mean(), y)
            y += 1
            return y

        for n in (2, 2, 3):
            w(f, floats(n))
        w.replayed(f)
        for level in (logging.WARNING, logging.DEBUG, logging.CRITICAL):
            log.setLevel(level)
            for n in (2, 2, 3):
                w(f, floats(n))


@case
def logged_what_changes_behind(w: World) -> None:
    with logger(w) as log:

        @w.compiled
        def f(x):
            log.info("before %s, %r", x, 3)
            x += 1
            log.info("behind %s", x)
            values = [x.sum(), 2]
            log.info("%s", values)
            values.append(3)
            log.info(values)
            return values

        for n in (2, 2, 3):
            w(f, floats(n))
        w.replayed(f)


@case
def logged_by_an_object(w: World) -> None:
    class Model:
        def __init__(self, log: logging.Logger) -> None:
            self.log = log
            self.calls = 0

        def step(self, x: Any) -> Any:
            self.calls += 1
            if self.log.isEnabledFor(logging.INFO):
                self.log.info("call %d", self.calls, extra={"kind": "step"})
            self.log.error("as of the caller", stacklevel=2)
            return x * self.calls

    with logger(w) as log:
        model = w.watch(Model(log))
        log.handlers[0].setFormatter(logging.Formatter(FORMAT + " %(kind)s", defaults={"kind": 0}))

        @w.compiled
        def f(model, x):
            return model.step(x) + 1

        for n in (2, 2, 3):
            w.note(f(model, floats(n)))
        w.replayed(f)
        w.note(model.calls)


@case
def logged_through_an_adapter(w: World) -> None:
    with logger(w) as log:
        adapter = logging.LoggerAdapter(log, {"job": 7})

        @w.compiled
        def f(x):
            adapter.info("from an adapter: %s", x.max())
            return x + 1

        for n in (2, 2, 3):
            w.note(f(floats(n)))


class Seeing(logging.Handler):
    """A handler that tells what the program's state is."""

    def __init__(self, state: list[Any]) -> None:
        super().__init__()
        self.state = state
        self.seen: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append((record.getMessage(), record.args, list(self.state)))


@case
def logged_to_a_handler_of_ones_own(w: World) -> None:
    state = w.watch([0])
    handler = Seeing(state)
    with logger(w, handler) as log:

        @w.compiled
        def f(x):
            state[0] += 1
            log.info("at %s", state[0])
            state[0] += 1
            log.debug("not seen")
            return x * state[0]

        for n in (2, 2, 3):
            w(f, floats(n))
            w.note(handler.seen)


@case
def logged_with_a_traceback(w: World) -> None:
    with logger(w) as log:

        @w.compiled
        def f(x):
            try:
                {}["missing"]
            except KeyError:
                log.exception("as it was raised")
            log.info("with %s", "one", exc_info=False)
            return x + 1

        for n in (2, 2, 3):
            w(f, floats(n))


@case
def logged_by_the_module(w: World) -> None:
    text = io.StringIO()
    before, level = list(logging.root.handlers), logging.root.level
    logging.root.handlers[:] = [handler := logging.StreamHandler(text)]
    handler.setFormatter(logging.Formatter(FORMAT))
    logging.root.setLevel(logging.INFO)

    @w.compiled
    def f(x):
        logging.info("the mean is %.1f", x.mean())
        logging.debug("not seen")
        logging.getLogger("other").warning("from there")
        return np.exp(x * 0)

    try:
        for n in (2, 2, 3):
            w(f, floats(n))
        w.replayed(f)
    finally:
        logging.root.handlers[:] = before
        logging.root.setLevel(level)
    w.note(text.getvalue())


@case
def logged_wrongly(w: World) -> None:
    with logger(w) as log:

        @w.compiled
        def f(x, text):
            log.info(text, len(x))
            return x + 1

        for text in ("%d", "%d", "none"):
            with_errors = logging.raiseExceptions
            logging.raiseExceptions = False
            for n in (2, 2, 3):
                w(f, floats(n), text)
            logging.raiseExceptions = with_errors
