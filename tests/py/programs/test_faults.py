"""A replay of which any step or allocation fails is as if it had not been: the original runs."""

import itertools
import warnings

import numpy as np
import pytest

import dvm
from dvm import _dvm
from programs.clone import Cloner
from programs.observe import observe
from programs.registry import Program, programs
from programs.running import compare, run_plain
from whole import by_turns

#: Calls of each program, and faults per call, of which each program has some.
CALLS, FAULTS, TRIED = 2, 25, 8
ALL = programs()


def depth_left() -> int:
    """How much deeper this thread may go."""

    def deeper(depth: int) -> int:
        try:
            return deeper(depth + 1)
        except RecursionError:
            return depth

    return deeper(0)


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_every_fault_before_the_commit_leaves_the_call_to_the_original(program: Program) -> None:
    modes, filters, depth = np.geterr(), list(warnings.filters), depth_left()
    dropped = 0
    for args, kwargs in itertools.islice(program.calls(), CALLS):
        for number in by_turns(range(FAULTS), ALL.index(program), TRIED):
            # Another one each time: after some drops it would leave calls to the original.
            compiled = dvm.compile(program.function)
            own = Cloner(keep=program.read_variables().values()).clone([args, kwargs])
            observe(compiled, *own, program.read_variables)
            plain = run_plain(program, args, kwargs)
            copies = Cloner(keep=program.read_variables().values()).clone([args, kwargs])
            before = compiled.stats
            _dvm.fail_at(number)
            try:
                actual = observe(compiled, *copies, program.read_variables)
            finally:
                _dvm.fail_at(-1)
            # Before a replay begins, or in a capture, it may find no memory, and say so as NumPy
            # would.
            if compiled.stats.hits > before.hits or actual.error is None:
                assert compare(program, plain, actual) == [], f"fault {number}"
            else:
                assert plain.error == actual.error or actual.error[0] is MemoryError
            dropped += compiled.stats.drops - before.drops
    assert np.geterr() == modes
    assert list(warnings.filters) == filters
    assert depth_left() == depth
    assert dropped > 0 or compiled.stats.hits == 0
