"""One allocation of the interpreter fails after the other, over calls that a replay serves.

The call gives NumPy's result, or MemoryError with nothing half changed.
"""

import sys
from typing import Any

import numpy as np
import pytest

import dvm
from programs.clone import Cloner
from programs.observe import Outcome, observe
from programs.registry import Program, programs
from programs.running import compare, run_plain
from programs.test_faults import depth_left
from whole import by_turns

testcapi = pytest.importorskip("_testcapi")

#: Faults of a call, of which each program has some.
FAULTS, TRIED = 25, 8
#: Without memory NumPy itself ends the process: in `-np.int64(1)`, in `table[bytes]`.
CRASHES = {"physics.ising_sweep", "images.gamma_curve"}


class Failing:
    """Calls a function while one request for memory of the interpreter fails."""

    def __init__(self, function: Any, number: int) -> None:
        self.function, self.number = function, number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        testcapi.set_nomemory(self.number, self.number + 1)
        try:
            return self.function(*args, **kwargs)
        finally:
            testcapi.remove_mem_hooks()


def left_behind(outcome: Outcome) -> Outcome:
    """What a call leaves behind besides its value and exception."""
    return Outcome(None, None, [], outcome.arguments, outcome.variables)


ALL = [program for program in programs() if program.name not in CRASHES]


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_an_allocation_of_the_interpreter_fails(program: Program) -> None:
    args, kwargs = next(iter(program.calls()))
    modes, depth = np.geterr(), depth_left()

    def copies() -> Any:
        return Cloner(keep=program.read_variables().values()).clone([args, kwargs])

    arrays = [each for each in args if isinstance(each, np.ndarray)]
    references = [sys.getrefcount(each) for each in arrays]
    for number in by_turns(range(FAULTS), ALL.index(program), TRIED):
        # Another one each time: after some drops it would leave calls to the original.
        compiled = dvm.compile(program.function)
        for _ in range(2):
            observe(compiled, *copies(), program.read_variables)
        if compiled.stats.hits == 0:
            continue
        plain = run_plain(program, args, kwargs)
        untouched = observe(lambda *_, **__: None, *copies(), program.read_variables)
        own = copies()
        actual = observe(Failing(compiled, number), *own, program.read_variables)
        if actual.error is None or actual.error[0] is not MemoryError:
            assert compare(program, plain, actual) == [], f"fault {number}"
        elif compare(program, left_behind(plain), left_behind(actual)):
            left = compare(program, left_behind(untouched), left_behind(actual))
            assert left == [], f"fault {number}"
    assert [sys.getrefcount(each) for each in arrays] == references
    assert np.geterr() == modes
    assert depth_left() == depth
