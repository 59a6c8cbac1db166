"""Exceptions that a function raises and handles itself."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def a_shape_that_does_not_fit(w: World) -> None:
    @w.compiled
    def f(x, y):
        try:
            z = x + y
        except ValueError:
            z = x * 2
        return z

    for a, b in ((3, 2), (3, 2), (3, 3), (2, 3), (3, 1), (4, 4), (4, 3)):
        w(f, floats(a), floats(b))


@case
def what_an_exception_says(w: World) -> None:
    @w.compiled
    def f(x, text):
        try:
            n = int(text)
        except ValueError as error:
            return x, str(error), error.args, type(error), isinstance(error, ArithmeticError)
        return x * n, f"{n}"

    for text in ("a", "a", "b", "3", "4", "a"):
        w(f, floats(2), text)


@case
def an_exception_that_leaves(w: World) -> None:
    @w.compiled
    def f(x, log):
        try:
            log.append(1)
            x[10] = 1
        except IndexError as error:
            log.append(2)
            raise KeyError("other") from error
        finally:
            log.append(3)

    log = w.watch([])
    for n in (3, 3, 12, 3):
        w(f, floats(n), log)


@case
def an_exception_that_is_kept(w: World) -> None:
    @w.compiled
    def f(x):
        try:
            x[10]
        except IndexError as error:
            return error.args, error
        return x, None

    for n in (3, 3, 12, 3):
        result = w(f, floats(n))
        w.note(result[1] is None or result[1].__traceback__ is not None)


@case
def raised_and_handled_across_functions(w: World) -> None:
    class OwnError(Exception):
        pass

    class LoudError(Exception):
        def __init__(self, n):
            super().__init__(n)
            log.append(n)

    log = w.watch([])

    def check(n):
        if n > 2:
            raise OwnError("large", n)
        if n < 0:
            raise LoudError(n)
        return n

    @w.compiled
    def f(x, n):
        try:
            return x * check(n)
        except OwnError as error:
            return x + error.args[1]
        except LoudError:
            return x

    for n in (1, 1, 3, 3, 4, -1, -1, 2):
        w(f, floats(3), n)


@case
def finally_and_else(w: World) -> None:
    @w.compiled
    def f(x, key, log):
        table = {"a": 1, "b": 2}
        try:
            n = table[key]
        except KeyError:
            n = -1
        else:
            n += 10
        finally:
            log.append(key)
        return x * n

    log = w.watch([])
    for key in ("a", "a", "z", "z", "b", "y"):
        w(f, floats(2), key, log)


@case
def loops_that_continue_after_exceptions(w: World) -> None:
    @w.compiled
    def f(x, texts):
        total = x * 0
        for text in texts:
            try:
                total = total + float(text)
            except ValueError:
                continue
            except TypeError:
                break
        return total

    for texts in (["1", "b", "2"], ["1", "b", "2"], ["q"], ["1", None, "3"], ["1", "2", "3"]):
        w(f, floats(2), texts)


@case
def a_manager_that_swallows(w: World) -> None:
    class Swallow:
        def __init__(self):
            self.caught = None

        def __enter__(self):
            return self

        def __exit__(self, kind, value, traceback):
            self.caught = kind
            return kind is ValueError

    @w.compiled
    def f(x, y):
        with Swallow() as s:
            y = x + y
        return y * 2, s.caught

    for a, b in ((3, 2), (3, 2), (3, 3), (4, 3), (1, 3)):
        w(f, floats(a), floats(b))


@case
def an_error_half_way_through_a_write(w: World) -> None:
    @w.compiled
    def f(x, i):
        before = x + 0
        try:
            np.add.at(x, i, 1.0)
        except IndexError:
            x[0] = -1
        return before, x * 2

    for last in (1, 1, 9, 9, 2):
        w(f, floats(4), np.array([1, 2, last]))


@case
def out_of_the_wrong_shape_or_kind(w: World) -> None:
    @w.compiled
    def f(x, out):
        try:
            np.add(x, 1, out=out)
        except (ValueError, TypeError) as error:
            return type(error), str(error)
        return out * 1

    for out in (np.zeros(3), np.zeros(3), np.zeros(2), np.zeros(3, int), np.zeros((2, 3)), None):
        w(f, floats(3), out)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    w(f, floats(3), frozen)


@case
def warnings_as_errors(w: World) -> None:
    @w.compiled
    def f(x):
        with np.errstate(all="raise"):
            try:
                y = 1 / x
            except FloatingPointError:
                y = x
        return y

    for x in (floats(3) + 1, floats(3) + 1, np.zeros(2), np.zeros(2), floats(2) + 2):
        w(f, x)


@case
def a_patched_function_that_raises(w: World) -> None:
    def refuse(*_):
        raise ValueError("patched")

    @w.compiled
    def f(x):
        try:
            return np.linalg.inv(x)
        except np.linalg.LinAlgError:
            return x * 0
        except ValueError as error:
            return str(error)

    singular = np.ones((2, 2))
    for x in (singular, singular, np.eye(2), np.eye(3), ints(4)):
        w(f, x)
    own, np.linalg.inv = np.linalg.inv, refuse
    try:
        w(f, singular)
        w(f, singular)
    finally:
        np.linalg.inv = own
    w(f, singular)


@case
def raise_again(w: World) -> None:
    @w.compiled
    def f(x, n):
        try:
            try:
                return x.reshape(n)
            except ValueError:
                if n > 5:
                    raise
                return x
        except ValueError as error:
            return str(error)

    for n in (3, 3, 4, 4, 7, 7, 3):
        w(f, floats(3), n)


@case
def numpys_own_checks_in_python(w: World) -> None:
    @w.compiled
    def f(x, q, axis):
        try:
            return np.percentile(x, q, axis=axis)
        except ValueError as error:
            return "value", str(error)
        except np.exceptions.AxisError as error:
            return "axis", str(error)

    for q, axis in ((10, 0), (10, 0), (110, 0), (110, 0), (10, 4), (10, 4), (20, 1)):
        w(f, floats(3, 2), q, axis)


@case
def keys_that_a_dict_lacks(w: World) -> None:
    @w.compiled
    def f(table, key, x):
        try:
            return table[key] + x
        except KeyError as error:
            table[key] = x * 2
            return error.args, str(error), {}.get("a"), len(table)

    tables = [w.watch({}), w.watch({"b": 1.0})]
    for key in ("a", "a", "b", ("a", 1), 7, [1]):
        for table in tables:
            w(f, table, key, floats(3))

    @w.compiled
    def g(x):
        made = {"a": x}
        try:
            made["b"]
        except LookupError:
            x = x + 1
        return made["c"] if len(x) > 3 else x

    for n in (3, 3, 4, 4):
        w(g, floats(n))

    @w.compiled
    def h(table, key):
        try:
            return table[key]
        except KeyError:
            return 0

    for table in ({}, {}, {"a": 1}, {"b": 2}, {"b": 2, "a": 3}):
        w(h, table, "a")
