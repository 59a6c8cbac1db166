"""Managers that contextlib makes of generators."""

from __future__ import annotations

import contextlib
import types

import numpy as np

from semantics.world import World, case, floats


@case
def a_value_is_given(w: World) -> None:
    @contextlib.contextmanager
    def scaled(x, by=2):
        yield x * by

    @w.compiled
    def f(x):
        with scaled(x) as y, scaled(x, by=3) as z:
            t = y + z
        with scaled(3) as k:
            return t * k

    for n in (2, 2, 3):
        w(f, floats(n))
    w.replayed(f)


@case
def something_is_done_at_the_end(w: World) -> None:
    log = w.watch([])

    @contextlib.contextmanager
    def noted(name, x):
        log.append(f"enter {name}")
        try:
            yield x * 2
        finally:
            log.append(f"leave {name}")
            x += 1

    @w.compiled
    def f(x):
        with noted("a", x) as y:
            log.append("within")
            with noted("b", y) as z:
                pass
            t = y + z
        return t + x

    @w.compiled
    def returning(x):
        with noted("a", x) as y:
            for _ in range(2):
                with noted("b", y) as z:
                    return y + z
        return x

    for n in (2, 2, 3):
        w(f, floats(n))
        w(returning, floats(n))
    w.replayed(f)
    w.replayed(returning)


@case
def an_exception_within(w: World) -> None:
    log = w.watch([])

    @contextlib.contextmanager
    def noted(swallow):
        try:
            yield
        except ValueError as error:
            log.append(str(error))
            if not swallow:
                raise
        finally:
            log.append("end")

    @w.compiled
    def f(x, y, swallow):
        with noted(swallow):
            return x + y
        return x

    for n, swallow in ((2, True), (2, True), (3, True), (3, True), (2, False), (3, False)):
        w(f, floats(2), floats(n), swallow)
        w(f, floats(2), floats(n), swallow)


@case
def a_state_that_is_put_back(w: World) -> None:
    class Model:
        def __init__(self):
            self.training = True
            self.depth = 0

        @contextlib.contextmanager
        def evaluating(self):
            before, self.training = self.training, False
            self.depth += 1
            try:
                yield self
            finally:
                self.training = before

        def __call__(self, x):
            return x * 2 if self.training else x + 1

    @w.compiled
    def f(model, x):
        with model.evaluating() as same:
            y = same(x)
        return y + model(x)

    model = Model()
    for n in (2, 2, 3):
        w.note(f(model, floats(n)), model.training, model.depth)
    w.replayed(f)


@case
def a_function_is_decorated(w: World) -> None:
    log = w.watch([])

    @contextlib.contextmanager
    def noted(text):
        log.append(text)
        try:
            yield
        finally:
            log.append("end")

    @noted("decorated")
    def inner(x):
        return x * 2

    @w.compiled
    def f(x):
        return inner(x) + inner(x + 1)

    for n in (2, 2, 3):
        w(f, floats(n))
    w.replayed(f)


@case
def the_error_state_within(w: World) -> None:
    @contextlib.contextmanager
    def quiet():
        with np.errstate(all="ignore"):
            yield

    @w.compiled
    def f(x):
        with quiet():
            y = 1 / x
        return y, np.geterr()["divide"]

    for n in (2, 2, 3):
        w(f, np.zeros(n))
        w(f, floats(n) + 4)


@case
def an_error_state_that_is_set_back(w: World) -> None:
    @w.compiled
    def f(x):
        old = np.seterr(divide="ignore", invalid="ignore")
        y = x / x * 2
        within = np.geterr()
        np.seterr(**old)
        return y + 1, within, np.geterr()

    @w.compiled
    def trying(x):
        old = np.seterr(all="raise", under="ignore")
        try:
            return 1 / x
        except FloatingPointError:
            return x
        finally:
            np.seterr(**old)

    for n in (2, 2, 3):
        w(f, np.zeros(n))
        w(f, floats(n) + 4)
        w(trying, floats(n) + 4)
    w.replayed(f)
    w.replayed(trying)
    w(trying, np.zeros(2))
    with np.errstate(divide="raise", over="ignore"):
        for n in (2, 2):
            w(f, np.zeros(n))
            w(trying, floats(n) + 4)


@case
def an_error_state_that_stays(w: World) -> None:
    @w.compiled
    def f(x, mode):
        old = np.seterr(divide=mode)
        return x + 1, old

    @w.compiled
    def asked(x):
        return np.geterr()

    before = np.geterr()
    for mode in ("ignore", "ignore", "warn", "raise", "ignore"):
        w(f, floats(2), mode)
        w(asked, floats(2))
    np.seterr(**before)
    w(asked, floats(2))
    w(asked, floats(2))


@case
def managers_that_are_wrong(w: World) -> None:
    @contextlib.contextmanager
    def twice():
        yield 1
        yield 2

    @contextlib.contextmanager
    def never():
        if False:
            yield 1

    @w.compiled
    def f(x, manager):
        with manager() as k:
            return x + k

    for manager in (twice, twice, never, never):
        for _ in range(3):
            w(f, floats(2), manager)


@case
def managers_that_are_entered_by_hand(w: World) -> None:
    log = w.watch([])

    @contextlib.contextmanager
    def noted(name):
        try:
            yield name
        finally:
            log.append(name)

    @w.compiled
    def f(x):
        manager = noted("first")
        manager.__enter__()
        del manager
        log.append("then")
        return x + 1

    @w.compiled
    def stacked(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(noted("one"))
            stack.enter_context(noted("two"))
            stack.callback(log.append, "three")
            log.append(len(x))
        return x * 2

    for n in (2, 2, 3):
        w(f, floats(n))
        w(stacked, floats(n))


@case
def another_manager_of_each_name(w: World) -> None:
    def made(k):
        @contextlib.contextmanager
        def given():
            yield k

        return given

    @w.compiled
    def f(x, manager):
        with manager() as k:
            return x * k

    for k in (1, 1, 2.5, 3, 1):
        w(f, floats(3), made(k))


class Swallowing:
    def __init__(self, log, kind):
        self.log, self.kind = log, kind

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(kind and kind.__name__)
        return kind is self.kind


@case
def stacks_of_managers(w: World) -> None:
    log = w.watch([])

    @contextlib.contextmanager
    def noted(name):
        log.append(("in", name))
        try:
            yield name
        finally:
            log.append(("out", name))

    @contextlib.contextmanager
    def swallowing(kind):
        try:
            yield
        except kind as error:
            log.append(repr(error))

    @w.compiled
    def several(x):
        with contextlib.ExitStack() as stack:
            k = stack.enter_context(noted(3))
            stack.enter_context(Swallowing(log, KeyError))
            for i in range(2):
                x = x * k + stack.enter_context(noted(i))
        return x

    @w.compiled
    def raising(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(swallowing(ValueError))
            stack.enter_context(noted(1))
            raise ValueError(4)
        return x * 2

    @w.compiled
    def moved(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(noted(1))
            other = stack.pop_all()
        log.append("between")
        del other
        log.append("behind")
        return x

    @w.compiled
    def dropped(x):
        stack = contextlib.ExitStack()
        k = stack.enter_context(noted(3))
        log.append("between")
        del stack
        log.append("behind")
        return x * k

    @w.compiled
    def called_back(x):
        with contextlib.ExitStack() as stack:
            stack.callback(log.append, "last")
            stack.callback(log.append, x.sum() > 1)
            x = x * 2
        return x

    @w.compiled
    def bound(x):
        log.append(types.MethodType(lambda log, y: y, log)(x) is x)
        return x

    for n in (2, 2, 3):
        for f in (several, raising, moved, dropped, called_back, bound):
            w(f, floats(n))
    try:
        raise KeyError("of the caller")
    except KeyError:
        w(several, floats(2))
    w(several, floats(2))
    w.replayed(raising)
    w.replayed(called_back)


@case
def exceptions_that_managers_take_and_give(w: World) -> None:
    log = w.watch([])

    @contextlib.contextmanager
    def turning(kind, other):
        try:
            yield
        except kind as error:
            log.append(error.args)
            raise other("turned") from error

    @contextlib.contextmanager
    def swallowing(kind):
        try:
            yield
        except kind:
            log.append("swallowed")

    @w.compiled
    def f(x):
        with swallowing(KeyError):
            with turning(ValueError, KeyError):
                if x.sum() > 1:
                    raise ValueError("big")
                x = x + 1
        return x

    @w.compiled
    def leaving(x):
        with turning(ValueError, KeyError):
            raise ValueError("always")
        return x

    for n in (2, 2, 3, 1, 1):
        w(f, floats(n) * 0 + n)
        w(leaving, floats(n))
    w.captured(f, 2)
