"""Writes random programs of generators and managers that have something to finish.

A program is a module: classes and functions with a log, and `f(x)`, which consumes generators in
one of many ways: to the end, in part, closed, thrown into, dropped, kept, within each other.
"""

from __future__ import annotations

import random
import textwrap

HEAD = """
import contextlib
import itertools

log = []


class Token:
    def __init__(self, name, swallows=()):
        self.name, self.swallows = name, swallows

    def __enter__(self):
        log.append(("enter", self.name))
        return self.name

    def __exit__(self, kind, error, traceback):
        log.append(("exit", self.name, kind and kind.__name__))
        return kind is not None and issubclass(kind, self.swallows)


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
        log.append(("swallowed", error.args))


@contextlib.contextmanager
def turning(kind, other):
    try:
        yield
    except kind as error:
        log.append("turned")
        raise other("turned") from error
"""
KINDS = ("ValueError", "KeyError", "ZeroDivisionError")
MANAGERS = (
    "Token({name})",
    "Token({name}, {kind})",
    "noted({name})",
    "swallowing({kind})",
    "turning({kind}, {other})",
    "contextlib.suppress({kind})",
    "contextlib.nullcontext({name})",
)


class Writer:
    """One program, written from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0
        self.generators = 0

    def program(self) -> str:
        parts = [HEAD]
        for _ in range(self.random.randint(1, 3)):
            body = self.block(self.in_generator, 3)
            parts.append(f"def g{self.generators}(x):\n{body}    if False:\n        yield x\n")
            self.generators += 1
        body = self.block(self.in_consumer, 2)
        parts.append(f"def f(x):\n    total = 0.0\n{body}    return total, x.sum()\n")
        return "\n\n".join(parts)

    def block(self, write: object, depth: int, most: int = 3) -> str:
        lines = [write(depth) for _ in range(self.random.randint(1, most))]  # type: ignore[operator]
        return textwrap.indent("".join(lines), "    ")

    def name(self) -> int:
        self.names += 1
        return self.names

    def kind(self) -> str:
        return self.random.choice(KINDS)

    def log(self) -> str:
        return f"log.append({self.name()})\n"

    def raising(self) -> str:
        made = f"raise {self.kind()}({self.name()})\n"
        return made if self.random.random() < 0.3 else f"if x.sum() > 5:\n    {made}"

    def nested(self, write: object, depth: int) -> str:
        """A statement that holds others."""
        inner = self.block(write, depth - 1, 2)
        more = self.block(write, depth - 1, 1)
        which = self.random.randrange(5)
        if which == 0:
            return f"try:\n{inner}finally:\n    {self.log()}"
        if which == 1:
            handler = self.random.choice(
                [more, f"    {self.log()}    raise\n", f"    {self.log()}"]
            )
            return f"try:\n{inner}except {self.kind()}:\n{handler}"
        if which == 2:
            handler = f"except {self.kind()} as error:\n    log.append(error.args)\n"
            return f"try:\n{inner}{handler}else:\n{more}"
        if which == 3:
            manager = self.random.choice(MANAGERS)
            made = manager.format(name=self.name(), kind=self.kind(), other=self.kind())
            return f"with {made}:\n{inner}"
        return f"for _ in range({self.random.randint(0, 2)}):\n{inner}"

    def in_generator(self, depth: int) -> str:
        which = self.random.random()
        if depth > 0 and which < 0.45:
            return self.nested(self.in_generator, depth)
        if which < 0.75:
            sent = f"got = yield x * {self.name()}\nif got is not None:\n    x = x + got\n"
            return sent if self.random.random() < 0.2 else f"yield x * {self.name()}\n"
        if which < 0.8 and self.generators:
            return f"yield from g{self.random.randrange(self.generators)}(x + 1)\n"
        if which < 0.86:
            return self.raising()
        if which < 0.9:
            return "if x.sum() > 9:\n    return\n"
        return self.random.choice([self.log(), "x = x + 1\n"])

    def in_consumer(self, depth: int) -> str:
        if depth > 0 and self.random.random() < 0.35:
            return self.nested(self.in_consumer, depth)
        made = f"g{self.random.randrange(self.generators)}(x)"
        other = f"g{self.random.randrange(self.generators)}(x + 1)"
        leave = self.random.choice(
            ["break", f"raise {self.kind()}({self.name()})", "return total, x"]
        )
        taken = self.random.randint(1, 2)
        caught = f"except ({self.kind()}, StopIteration) as error:\n    log.append(error.args)\n"
        return self.random.choice(
            [
                f"for part in {made}:\n    total = total + part.sum()\n    {self.log()}",
                f"for part in {made}:\n    total = total + part.sum()\n    {self.log()}"
                f"    if part.sum() > 6:\n        {leave}\n",
                f"for i, part in enumerate({made}):\n    total = total + part.sum()\n"
                f"    if i == {taken}:\n        {leave}\n",
                f"for part, _ in zip({made}, range({taken})):\n    total = total + part.sum()\n",
                f"total = total + sum(part.sum() for part in {made})\n",
                f"total = total + len(list({made}))\n{self.log()}",
                f"g = {made}\nfor part in g:\n    total = total + part.sum()\n    break\n"
                f"{self.log()}del g\n{self.log()}",
                f"g = {made}\nlog.append(next(g, None) is None)\ng.close()\n{self.log()}",
                f"g = {made}\nfirst = next(g, None)\n{self.log()}try:\n"
                f"    second = g.throw({self.kind()}({self.name()}))\n"
                "    total = total + second.sum()\n"
                f"{caught}",
                f"first = next({made}, None)\n{self.log()}",
                f"g = {made}\nfirst = next(g, None)\n{self.log()}try:\n"
                f"    for more in (x, None, {self.name()}):\n"
                "        total = total + g.send(more).sum()\n"
                f"{caught}",
                f"for part, more in zip({made}, {other}):\n    total = total + part.sum()\n"
                f"    {leave}\n",
                f"for part in {made}:\n    for more in {other}:\n"
                f"        total = total + more.sum()\n        {leave}\n",
                f"g, h = {made}, {other}\n"
                "log.append((next(g, None) is None, next(h, None) is None))\n",
                self.raising(),
            ]
        )


__all__ = ["Writer"]
