"""Writes programs of a seed: `f(p, q, x, out)`, which uses what `World` has."""

from __future__ import annotations

import random

#: Statements, of which a program has several in any order. `{o}` and `{s}` are the two objects of
#: the world, `{v}` a local that may hold anything, `{n}` a number.
STATEMENTS = {
    "numbers": [
        "{o}.n += {n}",
        "{o}.n = {s}.n + {n}",
        "out.append({o}.n)",
        "y = y * 2 + {o}.n",
        "out.append(float(y.sum()))",
        "y = x * x + {n}",
        "print('said', {o}.n, file=world.output)",
        "world.GLOBAL = {n}",
        "x[0] = {n}",
        "for i in range(3): {o}.n += i",
        "{o}.table['c'] = {n}",
    ],
    "dying": [
        "{o}.d = None",
        "{o}.d = {o}.n",
        "{o}.d = Dying({n})",
        "{v} = Dying({n})",
        "{v} = Printing({n})",
        "p.e = None",
        "p.e = [1, 2]",
        "p.e.clear()",
        "p.e.pop(0)",
        "q.e = 1",
        "del q.e; q.e = 2",
        "{v} = {o}.d",
        "{v} = p.e",
        "{v} = None",
        "dies({n})",
        "{o}.d, {s}.d = {s}.d, {o}.d",
        "set_global(Dying({n}))",
        "set_global({n})",
        "p.items.pop()",
        "p.items.clear()",
        "p.items[0] = {n}",
        "p.items = [{n}]",
        "p.table.clear()",
        "p.table['a'] = {n}",
        "p.table = {{}}",
        "p.table.pop('a', None)",
        "{v} = [{o}.d, {o}.n]",
        "try: raises(Dying({n}))\n    except ValueError: pass",
    ],
    "weak": [
        "{v} = {o}.w",
        "{o}.w = None",
        "{o}.w = {o}.w.n",
        "q.pair = None",
        "{v} = q.pair",
        "{v} = q.pair[0]",
        "{v} = p.array",
        "p.array = p.array * 2",
        "p.array = y",
        "out.append(float(p.array.sum()))",
        "{v} = y + 1; world.remember('y', {v})",
        "{v} = Plain(n={n}); world.remember('v', {v})",
        "out.append(is_there('{r}'))",
        "out.append(is_there('{r}'))",
        "out.append('q.w' in world.weak)",
        "world.weak['v'] = {v} = Plain(n=y)",
        "out.append('v' in world.weak)",
        "{v} = p.items[1]",
        "{v} = (p.w, q.w)",
        "{v} = None",
        "y = None; y = x + {n}",
    ],
    "files": [
        "open(world.path, 'w').write('hello {n}')",
        "out.append(open(world.path).read())",
        "{v} = open(world.path, 'w'); {v}.write('by name {n}')",
        "{v} = None",
        "writes({n})",
        "p.file.write('{n}')",
        "p.file = None",
        "{v} = p.file",
        "with open(world.path) as file: out.append(file.read())",
        "del {v}; {v} = {n}",
    ],
    "buffers": [
        "out.append(int(np.frombuffer(p.buffer, 'u1').sum()))",
        "p.buffer.extend(b'{n}')",
        "p.buffer.append({n})",
        "out.append(bytes(memoryview(p.buffer)[:2]))",
        "{v} = np.frombuffer(p.buffer, 'u1')",
        "{v} = memoryview(p.buffer)",
        "{v} = np.frombuffer(p.buffer, 'u1')[1:]",
        "{v} = [memoryview(p.buffer)]",
        "{v} = None",
        "out.append(len(p.buffer))",
        "{v} = np.frombuffer(p.map, 'u1'); out.append(int({v}[0])); {v} = None",
        "p.map.close()",
        "p.map.resize(128)",
        "y = x + 1; resize = y.resize; resize(5); del resize",
        "y = x + 1; y.resize(3)",
        "sums(p.buffer)",
    ],
    "asked": [
        "out.append(p.asked.length)",
        "out.append(p.asked.more + {o}.n)",
        "y = p.asked(y)",
        "try: p.asked.nothing\n    except KeyError: out.append('no')",
        "out.append(hasattr(p.asked, '_other'))",
        "{v} = p.asked",
        "y = call(p.asked, y)",
    ],
    # What is read of a tree may be held by another one, that nobody has looked at.
    "trees": [
        "out.append(p.tree[0].n)",
        "out.append(p.tree[1][1]['k'].n)",
        "out.append(p.other[1][0].n)",
        "out.append(float(p.other[0].n.sum()))",
        "out.append(q.tree.n[1].n)",
        "out.append(q.other['k'][1][0].n)",
        "out.append(p.slots.one[0][0].n)",
        "{v} = p.tree[2]",
        "{v} = (q.tree, [p.other])",
        "{v} = p.tree[1]",
        "{v} = None",
        "p.tree = None",
        "p.other = {n}",
        "q.tree = q.other = {n}",
        "p.tree, p.other = p.other, None",
        "del {o}.tree",
        "del {o}.other",
        "setattr({o}, 'tree', {n})",
        "delattr({o}, 'other')",
        "{o}.__setattr__('tree', {n})",
        "object.__setattr__({o}, 'other', {n})",
        "{o}.__dict__['tree'] = None",
        "vars({o}).pop('other', 0)",
        "p.slots.one = {n}",
        "del p.slots.one",
        "set_global({n})",
        "q.other['k'] = {n}",
        "q.other.clear()",
        "p.other.pop()",
        "p.other[1] = {n}",
        "del p.other[0]",
        "p.tree = (q.tree, [p.tree])",
        "drops(p, q)",
        "drops_its_own(p, q)",
    ],
    "signals": [
        "signal.raise_signal(signal.SIGUSR1)",
        "{o}.n += 1; signal.raise_signal(signal.SIGUSR1); out.append({o}.n)",
        "{v} = {o}.d; signal.raise_signal(signal.SIGUSR1); {v} = None",
    ],
}
KINDS = [*STATEMENTS]
REFERENCES = ["p.w", "q.w.n", "p.array", "pair", "item", "y", "v", "leaf 0", "leaf 1", "leaf 3"]

HEAD = """
import signal

import numpy as np

GLOBAL = None

def dies(n):
    one = Dying(('one', n))
    two = Dying(('two', n))
    return n

def writes(n):
    file = open(world.path, 'w')
    file.write(f'within {n}')

def raises(thing):
    raise ValueError(1)

def sums(data):
    view = np.frombuffer(data, 'u1')
    return int(view.sum())

def call(function, value):
    return function(value)

def drops(p, q):
    parts = ([p.tree], q.other)
    p.tree = q.other = None
    n = parts[0].__len__()

def drops_its_own(p, q):
    parts = (q.tree, [p.other])
    p.other = q.tree = p.slots.one = None

def set_global(value):
    global GLOBAL
    GLOBAL = value

def is_there(name):
    return world.is_there(name)

def f(p, q, x, out):
    y = x + 0.5
    a = b = None
"""


def program_of(seed: int) -> str:
    """The text of a program; it looks at the world's classes as variables of its module."""
    draw = random.Random(seed)
    kinds = draw.sample(KINDS, draw.randint(1, 3))
    lines = []
    for _ in range(draw.randint(2, 8)):
        kind = draw.choice([*kinds, "numbers"])
        line = draw.choice(STATEMENTS[kind])
        one, other = draw.sample(["p", "q"], 2)
        name = draw.choice(["a", "b"])
        reference = draw.choice(REFERENCES)
        number = draw.randint(1, 9)
        text = line.format(o=one, s=other, v=name, n=number, r=reference)
        if draw.random() < 0.1 and "\n" not in text and not text.startswith(("for", "with")):
            text = f"if {draw.choice(['p', 'q'])}.n % 2: {text}"
        lines.append(f"    {text}\n")
    return HEAD + "".join(lines) + "    return y\n"


__all__ = ["program_of"]
