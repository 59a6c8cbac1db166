"""What the parts of a lowering have in common.

The parts are named once: by the class of their layer, in `layer.py` of each folder. It says what
the parts of that layer and of those above may use, and the type checker holds them to it.
"""

from __future__ import annotations

from typing import ClassVar

#: name of a class -> the part, or the layer, that it is
CLASSES: dict[str, type[Part]] = {}


class Part:
    """A part of the lowering of one recording.

    It is handed those of the other parts that it names in `needs`, and no more (lowering.py;
    tests/py/test_parts.py). Its `__init__` begins with a recording.
    """

    needs: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        CLASSES[cls.__name__] = cls


__all__ = ["CLASSES", "Part"]
