"""What to do about it: the advice that reports put beside a reason, one table per kind of reason.

Guards are written in cpp/capture/path/steps.def, drops in refusals.def beside it, rules in
cpp/fuser; tests hold the tables to them. Why something runs uncompiled, and what to do about that,
is in dvm.reasons.
"""

from __future__ import annotations

from typing import Any

from dvm import _dvm
from dvm.reasons import Reason

VALUE = "each value is a path of its own: pass it as an array or a number that nothing branches on"
STABLE = "make such changes once, before the first call"

#: step of a path that missed -> advice
GUARDS = {
    "guard_signature": "each dtype, rank and memory order is a path of its own: convert before "
    "the call (x.astype, np.ascontiguousarray) where many occur",
    "guard_layout": "each memory order is a path of its own: np.ascontiguousarray before the call",
    "guard_type": "each type is a path of its own: convert before the call, or accept another path",
    "guard_value": VALUE,
    "guard_is": "another object is another path: keep one object and change its content instead",
    "guard_names": "a global or an attribute of a class, by which the path finds functions and "
    f"modules, was replaced: {STABLE}",
    "guard_code": f"a function that the path runs was changed: {STABLE}",
    "guard_function": "a function of other code is another path: many may be made of one `def` or "
    "lambda, and close over what they like",
    "guard_lacks": "an instance hides what its class provides: set such attributes in __init__",
    "guard_bare": "a module with hooks is another path than one without",
    "guard_keys": "each set of keys is a path of its own: keep the keys and change the values",
    "guard_length": "each length of a container is a path of its own: stack its arrays into one, "
    "or loop outside of the compiled function",
    "iterate": "each length is a path of its own: stack the elements into one array, or loop "
    "outside of the compiled function",
    "guard_truth": "each outcome of a branch is a path of its own: np.where computes both, and up "
    "to 64 paths are kept",
    "guard_same": "arguments that are one object are another path: pass a copy",
    "guard_overlap": "arrays that share memory are another path, where one is written: pass a copy",
    "guard_shared": "arrays that share memory are another path, where one is written: pass a copy",
    "guard_view": "arrays that overlap otherwise are another path: cut them in one way",
    "guard_writeable": "read-only arrays are another path: pass arrays that are alike",
    "guard_errstate": "each np.errstate is a path of its own: set it once, outside",
    "loop": "each way through a turn of a loop is captured once, for any count of turns",
    "invoke": "each way through a function that calls itself is captured once, for any tree",
    "raises": "what raised at the capture did not, or otherwise: each is a path of its own",
    "code": "the function's own code was replaced, which retires all of its paths",
}
#: every other step that fetches something
GONE = "something that the path reads is no longer there: keep the structure of arguments and state"

#: why a replay was given up (cpp/capture/path/refusals.def) -> advice
DROPS = {
    "nan_of_product": "the original runs, which may warn: np.errstate(invalid='ignore') around it "
    "makes that needless",
    "numpy_warns": "the original runs so that NumPy can warn: put np.errstate(...='ignore') around "
    "the call, or keep the values in range",
    "tied_zeros": "nothing, where it is rare: add 0.0 to the array, which makes all zeros equal",
    "sizes": "the program itself fails with such sizes, or they do not fit what the capture relied "
    "on: see the location",
    "zero": "NumPy warns, raises or does otherwise here, and the original runs so that it does",
    "operand": "it exceeds 64 bits, or is no longer of the kind that was recorded",
    "drops_tell": "replace or remove what has __del__ or weak references in a function of its own",
    "locked": "nothing, where it is rare: the original waits for it; else hold it for less work",
    "limit": "pass smaller arrays, or of fewer axes",
    "memory": "pass smaller arrays, or free memory first: dvm.clear_cache()",
    "failed": "see the location: the computation fails there",
    "raises": "the program itself raises this here, and the original runs to raise it",
}

#: rule of the fuser, or of a cut between two graphs -> advice
RULES = {
    "opaque-call": "use an operation that `python -m dvm docs ops` lists, or move the call before "
    "or behind",
    "branch": "np.where in place of the branch keeps both sides in one graph",
    "overlap": "pass arrays that share no memory",
    "host-value": "keep the value an array: arithmetic on Python numbers is Python's",
    "separate-graphs": "take values out of arrays (.item(), float()) behind all arithmetic",
    "other-path": "nothing: only one of the two runs in a call",
    "input": "nothing: an input is read from memory by whoever needs it",
    "inlined": "nothing: it costs nothing where it is",
    "view-boundary": "reshape and slice before or behind the arithmetic, not within",
    "whole-array": "scans, gathers and positions of extremes work on whole arrays",
    "different-space": "use shapes that are one by construction, such as keepdims=True",
    "step-limit": "nothing: a kernel this large gains nothing by growing",
    "tensor-limit": "compute with fewer arrays at a time",
    "value-limit": "nothing: a kernel this large gains nothing by growing",
    "shape-limit": "bring the operands to one shape first",
    "two-products": "nothing to do: each product of matrices is a kernel of its own",
    "product-operand": "nothing to do: products of matrices read what lies in memory",
    "factor-shared": "compute the factor anew for the product, or accept a trip through memory",
    "factor-steps": "nothing to do: the factor is made with what else its kernel computes",
    "product-reduced": "nothing to do: the reduction reads the product from memory",
    "product-space": "broadcast behind the steps that have the product's shape",
    "cycle": "compute what stands between the two before or behind both",
    "reduction-ends-region": "reduce over the last axes: only rows can be computed one by one, and "
    "the whole result is needed before the next step",
    "reduction-space": "reduce over the shape that the elements have",
    "reduction-axes": "reduce over the same axes",
    "reduction-alone": "reduce over the last axes, drop the elements that are needed besides the "
    "sum, or accept a second pass",
    "row-limit": "nothing: a kernel this large gains nothing by growing",
    "narrow-output": "broadcast the small result explicitly, or keep it inside",
    "nothing-shared": "nothing: one kernel would save no traffic",
    "kept-apart": "nothing: it was asked for",
}


def advice_for_guard(step: str) -> str:
    """Return what to do about a step that did not take a call."""
    return GUARDS.get(step, GONE)


def advice_for_drop(code: str) -> str:
    """Return what to do about a replay that could not be finished."""
    return DROPS[code]


def advice_for_rule(rule: str) -> str:
    """Return what to do about two operations that a rule keeps apart."""
    return RULES[rule]


def advice_for_fallback(compiled: _dvm.Compiled[..., Any]) -> str | None:
    """Return what to do about the last of a function's `fallback_reasons`; None if unknown."""
    last = [path["reason"] for path in _dvm.paths(compiled) if path["reason"]][-1:]
    for reason in (_dvm.refusal(compiled), _dvm.limit(compiled), *last):
        if isinstance(reason, Reason):
            return reason.advice
    return None
