"""Why something runs uncompiled: the one table of reasons.

A row is a text with holes and what to do about it; its code is its name. The lowering refuses with
a row and what fills its holes, the native core names a row by its code, and reports look the
advice up in it. docs/reasons.md is printed from here.
"""

from __future__ import annotations

from dataclasses import dataclass


class Reason(str):
    """A row of the table whose holes are filled: a text that knows its code and its advice."""

    __slots__ = ("advice", "code")

    code: str
    advice: str

    def __new__(cls, row: Row, *parameters: object) -> Reason:
        """Fill the holes of `row`, in order."""
        reason = super().__new__(cls, row.text.format(*parameters))
        reason.code, reason.advice = row.code, row.advice
        return reason

    def __reduce__(self) -> tuple[object, ...]:  # copies and pickles are plain texts
        return str, (str(self),)


@dataclass(eq=False)
class Row:
    """A kind of reason. `code` is stable, such as "shared-memory-written"."""

    text: str
    advice: str
    code: str = ""

    def __call__(self, *parameters: object) -> Reason:
        """Return the reason with its holes filled, in order."""
        return Reason(self, *parameters)


def told(message: str) -> Reason:
    """The reason that the native core means: a code, and behind line feeds what fills the holes."""
    code, *parameters = message.split("\n")
    return TABLE[code](*parameters)


def may_be_cut_at(reason: str) -> bool:
    """Whether the rest of the function may run in parts around what it is about.

    Parts hold variables that the function drops, which it may see where that is about the life of
    objects. And a class that each call makes anew is known to no path of a part behind it.
    """
    lives = (LIFETIME_LOOKED_AT, OBJECT_TELLS_END, GENERATOR_TELLS_END)
    rows = (*lives, CLASS_DEFINITION, LOCAL_CLASS_LEAVES)
    return not isinstance(reason, Reason) or reason.code not in [row.code for row in rows]


# ---- what to do

AT_ONCE = 'to capture at once, whatever that costs, call it under dvm.stance("force_capture")'
BY_DYNAMO = "compile it with dvm.torch.compile, by way of torch.compile"
STRAIGHT = "compile the straight part of the computation as a function of its own"
LIST = "`python -m dvm docs ops` lists the operations and dtypes that compile"
ORDER = "leave the memory order at its default"
LOOP = "write a loop or a list comprehension instead"
YIELD = "fill a list in a loop, in place of the generator"
ITERATE = "iterate over a list or a tuple"
OPERANDS = (
    "an operand is no number, no array of a dtype that `python -m dvm docs ops` lists, and of no "
    "plain Python class: convert it before the call"
)
KEYWORDS = "write it with fewer keywords: `python -m dvm docs ops` lists what compiles"
INDICES = "use integers, slices, None, Ellipsis, or arrays of integers or bools"
LITERALS = "pass axes, shapes, dtypes and flags as literals"
OWN_MEMORY = "pass a copy of one: what is written through one array would have to show in the other"
APART = "copy the array first, so that reading and writing meet nowhere else"
INSIDE = "an array inside of a path is not in memory as it is outside: read and set this there"
FLAT = "index the array itself, or x.ravel()"
NEW_ARRAY = (
    "it writes in place or is unknown: use the function that returns a new array, such as "
    "np.sort(x) for x.sort()"
)
OBJECTS = (
    "keep arrays and lists in a list: an array of objects takes part in a path if it holds "
    "numbers and text"
)
VOUCH = (
    "call it outside of the compiled function, or vouch for it: dvm.annotate(f, leaf=True, "
    "pure=True)"
)
PROMISES = "`python -m dvm docs annotate` says what the properties of dvm.annotate promise"
CALL_OUTSIDE = "call it outside of the compiled function"
OUTSIDE = "do it outside of the compiled function, with what it returns"
FREE_TOOL = "free one: sys.monitoring.free_tool_id(...) of a profiler, debugger or coverage"
LARGER_CACHE = (
    "nothing, where it is rare: a replay serves calls whose results are there; else give the cache "
    "a larger maxsize"
)
READ_FIRST = "read and check everything first, then write"
SORT = "sort and compare by NumPy, or do it outside of the compiled function"
TYPES = "look at types and attributes outside, and pass what follows from them"
ATTRIBUTES = "read the attribute outside and pass its value as an argument"
SET_OUTSIDE = "return the new value, and set it outside"
PLAIN_CLASS = "make the object outside and pass it, or write its class in plain Python"
KEYS = "use strings or numbers as keys"
RESULTS = "return arrays and numbers"
CATCH = "catch them outside of the compiled function, or ignore them"
LOCKED = "take the lock outside of the compiled function, around its call"
RAISES = f"the program raises and catches within itself; {STRAIGHT}"
DEFINE = f"define it at module level; {STRAIGHT}"
LIFETIMES = "keep no references to count: pass arrays, return arrays"
NO_FASTER = "leave it uncompiled, or compile the part of it that computes most"
PATHS = "see f.why_recompiled() for what told the paths apart"
ONE_STEP = "compile the function that computes one step"
AWAITED = "compile the function that does the array work, and call it from the async one"
REPORT = "this is a bug in dvm; please report it with the program"

# ---- straight

ARRAY_FORTRAN_S_ORDER_SIZES = Row(
    "an array that is in Fortran's order for some sizes alone", STRAIGHT
)
ASYNCHRONOUS = Row("asynchronous code", STRAIGHT)
ATTRIBUTE_WHOSE_NAME_NOT_STR = Row("an attribute whose name is not a str", STRAIGHT)
CELL_OUT_OF_SIGHT = Row("a variable shared with an inner function changed out of sight", STRAIGHT)
CHANGE_LIST_CAUGHT_WARNINGS = Row("a change of the list of caught warnings", STRAIGHT)
COMPUTED_SCALAR_WRITTEN_INTO_ARRAY = Row(
    "a computed scalar written into an array of integers", STRAIGHT
)
CONSTANT = Row("a constant: {}", STRAIGHT)
C_CODE_ASKS_ITEMS = Row("C code that asks {} for items", STRAIGHT)
DEFAULTDICT_CALL_RECEIVES = Row("a defaultdict that a call receives", STRAIGHT)
DELETED_CELL = Row("a deleted variable of an outer function", STRAIGHT)
DELETED_GLOBAL = Row("a deleted global variable", STRAIGHT)
EMPTY_HEAP = Row("an empty heap", STRAIGHT)
END = Row("{} of {} at its end", STRAIGHT)
FRAMES = Row("the frames of {}", STRAIGHT)
FUNCTION_OF_NOTHING = Row("{} of nothing", STRAIGHT)
FUNCTOOLS_REDUCE_NOTHING = Row("functools.reduce of nothing", STRAIGHT)
GLOBAL_OUT_OF_SIGHT = Row("the global variable {} changed out of sight", STRAIGHT)
HEAP = Row("a heap in {}", STRAIGHT)
HEAP_EXCEPTION_LEAVES_DISORDER = Row("a heap that an exception leaves in disorder", STRAIGHT)
IDLE_CONDITION = Row("a condition that decides nothing", STRAIGHT)
IMPORT = Row("the import of {}", STRAIGHT)
INDEX_BEYOND_END = Row("an index beyond the end", STRAIGHT)
INSERTION_INTO = Row("an insertion into {}", STRAIGHT)
INT_BASE = Row("int with a base", STRAIGHT)
ITERATION_WENT_OTHERWISE_EXPECTED = Row(
    "an iteration that went on otherwise than expected", STRAIGHT
)
LEN = Row("len of {}", STRAIGHT)
LEN_D_ARRAY = Row("len of a 0-d array", STRAIGHT)
LONG_RECORDING = Row("a recording of more than {} steps", STRAIGHT)
MEMORY_ORDER_BROADCAST_VIEW_NOT = Row(
    "the memory order of a broadcast view that was not seen", STRAIGHT
)
MEMORY_ORDER_RESHAPE_NOT_SEEN = Row("the memory order of a reshape that was not seen", STRAIGHT)
MUCH_MEMORY = Row("more memory than a recording may keep", STRAIGHT)
NAME_DICT_NOT_STR = Row("a name in __dict__ that is not a str", STRAIGHT)
NAN_CONTAINER = Row("a NaN in a container", STRAIGHT)
NO_MEMORY = Row("the interpreter ran out of memory", STRAIGHT)
NO_RESULT = Row("an instruction without the result it should have", REPORT)
NO_RETURN = Row("the function did not return", STRAIGHT)
NUMPY_S_CONVERSION = Row("{} of NumPy's conversion", STRAIGHT)
NUMPY_S_CONVERSION_NO_ARRAY = Row("NumPy's conversion of what is no array", STRAIGHT)
OBJECT_WOULD_BE_LOOKED_AFTER = Row("an object that would be looked at after the effects", STRAIGHT)
LOOP_ARRAYS = Row("a loop beside writes into arrays, which it may find in {} as they were", APART)
LOOP_EFFECT = Row("a loop of which a turn {}", STRAIGHT)
LOOP_OUTSIDE = Row(
    "a loop that uses a value of type {} which is no variable of its function", STRAIGHT
)
LOOP_OVER = Row("a loop over {}", ITERATE)
LOOP_STATE = Row("a loop behind a change of {}", STRAIGHT)
LOOP_STUCK = Row("a loop of which a turn does not go again the way it went", STRAIGHT)
LOOP_VARIABLE = Row("a loop whose variable {} is {}", STRAIGHT)
LOOP_VIEW = Row("a loop that writes into an array of which {} is, or has, a view", APART)
LOOP_WAYS = Row("a loop of which turns go more than {} ways", STRAIGHT)
RECURSION_EFFECT = Row("a recursive function that {}", STRAIGHT)
RECURSION_OUTSIDE = Row(
    "a recursive function that uses a value of type {} which it was not given", STRAIGHT
)
RECURSION_STATE = Row("a recursive function behind a change of {}", STRAIGHT)
RECURSION_STUCK = Row("a recursive function that does not go again the way it went", STRAIGHT)
RECURSION_WAYS = Row("a recursive function that goes more than {} ways", STRAIGHT)
OUTSIDE_A_FUNCTION = Row("code outside a function", STRAIGHT)
BUILTIN_REPLACED = Row("builtins.{} was replaced", STRAIGHT)
NESTED_TOO_DEEP = Row("a value that contains itself or is nested too deep", STRAIGHT)
PATH_MORE_EVENTS = Row("a path of more than {} events", STRAIGHT)
PATH_MORE_STEPS = Row("a path of more than {} steps", STRAIGHT)
PATTERN = Row("a pattern for {}", STRAIGHT)
PATTERN_LACKS_SOMETHING = Row("a pattern that {} lacks something of", STRAIGHT)
PYTEST_RAISES_FUNCTION = Row("pytest.raises of a function", STRAIGHT)
PYTEST_RAISES_MATCH_NO_TEXT = Row("pytest.raises with a match that is no text", STRAIGHT)
PYTEST_RAISES_WITHOUT_EXCEPTION = Row("pytest.raises without an exception", STRAIGHT)
PYTHON_FLOAT_WRITTEN_INTO_ARRAY = Row("a Python float written into an array of integers", STRAIGHT)
RANDOM_DRAW = Row("a random draw with {}", STRAIGHT)
RESULT_ANOTHER_MEMORY_ORDER_EXPECTED = Row(
    "a result in another memory order than expected", STRAIGHT
)
RESULT_TYPE = Row("a result of type {}", STRAIGHT)
SCALAR_WRITTEN = Row("a scalar that is written", STRAIGHT)
SIZE = Row("the size {}", STRAIGHT)
SIZE_MUST_BE_ABOVE_ZERO = Row("a size that must be above zero", STRAIGHT)
SLICE_STEP = Row("a slice with step 0", STRAIGHT)
UNPACKING_ANOTHER_LENGTH_RECORDED = Row("unpacking of another length than recorded", STRAIGHT)
VALUE_HIGHER_RANK_WRITTEN_INTO = Row("a value of higher rank written into an array", STRAIGHT)
VIEW_COPY_ARRAY_NOT_SEEN = Row("a view or a copy of an array that was not seen", STRAIGHT)
WITH_MANAGER = Row("with {}", STRAIGHT)
WRITE_INTO_ARRAY_MASKED = Row("a write into an array that is masked", STRAIGHT)
WRITE_INTO_ARRAY_READ_ONLY = Row("a write into an array that is read-only", STRAIGHT)
WRITE_INTO_ARRAY_OVERLAPPING_ITSELF = Row(
    "a write into an array whose own elements share memory", "write into a copy of the array"
)
ZIP_UNEQUAL_LENGTHS = Row("zip of unequal lengths", STRAIGHT)

# ---- list

ARANGE_FLOATS_ANOTHER_DTYPE = Row("arange of floats in another dtype", LIST)
ARANGE_INFINITE_STEP = Row("arange by an infinite step", LIST)
ARANGE_STEP = Row("arange with step 0", LIST)
ARITHMETIC_OF_DTYPE = Row("arithmetic of {}", LIST)
ARRAY_EMPTY_LIST = Row("an array of an empty list", LIST)
ARRAY_MORE_PARTS = Row("an array of more than {} parts", LIST)
AVERAGE_SUM_WEIGHTS = Row("an average with the sum of its weights", LIST)
AVERAGE_WEIGHTS_SEVERAL_AXES = Row("an average with weights of several axes", LIST)
AXIS_ARRAY_RANK = Row("axis {!r} of an array of rank {}", LIST)
BLOCK_LISTS_UNEQUAL_DEPTH = Row("block of lists of unequal depth", LIST)
CLIP_INTEGERS_BOUNDS_ANOTHER_TYPE = Row("clip of integers with bounds of another type", LIST)
CLIP_WITHOUT_BOUNDS = Row("clip without bounds", LIST)
CONSTANT_DTYPE = Row("a constant of dtype {}", LIST)
COPYTO_WHERE = Row("copyto where {}", LIST)
CORE = Row("{}", LIST)
CROSS_VECTORS_THOSE_THREE_NUMBERS = Row("cross of other vectors than those of three numbers", LIST)
DIAGONAL_MORE_MATRIX = Row("the diagonal of more than a matrix", LIST)
DIAG_MORE_MATRIX = Row("diag of more than a matrix", LIST)
DIFFERENCE_NEGATIVE_ORDER = Row("a difference of negative order", LIST)
DTYPE = Row("dtype {}", LIST)
FILL_DIAGONAL_MATRIX_NUMBER = Row("fill_diagonal of other than a matrix with a number", LIST)
FORM_PAD_WIDTHS = Row("this form of pad widths", LIST)
FORM_PUT = Row("this form of put", LIST)
FUNCTOOLS_REDUCE_INTEGERS_NUMPY = Row("functools.reduce of integers of NumPy", LIST)
HALVES_NUMPY_ROUNDS_AFTER_EACH = Row("halves that NumPy rounds after each run of its loop", LIST)
IDENTITY_MATRIX_NEGATIVE_SIZE = Row("an identity matrix of negative size", LIST)
INITIAL = Row("initial={}", LIST)
INSERT_DELETE_ROWS = Row("insert or delete of rows", LIST)
ITEM_ARRAY_SYMBOLIC_SIZE = Row("item of an array of symbolic size", LIST)
ITEM_INDEX = Row("item with an index", LIST)
LINSPACE_BETWEEN_ARRAYS = Row("linspace between arrays", LIST)
LINSPACE_BETWEEN_EQUAL_NUMBERS = Row("linspace between equal numbers", LIST)
LINSPACE_INTEGERS = Row("linspace of integers", LIST)
LINSPACE_NEGATIVE_NUMBER = Row("linspace of a negative number", LIST)
LINSPACE_RETSTEP_AXIS = Row("linspace with retstep or axis", LIST)
MIRROR_ELEMENT = Row("a mirror of one element", LIST)
NAN_TO_NUM = Row("nan_to_num with {}", LIST)
NEGATIVE_NUMBER_REPETITIONS = Row("a negative number of repetitions", LIST)
NEGATIVE_PAD_WIDTH = Row("a negative pad width", LIST)
NP_ERRSTATE_CALL = Row("np.errstate with call=", LIST)
NUMBER = Row("the number {} with {}", LIST)
NUMBER_ARITHMETIC = Row("the number {} in arithmetic of {}", LIST)
MATRIX_POWER = Row("matrix power {}", LIST)
MULTI_DOT_DTYPES = Row("multi_dot of arrays of several dtypes", LIST)
NORM = Row("norm {} of {}", LIST)
NUMBER_MADE_ARRAY_AXIS = Row("a number made an array of one axis", LIST)
NUMPY_GAVE_OTHERWISE = Row("NumPy gave {} of rank {} where the graph has {} of rank {}", LIST)
OUT = Row("out={}", LIST)
OUT_ANOTHER_RANK_RESULT = Row("out= of another rank than the result", LIST)
PADDING = Row("padding by {}", LIST)
PADDING_ARRAY = Row("padding with an array", LIST)
PADDING_D_ARRAY = Row("padding of a 0-d array", LIST)
PADDING_SEVERAL_CONSTANTS = Row("padding with several constants", LIST)
PAD_WIDTHS_ANOTHER_NUMBER_AXES = Row("pad widths for another number of axes", LIST)
POSITION = Row("a position {}", LIST)
PRODUCT_OF = Row("the product of {} and {}", LIST)
PUTMASK_AT = Row("putmask at {}", LIST)
QUESTION_ABOUT_DTYPE = Row("a question about the dtype of {}", LIST)
REDUCE = Row("{}.reduce of {}", LIST)
REDUCEAT = Row("reduceat at {}", LIST)
REDUCE_WHERE_NO_INITIAL = Row("{}.reduce with where= and no initial", LIST)
REDUCE_WITHOUT_IDENTITY = Row("{}.reduce without its identity", LIST)
REPEAT_ARRAY_NUMBERS = Row("repeat by an array of numbers", LIST)
ROLL_UNEQUAL_NUMBERS_SHIFTS_AXES = Row("roll with unequal numbers of shifts and axes", LIST)
ROUND_DECIMALS = Row("round of {} to {} decimals", LIST)
ROUND_INTO_ANOTHER_DTYPE = Row("round into another dtype", LIST)
SELECT_BOOLS_CHOICE_EACH = Row("select of other than bools, a choice for each", LIST)
SPLIT_INTO_NO_PARTS = Row("a split into no parts", LIST)
SQUEEZE_SIZE = Row("squeeze of a size other than 1", LIST)
SUMS_OF_PRODUCTS = Row("einsum of {!r}", LIST)
SUM_OVER_UNEQUAL_SIZES = Row("a sum over unequal sizes", LIST)
TAKE_ALONG_AXIS_SHAPES = Row("take_along_axis of other shapes", LIST)
BINCOUNT_OF = Row("bincount of {}", LIST)
COMPRESS_MASK = Row("compress by {}", LIST)
NONZERO_AXES = Row("nonzero of {}, which is not of one axis", LIST)
TAKE_INTEGERS = Row("take by other than integers", LIST)
TAKE_MODE = Row("take with mode {!r}", LIST)
TENSORDOT_AXES = Row("tensordot over {}", LIST)
TILE_NOTHING_INTO_MORE_AXES = Row("tile of nothing, or into more axes alone", LIST)
TOLIST = Row("tolist", LIST)
TRIANGLE_NEGATIVE_SIZE = Row("a triangle of negative size", LIST)
TRIANGLE_VECTOR = Row("the triangle of a vector", LIST)
TWO_ZEROS_FIRST = Row("of two zeros the first", LIST)
UFUNC = Row("ufunc {}", LIST)
UFUNC_ARGUMENTS = Row("ufunc {}: {}", LIST)
UFUNC_METHOD = Row("{}.{}", LIST)
VIEW = Row("a view of {} as {} and {}", LIST)
WHERE = Row("where={}", LIST)
WHERE_ARGUMENT = Row("where with one argument", LIST)
WHERE_OUT_AROUND_LOOP = Row("where= with out= of {} around a loop of {}", LIST)
WHERE_WITHOUT_OUT = Row("where= without out=", LIST)

# ---- order

ARRAY_LIKE_ANOTHER_ANOTHER_ORDER = Row("an array like another in another order than K", ORDER)
ASTYPE_ANOTHER_ORDER_K = Row("astype in another order than K", ORDER)
BLOCK_ARRAY_ARRAYS_ANOTHER_ORDER = Row(
    "block of one array, or of arrays in another order than C", ORDER
)
CONCATENATION_ARRAYS_NOT_C_ORDER = Row("concatenation of arrays not in C order", ORDER)
COPY_ORDER = Row("a copy in order {}", ORDER)
FLATTEN_ANOTHER_ORDER_C_F = Row("flatten in another order than C or F", ORDER)
KRON_ARRAYS_ANOTHER_ORDER_C = Row("kron of arrays in another order than C", ORDER)
NEW_ARRAY_ANOTHER_ORDER_C = Row("a new array in another order than C or F", ORDER)
NP_ARRAY_ANOTHER_ORDER_K = Row("np.array in another order than K", ORDER)
NP_ASARRAY_ANOTHER_ORDER_K = Row("np.asarray in another order than K", ORDER)
RESHAPE_ANOTHER_ORDER_C_F = Row("reshape in another order than C or F", ORDER)
STACK_ARRAYS_NOT_C_ORDER = Row("a stack of arrays not in C order", ORDER)

# ---- loop

ARRAY_CHANGED_AFTER_C_CODE = Row("an array that changed after C code called a function on it", LOOP)
ATTRIBUTE_CHANGED_AFTER_C_CODE = Row("an attribute that changed after C code read it", LOOP)
CALLBACKS_WITHIN_CALLBACKS_DEEP = Row("callbacks within callbacks, {} deep", LOOP)
C_CODE_CALLS = Row("C code that calls {}", LOOP)
CALLED_FOR_EACH = Row(
    "{}, which calls for each element a function that does more than compute", LOOP
)
CALL_MAKES = Row("{} of {}, which is another function on each call", LOOP)
C_CODE_CALLS_BACK = Row("C code that calls back {}", LOOP)
C_CODE_CALLS_BACK_ANOTHER = Row("C code that calls back with another value than {}", LOOP)
C_CODE_CALLS_WITH = Row("C code that calls {} with {}", LOOP)
C_CODE_COMPARES_ADDS = Row("C code that compares or adds {} and {}", LOOP)
EXCEPTION_C_CODE_CALLS_PYTHON = Row("an exception of C code that calls Python functions back", LOOP)
EXCEPTION_IN_CALLED = Row("{} in {}", LOOP)
HANDLED_BY_C = Row("an exception that C code handled", LOOP)
ITERATOR_GOES_AFTER_EXCEPTION = Row("an iterator that goes on after an exception", LOOP)
LIST_CHANGES_WHILE_SORTED = Row("a list that changes while it is sorted", LOOP)
SET_EXCEPTION_LEAVES_HALF_CHANGED = Row("a set that an exception leaves half changed", LOOP)

# ---- yield

GENERATORS_RAN_ANOTHER_ORDER_EXPECTED = Row(
    "generators that ran in another order than expected", YIELD
)
GENERATOR_GOES_ON_CLOSED = Row("a generator that goes on when it is closed", YIELD)
GENERATOR_RAN_OUT_SIGHT = Row("a generator that ran out of sight", YIELD)
GENERATOR_TELLS_END = Row(
    "a generator with a try or with, of which is not known when it dies", YIELD
)
ITERATOR_ENDS_WITH_VALUE = Row("a `yield from` of an iterator that ends with a value", YIELD)
SENT_INTO_GENERATOR = Row("a value sent into a generator", YIELD)
THROWN_INTO_GENERATOR = Row("an exception thrown into a generator", YIELD)

# ---- iterate

NDITER = Row(
    "np.nditer, which hands out views of its operands",
    "iterate over x.flat or np.ndindex(x.shape), or compute on whole arrays",
)
ITERATION_OVER = Row("iteration over {}", ITERATE)
ITERATOR_ENDED = Row("an iterator that ended", ITERATE)
NEXT = Row("next of {}", ITERATE)
NEXT_ITERATOR_END = Row("next of an iterator at its end", ITERATE)

# ---- operands

ARANGE = Row("arange of {}", OPERANDS)
ARITHMETIC_WITH = Row("arithmetic with {}", OPERANDS)
ASSIGNMENT_PART = Row("an assignment to a part of {}", OPERANDS)
COPYTO = Row("copyto of {} to {}", OPERANDS)
FUNCTION_OF = Row("{} of {}", OPERANDS)
FUNCTOOLS_REDUCE = Row("functools.reduce of {} and {}", OPERANDS)
INSERT = Row("insert of {}", OPERANDS)
NEEDS_ARRAY = Row("{} where an array is needed", OPERANDS)
OPERAND = Row("operand {}", OPERANDS)
OPERATOR = Row("the operator {} on {}", OPERANDS)
OPERATOR_IN_PLACE = Row("the operator {}= on {}", OPERANDS)
OPERATOR_IN_PLACE_ON_BOTH = Row("the operator {}= on {} and {}", OPERANDS)
PUTMASK_OF = Row("putmask of {}", OPERANDS)

# ---- keywords

FUNCTION_ARGUMENTS = Row("{}: {}", KEYWORDS)
FUNCTION_WITH = Row("{} with {}", KEYWORDS)
OPERATOR_METHODCALLER_KEYWORDS = Row("operator.methodcaller with keywords", KEYWORDS)
STARS_OF = Row("** of {}", KEYWORDS)
UPDATE_DICT_BOTH_DICT_KEYWORDS = Row("update of a dict with both a dict and keywords", KEYWORDS)

# ---- indices

INDEXING = Row("indexing with {}", INDICES)
TOO_MANY_INDICES_ARRAY = Row("too many indices for the array", INDICES)
WRITE_THROUGH_KIND_VIEW = Row("a write through this kind of view", INDICES)

# ---- literals

CONSTANT_OF_TYPE = Row("a value of type {} as a constant", LITERALS)
LONG_TEXT = Row("a text of more than {} characters that the path would have to keep", LITERALS)
NEEDS_CONSTANT = Row("{} where a constant is needed", LITERALS)
NEEDS_INT = Row("{!r} where an int is needed", LITERALS)

# ---- torch

FOREIGN_ARRAY = Row("an array of {} that is no plain one: {}", BY_DYNAMO)
GRADIENTS = Row(
    "gradients of tensors of PyTorch", "call it within torch.no_grad(), or " + BY_DYNAMO
)
TORCH_FORM = Row("{} in this form: {}", BY_DYNAMO)
TORCH_ORDER = Row("the memory order of what {} gives", BY_DYNAMO)
TORCH_WRITE = Row("a write into a tensor of PyTorch", BY_DYNAMO)
TWO_LIBRARIES = Row("arrays of {} and of {} in one function", BY_DYNAMO)

# ---- own memory

SHARED_MEMORY_WRITTEN = Row(
    "arrays of the caller that share memory, one of them written", OWN_MEMORY
)

# ---- apart

KEEPS_ARGUMENT = Row("{}, which keeps {}", APART)
RAISES_WHERE_IT_WRITES = Row("{}, which raises where it may have written a part", APART)
READS_WHAT_IT_WRITES = Row("{}, which reads the array that it writes into", APART)
VIEW_ARRAY_WRITTEN = Row("a view of an array that is written", APART)
VIEW_ARRAY_WRITTEN_LEAVES_FUNCTION = Row(
    "a view of an array that is written, which leaves the function", APART
)
WHOSE_RESULT_SHARES_MEMORY_ARGUMENT = Row("{}, whose result shares memory with its argument", APART)
WHOSE_RESULT_SHARES_MEMORY_ARGUMENTS = Row(
    "{}, whose result shares memory with its arguments", APART
)
WRITES_INTO = Row("{}, which writes into {}", APART)
WRITES_INTO_ARRAY = Row("{}, which writes into an array of {}", APART)
WRITES_INTO_NO_ARRAY_GRAPH = Row("{}, which writes into no array of the graph", APART)
WRITE_INTO_ARRAY_OBJECTS_DOES = Row(
    "a write into an array of objects that does not lie densely", APART
)
WRITE_INTO_ARRAY_OBJECTS_USER = Row("a write into an array of objects of the user's", APART)
WRITE_INTO_MEMORY_OPAQUE_CALL = Row(
    "a write into memory that an opaque call's result shares", APART
)

# ---- inside

ARRAY_ATTRIBUTE = Row("array attribute {}", INSIDE)
BASE_ARRAY_NOT_SEEN = Row("the base of an array that was not seen", INSIDE)
BASE_ARRAY_WHOSE_MEMORY_SOMETHING = Row(
    "the base of an array whose memory something else holds", INSIDE
)
SETFLAGS_ARRAY_OTHERS_SEE = Row("setflags of an array that others see", INSIDE)
WHO_OWNS_ARRAY_S_MEMORY = Row("who owns an array's memory", INSIDE)

# ---- flat

ARRAY_WRITTEN_THROUGH_FLAT = Row("an array written through flat", FLAT)
FLAT_ITERATOR_USED_BEFORE = Row("a flat iterator that was used before", FLAT)
NDENUMERATE = Row("ndenumerate of {}", FLAT)
NDINDEX_NEGATIVE_SIZES = Row("ndindex of negative sizes", FLAT)

# ---- new array

ARRAY_METHOD = Row("the array method {}", NEW_ARRAY)

# ---- objects

ARRAY_HOLDS_OBJECTS_PATH_MADE = Row(
    "an array that holds objects which the path made or was given", OBJECTS
)

# ---- vouch

CALL = Row("a call of {}", VOUCH)
CALL_CACHES_VALUES = Row("a call of {}, which caches by other than values", VOUCH)
CALL_METHOD = Row("a call of the method {} of {}", VOUCH)
CALL_NUMPY_ERROR_STATE_IGNORES = Row("a call of NumPy in an error state that ignores less", VOUCH)
CALL_RUNS = Row("a call of {} that runs {}", VOUCH)

# ---- promises

ANNOTATED_FRESH_BUT_SHARES = Row(
    "{} is annotated fresh, but its result is memory of an argument", PROMISES
)
ANNOTATED_NEVER = Row("{} is annotated never to be part of a path", PROMISES)
ANNOTATED_OP = Row("a call of {}, whose annotated op {}", PROMISES)
ANNOTATED_NOT_PURE = Row("a call of {}, which is not annotated pure", PROMISES)
OWN_PART = "compile what comes before and after it as functions of their own"
PACKAGE_METHOD = Row("a call of {}, which may change its object", OWN_PART)
PACKAGE_ARGUMENT = Row("{} with {}=", OWN_PART)
PACKAGE_CALLBACK = Row("{}, which may call {}", OWN_PART)

# ---- call outside

NO_PLACE_TO_RECORD = Row(
    "all tools of sys.monitoring are in use, and dvm needs one while it captures", FREE_TOOL
)
METHOD_KEYWORDS = Row("the method {} with keywords", CALL_OUTSIDE)
METHOD_OF = Row("the method {} of {}", CALL_OUTSIDE)
METHOD_OF_DEQUE = Row("the method {} of a deque", CALL_OUTSIDE)
METHOD_OF_DICT = Row("the method {} of a dict", CALL_OUTSIDE)
METHOD_OF_LIST = Row("the method {} of a list", CALL_OUTSIDE)
METHOD_OF_NAMESPACE = Row("the method {} of __dict__", CALL_OUTSIDE)
METHOD_OF_SET = Row("the method {} of a set", CALL_OUTSIDE)
METHOD_WITH = Row("the method {} with {}", CALL_OUTSIDE)
RANDOM_FUNCTION = Row("the random function {}", CALL_OUTSIDE)
SHUFFLE = Row("shuffling {} of other things than numbers and texts", CALL_OUTSIDE)
TRACE_FUNCTION_SET = Row("the program set a trace function", CALL_OUTSIDE)

# ---- outside

DEEP_COPY = Row("a deep copy of {}", OUTSIDE)
FORMATTING = Row("formatting {}", OUTSIDE)
HASH = Row("hash of {}", OUTSIDE)
HOST_OBJECT = Row("{} as a host object", OUTSIDE)
IDENTITY = Row("the identity of {} and {}", OUTSIDE)
IDENTITY_MAY_BE_VIEW_COPY = Row("the identity of what may be a view or a copy", OUTSIDE)
OBJECT_TYPE_CALL_RECEIVES = Row("an object of type {} that a call receives", OUTSIDE)
PRINTING = Row("printing {}", OUTSIDE)
PRINTING_STREAM_PROGRAM_S_OWN = Row(
    "printing to a stream of the program's own beside other effects", OUTSIDE
)
TEMPLATE_STRING = Row("a template string", OUTSIDE)
PRINTING_TO = Row("printing to {}", OUTSIDE)
TRUTH = Row("the truth of {}", OUTSIDE)
LOGGING_HANDLER = Row("logging to a handler, filter or format of the program's own", OUTSIDE)
LOGGING_WITH = Row("logging with {}", OUTSIDE)
PLACE_OF_GENERATOR = Row("the place from which a generator was resumed", OUTSIDE)
VALUE = Row("the value of {}", OUTSIDE)

# ---- caches

CACHE_FORGETS_RESULT = Row(
    "a call of {}, whose cache forgets the result before the function ends", LARGER_CACHE
)
FIRST_CALL_CACHES_RESULT = Row("a call of {}, whose cache lacks the result", LARGER_CACHE)

# ---- read first

CALL_AFTER_CHANGES = Row("{} of an object, after the program has changed some", READ_FIRST)
CHECK_BEHIND_EFFECT = Row(
    "after an effect the path depends on a step that may fail ({})", READ_FIRST
)

CLOCK_BEHIND_EFFECT = Row(
    "a call of {} behind a write or a print", "read the clock first, or write and print outside"
)

# ---- sort

ORDER_SET = Row("the order of a set", SORT)
SORTED = Row("sorted of {}", SORT)
SORTED_BY = Row("sorted by {}", SORT)
SORTED_NAN_AMONG_ELEMENTS = Row("sorted with NaN among the elements", SORT)
SORTED_NAN_TUPLE_TOLD_IDENTITY = Row(
    "sorted by NaN in a tuple, which is told by its identity", SORT
)
SUM_THESE_VALUES = Row("sum of these values", SORT)

# ---- types

CALLABLE = Row("callable of {}", TYPES)
HASATTR = Row("hasattr of {}", TYPES)
HASATTR_MODULE_OWN_GETATTR = Row("hasattr of a module with its own __getattr__", TYPES)
IDENTITY_NUMBER = Row("id", TYPES)
ISINSTANCE = Row("isinstance with {!r}", TYPES)
ISINSTANCE_OBJECT_OWN = Row("isinstance of an object with its own {}", TYPES)
ISSUBCLASS_SOMETHING_CLASS = Row("issubclass of something other than a class", TYPES)
SUPER_REBOUND = Row("a name `super` that is not Python's", TYPES)
SUPER_UNKNOWN_OBJECT = Row("super of an unknown object", TYPES)
TYPE_PARAMETERS = Row("type parameters: a generic function or class, or a type alias", DEFINE)
TRUTH_OF_COMPARISON = Row("the truth of what a comparison of your own returns", TYPES)
TYPE = Row("the type of {}", TYPES)

# ---- attributes

ATTRIBUTE_DELETED = Row("attribute {}, which was deleted", ATTRIBUTES)
ATTRIBUTE_FLAT = Row("attribute flat of {}", ATTRIBUTES)
ATTRIBUTE_FLAT_ITERATOR = Row("attribute {} of a flat iterator", ATTRIBUTES)
ATTRIBUTE_KIND = Row("attribute {}, a {}", ATTRIBUTES)
ATTRIBUTE_MODULE_CLASS = Row("attribute {} of a module of class {}", ATTRIBUTES)
ATTRIBUTE_OBJECT_OWN_GETATTRIBUTE = Row(
    "attribute {} of an object with its own __getattribute__", ATTRIBUTES
)
ATTRIBUTE_OBJECT_TYPE = Row("attribute {} of an object of type {}", ATTRIBUTES)
ATTRIBUTE_OF = Row("attribute {} of {}", ATTRIBUTES)
ATTRIBUTE_PARTIAL = Row("attribute {} of a partial", ATTRIBUTES)
ATTRIBUTE_PYTEST_RAISES_GIVES = Row("attribute {} of what pytest.raises gives", ATTRIBUTES)
ATTRIBUTE_SUPER = Row("attribute {} of super()", ATTRIBUTES)
ATTRIBUTE_VIEW_ARRAY_WRITTEN = Row("attribute {} of a view of an array that is written", ATTRIBUTES)
CLASS_ATTRIBUTE_PROGRAM_SET = Row("the class attribute {}, which the program has set", ATTRIBUTES)
OPERATOR_ATTRGETTER_SEVERAL_ATTRIBUTES = Row(
    "operator.attrgetter of several attributes", ATTRIBUTES
)

# ---- set outside

DELETING_ATTRIBUTE = Row("deleting attribute {} of {}", SET_OUTSIDE)
DEL_PART = Row("del of a part of {}", SET_OUTSIDE)
SETATTR = Row("setattr of {}", SET_OUTSIDE)
SETATTR_OBJECT_OWN_SETATTR = Row("setattr of an object with its own __setattr__", SET_OUTSIDE)
SETTING_ATTRIBUTE = Row("setting attribute {} of {}", SET_OUTSIDE)
WRITE_INTO_DICT = Row("a write into the __dict__ of {}", SET_OUTSIDE)

# ---- plain class

MAKING_OBJECT_TYPE = Row("making an object of type {}", PLAIN_CLASS)
MAKING_OBJECT_TYPE_DEL = Row("making an object of type {}, which has __del__", PLAIN_CLASS)

# ---- keys

DICT_KEY_TYPE = Row("a dict with a key of type {}", KEYS)
PROXY_OF = Row("a mapping proxy of {}", KEYS)
KEY_DICT_SUBCLASS_MADE_UP = Row("a key that a dict subclass made up", KEYS)
KEY_MISSING = Row("a key that is missing", KEYS)

# ---- results

FUNCTION_MADE_INSIDE_LEAVES_FUNCTION = Row(
    "a function made inside that leaves the function", RESULTS
)
LEAVES_FUNCTION = Row("{} that leaves the function", RESULTS)
VIEW_LEAVES_FUNCTION = Row("a view that leaves the function", RESULTS)

# ---- catch

ERRSTATE_OUTLIVES_FUNCTION = Row("an error state of NumPy that outlives the function", CATCH)
FILTER_WARNINGS_OUTLIVES_FUNCTION = Row("a filter of warnings that outlives the function", CATCH)
MANAGERS_LEFT_ANOTHER_ORDER = Row("managers that are left in another order", CATCH)
MANAGER_ENTERED_AGAIN = Row("a manager that is entered again", CATCH)
WARNINGS_CAUGHT_WHERE_CALLER_IGNORES = Row("warnings caught where the caller ignores some", CATCH)
WARNING_PROGRAM_CATCHES = Row("a warning that the program catches", CATCH)

WARNING_OF = Row("a warning of {}", CATCH)
WARNING_RAISES = Row("a warning that a filter makes an exception", CATCH)
WARNING_SHOWN_BY_PROGRAM = Row("a warning that code of the program's own shows", CATCH)

# ---- locks

LOCK_BESIDE_CALL = Row("a lock, and a call of {} beside it", LOCKED)
LOCK_COMPUTED = Row("a lock that the function computes", LOCKED)
LOCK_NOT_HAD = Row("a lock that was not to be had", LOCKED)
LOCK_OF_CALLER = Row("letting go of a lock that the function has not taken", LOCKED)
LOCK_OUTLIVES_FUNCTION = Row("a lock that is held when the function returns", LOCKED)

# ---- raises

BARE_RAISE = Row("a raise statement without an exception", RAISES)
EXCEPTION_GROUP = Row("a handled exception group", RAISES)
EXCEPTION_LEFT = Row("an exception left the function", RAISES)
EXCEPTION_RAISED = Row("an exception was raised ({})", RAISES)
EXCEPTION_TURNED = Row("an exception that turned into another", RAISES)
HANDLING = Row("handling {}", RAISES)
MAKING_EXCEPTION_TYPE = Row("making an exception of type {}", RAISES)
RAISING = Row("raising {}", RAISES)
UNKNOWN_HANDLER = Row("an exception handled in an unknown place", RAISES)

# ---- define

CLASS_DEFINITION = Row(
    "a class definition that does more than define methods and constants", DEFINE
)
LOCAL_CLASS_LEAVES = Row(
    "class {}, which the function defines, or an object of it, leaves it", DEFINE
)

# ---- lifetimes

LIFETIME_LOOKED_AT = Row("a look at how long objects live", LIFETIMES)
OBJECT_TELLS_END = Row("an object that tells when it dies, or lends memory until then", LIFETIMES)

# ---- paths

LONG_CALL = Row("a call of {} steps, of which some turns were not recorded", AT_ONCE)
FIRST_CALL = Row(
    "a first call runs plain, which tells what calls take; the next may be captured", AT_ONCE
)
WAITS = Row(
    "capture \N{ALMOST EQUAL TO} {}, after about {} more plain calls, saves up to {} of each; or "
    "`force_capture`",
    AT_ONCE,
)
WAITS_UNTIMED = Row(
    "capture \N{ALMOST EQUAL TO} {}, when plain calls have taken as long; or `force_capture`",
    AT_ONCE,
)
TRIED = Row(
    "capture > {}, tried again after about {} more plain calls, saves up to {} of each; or "
    "`force_capture`",
    AT_ONCE,
)
TRIED_UNTIMED = Row(
    "capture > {}, tried again when plain calls have taken as long; or `force_capture`", AT_ONCE
)
#: those that tell a price
PRICED = (WAITS, WAITS_UNTIMED, TRIED, TRIED_UNTIMED)
OPAQUE_LOST = Row(
    "replays that call functions dvm does not know were given up: it runs uncompiled for now",
    STRAIGHT,
)
HITS_SLOWER = Row(
    "replays took longer than plain calls, {} against {}: it runs uncompiled for now", NO_FASTER
)
INTERRUPTED = Row(
    "a signal's handler, or what another thread had asked for, came twice within a replay: that "
    "call ran uncompiled",
    "nothing, where it is rare: each handler runs as the plain program would have run it",
)
CAPTURED_MEANWHILE = Row(
    "another thread was capturing a call: one at that time ran uncompiled", "nothing: it is rare"
)
CALL_RAISED = Row(
    "a call raised {}: no path is made of a call that raises",
    "nothing, where it is meant to raise: calls that return are captured",
)
COLLECTED = Row("the garbage collector is taking it apart", "nothing: it is rare")
PATH_LIMIT = Row("reached the limit of {} paths; calls that match none run uncompiled", PATHS)

# ---- one step

GENERATOR_FUNCTION = Row("it is a generator function, whose calls compute nothing", ONE_STEP)
COROUTINE_FUNCTION = Row("it is an async function, whose calls compute nothing", AWAITED)

# ---- report

BUG = Row("{}", REPORT)
RECORDER_FAILED = Row("the recorder failed: {}", REPORT)
STACK_OUT_OF_STEP = Row("the value stack has another depth than its shadow (opcode {})", REPORT)
UNKNOWN_EXCEPTION = Row("an exception of unknown origin", REPORT)
UNKNOWN_INSTRUCTION = Row("an instruction dvm does not know", REPORT)
UNKNOWN_ITEM = Row("an item of unknown origin", REPORT)
UNKNOWN_LOCAL = Row("a local variable of unknown origin", REPORT)
UNKNOWN_RETURN = Row("a returned value of unknown origin", REPORT)
VALUE_UNKNOWN_ORIGIN = Row("a value of unknown origin", REPORT)

#: code -> row
TABLE: dict[str, Row] = {}
for _name, _row in list(globals().items()):
    if isinstance(_row, Row):
        _row.code = _name.lower().replace("_", "-")
        TABLE[_row.code] = _row
