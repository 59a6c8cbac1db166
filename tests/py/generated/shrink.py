"""The smallest program that still shows a difference of the same kind.

Hypothesis shrinks decisions; this shrinks text, which needs no generator and keeps what matters:
statements go one by one, blocks are replaced by their bodies, calls are dropped.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

from .compare import Difference, difference
from .program import Program

Fails = Callable[[Program], Difference | None]


def bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield every list of statements in the tree, innermost last."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield block


def smaller_trees(text: str) -> Iterator[str]:
    """Yield the function with one statement less, or one block flattened, or one call inlined."""
    tree = ast.parse(text)
    count = sum(len(block) for block in bodies(tree))
    for at in reversed(range(count)):
        for flatten in (False, True):
            candidate = copy.deepcopy(tree)
            position = at
            for block in bodies(candidate):
                if position >= len(block):
                    position -= len(block)
                    continue
                victim = block[position]
                inner = [
                    s for name in ("body", "orelse") for s in getattr(victim, name, [])
                ] if flatten and not isinstance(victim, ast.FunctionDef) else []  # fmt: skip
                if flatten and not inner:
                    break
                block[position : position + 1] = inner or ([] if len(block) > 1 else [ast.Pass()])
                yield ast.unparse(ast.fix_missing_locations(candidate))
                break
    yield from simpler_expressions(tree)


def simpler_expressions(tree: ast.Module) -> Iterator[str]:
    """Yield the function with one compound expression replaced by one of its operands."""
    for at in range(len(compound(tree))):
        for child in range(3):
            candidate = copy.deepcopy(tree)
            target = compound(candidate)[at]
            operands = [
                n for n in ast.iter_child_nodes(target)
                if isinstance(n, ast.expr) and not isinstance(n, ast.Slice)
            ]  # fmt: skip
            if child >= len(operands):
                break
            swap = _Swap(target, operands[child])
            yield ast.unparse(ast.fix_missing_locations(swap.visit(candidate)))


def compound(tree: ast.AST) -> list[ast.AST]:
    """Return the expressions that have operands, in the order of the tree."""
    kinds = (ast.BinOp, ast.Call, ast.Subscript, ast.UnaryOp, ast.Compare, ast.Tuple)
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, kinds) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    ]


class _Swap(ast.NodeTransformer):
    def __init__(self, target: ast.AST, by: ast.AST) -> None:
        self.target, self.by = target, by

    def visit(self, node: ast.AST) -> ast.AST:
        return self.by if node is self.target else self.generic_visit(node)


def with_function(program: Program, text: str) -> Program:
    """Return the program with `text` for its functions, the last of which is f."""
    tree = ast.parse(text)
    *helpers, main = tree.body
    assert isinstance(main, ast.FunctionDef)
    helper_lines = [line for h in helpers for line in ast.unparse(h).splitlines()]
    body = [line for s in main.body for line in ast.unparse(s).splitlines()]
    return replace(program, helpers=tuple(helper_lines), body=tuple(body))


def without_parameter(program: Program, name: str) -> Program:
    """Return the program without a parameter; its argument is still built, but not passed."""
    names = tuple(n for n in program.names if n != name)
    calls = []
    for call in program.calls:
        head, passed, _ = call.rpartition("arguments = (")
        calls.append(f"{head}arguments = ({', '.join(names)},)" if passed else call)
    return replace(program, names=names, calls=tuple(calls))


def without_line(program: Program, call: int, line: int) -> Program:
    """Return the program with one line less in one of its calls."""
    lines = program.calls[call].splitlines()
    text = "\n".join(lines[:line] + lines[line + 1 :])
    return replace(program, calls=(*program.calls[:call], text, *program.calls[call + 1 :]))


def shrink(program: Program, found: Difference, tries: int = 1200) -> tuple[Program, Difference]:
    """Return a smaller program whose difference is of the same kind, and that difference."""

    def still(candidate: Program) -> Difference | None:
        nonlocal tries
        tries -= 1
        try:
            now = difference(candidate)
        except Exception:  # the candidate is no program any more
            return None
        if now and now.kind == found.kind and "NameError" not in now.text:
            return now
        return None

    improved = True
    while improved and tries > 0:
        improved = False
        for i in reversed(range(len(program.calls))):
            if len(program.calls) > 1:
                calls = program.calls[:i] + program.calls[i + 1 :]
                candidate = replace(program, calls=calls)
                if now := still(candidate):
                    program, found, improved = candidate, now, True
        for name in program.names[1:]:
            candidate = without_parameter(program, name)
            if now := still(candidate):
                program, found, improved = candidate, now, True
        for text in smaller_trees(program.function):
            if tries <= 0:
                break
            try:
                candidate = with_function(program, text)
            except (SyntaxError, AssertionError, ValueError):
                continue
            if now := still(candidate):
                program, found, improved = candidate, now, True
                break
    for call in range(len(program.calls)):
        for line in reversed(range(program.calls[call].count("\n"))):
            candidate = without_line(program, call, line)
            if now := still(candidate):
                program, found = candidate, now
    return program, found
