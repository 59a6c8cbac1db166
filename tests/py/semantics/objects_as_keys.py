"""Objects in sets and as keys of dicts, told apart by who they are, and `id`."""

from __future__ import annotations

import dataclasses

import numpy as np

from semantics.derived import replayed
from semantics.world import World, case, floats


class Node:
    def __init__(self, value, *parents):
        self.value, self.parents = value, parents


@dataclasses.dataclass(frozen=True)
class Place:
    row: int
    column: int


class Equal:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Equal) and self.value == other.value

    def __hash__(self):
        return hash(self.value)


@case
def visited_nodes(w: World) -> None:
    @w.compiled
    def total(x, node):
        seen, waiting, made = set(), [node], {}
        while waiting:
            each = waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            made[each] = x * each.value
            x = x + made[each]
            waiting.extend(each.parents)
        return x, made[node], len(seen), node in made, list(made)

    def graph(a):
        root = Node(a)
        left, right = Node(2.0, root), Node(floats(3), root)
        return Node(1.0, left, right)

    for a in (1.0, 2.0, 3.0):
        w(total, floats(3), graph(a))
    replayed(total, 3)
    left, right = Node(2.0, Node(1.0)), Node(floats(3), Node(1.0))
    for _ in range(2):
        w(total, floats(3), Node(1.0, left, right))  # two roots, where one was
        w(total, floats(3), Node(1.0, left, left))


@case
def keys_of_the_callers(w: World) -> None:
    @w.compiled
    def read(x, table, node):
        return x * table[node], node in table, len(table)

    one, two = Node(1), Node(2)
    for k in (1.0, 2.0, 3.0):
        w(read, floats(3), {one: k, two: floats(3)}, one)
    replayed(read, 3)
    w(read, floats(3), {one: 1.0, two: floats(3)}, two)
    for _ in range(2):
        w(read, floats(3), {one: 1.0}, two)

    @w.compiled
    def write(x, table, node):
        table[node] = x * 2
        table[Node] = 1
        for key, value in table.items():
            x = x + value if key is node else x
        return x, table.get(node), table.pop(node)

    for size in (3, 4, 5):
        w(write, floats(size), w.watch({one: 1.0}), two)
    w(write, floats(3), w.watch({one: 1.0}), one)

    @w.compiled
    def member(x, nodes, node, other):
        if node in nodes:
            x = x + 1
        nodes.add(other)
        nodes.discard(node)
        return x * 2 if other in nodes else x, node in nodes

    for _ in range(3):
        nodes = {one}
        w(member, floats(3), nodes, one, two)
        w.note(one in nodes, two in nodes)
    replayed(member, 3)
    for given in ((one, one), (two, one), (two, two)):
        nodes = {one}
        w(member, floats(3), nodes, *given)
        w.note(one in nodes, two in nodes)


@case
def classes_that_get_an_equality(w: World) -> None:
    class Late:
        pass

    @w.compiled
    def f(x, a, b):
        table = {a: x, b: x * 2}
        return len(table), table[a], a == b, a != b, a == 1, {a} == {b}

    @w.compiled
    def g(x, a, b):
        return x * 2 if a == b else x

    for function in (f, g):
        for _ in range(2):
            w(function, floats(3), Late(), Late())
    same = Late()
    w(g, floats(3), same, same)
    w(f, floats(3), same, same)
    Late.__eq__ = lambda self, other: True
    Late.__hash__ = lambda self: 1
    for function in (f, g):
        for _ in range(2):
            w(function, floats(3), Late(), Late())


@case
def keys_with_an_equality_of_their_own(w: World) -> None:
    @w.compiled
    def f(x, table):
        made = {Place(1, 2): x}
        made[Equal(3)] = x * 2
        return table[Place(0, 1)], made[Place(1, 2)], made[Equal(3)], Equal(3) in table

    for k in (1.0, 2.0, 3.0):
        w(f, floats(3), {Place(0, 1): k, Equal(3): 1})


@case
def identity_numbers(w: World) -> None:
    @w.compiled
    def memo(x, *nodes):
        known = {}
        for node in nodes:
            if id(node) not in known:
                known[id(node)] = x * node.value
            x = x + known[id(node)]
        return x, len(known)

    one, two = Node(1.0), Node(2.0)
    for _ in range(3):
        w(memo, floats(3), one, two)
    replayed(memo, 3)
    w(memo, floats(3), one, one)
    w(memo, floats(3), Node(2.0), Node(3.0))

    @w.compiled
    def same(x, a, b):
        return x + 1 if id(a) == id(b) else x, id(a) != id(x)

    x = floats(3)
    for a, b in ((x, x), (x, floats(3)), (one, one), (one, two), ([], []), (x, one)):
        w(same, x, a, b)
        w(same, x, a, b)

    @w.compiled
    def given(x, node):
        return x * 2, id(node) == node.value, id(node), isinstance(id(node), int)

    for node in (one, two):
        node.value = id(node)
        for _ in range(2):
            result = given(floats(3), node)
            assert result[1:] == (True, id(node), True)
    w.note(np.float64(1))
