# SPDX-License-Identifier: Apache-2.0
"""Functions whose derivatives are compared with JAX's, written for either library.

`build(library)` takes a namespace with ``lax`` and the transformations, and returns from a name to
a function and its arguments. The same file is run under JAX by `record_derivatives.py`.
"""

from __future__ import annotations

import numpy as np

f32 = np.float32
_random = np.random.RandomState(0)
X = (_random.rand(4) * 0.8 + 0.1).astype(f32)
Y = (_random.rand(4) * 0.8 + 0.1).astype(f32)
M = _random.rand(3, 4).astype(f32)
N = _random.rand(4, 3).astype(f32)
B = _random.rand(2, 3, 4).astype(f32)
D = _random.rand(4, 5, 3, 2).astype(f32)
SQUARE = _random.rand(3, 3).astype(f32)
TIES = np.array([1, 1, 0, 3], f32)
Z = (X + 1j * Y).astype(np.complex64)
S = f32(0.7)
INDICES = np.array([[0], [2], [0], [5]], np.int32)
DISTINCT = np.array([[0], [2], [1], [5]], np.int32)
UPDATES = _random.rand(4, 4).astype(f32)


def build(library):
    cases = {}
    for add in (
        _elementwise,
        _complex,
        _reductions,
        _shaping,
        _indexing,
        _contractions_and_sorting,
        _control_flow,
        _calls,
        _custom_rules,
    ):
        add(cases, library)
    return cases


def _elementwise(cases, library):
    lax = library.lax
    for name in (
        "neg exp exp2 log log1p expm1 tanh logistic sin cos tan asin acos atan sinh cosh asinh "
        "atanh sqrt rsqrt cbrt square abs erf erfc erf_inv lgamma digamma"
    ).split():
        cases[name] = (getattr(lax, name), (X,))
    cases["acosh"] = (lambda x: lax.acosh(lax.add(x, f32(1))), (X,))

    def binary(name, op):
        cases[name] = (op, (X, Y))
        cases[name + " scalar vector"] = (op, (S, Y))
        cases[name + " vector scalar"] = (op, (X, S))
        cases[name + " by constant"] = (lambda x: op(x, f32(0.4)), (X,))
        cases[name + " of constant"] = (lambda x: op(f32(0.4), x), (X,))
        cases[name + " with itself"] = (lambda x: op(x, x), (X,))

    for name in "add sub mul div rem max min pow atan2".split():
        binary(name, getattr(lax, name))
    cases["sub of a row"] = (lax.sub, (M[:1], M))
    for power in (0, 1, 2, 3, -1, -2):
        cases[f"integer_pow {power}"] = (lambda x, power=power: lax.integer_pow(x, power), (X,))
    for power in (0, 1, 2, 3):
        cases[f"pow to integer {power}"] = (lambda x, power=power: lax.pow(x, power), (X,))
    cases["pow of negative"] = (lambda x: lax.pow(lax.neg(x), 3), (X,))
    cases["pow at zero"] = (lambda x: lax.pow(lax.sub(x, x), 2), (X,))
    cases["abs at zero"] = (lambda x: lax.abs(lax.sub(x, x)), (X,))
    cases["select"] = (lambda x, y: lax.select(lax.gt(x, y), x, y), (X, Y))
    cases["select constant"] = (lambda x: lax.select(lax.gt(x, Y), x, np.ones(4, f32)), (X,))
    cases["clamp"] = (lax.clamp, (X, Y, X + f32(0.2)))
    cases["clamp to constants"] = (lambda y: lax.clamp(f32(0.2), y, f32(0.6)), (Y,))
    cases["convert"] = (lambda x: lax.convert_element_type(x, np.float16), (X,))
    cases["convert to integer"] = (
        lambda x: lax.mul(
            x, lax.convert_element_type(lax.convert_element_type(x, np.int32), np.float32)
        ),
        (X,),
    )
    cases["stop_gradient"] = (lambda x: lax.mul(lax.stop_gradient(x), x), (X,))


def _complex(cases, library):
    lax = library.lax
    for name in (
        "exp log sin tanh sqrt square neg logistic cosh abs real imag conj asin atan"
    ).split():
        cases["complex " + name] = (getattr(lax, name), (Z,))
    cases["complex"] = (lax.complex, (X, Y))
    for name in ("mul", "div", "pow"):
        cases["complex " + name] = (getattr(lax, name), (Z, Z + 1))
    cases["convert to complex"] = (lambda x: lax.convert_element_type(x, np.complex64), (X,))


def _reductions(cases, library):
    lax = library.lax
    cases["reduce_sum"] = (lambda m: lax.reduce_sum(m, (1,)), (M,))
    cases["reduce_max"] = (lambda m: lax.reduce_max(m, (1,)), (M,))
    cases["reduce_min"] = (lambda m: lax.reduce_min(m, (0, 1)), (M,))
    cases["reduce_prod"] = (lambda m: lax.reduce_prod(m, (1,)), (M,))
    cases["reduce_prod of zeros"] = (lambda m: lax.reduce_prod(m, (0,)), (TIES,))
    cases["reduce_max of ties"] = (lambda m: lax.reduce_max(m, (0,)), (TIES,))
    cases["reduce"] = (
        lambda m: lax.reduce(
            (m, m),
            (f32(1), f32(0)),
            lambda a, b: (lax.mul(a[0], b[0]), lax.add(a[1], b[1])),
            (1,),
        ),
        (M,),
    )
    for name in "cumsum cumprod cummax cummin cumlogsumexp".split():
        op = getattr(lax, name)
        cases[name] = (lambda m, op=op: op(m, 1), (M,))
        cases[name + " reverse"] = (lambda m, op=op: op(m, 0, True), (M,))
        cases[name + " of ties"] = (lambda m, op=op: op(m, 0), (TIES,))
    cases["argmax"] = (
        lambda m: lax.mul(
            lax.convert_element_type(lax.argmax(m, 1, np.int32), np.float32),
            lax.reduce_sum(m, (1,)),
        ),
        (M,),
    )


def _shaping(cases, library):
    lax = library.lax
    cases["broadcast"] = (lambda x: lax.broadcast_in_dim(x, (3, 4), (1,)), (X,))
    cases["broadcast of a row"] = (lambda x: lax.broadcast_in_dim(x, (3, 4), (0, 1)), (X[None],))
    cases["reshape"] = (lambda m: lax.reshape(m, (2, 6)), (M,))
    cases["reshape with dimensions"] = (lambda m: lax.reshape(m, (12,), (1, 0)), (M,))
    cases["squeeze"] = (lambda m: lax.squeeze(m, (0,)), (M[:1],))
    cases["transpose"] = (lambda m: lax.transpose(m, (1, 0)), (M,))
    cases["rev"] = (lambda m: lax.rev(m, (0,)), (M,))
    cases["concatenate"] = (
        lambda m, n: lax.concatenate([m, lax.transpose(n, (1, 0)), m], 0),
        (M, N),
    )
    cases["pad"] = (lambda m, s: lax.pad(m, s, ((1, 1, 1), (0, -1, 0))), (M, S))
    cases["pad negative"] = (lambda m: lax.pad(m, f32(0), ((-1, 2, 0), (-1, -1, 2))), (M,))
    cases["split"] = (lambda m: lax.split(m, (1, 2), 0), (M,))
    cases["expand_dims"] = (lambda m: lax.expand_dims(m, (1,)), (M,))
    cases["optimization_barrier"] = (
        lambda x, y: lax.optimization_barrier((x, lax.mul(x, y))),
        (X, Y),
    )


def _indexing(cases, library):
    lax = library.lax
    cases["slice"] = (lambda m: lax.slice(m, (0, 1), (3, 4), (2, 1)), (M,))
    cases["slice of one"] = (lambda m: lax.slice(m, (1, 0), (3, 4), (2, 3)), (M,))
    cases["dynamic_slice"] = (lambda m: lax.dynamic_slice(m, (0, 1), (2, 2)), (M,))
    small, full = np.ones((2, 2), f32), np.ones((3, 4), f32)
    cases["dynamic_update_slice"] = (
        lambda m, u: lax.dynamic_update_slice(m, u, (0, 1)),
        (M, M[:2, :2]),
    )
    cases["dynamic_update_slice by update"] = (
        lambda u: lax.dynamic_update_slice(full, u, (0, 1)),
        (M[:2, :2],),
    )
    cases["dynamic_update_slice by operand"] = (
        lambda m: lax.dynamic_update_slice(m, small, (0, 1)),
        (M,),
    )
    rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
    cases["gather clip"] = (lambda m: lax.gather(m, INDICES, rows, (1, 4), mode="clip"), (M,))
    cases["gather fill"] = (
        lambda m: lax.gather(m, INDICES, rows, (1, 4), mode="fill", fill_value=0),
        (M,),
    )
    rows_written = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    for name in "scatter scatter_add scatter_sub scatter_min scatter_max".split():
        op = getattr(lax, name)
        cases[name] = (lambda m, u, op=op: op(m, INDICES, u, rows_written), (M, UPDATES))
        cases[name + " by operand"] = (lambda m, op=op: op(m, INDICES, UPDATES, rows_written), (M,))
        cases[name + " by updates"] = (lambda u, op=op: op(M, INDICES, u, rows_written), (UPDATES,))
        cases[name + " unique"] = (
            lambda m, u, op=op: op(m, DISTINCT, u, rows_written, unique_indices=True, mode="drop"),
            (M, UPDATES),
        )
    cases["scatter_mul"] = (
        lambda m, u: lax.scatter_mul(m, DISTINCT, u, rows_written, unique_indices=True),
        (M, UPDATES),
    )
    cases["scatter_mul by operand"] = (
        lambda m: lax.scatter_mul(m, INDICES, UPDATES, rows_written),
        (M,),
    )


def _contractions_and_sorting(cases, library):
    lax = library.lax
    matmul = (((1,), (0,)), ((), ()))
    cases["dot"] = (lambda m, n: lax.dot_general(m, n, matmul), (M, N))
    cases["dot batched"] = (
        lambda b, d: lax.dot_general(b, d, (((1,), (2,)), ((0,), (3,)))),
        (B, D),
    )
    cases["dot of two dimensions"] = (
        lambda b, d: lax.dot_general(b, d, (((1, 2), (2, 0)), ((), ()))),
        (B, D),
    )
    cases["dot with itself"] = (lambda m: lax.dot_general(m, m, (((1,), (1,)), ((), ()))), (M,))
    cases["dot of halves"] = (
        lambda m, n: lax.dot_general(m, n, matmul, preferred_element_type=np.float32),
        (M.astype(np.float16), N.astype(np.float16)),
    )
    cases["sort"] = (lambda m: lax.sort(m, dimension=0), (M,))
    cases["sort of two"] = (lambda x, y: lax.sort((x, y), num_keys=1), (X, Y))
    cases["sort by two keys"] = (lambda x, y: lax.sort((TIES, x, y), num_keys=2)[1:], (X, Y))
    cases["top_k"] = (lambda m: lax.top_k(m, 2)[0], (M,))


def _control_flow(cases, library):
    lax = library.lax
    two = f32(2)

    def product_with_sine(x, w):
        return lax.mul(lax.sin(x), w)

    cases["cond"] = (
        lambda x, w: lax.cond(lax.gt(x, f32(0)), product_with_sine, lambda x, w: lax.cos(x), x, w),
        (S, two),
    )
    cases["cond of several"] = (
        lambda x, w: lax.cond(
            lax.lt(x, f32(0)),
            lambda x, w: (product_with_sine(x, w), x),
            lambda x, w: (lax.cos(x), f32(1)),
            x,
            w,
        ),
        (S, two),
    )
    cases["switch"] = (lambda x: lax.switch(1, [lax.sin, lax.cos, lambda x: x], x), (X,))

    def step(w):
        return lambda c, a: (lax.mul(lax.sin(lax.mul(c, w)), lax.cos(w)), lax.mul(c, a))

    cases["scan"] = (lambda x, w, a: lax.scan(step(w), x, a), (S, two, Y))
    cases["scan reverse"] = (lambda x, w, a: lax.scan(step(w), x, a, reverse=True), (S, two, Y))
    cases["scan unrolled"] = (lambda x, w, a: lax.scan(step(w), x, a, unroll=2), (S, two, Y))
    cases["scan by carry"] = (lambda x: lax.scan(step(two), x, Y), (S,))
    cases["scan by constant"] = (lambda w: lax.scan(step(w), S, Y), (S,))
    cases["scan by slices"] = (lambda a: lax.scan(step(two), S, a), (Y,))
    cases["scan with fixed carry"] = (
        lambda w: lax.scan(
            lambda c, a: (
                (lax.mul(c[0], f32(0.5)), lax.add(c[1], lax.mul(c[0], w))),
                lax.mul(a, w),
            ),
            (S, S),
            Y,
        ),
        (S,),
    )
    cases["scan with counter"] = (
        lambda x: lax.scan(
            lambda c, a: (
                (lax.add(c[0], 1), lax.mul(c[1], lax.convert_element_type(c[0], np.float32))),
                c[0],
            ),
            (1, x),
            Y,
        ),
        (S,),
    )
    cases["scan of matrix products"] = (
        lambda w, x: lax.scan(
            lambda c, _: (lax.tanh(lax.dot(w, c)), lax.reduce_sum(c, (0,))), x, None, length=5
        ),
        (SQUARE, SQUARE[0]),
    )
    cases["scan of scan"] = (
        lambda x, w: lax.scan(
            lambda c, a: lax.scan(lambda d, b: (lax.mul(lax.sin(d), lax.mul(w, b)), d), c, Y),
            x,
            M[:, 0],
        ),
        (S, f32(1.5)),
    )
    cases["scan of cond"] = (
        lambda x, w: lax.scan(
            lambda c, a: (
                lax.cond(lax.gt(a, f32(0.5)), lambda c: product_with_sine(c, w), lambda c: c, c),
                c,
            ),
            x,
            Y,
        ),
        (S, f32(1.5)),
    )
    cases["fori_loop"] = (
        lambda x: lax.fori_loop(
            0, 4, lambda i, c: lax.sin(lax.add(c, lax.convert_element_type(i, np.float32))), x
        ),
        (S,),
    )
    cases["map"] = (lambda y: lax.map(lax.sin, y), (Y,))
    cases["associative_scan"] = (lambda y: lax.associative_scan(lax.mul, y), (Y,))
    cases["while"] = (
        lambda x: lax.while_loop(
            lambda c: lax.lt(c[0], f32(3)),
            lambda c: (lax.mul(c[0], two), lax.mul(c[1], c[0])),
            (x, x),
        ),
        (S,),
    )
    cases["while without tangents"] = (
        lambda x: lax.mul(
            x,
            lax.while_loop(
                lambda c: lax.lt(c, f32(3)), lambda c: lax.mul(c, two), lax.stop_gradient(x)
            ),
        ),
        (S,),
    )


def _calls(cases, library):
    lax, jit, checkpoint = library.lax, library.jit, library.checkpoint

    def twice_sine(x):
        return lax.sin(lax.sin(x))

    cases["jit"] = (lambda x, y: jit(lambda x, y: (lax.mul(lax.sin(x), y), x))(x, y), (X, Y))
    cases["jit of jit"] = (lambda x: jit(lambda x: lax.mul(jit(lax.sin)(x), x))(x), (X,))
    cases["jit with constant"] = (lambda x: jit(lambda x: lax.mul(x, Y))(x), (X,))
    cases["checkpoint"] = (checkpoint(twice_sine), (X,))
    cases["checkpoint of jit"] = (checkpoint(lambda x: jit(twice_sine)(x)), (X,))
    cases["checkpoint of checkpoint"] = (
        checkpoint(lambda x: lax.mul(checkpoint(twice_sine)(x), x)),
        (X,),
    )
    cases["scan of checkpoint"] = (
        lambda x, w: lax.scan(
            lambda c, a: checkpoint(lambda c, a: (lax.sin(lax.mul(c, w)), lax.mul(a, c)))(c, a),
            x,
            Y,
        ),
        (S, f32(2)),
    )


def _custom_rules(cases, library):
    lax, jit, vmap = library.lax, library.jit, library.vmap

    # The rules are wrong on purpose, to see that they are used.
    @library.custom_jvp
    def f(x, y):
        return lax.mul(lax.sin(x), y)

    @f.defjvp
    def _(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        return f(x, y), lax.add(lax.mul(lax.mul(f32(2), lax.cos(x)), tx), lax.mul(ty, lax.sin(x)))

    cases["custom_jvp"] = (f, (X, Y))
    cases["custom_jvp by one argument"] = (lambda x: f(x, Y), (X,))
    cases["custom_jvp in jit"] = (lambda x, y: jit(f)(x, y), (X, Y))
    cases["custom_jvp in scan"] = (
        lambda x, y: lax.scan(lambda c, a: (f(c, a), c), x, y),
        (S, Y),
    )
    cases["custom_jvp in vmap"] = (lambda x, y: vmap(f, in_axes=(0, None))(x, y), (X, S))

    @library.custom_vjp
    def g(x, y):
        return lax.mul(lax.sin(x), y)

    g.defvjp(
        lambda x, y: (g(x, y), (x, y)),
        lambda residuals, ct: (
            lax.mul(f32(3), lax.mul(ct, lax.mul(lax.cos(residuals[0]), residuals[1]))),
            lax.mul(ct, lax.sin(residuals[0])),
        ),
    )
    cases["custom_vjp"] = (g, (X, Y))
    cases["custom_vjp by one argument"] = (lambda x: g(x, Y), (X,))
    cases["custom_vjp in jit"] = (lambda x, y: jit(g)(x, y), (X, Y))
    cases["custom_vjp in scan"] = (
        lambda x, y: lax.scan(lambda c, a: (g(c, a), c), x, y),
        (S, Y),
    )
    cases["custom_vjp in vmap"] = (lambda x, y: vmap(g, in_axes=(0, None))(x, y), (X, S))
    cases["custom_vjp in cond"] = (lambda x, y: lax.cond(True, g, lambda x, y: x, x, y), (X, Y))
    cases["custom rules in checkpoint"] = (
        lambda x, y: library.checkpoint(lambda x, y: lax.sin(g(f(x, y), y)))(x, y),
        (X, Y),
    )

    # Rules that run loops, calls and choices over tangents.
    def powers(x, w):
        return lax.scan(lambda c, _: (lax.mul(c, lax.sin(w)), c), x, None, length=3)[0]

    by_jvp = library.custom_jvp(powers)
    by_jvp.defjvp(lambda primals, tangents: library.jvp(powers, primals, tangents))
    cases["custom_jvp with scan in its rule"] = (by_jvp, (S, f32(0.9)))

    @library.custom_jvp
    def squared(x):
        return lax.mul(x, x)

    @squared.defjvp
    def _(primals, tangents):
        def tangent_of(x, t):
            return lax.cond(
                lax.gt(x, f32(0)), lambda t: lax.mul(t, lax.mul(f32(2), x)), lambda t: t, t
            )

        return squared(*primals), jit(tangent_of)(*primals, *tangents)

    cases["custom_jvp with jit of cond in its rule"] = (squared, (S,))
