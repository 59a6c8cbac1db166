"""What the programs work on: objects that tell what happens to them, in the order of the events.

Each way of running a program has a world of its own, so that what they tell can be compared.
"""

from __future__ import annotations

import io
import mmap
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np


class Plain:
    """Holds things; nobody is told when it dies."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


class Slots:
    """Has its attribute in no dict."""

    __slots__ = ("one",)


class World:
    """Two objects with parts that are made anew for each call, and what was told of them."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.is_over = False
        self.folder = tempfile.TemporaryDirectory()
        self.path = str(Path(self.folder.name) / "text")
        self.output = open(Path(self.folder.name) / "printed", "w+")  # noqa: SIM115
        self.p = Plain(n=0, items=[], table={}, k=None)
        self.q = Plain(n=0, items=[], table={}, k=None)
        self.references: dict[str, Any] = {}
        self.weak: Any = weakref.WeakValueDictionary()
        self.classes()

    def state(self) -> Any:
        """What a program's code can see of the two when something dies."""
        p, q = self.p, self.q
        return p.n, q.n, len(p.items), len(q.items), sorted(p.table), sorted(q.table)

    def classes(self) -> None:
        """Those of which the programs make objects."""
        world = self

        class Dying:
            """Tells when it dies, and what the world was then."""

            def __init__(self, tag: Any) -> None:
                self.tag = tag

            def __del__(self) -> None:
                if not world.is_over:
                    self.tell()

            def tell(self) -> None:
                world.told.append(("died", self.tag, world.state()))

        class Printing(Dying):
            def tell(self) -> None:
                print("died", self.tag, world.state(), file=world.output)

        class Asked:
            """Tells what is looked up of it and is not there."""

            def __getattr__(self, name: str) -> Any:
                world.told.append(("asked", name))
                if name.startswith("no"):
                    raise KeyError(name)
                if name.startswith("_"):
                    raise AttributeError(name)
                return len(name)

            def __call__(self, x: Any) -> Any:
                return x + 1

        self.Dying, self.Printing, self.Asked = Dying, Printing, Asked

    def remember(self, name: str, thing: Any) -> None:
        """Refer to it weakly: from here on everybody can ask whether it is there."""
        self.references[name] = weakref.ref(thing, lambda _: self.miss(name))

    def miss(self, name: str) -> None:
        if not self.is_over:
            self.told.append(("gone", name, self.state()))

    def interrupt(self, *_: Any) -> None:
        """What a signal's handler does."""
        self.told.append(("interrupted", self.state()))
        self.p.n += 1
        self.q.d = self.p.n

    def is_there(self, name: str) -> bool:
        return name in self.references and self.references[name]() is not None

    def renew(self, call: int) -> None:
        """As a program finds it at each call."""
        p, q = self.p, self.q
        p.d, q.d = self.Dying(("p", call)), self.Dying(("q", call))
        p.e = [self.Dying(("in a list of p", call)), 1]
        q.e = self.Printing(("q", call))
        p.w, q.w = Plain(n=1), Plain(n=Plain(n=2))
        self.remember("p.w", p.w)
        self.remember("q.w.n", q.w.n)
        self.weak["q.w"] = q.w
        p.array = np.arange(4.0)
        self.remember("p.array", p.array)
        q.pair = (Plain(n=3), [p.array])
        self.remember("pair", q.pair[0])
        p.buffer = bytearray(b"abcdef")
        p.map = mmap.mmap(-1, 64)
        p.file = open(self.path, "w")  # noqa: SIM115
        p.asked = self.Asked()
        p.items[:] = [self.Dying(("item", call)), Plain(n=4)]
        self.remember("item", p.items[1])
        p.table = {"a": self.Dying(("value", call)), "b": Plain(n=5)}
        self.grow(call)
        self.output.seek(0)
        self.output.truncate()

    def grow(self, call: int) -> None:
        """Trees that share their leaves: which of these dies first depends on what had it last."""
        p, q = self.p, self.q
        one, two, three, four = leaves = [Plain(n=n) for n in range(4)]
        two.n = np.arange(3.0)
        for number, leaf in enumerate(leaves):
            self.remember(f"leaf {number}", leaf)
        self.remember("leaf's array", two.n)
        p.tree = (one, [two, {"k": three}], four)
        p.other = [two, (four, one)]
        q.tree = Plain(n=(three, one, self.Dying(("leaf", call)), two))
        q.other = {"k": (four, [three])}
        p.slots = Slots()
        p.slots.one = ([one, three], four)

    def printed(self) -> str:
        self.output.flush()
        self.output.seek(0)
        text = self.output.read()
        self.output.seek(0, io.SEEK_END)
        return text

    def close(self) -> None:
        self.is_over = True
        vars(self.p).clear()
        vars(self.q).clear()
        self.output.close()
        self.folder.cleanup()


__all__ = ["Plain", "World"]
