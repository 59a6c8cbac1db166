"""Products of matrices and vectors, and sums of products."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, close, floats, ints

#: (m, k, n): sums over nothing, over one element, results without elements
SIZES = ((2, 3, 4), (5, 2, 3), (1, 4, 2), (3, 4, 1), (3, 1, 2), (2, 0, 3), (0, 3, 2), (3, 2, 0))
DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")


def layouts(x):
    """The same elements as they are, transposed in memory, reversed, and apart."""
    yield x
    yield np.ascontiguousarray(x.T).T
    yield np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    wide = np.zeros(tuple(2 * size for size in x.shape), x.dtype)
    apart = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    apart[...] = x
    yield apart


@close  # NumPy's sums of nothing but -0 are 0
@case
def one_capture_serves_all_sizes(w: World) -> None:
    functions = {
        "matrices": (lambda a, b: a @ b, "mk", "kn"),
        "matrix, vector": (lambda a, b: a @ b, "mk", "k"),
        "vector, matrix": (lambda a, b: a @ b, "k", "kn"),
        "vectors": (lambda a, b: a @ b, "k", "k"),
        "stacks": (lambda a, b: a @ b, "nmk", "nkm"),
        "stack, matrix": (lambda a, b: a @ b, "nmk", "km"),
        "matrix, stack": (lambda a, b: a @ b, "mk", "nkm"),
        "stack, vector": (lambda a, b: a @ b, "nmk", "k"),
        "transposed": (lambda a, b: a @ b.T, "mk", "nk"),
        "with itself": (lambda a, b: (a.T @ a, b @ b.T), "mk", "kn"),
        "dot": (lambda a, b: np.dot(a, b), "mk", "kn"),
        "dot of stacks": (lambda a, b: np.dot(a, b), "nmk", "mkn"),
        "dot of a stack and a vector": (lambda a, b: np.dot(a, b), "nmk", "k"),
        "method dot": (lambda a, b: a.dot(b), "k", "kn"),
        "vdot": (lambda a, b: np.vdot(a, b), "mk", "mk"),
        "vdot of other shapes": (lambda a, b: np.vdot(a, b), "mk", "km"),
        "inner": (lambda a, b: np.inner(a, b), "mk", "nk"),
        "inner of vectors": (lambda a, b: np.inner(a, b), "k", "k"),
        "inner of stacks": (lambda a, b: np.inner(a, b), "nmk", "mk"),
        "outer": (lambda a, b: np.outer(a, b), "mk", "n"),
        "tensordot": (lambda a, b: np.tensordot(a, b), "nmk", "mkn"),
        "tensordot of one axis": (lambda a, b: np.tensordot(a, b, 1), "mk", "kn"),
        "tensordot of no axis": (lambda a, b: np.tensordot(a, b, 0), "mk", "n"),
        "tensordot of axes": (lambda a, b: np.tensordot(a, b, ([0, 2], [1, 0])), "nmk", "knm"),
        "einsum": (lambda a, b: np.einsum("ij,jk", a, b), "mk", "kn"),
        "einsum over stacks": (lambda a, b: np.einsum("bij,bkj->bik", a, b), "nmk", "nmk"),
        "einsum of rows": (lambda a, b: np.einsum("ij,ij->i", a, b), "mk", "mk"),
        "einsum to a number": (lambda a, b: np.einsum("ij,jk->", a, b), "mk", "kn"),
        "einsum, elementwise": (lambda a, b: np.einsum("ij,i->ij", a, b), "mk", "m"),
        "einsum with an ellipsis": (lambda a, b: np.einsum("...k,k...->...", a, b), "mk", "km"),
    }
    for function, *forms in functions.values():
        f = w.compiled(function)
        for m, k, n in SIZES:
            sizes = {"m": m, "k": k, "n": n}
            w(f, *(floats(*(sizes[axis] for axis in form)) for form in forms))
        w.replayed(f)


@case
def dtypes_of_products(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a @ b, np.dot(b, a), np.inner(a, a), np.vdot(a, a), np.einsum("ij,jk->ik", a, b)

    for first in DTYPES:
        for second in {first, "i8", "f4", "?"}:
            w(f, ints(2, 3, dtype=first), ints(3, 2, dtype=second))


@case
def integers_wrap(w: World) -> None:
    @w.compiled
    def f(a):
        return a @ a, np.dot(a[0], a[1]), np.einsum("ij,jk->k", a, a), np.tensordot(a, a)

    for dtype in DTYPES[1:9]:
        limits = np.iinfo(dtype)
        edges = np.array([[limits.max, limits.min], [limits.max - 1, 3]], dtype)
        w(f, edges)
        w(f, np.tile(edges, (9, 9)))
        w.captured(f, DTYPES.index(dtype))


@case
def halves_are_added_as_floats(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a @ b, np.einsum("ij,j->i", a, b), np.einsum("ij,j,j->i", a, b, b)

    for _ in range(2):  # a half cannot hold the sums on the way
        w(f, np.array([[2048, 1, 1, -2048]], "f2"), np.ones(4, "f2"))
    w.replayed(f)


@case
def truths_of_products(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a @ b, np.einsum("ij->j", a), np.einsum("ij,ij->ij", a, b), np.vdot(a, b)

    for n in (2, 3, 300):
        eye = np.eye(n, dtype=bool)
        w(f, eye, ~eye)
        w(f, ~eye, ~eye)
    w.replayed(f)


@case
def layouts_of_operands(w: World) -> None:
    functions = (
        lambda a, b: a @ b,
        lambda a, b: np.dot(a, b),
        lambda a, b: np.einsum("ij,jk->ik", a, b),
        lambda a, b: np.einsum("ij,jk->ki", a, b),
        lambda a, b: np.inner(a, b.T),
    )
    for function in functions:
        for a in layouts(floats(3, 4)):
            for b in layouts(floats(4, 2)):
                f = w.compiled(function)
                w(f, a, b)
                w(f, a[1:], b)
                w(f, a[:, 1:], b[1:])
                w(f, a, b)


@close
@case
def memory_orders_of_stacks(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a @ b, np.dot(a, b[0, 0]), np.tensordot(a, b, ([3], [2]))

    for axes in ((0, 1, 2, 3), (1, 0, 2, 3), (1, 0, 3, 2), (3, 1, 0, 2), (2, 3, 0, 1)):
        for n in (2, 3, 1):
            a = floats(2, 3, 4, n).transpose(axes)
            w(f, a, floats(*a.shape[:2], a.shape[3], 2))
            w(f, a, floats(a.shape[1], a.shape[3], 2)[None])


@close
@case
def memory_orders_of_einsum(w: World) -> None:
    forms = (
        "ij,jk->ik",
        "ij,jk->ki",
        "ij,kj->ik",
        "ij,kj->ki",
        "ji,jk->ik",
        "ij,ij->ji",
        "i,j->ji",
    )
    for form in forms:
        f = w.compiled(lambda a, b, form=form: np.einsum(form, a, b))
        for shapes in ((3, 3), (1, 1), (4, 4), (0, 0), (2, 2)):
            a, b = floats(*shapes), floats(*shapes)
            if form == "i,j->ji":
                a, b = a[0] if len(a) else a[:, :0].ravel(), floats(2)
            for _ in range(2):
                w(f, a, b)
                w(f, a.T, b.T)
                w(f, a, b.T)
    f = w.compiled(lambda a, b: np.einsum("ij,jk->ki", a, b))
    for m, k, n in SIZES:
        w(f, floats(m, k), floats(k, n))


@case
def results_are_new_memory(w: World) -> None:
    @w.compiled
    def f(a, b):
        c = a @ b
        d = c
        c += 1
        one = np.dot(a, b)
        one[0] = 5
        return c, d, one, a, b, c.T, np.tensordot(a, b, 1)[0]

    for n in (2, 3, 2):
        w(f, floats(n, n), floats(n, n))
    w.replayed(f)


@case
def products_in_place(w: World) -> None:
    @w.compiled
    def f(a, b):
        a @= b
        b[:] = a @ b
        return a, a @ a

    for n in (2, 3, 2):
        w(f, floats(n, n), floats(n, n))
    w.replayed(f)


@case
def products_into_arrays(w: World) -> None:
    @w.compiled
    def f(a, b, out):
        first = np.matmul(a, b, out=out)
        second = np.dot(a, a.T, out=np.empty((len(a), len(a))))
        return first is out, first, second, np.einsum("ij,jk->ik", a, b, out=out.copy()) + out

    for n in (2, 3, 1):
        w(f, floats(n, n), floats(n, n), np.zeros((n, n)))
        w(f, floats(n, n), floats(n, n), np.zeros((n, n), order="F"))
    for out in (np.zeros((3, 2)), np.zeros((2, 2), "f4"), np.zeros((2, 2, 2)), [[0.0]]):
        w(f, floats(2, 2), floats(2, 2), out)


@case
def products_over_their_own_operands(w: World) -> None:
    def written(function):
        f = w.compiled(function)
        for n in (2, 3):
            x = floats(n, n)
            w(f, x, x)
            w(f, x, x.T)
            w(f, x, floats(n, n))

    written(lambda x, y: (np.matmul(x, y, out=x), x))
    written(lambda x, y: (np.dot(x, y, out=x), y))
    written(lambda x, y: (np.matmul(y, x.T, out=y), x))


@case
def errors_of_products(w: World) -> None:
    f = {
        "@": lambda a, b: a @ b,
        "dot": lambda a, b: np.dot(a, b),
        "inner": lambda a, b: np.inner(a, b),
        "vdot": lambda a, b: np.vdot(a, b),
        "tensordot": lambda a, b: np.tensordot(a, b),
        "einsum": lambda a, b: np.einsum("ij,jk", a, b),
        "multi_dot": lambda a, b: np.linalg.multi_dot([a, b, a]),
    }
    for function in f.values():
        g = w.compiled(function)
        for a, b in ((2, 2), (2, 3), (2, 2), (3, 3)):
            w(g, floats(a, a), floats(b, b))
        w(g, floats(2), floats(3))
        w(g, floats(2, 2), 2.0)
        w(g, 2.0, floats(2, 2))
        w(g, floats(2, 2), None)
    g = w.compiled(lambda text, a: np.einsum(text, a, a))
    for text in (
        "ij,jk->il",
        "ij,j",
        "ij",
        "ij,jk->ii",
        "i...,...",
        "ij,jk->",
        "i$,jk",
        "ij,jk,kl",
    ):
        w(g, text, floats(2, 2))


@case
def warnings_of_products(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a @ b

    huge = np.full((2, 2), 1e200)
    for x in (floats(2, 2), huge, floats(2, 2), np.full((2, 2), np.nan)):
        w(f, x, floats(2, 2) + 1)
    w(f, huge, huge)
    w(f, np.array([[np.inf, -np.inf]]), np.ones((2, 1)))
    with np.errstate(all="ignore"):
        w(f, huge, huge)
    with np.errstate(all="raise"):
        w(f, huge, huge)


@case
def scalars_and_vectors(w: World) -> None:
    @w.compiled
    def f(a, s):
        return (
            np.dot(a, s),
            np.dot(s, a),
            np.inner(s, a),
            np.dot(2, s),
            np.vdot(s, s),
            a @ a,
            np.einsum("i,->i", a, s),
            np.einsum("i->", a),
            np.tensordot(a, a, 1),
            np.tensordot(a, s, 0),
            (a @ a) * 2,
        )

    for n in (3, 2, 3):
        for s in (2.0, np.float32(0.5), np.array(1.5), 3, True):
            w(f, floats(n), s)
            w(f, ints(n), s)


@case
def lists_as_operands(w: World) -> None:
    @w.compiled
    def f(a, n):
        return a @ [1, 2, n], [[1, 2, 3]] @ a.T, np.dot([n, 1], a), np.einsum("i,ij", [1.5, n], a)

    for n in (2, 3, 2.5):
        w(f, floats(2, 3), n)


@close
@case
def einsums_of_every_kind(w: World) -> None:
    def check(text, *arrays, **keywords):
        f = w.compiled(lambda *given: np.einsum(text, *given, **keywords))
        for n in (2, 3, 1, 0):
            w(f, *(floats(*(n,) * rank) for rank in arrays))
            w(f, *(floats(*(n,) * rank).T for rank in arrays))
            w(f, *(ints(*(n,) * rank) for rank in arrays))

    for text in ("ii", "ii->i", "ij->ji", "ba", "ij->", "ij->j", "i...->...i"):
        check(text, 2)
    for text in ("iij->ij", "iij->j", "iii->i", "iii", "ij...->...", "...i->..."):
        check(text, 3)
    for text in ("ij , jk -> i k", "ii,ij->j", "ij,jk->", "ij,ij", "ij,ji->j", "ij,kl->jl"):
        check(text, 2, 2)
    check("ij,k->i", 2, 1)
    check("...j,jk->...k", 3, 2)
    check("...ij,...jk->...ik", 3, 2)
    check("ij...,jk...->ik...", 3, 3)
    check("i,j,k->kji", 1, 1, 1)
    check("ij,jk,kl", 2, 2, 2)
    check("ij,jk,ki->", 2, 2, 2)
    check("i,ij,j->", 1, 2, 1)
    check("bhqd,bhkd->bhqk", 4, 4)
    check("ij,jk->ik", 2, 2, order="C")
    check("ij,jk->ki", 2, 2, order="F")
    check("ij,jk->ik", 2, 2, dtype="f8")
    check("ij,jk->ik", 2, 2, dtype="f2", casting="unsafe")
    check("ij,jk->ki", 2, 2, optimize=True)
    check("ij,ij->", 2, 2, optimize=True)
    check("bij,bjk->bik", 3, 3, optimize="greedy")
    check("ij,jk,kl->li", 2, 2, 2, optimize=True)
    check("bi,bj,ijk->bk", 2, 2, 3, optimize="optimal")
    check("ij,jk,kl->il", 2, 2, 2, optimize=["einsum_path", (0, 1), (0, 1)])
    check("ij,jk,kl->il", 2, 2, 2, optimize=False)


@case
def einsum_of_an_axis_that_one_operand_has_alone(w: World) -> None:
    """NumPy's path sums it in the dtype of that operand, where integers wrap."""
    for optimize in (True, "greedy", False):
        f = w.compiled(
            lambda x, d, optimize=optimize: np.einsum("ij,ip->i", x, d, optimize=optimize)
        )
        for dtype in ("?", "i1", "i4", "f4", "f8", "u1"):
            for n in (3, 4, 1, 0):
                w(f, np.ones((2, n)), np.ones((2, 300), dtype))
                w(f, np.ones((2, n), dtype), np.ones((2, 300), "i8"))


@case
def einsum_of_numbered_labels(w: World) -> None:
    @w.compiled
    def f(a, b):
        return (
            np.einsum(a, [0, 1], b, [1, 2]),
            np.einsum(a, [0, 1], b, [1, 2], [2, 0]),
            np.einsum(a, [Ellipsis, 1], b, [1, 30], [Ellipsis, 30]),
        )

    for n in (2, 3, 4):
        w(f, floats(n, n), floats(n, n))
    w.replayed(f)


@case
def sizes_of_one_that_einsum_repeats(w: World) -> None:
    @w.compiled
    def f(a, b):
        return np.einsum("ij,jk->ik", a, b), np.einsum("...,...->...", a, b)

    for a, b in (((2, 3), (3, 3)), ((2, 1), (3, 3)), ((1, 3), (3, 3)), ((1, 1), (3, 3))):
        for _ in range(2):
            w(f, floats(*a), floats(*b))


@case
def views_by_einsum(w: World) -> None:
    @w.compiled
    def f(x):
        turned, line = np.einsum("ij->ji", x), np.einsum("ii->i", x)
        x[0, 1] = 9
        x[1, 1] = 8
        turned[0] += 1
        return turned, line, line + 1, x, np.einsum("ij", x)

    for n in (2, 3, 2):
        w(f, floats(n, n))
        w(f, floats(n, n).T)

    @w.compiled
    def g(x):
        np.einsum("ii->i", x)[:] = 0
        return x

    for n in (2, 3, 2):
        w(g, floats(n, n))


@case
def chains_and_powers(w: World) -> None:
    @w.compiled
    def f(a, b, c):
        return (
            np.linalg.multi_dot([a, b, c]),
            np.linalg.multi_dot([a[0], b, c]),
            np.linalg.multi_dot([a[0], b, c[:, 0]]),
            np.linalg.multi_dot([b, c]),
        )

    for m, k, n in ((2, 3, 4), (9, 2, 5), (3, 1, 2)):
        w(f, floats(m, k), floats(k, n) + 1, floats(n, 3))
    w.replayed(f)

    @w.compiled
    def g(x, n):
        return np.linalg.matrix_power(x, n)

    for n in (1, 2, 3, 5, 0, 2, 3, -1):
        w(g, floats(3, 3) + np.eye(3), n)
        w(g, np.stack([floats(2, 2)] * 2) + np.eye(2), n)


@case
def other_ufuncs_of_vectors(w: World) -> None:
    names = [name for name in ("vecdot", "matvec", "vecmat") if hasattr(np, name)]

    @w.compiled
    def f(a, v, u):
        made = []
        if "vecdot" in names:
            made += [np.vecdot(a, v), np.vecdot(v, v)]
        if "matvec" in names:
            made += [np.matvec(a, v), np.vecmat(u, a)]
        return made

    for n in (2, 3, 4):
        w(f, floats(n, 3), floats(3), floats(n))
    w.replayed(f)


@case
def what_stays_numpys(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a @ b, np.dot(a, b), np.einsum("ij,jk", a, b), np.inner(a, b), np.tensordot(a, b)

    for a in (
        floats(2, 2) * 1j,
        floats(2, 2).astype(object),
        floats(2, 2, dtype=">f8"),
        floats(2, 2).view(np.matrix),
        np.longdouble(floats(2, 2)),
    ):
        for _ in range(2):
            w(f, a, floats(2, 2))


@close
@case
def sizes_that_follow_from_products(w: World) -> None:
    @w.compiled
    def f(x, weight, bias, more):
        y = x @ weight + bias
        z = np.maximum(y, 0) @ more
        return y.shape, z / len(z), y[:, 0], z[-1], y.sum(axis=0), (y - y.mean(axis=0))[..., None]

    for m, k, n in ((2, 3, 4), (5, 2, 3), (1, 4, 2), (3, 1, 2), (1, 1, 1)):
        w(f, floats(m, k) + 1, floats(k, n) + 1, floats(n), floats(n, 2))
    w.replayed(f)
    w(f, floats(2, 3), floats(3, 4), floats(1), floats(4, 2))
    w(f, floats(2, 3), floats(3, 4), floats(2, 1), floats(4, 2))
    w(f, floats(2, 3), floats(3, 4), floats(3), floats(4, 2))


@close
@case
def norms_of_vectors(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.linalg.norm(x),
            np.linalg.norm(x, axis=-1),
            np.linalg.norm(x, axis=0, keepdims=True),
            np.linalg.norm(x[0]),
            np.linalg.norm(x[0], 2),
            np.linalg.norm(x, keepdims=True),
            x / np.linalg.norm(x, axis=1, keepdims=True),
            [np.linalg.norm(x, p, axis=1) for p in (1, 0, np.inf, -np.inf)],
            np.linalg.vector_norm(x),
        )

    for dtype in ("f8", "f4", "i4", "u1", "?"):
        for n in (2, 3, 1):
            w(f, ints(n, 4, dtype=dtype) if dtype in "u1?" else floats(n, 4).astype(dtype) + 2)
            w(f, floats(4, n).T.astype(dtype) + np.ones((), dtype))
    w.captured(f, 10)


@close
@case
def covariances(w: World) -> None:
    @w.compiled
    def f(x, y):
        return (
            np.cov(x),
            np.cov(x, y, rowvar=False),
            np.corrcoef(x),
            np.cov(x[0]),
            np.cov(x, ddof=0),
        )

    for n in (3, 5, 3, 8):
        x = np.sin(np.arange(4.0 * n)).reshape(4, n)
        w(f, x, np.cos(x))
    w.replayed(f)


@case
def names_of_linalg(w: World) -> None:
    @w.compiled
    def f(x, v):
        return (
            np.linalg.matmul(x, x),
            np.linalg.tensordot(x, x, axes=1),
            np.linalg.outer(v, v),
            np.linalg.vecdot(x, v),
            np.linalg.matrix_transpose(x) @ x,
            np.linalg.trace(x),
            np.linalg.diagonal(x) + 1,
            x.conj() is x,
            x.T.conj(),
        )

    for n in (3, 2, 4):
        w(f, floats(n, n), floats(n))
    if hasattr(np.linalg, "matmul"):
        w.replayed(f)


@close
@case
def paths_that_einsum_finds(w: World) -> None:
    @w.compiled
    def f(a, b, c):
        return np.einsum("ij,jk,kl->il", a, b, c, optimize=True)

    for m, k, n, o in ((2, 3, 4, 5), (9, 2, 2, 9), (2, 9, 9, 2), (5, 5, 5, 5), (9, 2, 2, 9)):
        w(f, floats(m, k), floats(k, n), floats(n, o))
        w(f, floats(k, m).T, floats(n, k).T, floats(o, n).T)


@case
def subscripts_that_are_passed(w: World) -> None:
    @w.compiled
    def f(text, a):
        return np.einsum(text, a, a)

    for text in ("ij,jk", "ij,jk->ki", "ij,jk", "ij,ij", "ij,kl->ij"):
        w(f, text, floats(2, 3 if text == "ij,ij" else 2))
        w(f, text, floats(3, 3))
    w.captured(f, 4)
