# SPDX-License-Identifier: Apache-2.0
"""Dead-code elimination: removed and kept equations, and unchanged results."""

from __future__ import annotations

import numpy as np

from olympus_ir import ShapedArray, eval_olympuspr, lax, trace_to_olympuspr
from olympus_ir.programs.calls.tracing import jit_params
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.jit import jit_p
from olympus_ir.programs.olympuspr import ClosedOlympuspr

F32 = ShapedArray((), np.float32)
VECTOR = ShapedArray((3,), np.float32)


def names(olympuspr):
    return [equation.primitive.name for equation in olympuspr.eqns]


def check_same(olympuspr, consts, used_outputs, args):
    """Checks that the smaller program returns the same used results, and returns it."""
    smaller, used_inputs = dce_olympuspr(olympuspr, used_outputs)
    expected = [
        value
        for value, used in zip(eval_olympuspr(olympuspr, consts, *args), used_outputs, strict=True)
        if used
    ]
    kept_consts = [
        value
        for var, value in zip(olympuspr.constvars, consts, strict=True)
        if var in smaller.constvars
    ]
    kept_args = [arg for arg, used in zip(args, used_inputs, strict=True) if used]
    actual = eval_olympuspr(smaller, kept_consts, *kept_args)
    for got, want in zip(actual, expected, strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-6)
    return smaller, used_inputs


def test_unused_equations_and_inputs_are_removed():
    olympuspr, consts = trace_to_olympuspr(
        lambda x, y: [lax.sin(x), lax.cos(lax.mul(x, y))], [F32, F32]
    )
    smaller, used = check_same(olympuspr, consts, [True, False], (1.0, 2.0))
    assert names(smaller) == ["sin"]
    assert used == [True, False]
    _, used = dce_olympuspr(olympuspr, [True, False], instantiate=True)
    assert used == [True, True]


def test_unused_constants_are_removed():
    large = np.arange(3, dtype=np.float32)
    olympuspr, consts = trace_to_olympuspr(lambda x: [lax.add(x, large), lax.neg(x)], [VECTOR])
    smaller, _ = check_same(olympuspr, consts, [False, True], (large,))
    assert smaller.constvars == []


def test_effects_are_kept():
    def fun(x):
        lax.debug_callback(lambda value: None, x)
        return [lax.sin(x)]

    olympuspr, _ = trace_to_olympuspr(fun, [F32])
    smaller, used = dce_olympuspr(olympuspr, [False])
    assert names(smaller) == ["debug_callback"]
    assert used == [True]
    assert smaller.effects == olympuspr.effects


def test_calls_become_smaller():
    inner, _ = trace_to_olympuspr(lambda x, y: [lax.sin(x), lax.cos(y)], [F32, F32])
    program = ClosedOlympuspr(inner, ())

    def fun(x, y):
        params = jit_params(name="f", num_inputs=2, num_outputs=2)
        return jit_p.bind(x, y, jaxpr=program, **params)

    olympuspr, consts = trace_to_olympuspr(fun, [F32, F32])
    smaller, used = check_same(olympuspr, consts, [False, True], (1.0, 2.0))
    assert used == [False, True]
    (equation,) = smaller.eqns
    assert names(equation.params["jaxpr"].jaxpr) == ["cos"]
    assert equation.params["donated_invars"] == (False,)


def test_scan_keeps_dependencies_of_used_carries():
    def fun(a, b, c, xs):
        # `b` feeds `a`; `c` feeds nothing but itself.
        def body(carry, x):
            a, b, c = carry
            return (lax.add(a, b), lax.mul(b, x), lax.sin(c)), (lax.neg(a), lax.cos(c))

        (a, b, c), (ys, zs) = lax.scan(body, (a, b, c), xs)
        return [a, b, c, ys, zs]

    olympuspr, consts = trace_to_olympuspr(fun, [F32, F32, F32, VECTOR])
    args = (1.0, 2.0, 3.0, np.arange(3, dtype=np.float32))
    smaller, used = check_same(olympuspr, consts, [True, False, False, True, False], args)
    assert used == [True, True, False, True]
    scans = [equation for equation in smaller.eqns if equation.primitive.name == "scan"]
    assert scans[0].params["num_carry"] == 2
    assert len(scans[0].outvars) == 3


def test_while_keeps_dependencies_of_the_condition():
    def fun(n, x, unused):
        def body(carry):
            n, x, unused = carry
            return lax.sub(n, 1.0), lax.mul(x, 2.0), lax.sin(unused)

        return list(lax.while_loop(lambda carry: lax.gt(carry[0], 0.0), body, (n, x, unused)))

    olympuspr, consts = trace_to_olympuspr(fun, [F32, F32, F32])
    _, used = check_same(olympuspr, consts, [False, True, False], (3.0, 1.0, 1.0))
    assert used == [True, True, False]


def test_cond_keeps_the_union_of_the_branches():
    def fun(which, x, y, z):
        return list(
            lax.cond(
                which,
                lambda x, y, z: (lax.add(x, 1.0), lax.mul(z, 2.0)),
                lambda x, y, z: (lax.add(y, 1.0), lax.neg(z)),
                *(x, y, z),
            )
        )

    olympuspr, consts = trace_to_olympuspr(fun, [ShapedArray((), np.bool_), F32, F32, F32])
    _, used = check_same(olympuspr, consts, [True, False], (True, 1.0, 2.0, 3.0))
    assert used == [True, True, True, False]


def test_a_long_program_takes_linear_time():
    def fun(x):
        unused = x
        for _ in range(3000):
            x, unused = lax.add(x, 1.0), lax.mul(unused, 2.0)
        return [x, unused]

    olympuspr, _ = trace_to_olympuspr(fun, [F32])
    smaller, _ = dce_olympuspr(olympuspr, [True, False])
    assert len(smaller.eqns) == 3000
