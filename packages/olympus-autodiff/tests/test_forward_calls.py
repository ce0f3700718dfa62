# SPDX-License-Identifier: Apache-2.0
"""``optimize_remat`` of `custom_vjp`: forward passes that the function replaces."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import checkpoint, custom_vjp, grad, value_and_grad, vjp
from olympus_autodiff.custom.forward_calls import remat_opt_p
from olympus_batching import vmap
from olympus_ir import lax, make_olympuspr
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.jit import jit


@custom_vjp
def sine(x):
    return lax.sin(x)


sine.defvjp(
    lambda x: (lax.sin(x), (lax.cos(x), x)),
    lambda residuals, ct: (lax.mul(residuals[0], ct),),
    optimize_remat=True,
)


def names(olympuspr) -> list[str]:
    return [equation.primitive.name for equation in olympuspr.eqns]


def test_values_and_derivatives():
    for f in (sine, jit(sine), checkpoint(sine), jit(checkpoint(sine))):
        np.testing.assert_allclose(grad(f)(0.5), np.cos(0.5), rtol=1e-6)
        np.testing.assert_allclose(jit(grad(f))(0.5), np.cos(0.5), rtol=1e-6)
        batched = vmap(grad(f))(np.array([0.5, 1.0], np.float32))
        np.testing.assert_allclose(batched, np.cos([0.5, 1.0]), rtol=1e-6)
    np.testing.assert_allclose(vjp(sine, 0.5)[0], np.sin(0.5), rtol=1e-6)


def test_unused_residuals_replace_forward_pass_by_function():
    program = make_olympuspr(lambda x: vjp(sine, x)[0])(0.5).jaxpr
    (equation,) = program.eqns
    assert equation.primitive is remat_opt_p and equation.params["num_res"] == 2
    reduced, used = dce_olympuspr(program, [True])
    assert names(reduced) == ["closed_call"] and used == [True]
    assert names(reduced.eqns[0].params["call_jaxpr"].jaxpr) == ["sin"]


def test_value_under_checkpoint_is_computed_by_function():
    f = custom_vjp(lambda x: x)
    f.defvjp(
        lambda x: (lax.mul(x, 2.0), (lax.cos(x),)),  # another value than the function's
        lambda residuals, ct: (lax.mul(residuals[0], ct),),
        optimize_remat=True,
    )
    value, derivative = value_and_grad(checkpoint(f))(3.0)
    assert value == 3.0
    np.testing.assert_allclose(derivative, np.cos(3.0), rtol=1e-6)
    assert value_and_grad(f)(3.0)[0] == 6.0


def test_used_residuals_keep_forward_pass():
    def f(x):
        _, pullback = vjp(sine, x)
        return pullback(1.0)

    reduced, _ = dce_olympuspr(make_olympuspr(f)(0.5).jaxpr, [True])
    forward = reduced.eqns[0]
    assert forward.primitive is remat_opt_p and forward.params["num_res"] == 1
    assert names(forward.params["fwd_jaxpr"].jaxpr) == ["cos"]
    np.testing.assert_allclose(jit(f)(0.5), [np.cos(0.5)], rtol=1e-6)


def test_functions_that_close_over_traced_values():
    def f(x, scale):
        @custom_vjp
        def scaled(x):
            return lax.mul(x, scale)

        scaled.defvjp(
            lambda x: (lax.mul(x, scale), scale),
            lambda residual, ct: (lax.mul(residual, ct),),
            optimize_remat=True,
        )
        return grad(checkpoint(lambda x: lax.sin(scaled(x))))(x)

    np.testing.assert_allclose(jit(f)(0.5, 2.0), 2 * np.cos(1.0), rtol=1e-6)


def test_optimize_remat_with_symbolic_zeros_raises():
    with pytest.raises(NotImplementedError, match="does not support symbolic zeros"):
        custom_vjp(lax.sin).defvjp(
            lambda x: (x, None), lambda r, ct: (ct,), symbolic_zeros=True, optimize_remat=True
        )
