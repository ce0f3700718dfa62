# SPDX-License-Identifier: Apache-2.0
"""Linear functions with a given transpose, primitives with methods for rules, checks of grads."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad, jvp, linear_transpose
from olympus_autodiff.custom.linear_call import linear_call
from olympus_autodiff.high_types.primitives import HiPrimitive, HiType, register_hitype
from olympus_autodiff.reverse.derivative_checks import check_grads, check_jvp, check_vjp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.types.avals import get_aval


def f32(value):
    return np.asarray(value, np.float32)


TWO = np.float32(2)


def scaled(x, factor=TWO):
    """Doubles. Its transpose triples, so that results show which function ran."""
    return linear_call(
        lambda r, t: {"y": lax.mul(r, t)},
        lambda r, ct: lax.mul(lax.mul(r, ct["y"]), f32(1.5)),
        factor,
        x,
    )["y"]


def test_the_given_transpose_is_used():
    assert scaled(f32(3)) == 6
    assert jvp(scaled, (f32(3),), (f32(1),)) == (6, 2)
    assert grad(scaled)(f32(3)) == 3
    assert linear_transpose(scaled, f32(0))(f32(1)) == (3,)
    assert grad(jit(scaled))(f32(3)) == jit(grad(scaled))(f32(3)) == 3
    # The transpose of the transpose is the function.
    assert linear_transpose(lambda ct: linear_transpose(scaled, f32(0))(ct)[0], f32(0))(f32(1)) == (
        2,
    )


def test_mapped_functions_keep_their_transpose():
    xs = f32([1, 2])
    np.testing.assert_allclose(vmap(scaled)(xs), [2, 4])
    np.testing.assert_allclose(vmap(grad(scaled))(xs), [3, 3])
    np.testing.assert_allclose(
        vmap(grad(lambda x, r: scaled(x, r)), (None, 0))(f32(1), f32([1, 2])), [1.5, 3]
    )
    total = grad(lambda xs: lax.reduce_sum(vmap(scaled)(xs), (0,)))
    np.testing.assert_allclose(total(xs), [3, 3])


def test_residuals_have_no_derivative():
    with pytest.raises(ValueError, match="residual arguments"):
        grad(lambda r: scaled(f32(1), r))(f32(2))
    with pytest.raises(TypeError, match="transpose output pytree structure"):
        grad(lambda x: linear_call(lambda r, t: t, lambda r, ct: (ct, ct), (), x))(f32(1))


class Cube(HiPrimitive):
    def abstract_eval(self, aval, *, factor):
        return aval, set()

    def to_lojax(self, x, *, factor):
        return lax.mul(factor, lax.integer_pow(x, 3))

    def jvp(self, primals, tangents, *, factor):
        (x,), (t,) = primals, tangents
        return cube_p.bind(x, factor=factor), lax.mul(t, f32(7))


class Unfinished(HiPrimitive):
    pass


cube_p = Cube("cube")


def test_primitives_with_methods_for_rules():
    cube = lambda x: cube_p.bind(x, factor=f32(2))  # noqa: E731
    assert cube(f32(2)) == jit(cube)(f32(2)) == 16
    assert grad(cube)(f32(2)) == 7
    assert "cube[factor=2.0]" in str(make_olympuspr(cube)(f32(2)))
    with pytest.raises(TypeError, match="must define abstract_eval"):
        make_olympuspr(Unfinished("unfinished").bind)(1.0)
    with pytest.raises(TypeError, match="must define transpose"):
        cube_p.transpose(f32(1), f32(1), factor=f32(2))


def test_user_defined_high_types():
    class Pair:
        pass

    class PairType(HiType):
        pass

    register_hitype(Pair, lambda pair: PairType())
    assert isinstance(get_aval(Pair()), PairType)
    with pytest.raises(TypeError, match="must define lo_ty"):
        PairType().lo_ty()


def test_derivatives_are_checked():
    x = f32([0.5, 1.5])
    check_grads(lambda x: lax.mul(lax.sin(x), x), (x,), order=2, eps=1e-2)
    check_grads(lambda x: lax.sin(x), (x,), order=1, modes=["fwd"], eps=1e-2)
    wrong = lambda p, t: (lax.sin(p[0]), lax.mul(f32(2), t[0]))  # noqa: E731
    with pytest.raises(AssertionError, match="(?s)Not equal to tolerance.*tangent"):
        check_jvp(lax.sin, wrong, (x,), eps=1e-2)
    with pytest.raises(AssertionError, match="(?s)Not equal to tolerance.*cotangent projection"):
        check_vjp(lax.sin, lambda x: (lax.sin(x), lambda ct: (ct,)), (x,), eps=1e-2)
    with pytest.raises(ValueError, match="modes are"):
        check_grads(lax.sin, (x,), order=1, modes=["sideways"])


@pytest.mark.parametrize(
    ("functions", "name"),
    [((None, lambda r, t: t), "fun"), ((lambda r, t: t, ...), "fun_transpose")],
)
def test_linear_call_refuses_what_is_no_function(functions, name):
    with pytest.raises(TypeError, match=f"linear_call: {name} must be a function"):
        linear_call(*functions, TWO, TWO)
