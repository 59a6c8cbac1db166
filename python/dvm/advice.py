"""What to do about it: the advice that reports put beside a reason, one table per kind of reason.

The reasons themselves are written where they arise: fallbacks in dvm.magpy_capture and cpp/capture,
guards in cpp/capture/steps.def, rules in cpp/fuser. Tests hold the tables to them: each entry is
reached by a program, each guard and rule has its entry.
"""

from __future__ import annotations

import re

LOOP = "write a loop or a list comprehension instead"
LIST = "docs/ops.md lists the operations and dtypes that compile"
STRAIGHT = "compile the straight part of the computation as a function of its own"
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
    "guard_keys": "each set of keys is a path of its own: keep the keys and change the values",
    "guard_length": "each length of a container is a path of its own: stack its arrays into one, "
    "or loop outside of the compiled function",
    "iterate": "each length is a path of its own: stack the elements into one array, or loop "
    "outside of the compiled function",
    "guard_truth": "each outcome of a branch is a path of its own: np.where computes both, and up "
    "to 64 paths are kept",
    "guard_same": "arguments that are one object are another path: pass a copy",
    "guard_overlap": "arrays that share memory are another path, where one is written: pass a copy",
    "guard_writeable": "read-only arrays are another path: pass arrays that are alike",
    "guard_errstate": "each np.errstate is a path of its own: set it once, outside",
    "raises": "what raised at the capture did not, or otherwise: each is a path of its own",
    "code": "the function's own code was replaced, which retires all of its paths",
}
#: every other step that fetches something
GONE = "something that the path reads is no longer there: keep the structure of arguments and state"

#: beginning of a reason for a drop -> advice; the first match counts
DROPS = {
    "NumPy warns": "the original runs so that NumPy can warn: put np.errstate(...='ignore') around "
    "the call, or keep the values in range",
    "sizes or memory layouts": "the program itself fails with such sizes, or they do not fit what "
    "the capture relied on: see the location",
    "an array or a number": "it exceeds 64 bits, or is no longer of the kind that was recorded",
    "raises": "the program itself raises this here, and the original runs to raise it",
}

#: rule of the fuser, or of a cut between two graphs -> advice
RULES = {
    "opaque-call": "use an operation that docs/ops.md lists, or move the call before or behind",
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
}

#: beginning of a reason for a fallback, as a regular expression -> advice; the first match counts
FALLBACKS = {
    r"arrays of the caller that share memory": "pass a copy of one: what is written through one "
    "array would have to show in the other",
    r"(a generator (that|with) |a value sent|generators that|an exception thrown)": "fill a list "
    "in a loop, in place of the generator",
    r"((an exception of )?C code that c|callbacks within)": LOOP,
    r"the first call of": "nothing: from the second on, the path is taken",
    r"an? (set that an exc|list that changes|iterator that goes|\w+ that changed after)": LOOP,
    r"a call of \S*, which is not annotated pure|.* is annotated": "see docs/annotate.md for what "
    "the properties of dvm.annotate promise",
    r"a call of": "call it outside of the compiled function, or vouch for it: "
    "dvm.annotate(f, leaf=True, pure=True)",
    r"\S+, (whose result shares|which reads the array that it|which (writes into|keeps))|"
    r"a write into (memory that an opaque|an array (that does not|of objects))|"
    r"a view of an array that is written": "copy the array first, so that reading and writing meet "
    "nowhere else",
    r"\S+: (got|no signature|missing|too many)": "write it with fewer keywords: docs/ops.md lists "
    "what compiles",
    r"after an effect the path depends on": "read and check everything first, then write",
    r"array attribute|setting attribute (shape|dtype|strides|writeable) |(who owns|the base of) an "
    "array": "an array inside of a path is not in memory as it is outside: read and set this there",
    r"(a flat iterator|an array written through flat|nd(index|enumerate) of)": "index the array "
    "itself, or x.ravel()",
    r"the array method|setflags of|\w+\.(at|reduceat)": "it writes in place or is unknown: use the "
    "function that returns a new array, such as np.sort(x) for x.sort()",
    r"(sorted (of|by|with)|max |min |sum |len |the type of|the order of)": "sort and compare by "
    "NumPy, or do it outside of the compiled function",
    r"(an assignment to a part of|the operator \S+ on|arithmetic with|operand|\S+ of) "
    r"(a computed value|an object|a list|a dict|a sequence|a closure|tuple|function|\S+ <)": "an "
    "operand is no number, no array of docs/ops.md and of no plain Python class: convert it before "
    "the call",
    r"the (random function|method)": "call it outside of the compiled function",
    r"(hasattr|callable|isinstance|issubclass|super|setattr|id$)": "look at types and attributes "
    "outside, and pass what follows from them",
    r"(the truth|the identity|the value of|formatting|print|hash of|a deep copy of)": "do it "
    "outside of the compiled function, with what it returns",
    r"(warnings caught|a warning that|a filter of warnings|a manager|managers that)": "catch them "
    "outside of the compiled function, or ignore them",
    r"(an exception|making an exception|a raise statement)": "the program raises and "
    "catches within itself; " + STRAIGHT,
    r"(making an object of|an object of) type": "make the object outside and pass it, or write "
    "its class in plain Python",
    r"(setting|deleting) attribute|del of": "return the new value, and set it outside",
    r"(the )?(class )?attribute": "read the attribute outside and pass its value as an argument",
    r"(iteration over|next of|an iterator|unpacking an iterator)": "iterate over a list or a tuple",
    r"(indexing with|too many indices|a write through)": "use integers, slices, None, Ellipsis, or "
    "arrays of integers or bools",
    r".* where (a constant|an array) is needed|a value of type \S+ as a constant": "pass axes, "
    "shapes, dtypes and flags as literals",
    r"a (class definition|match statement)": "define it at module level; " + STRAIGHT,
    r"an? (closure|function made inside|iterator|view|partial) that leaves": "return "
    "arrays and numbers",
    r"an array that holds objects": "keep arrays and lists in a list: an array of objects takes "
    "part in a path if it holds numbers and text",
    r"a dict with a key|a key that": "use strings or numbers as keys",
    r"(ufunc|dtype|an array of an empty list|\S+ of type|NumPy gave|DVM-[SDUG]\d+)": LIST,
    r"reached the limit of": "see f.why_recompiled() for what told the paths apart",
    r"a look at how long objects live": "keep no references to count: pass arrays, return arrays",
    r"it is a generator": "compile the function that computes one step",
    r"capture needs CPython": "use CPython 3.11 to compile; the results are the same",
}


def _first(table: dict[str, str], text: str, otherwise: str) -> str:
    return next((advice for start, advice in table.items() if re.match(start, text)), otherwise)


def advice_for_guard(step: str) -> str:
    """Return what to do about a step that did not take a call."""
    return GUARDS.get(step, GONE)


def advice_for_drop(reason: str) -> str:
    """Return what to do about a replay that could not be finished."""
    return _first(DROPS, reason, "see the location: the computation fails there")


def advice_for_rule(rule: str) -> str:
    """Return what to do about two operations that a rule keeps apart."""
    return RULES[rule]


def hint_for(reason: str) -> str:
    """Return what to do about a fallback."""
    return _first(FALLBACKS, reason, STRAIGHT)
