# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from olympus_autodiff import grad, linearize
from olympus_ir import ShapedArray, lax
from olympus_ir.diagnostics.errors import UnexpectedTracerError
from olympus_ir.programs.jit import jit
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes


def square(x):
    return lax.mul(x, x)


def test_value_and_derivative():
    value, derivative = linearize(lambda x, y: lax.mul(lax.sin(x), y), 0.0, 3.0)
    assert value == 0.0
    assert derivative(1.0, 5.0) == 3.0
    assert derivative(2.0, 0.0) == 6.0


def test_the_function_runs_once():
    calls = []
    _, derivative = linearize(lambda x: (calls.append(x), square(x))[1], 3.0)
    derivative(1.0), derivative(2.0)
    assert len(calls) == 1


def test_linear_programs_use_residuals():
    _, derivative = linearize(lambda x: lax.mul(lax.sin(x), 2.0), 1.0)
    assert str(derivative.func) == (
        "{ lambda a:f32[]; b:f32[]. let\n"
        "    c:f32[] = mul b a\n"
        "    d:f32[] = mul c 2.0:f32[]\n"
        "  in (d,) }"
    )


def test_linear_program_has_no_primal_operations():
    closed = trace_to_closed(
        lambda x, t: [linearize(lambda x: lax.sin(lax.sin(x)), x)[1](t)],
        [ShapedArray((), np.float32)] * 2,
    )
    names = [equation.primitive.name for equation in closed.eqns]
    assert names == ["sin", "cos", "sin", "cos", "mul", "mul"]


def test_derivative_is_a_pytree():
    compiled = jit(lambda x: linearize(square, x))
    value, derivative = compiled(3.0)
    assert (value, derivative(1.0)) == (9.0, 6.0)
    doubled = pytrees.tree_map(lambda residual: lax.mul(residual, 2.0), derivative)
    assert doubled(1.0) == 12.0


def test_derivative_can_be_differentiated():
    def f(x):
        return linearize(square, x)[1](1.0)

    assert grad(f)(3.0) == 2.0


def test_unneeded_residuals_are_not_kept():
    def f(x):
        lax.mul(lax.exp(x), x)
        return lax.add(x, x)

    _, derivative = linearize(f, np.ones(3, np.float32))
    assert pytrees.tree_leaves(derivative) == []


def test_tracer_shows_primal_and_type_of_tangent():
    seen = []
    linearize(lambda x: (seen.append(repr(x)), x)[1], 1.0)
    assert seen == ["GradTracer(primal=1.0, typeof(tangent)=f32[])"]


def test_zero_and_integer_results():
    value, derivative = linearize(lambda x, n: (x, 3, n, np.float32(2)), 1.0, 2)
    assert value == (1.0, 3, 2, 2.0)
    tangents = derivative(5.0, np.zeros((), dtypes.float0))
    assert tangents[0] == 5.0
    assert tangents[1].dtype == tangents[2].dtype == dtypes.float0
    assert tangents[3] == 0.0


def test_auxiliary_results_are_returned_unchanged():
    value, derivative, aux = linearize(lambda x: (square(x), x), 3.0, has_aux=True)
    assert (value, derivative(1.0), aux) == (9.0, 6.0, 3.0)


@pytest.mark.parametrize(
    "tangents, error, message",
    [
        ((1,), ValueError, "got tangent int32.* for primal float32"),
        ((np.ones(3, np.float32),), ValueError, r"got tangent float32\[3\]"),
        ((1.0, 1.0), TypeError, "structure differs from that of the primal"),
    ],
)
def test_invalid_tangents_raise(tangents, error, message):
    _, derivative = linearize(square, 1.0)
    with pytest.raises(error, match=message):
        derivative(*tangents)


def test_leaked_tracers_are_explained():
    leaked = []
    linearize(lambda x: (leaked.append(lax.sin(x)), x)[1], 1.0)
    with pytest.raises(UnexpectedTracerError, match="LinearizeTracer"):
        lax.sin(leaked[0])


def test_values_are_freed():
    class Model:
        pass

    model = Model()
    reference = weakref.ref(model)
    _, derivative = linearize(lambda x, model=model: square(x), 1.0)
    del model
    gc.collect()
    assert reference() is None
    assert derivative(1.0) == 2.0
