"""Exceptions of the program's own classes, which have an `__init__`, methods and attributes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import dvm

#: Classes of exceptions, each made with one number.
CLASSES = {
    "Plain": "class Plain(Exception):\n    pass",
    "Coded": """class Coded(Exception):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code""",
    "Silent": """class Silent(ValueError):
    def __init__(self, code):
        self.code = code""",
    "Shown": """class Shown(RuntimeError):
    limit = 3
    def __init__(self, code):
        self.code = code
    def __str__(self):
        return f"{self.code} of {self.limit}\"""",
    "Named": """class Named(KeyError):
    def __init__(self, code, *, hint="none"):
        Exception.__init__(self, code, hint)
        self.code, self.hint = code, hint""",
    "Derived": """class Derived(Coded):
    def __init__(self, code):
        super().__init__(code + 1)
        self.first = code
    def total(self):
        return self.code + self.first
    @property
    def twice(self):
        return self.first * 2
    @classmethod
    def of(cls, code):
        return cls(code)""",
    "Mixed": """class Counted:
    def __init__(self, *args):
        super().__init__(*args)
        self.count = len(args)
class Mixed(Counted, Exception):
    pass""",
    "Holding": """class Holding(Exception):
    def __init__(self, code, data=None):
        super().__init__("held")
        self.data = [code, np.arange(3.0) * code]
        self.code = code""",
    "Branching": """class Branching(LookupError):
    def __init__(self, code):
        if code % 2:
            super().__init__("odd", code)
        self.code = code""",
    "Made": """@dataclasses.dataclass
class Made(Exception):
    code: int
    note: str = "none\"""",
    "Default": """class Default(OSError):
    def __init__(self, code=2):
        super().__init__(code, "no such thing")
        self.code = code""",
}
SOURCE = "import dataclasses\nimport numpy as np\n" + "\n\n".join(CLASSES.values()) + "\n\n"

#: What a handler does with `e`.
LOOKS = (
    *("r.append(str(e))", "r.append(repr(e))", "r.append(e.args)", "r.append(type(e).__name__)"),
    *("r.append(getattr(e, 'code', None))", "x = x + e.code", "e.code = K", "e.code += K"),
    *("e.args = (K, 'set')", "r.append(isinstance(e, (Coded, Shown)))", "r.append(f'{e}')"),
    *("r.append(e.__cause__)", "e.extra = x", "r.append(hasattr(e, 'extra'))", "r.append(e.twice)"),
    *("r.append(e.total())", "r.append(e.limit)", "x = x * e.data[1]", "r.append(e.errno)"),
    *(
        "kept.append(e.code)",
        "raise",
        "raise Plain(K) from e",
        "raise Coded(K)",
        "r.append(e.hint)",
    ),
)


def program(draw: random.Random) -> str:
    """The source of a function of an array and a number, which raises and mostly handles."""
    names = list(CLASSES)

    def handler(indent: str) -> list[str]:
        caught = draw.choice(["Exception", *names, "(Coded, ValueError)"])
        lines = [f"{indent}except {caught} as e:"]
        for _ in range(draw.randint(1, 3)):
            look = draw.choice(LOOKS).replace("K", str(draw.randint(1, 5)))
            lines.append(f"{indent}    {look}")
        return lines

    name = draw.choice(names)
    made = draw.choice(
        [f"{name}(k)", f"{name}(k)", f"{name}({draw.randint(0, 4)})", "Derived.of(k)"]
    )
    made = draw.choice([made, made, made, "Default", "Named(k, hint='h')"])
    condition = draw.choice([f"k > {draw.randint(0, 4)}", "k % 2", "x.sum() > 6", "True"])
    lines = ["def f(x, k):", "    r = []", "    try:"]
    if draw.random() < 0.5:
        lines += ["        try:", "            x = x * 2", f"            if {condition}:"]
        lines += [f"                raise {made}", "            x = x + 1"]
        lines += handler("        ")
    else:
        lines += [f"        e = {made}", f"        if {condition}:", "            raise e"]
    lines += handler("    ")
    if draw.random() < 0.3:
        lines += ["    finally:", "        kept.append(k)"]
    return "\n".join([*lines, "    return x, r", ""])


def described(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, list(map(described, value))
    if isinstance(value, BaseException):
        own = {name: described(item) for name, item in sorted(vars(value).items())}
        return type(value).__name__, str(value), described(value.args), own
    return type(value).__name__, repr(value)


def run(source: str, *, compiled: bool) -> tuple[list[Any], Any]:
    scope: dict[str, Any] = {"kept": [], "__name__": __name__}
    exec(compile(SOURCE + source, "<generated>", "exec"), scope)
    function = dvm.compile(scope["f"]) if compiled else scope["f"]
    told = []
    for k in (0, 1, 2, 3, 4, 5, 6, 3, 2, 1):
        try:
            result = described(function(np.full(2, float(k)), k))
        except Exception as error:
            lines, at = [], error.__traceback__
            while at is not None:
                if at.tb_frame.f_code.co_filename == "<generated>":
                    lines.append(at.tb_lineno)
                at = at.tb_next
            result = described(error), described(error.__cause__), lines
        told.append((result, described(scope["kept"])))
    return told, function


@pytest.mark.parametrize("seed", range(60))
def test_generated_programs_do_what_they_do_plainly(seed: int) -> None:
    source = program(random.Random(seed))
    wanted, _ = run(source, compiled=False)
    with dvm.stance("force_capture"):
        got, _ = run(source, compiled=True)
    for call, (one, other) in enumerate(zip(wanted, got, strict=True)):
        assert one == other, f"call {call}\n{source}"


@pytest.mark.parametrize("name", CLASSES)
def test_a_handled_exception_of_each_class_is_part_of_paths(name: str) -> None:
    source = f"""def f(x, k):
    try:
        if k > 2:
            raise {name}(k)
        return x * 2
    except {name} as e:
        return x + len(str(e)), e.args
"""
    wanted, _ = run(source, compiled=False)
    with dvm.stance("force_capture"):
        got, function = run(source, compiled=True)
    assert got == wanted
    assert function.stats.fallbacks == 0, function.fallback_reasons
    assert function.stats.captures <= 3, function.why_recompiled()
