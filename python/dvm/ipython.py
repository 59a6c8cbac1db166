"""Magics for IPython and Jupyter.

After `%load_ext dvm`:

    %dvm explain f(x)         what happened on a call, and why
    %dvm profile f(x)         where its time went; `--target ascend910b3` on simulated cores
    %%dvm profile [options]   the same of a whole cell, whose last line is a call
    %dvm page f(x)            the page with timeline and fusion graph, in the notebook

Errors are those of the cell: names that do not exist, exceptions of the function.
"""

from __future__ import annotations

import ast
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import dvm
from dvm import errors

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile

USAGE = "%dvm explain|profile|page [--target NAME] f(x)"


class Shell(Protocol):
    """What is used of IPython's InteractiveShell."""

    user_ns: dict[str, Any]
    compile: Any
    execution_count: int

    def transform_cell(self, cell: str) -> str:
        """Return the cell as Python."""

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        """Make a function known as a magic."""


class Page:
    """The page of a Profile as the output of a cell; `text` where no HTML is shown."""

    def __init__(self, profile: Profile):
        self.profile = profile

    def __repr__(self) -> str:
        return str(self.profile)

    def _repr_html_(self) -> str:
        # Notebooks that are not trusted drop the frame, and show what stands before it.
        return (
            f"{self.profile._repr_html_()}"
            f'<iframe title="profile of {escape(self.profile.function)}" sandbox="allow-scripts" '
            'style="width:100%;height:760px;border:0" '
            f'srcdoc="{escape(self.profile.page())}"></iframe>'
        )


def called(line: str) -> tuple[str, str | None, ast.Call]:
    """Return the command, the target and the call of a line."""
    command, _, rest = line.strip().partition(" ")
    if command not in ("explain", "profile", "page"):
        raise errors.unknown(
            "unknown_name", "command of %dvm", command, ["explain", "profile", "page"]
        )
    target = None
    if rest.strip().startswith("--target"):
        _, target, rest = rest.strip().split(maxsplit=2)
    tree = ast.parse(rest.strip(), "<%dvm>", "eval")
    if not isinstance(tree.body, ast.Call):
        raise errors.make("unsupported", f"{rest.strip()!r} is no call; {USAGE}")
    return command, target, tree.body


def answer(command: str, target: str | None, call: ast.Call, names: dict[str, Any]) -> Any:
    """Evaluate the function and the arguments of a call in `names`, and answer for it."""

    def collect(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    function = eval(compile(ast.Expression(call.func), "<%dvm>", "eval"), names)
    collector = "__dvm_collect__"
    arguments = ast.Call(ast.Name(collector, ast.Load()), call.args, call.keywords)
    tree = ast.fix_missing_locations(ast.Expression(arguments))
    args, kwargs = eval(compile(tree, "<%dvm>", "eval"), {**names, collector: collect})
    if command == "explain":
        return dvm.explain(function)(*args, **kwargs)
    profile = dvm.profile(function, target=target)(*args, **kwargs)
    return Page(profile) if command == "page" else profile


def run(shell: Shell, line: str, cell: str | None) -> Any:
    """Run the magic."""
    if cell is None:
        return answer(*called(line), shell.user_ns)
    # Statements run as they are; the last one is the call that is meant.
    text = shell.transform_cell(cell)
    tree = shell.compile.ast_parse(text, shell.compile.cache(text, shell.execution_count))
    if not tree.body or not isinstance(tree.body[-1], (ast.Expr, ast.Assign)):
        raise errors.make("unsupported", f"the last line of the cell is no call; {USAGE}")
    last = tree.body.pop()
    exec(compile(tree, "<%%dvm>", "exec"), shell.user_ns)
    call = ast.unparse(last.value)
    command, target, made = called(f"{line} {call}")
    return answer(command, target, made, shell.user_ns)


def load(shell: Shell) -> None:
    """Register the magics; `%load_ext dvm` calls it."""

    def magic(line: str, cell: str | None = None) -> Any:
        return run(shell, line, cell)

    shell.register_magic_function(magic, "line_cell", "dvm")
