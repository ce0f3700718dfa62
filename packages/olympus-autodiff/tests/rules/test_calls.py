# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np

from olympus_autodiff import grad, jvp, linear_transpose, vjp
from olympus_batching import custom_vmap, vmap
from olympus_ir import ShapedArray, lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.olympuspr import close_olympuspr
from olympus_ir.programs.staging import trace_to_closed

F32 = ShapedArray((), np.float32)


def test_residuals_that_are_operands_are_not_returned():
    closed = trace_to_closed(
        lambda x, y: list(vjp(jit(lambda x, y: lax.mul(lax.sin(x), y)), x, y)[1](x)), [F32, F32]
    )
    forward, backward = closed.eqns
    # The result, and of the residuals sin(x) and cos(x); y is an operand.
    assert len(forward.outvars) == 3
    assert closed.jaxpr.invars[1] in backward.invars
    assert forward.params["name"] == backward.params["name"] == "<lambda>"


def test_derivative_programs_are_cached():
    f = jit(lambda x: lax.sin(lax.mul(x, x)))
    make = lambda: trace_to_closed(lambda x: [grad(f)(x)], [F32])  # noqa: E731
    for one, other in zip(make().eqns, make().eqns, strict=True):
        assert one.params["jaxpr"] is other.params["jaxpr"]


def test_gradient_does_not_donate_operands():
    f = jit(lambda x: lax.mul(x, x), donate_argnums=0)
    closed = trace_to_closed(lambda x: [grad(f)(x)], [F32])
    assert all(not any(equation.params["donated_invars"]) for equation in closed.eqns)


def test_results_without_tangents():
    f = jit(lambda x: (lax.stop_gradient(x), 3, lax.mul(x, 2.0)))
    assert grad(lambda x: f(x)[0])(1.0) == 0.0
    assert grad(lambda x: f(x)[2])(1.0) == 2.0
    assert jvp(lambda x: f(x)[0], (1.0,), (1.0,)) == (1.0, 0.0)


def test_closed_calls_are_differentiated():
    program = trace_to_closed(lambda x, y: [lax.mul(lax.sin(x), y)], [F32, F32])

    def f(x, y):
        return lax.closed_call_p.bind(x, y, call_jaxpr=program)[0]

    assert grad(f, argnums=(0, 1))(0.0, 3.0) == (3.0, 0.0)
    assert jvp(f, (0.0, 3.0), (1.0, 1.0))[1] == 3.0
    assert linear_transpose(lambda y: f(0.5, y), 1.0)(1.0) == (np.sin(np.float32(0.5)),)


def test_constants_of_checkpointed_programs():
    table = np.array([1.0, 2.0, 3.0], np.float32)
    inner = trace_to_closed(
        lambda x: [lax.reduce_sum(lax.cumprod(lax.mul(x, lax.sin(x))), (0,))],
        [ShapedArray((3,), np.float32)],
    )

    def f(x):
        return lax.checkpoint_p.bind(
            x, jaxpr=inner.jaxpr, prevent_cse=True, differentiated=False, policy=None
        )[0]

    plain = lambda x: lax.reduce_sum(lax.cumprod(lax.mul(x, lax.sin(x))), (0,))  # noqa: E731
    np.testing.assert_allclose(grad(f)(table), grad(plain)(table), rtol=1e-5)
    assert close_olympuspr(inner.jaxpr).memo


def test_custom_vmap_function():
    @custom_vmap
    def f(x):
        return lax.mul(x, x)

    f.def_vmap(lambda size, batched, x: (lax.mul(x, x), batched[0]))
    assert grad(f)(3.0) == 6.0
    assert jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
    x = np.ones(2, np.float32)
    np.testing.assert_array_equal(vmap(grad(f))(x), [2, 2])


def test_barriers_are_kept_in_derivatives():
    f = lambda x, y: lax.mul(*lax.optimization_barrier((x, y)))  # noqa: E731
    assert grad(f)(2.0, 3.0) == 3.0
    assert jvp(lambda x: f(x, 3.0), (2.0,), (1.0,)) == (6.0, 3.0)
    closed = trace_to_closed(lambda x: [grad(lambda x: f(x, 3.0))(x)], [F32])
    barriers = [e for e in closed.eqns if e.primitive is lax.optimization_barrier_p]
    assert [len(barrier.invars) for barrier in barriers] == [2, 1]
