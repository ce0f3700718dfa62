# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import functools

import numpy as np
import pytest

from olympus_autodiff import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp,
    custom_vjp_primal_tree_values,
    grad,
    jvp,
    linear_transpose,
    linearize,
    vjp,
    zero_from_primal,
)
from olympus_batching import vmap
from olympus_ir import Array, ShapedArray, eval_olympuspr, lax, make_olympuspr
from olympus_ir.diagnostics.errors import UnexpectedTracerError
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.settings.config import config
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes


def sine_with_wrong_rule():
    """The sine, with ten times the cosine as derivative."""

    @custom_vjp
    def f(x):
        return lax.sin(x)

    f.defvjp(
        lambda x: (lax.sin(x), {"cosine": lax.cos(x)}),
        lambda residuals, ct: (lax.mul(lax.mul(ct, residuals["cosine"]), 10.0),),
    )
    return f


def test_rule_is_used():
    f = sine_with_wrong_rule()
    assert f(0.0) == 0.0
    assert grad(f)(0.0) == 10.0
    assert vjp(f, 0.0)[1](2.0) == (20.0,)


def test_backward_passes_get_arrays():
    given = []

    @custom_vjp
    def f(x):
        return {"sine": lax.sin(x["a"]), "other": x["b"]}

    def backward(_, cotangents):
        given.extend(cotangents.values())
        return ({"a": cotangents["sine"], "b": cotangents["other"]},)

    f.defvjp(lambda x: (f(x), None), backward)
    grad(lambda x: f(x)["sine"])({"a": 1.0, "b": 2.0})
    grad(lambda x: lax.mul(f(x)["sine"], 2.0))({"a": 1.0, "b": 2.0})
    assert len(given) == 4
    assert all(isinstance(cotangent, Array) and cotangent.weak_type for cotangent in given)


def test_rules_are_used_in_programs():
    f = sine_with_wrong_rule()
    x = np.zeros(2, np.float32)
    assert grad(jit(f))(0.0) == 10.0
    assert jit(grad(f))(0.0) == 10.0
    np.testing.assert_array_equal(vmap(grad(f))(x), [10, 10])
    np.testing.assert_array_equal(vjp(vmap(f), x)[1](x + 1)[0], [10, 10])
    np.testing.assert_array_equal(vmap(grad(jit(f)))(x), [10, 10])
    assert grad(lambda x: lax.cond(True, f, lambda x: x, x))(0.0) == 10.0
    assert grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0])(0.0) == 100.0


def test_rule_is_differentiated_in_turn():
    f = sine_with_wrong_rule()
    np.testing.assert_allclose(grad(grad(f))(0.5), -10 * np.sin(0.5), rtol=1e-6)
    second = jvp(grad(f), (0.5,), (1.0,))[1]
    np.testing.assert_allclose(second, -10 * np.sin(0.5), rtol=1e-6)


def test_forward_mode_raises():
    f = sine_with_wrong_rule()
    with pytest.raises(TypeError, match="can't apply forward-mode autodiff"):
        jvp(f, (0.0,), (1.0,))
    with pytest.raises(TypeError, match="can't apply forward-mode autodiff"):
        jit(lambda x: jvp(f, (x,), (x,)))(0.0)
    with pytest.raises(TypeError, match="can't apply forward-mode autodiff"):
        linearize(f, 0.0)[1](1.0)


def test_tangent_can_be_transposed():
    f = sine_with_wrong_rule()
    assert linear_transpose(lambda t: jvp(f, (0.0,), (t,))[1], 1.0)(2.0) == (20.0,)


def test_none_is_a_zero_cotangent():
    @custom_vjp
    def f(x, tree):
        return lax.mul(x, tree["a"])

    f.defvjp(lambda x, tree: (f(x, tree), tree["a"]), lambda a, ct: (lax.mul(ct, a), None))
    assert grad(f, argnums=(0, 1))(2.0, {"a": 3.0, "b": 4.0}) == (3.0, {"a": 0.0, "b": 0.0})
    f.defvjp(lambda x, tree: (f(x, tree), x), lambda x, ct: (None, {"a": x, "b": None}))
    assert grad(f, argnums=(0, 1))(2.0, {"a": 3.0, "b": 4.0}) == (0.0, {"a": 2.0, "b": 0.0})


def test_list_of_cotangents():
    f = custom_vjp(lax.mul)
    f.defvjp(lambda x, y: (lax.mul(x, y), (x, y)), lambda r, ct: [lax.mul(ct, r[1]), r[0]])
    assert grad(f, argnums=(0, 1))(2.0, 3.0) == (3.0, 2.0)


def test_integer_arguments_and_results():
    @custom_vjp
    def f(x, n):
        return lax.mul(x, lax.convert_element_type(n, np.float32)), n

    f.defvjp(
        lambda x, n: (f(x, n), n),
        lambda n, ct: (lax.mul(ct[0], lax.convert_element_type(n, np.float32)), None),
    )
    assert grad(lambda x, n: f(x, n)[0])(2.0, 3) == 3.0


def test_arguments_that_are_not_differentiated():
    @functools.partial(custom_vjp, nondiff_argnums=(0,))
    def apply(fun, x):
        return fun(x)

    apply.defvjp(lambda fun, x: (fun(x), x), lambda fun, x, ct: (lax.mul(ct, fun(x)),))
    assert grad(lambda x: apply(lax.cos, x))(0.0) == 1.0
    assert grad(lambda x: apply(lambda x: lax.mul(x, 3.0), x))(2.0) == 6.0
    with pytest.raises(
        UnexpectedTracerError, match=r"indicated by nondiff_argnums .* argument 0 of"
    ):
        grad(lambda x: apply(x, 1.0))(1.0)


def test_symbolic_zeros_mark_constant_arguments():
    seen = []

    @custom_vjp
    def f(x, y):
        return lax.mul(x, y), x

    def forward(x, y):
        assert isinstance(x, CustomVJPPrimal)
        seen.append((x.perturbed, y.perturbed))
        return f(*custom_vjp_primal_tree_values((x, y))), (x.value, y.value)

    def backward(residuals, cotangents):
        seen.append(tuple(type(ct) is SymbolicZero for ct in cotangents))
        _, y = residuals
        return lax.mul(cotangents[0], y), zero_from_primal(y, symbolic_zeros=True)

    f.defvjp(forward, backward, symbolic_zeros=True)
    assert grad(lambda x: f(x, 3.0)[0])(2.0) == 3.0
    assert grad(lambda x: jit(f)(x, 3.0)[0])(2.0) == 3.0
    assert seen == [(True, False), (False, True)] * 2
    mapped = vmap(grad(lambda x: f(x, 3.0)[0]))(np.ones(2, np.float32))
    np.testing.assert_array_equal(mapped, [3, 3])


def test_zero_from_primal():
    np.testing.assert_array_equal(zero_from_primal(np.ones(2, np.float32)), [0, 0])
    real, (nothing, integer) = zero_from_primal((1.0, [None, 2]))
    assert isinstance(real, Array) and real == 0.0
    assert nothing is None
    assert integer.dtype == dtypes.float0
    zeros = zero_from_primal({"a": 1.0, "b": 2}, symbolic_zeros=True)
    assert {type(zero) for zero in zeros.values()} == {SymbolicZero}
    assert zeros["b"].dtype == dtypes.float0


def test_residuals_of_any_structure():
    f = custom_vjp(lambda x: lax.mul(x, x))
    f.defvjp(lambda x: (f(x), {"x": (x, [None, 2.0])}), lambda r, ct: (lax.mul(ct, r["x"][0]),))
    assert grad(f)(3.0) == 3.0
    f.defvjp(lambda x: (f(x), None), lambda r, ct: (ct,))
    assert grad(f)(3.0) == 1.0


def test_constants_of_the_function_in_a_program():
    def outer(w):
        f = custom_vjp(lambda x: lax.mul(x, w))
        f.defvjp(lambda x: (f(x), None), lambda r, ct: (lax.mul(ct, 5.0),))
        return f

    assert jit(lambda w, x: outer(w)(x))(2.0, 3.0) == 6.0
    np.testing.assert_array_equal(
        vmap(jit(lambda w: outer(w)(3.0)))(np.arange(2, dtype=np.float32)), [0, 3]
    )
    with pytest.raises(UnexpectedTracerError, match=r"custom_vjp .* closed-over value"):
        grad(jit(lambda w: outer(w)(3.0)))(2.0)


def test_a_missing_rule_raises():
    f = custom_vjp(lax.sin)
    with pytest.raises(AttributeError, match="No VJP defined for custom_vjp function sin"):
        f(1.0)


def symbolic_zero(shape, dtype="float32"):
    return SymbolicZero(ShapedArray(shape, dtype))


def good_forward(x, y):
    return lax.mul(x, y), (x, y)


@pytest.mark.parametrize(
    "forward, backward, error, message",
    [
        (good_forward, lambda r, ct: (ct,), TypeError, r"tuple of length equal to the number"),
        (good_forward, lambda r, ct: (ct, (ct, ct)), TypeError, "same container"),
        (good_forward, lambda r, ct: 3.0, TypeError, "same container"),
        (good_forward, lambda r, ct: (ct, np.ones(3, np.float32)), ValueError, "shapes do not"),
        (
            good_forward,
            lambda r, ct: (symbolic_zero((3,)), ct),
            ValueError,
            r"at output\[0\] the Sy",
        ),
        (
            good_forward,
            lambda r, ct: (symbolic_zero((), "int32"), ct),
            ValueError,
            r"had .* int32\[",
        ),
        (lambda x, y: lax.mul(x, y), lambda r, ct: (ct, ct), TypeError, "must produce a pair"),
    ],
)
def test_invalid_rules_raise(forward, backward, error, message):
    f = custom_vjp(lax.mul)
    f.defvjp(forward, backward)
    with pytest.raises(error, match=message):
        grad(f)(1.0, 2.0)


def test_forward_result_of_another_structure_raises():
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: ((x,), f(x)), lambda r, ct: ct)
    with pytest.raises(TypeError, match="container/pytree structure"):
        grad(jit(f))(1.0)


@pytest.mark.parametrize("dtype", ["float16", "complex64", "int32", "bool"])
def test_cotangents_of_another_dtype(dtype):
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (np.ones((), dtype),))
    assert grad(f)(2.0).dtype == dtype


def test_prefix_of_the_cotangent_tree():
    f = custom_vjp(lambda tree, y: lax.mul(tree["a"], lax.mul(tree["b"][0], y)))
    f.defvjp(lambda tree, y: (f(tree, y), None), lambda _, ct: (ct, None))
    assert grad(f)({"a": 2.0, "b": (3.0,)}, 4.0) == {"a": 1.0, "b": (1.0,)}
    f.defvjp(lambda tree, y: (f(tree, y), None), lambda _, ct: ({"a": ct, "b": None}, ct))
    assert grad(f)({"a": 2.0, "b": (3.0,)}, 4.0) == {"a": 1.0, "b": (0.0,)}
    f.defvjp(lambda tree, y: (f(tree, y), None), lambda _, ct: (np.ones(3, np.float32), None))
    with pytest.raises(ValueError, match=r"output\[0\]\['a'\] the bwd"):
        grad(f)({"a": 2.0, "b": (3.0,)}, 4.0)


def test_disable_bwd_checks_flag():
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (np.ones(3, np.float32),))
    config.update("olympus_disable_bwd_checks", True)
    try:
        assert grad(f)(2.0).shape == (3,)
    finally:
        config.update("olympus_disable_bwd_checks", False)


class Strict:
    """A container whose constructor inspects its leaf."""

    def __init__(self, leaf):
        if leaf.shape != (2,):
            raise ValueError("of another shape")
        self.leaf = leaf


pytrees.register_pytree_node(Strict, lambda node: ((node.leaf,), None), lambda _, c: Strict(*c))


def test_containers_are_not_rebuilt_around_types():
    f = custom_vjp(lambda x: lax.reduce_sum(x.leaf, axes=(0,)))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (Strict(lax.mul(x.leaf, 2.0)),))
    x = Strict(np.array([1, 2], np.float32))
    np.testing.assert_array_equal(grad(f)(x).leaf, [2, 4])
    np.testing.assert_array_equal(grad(jit(f))(x).leaf, [2, 4])


def test_keyword_only_arguments_raise():
    f = custom_vjp(lambda x, *, y: lax.mul(x, y))
    f.defvjp(lambda x, y: (lax.mul(x, y), None), lambda _, ct: (ct, ct))
    for call in (f, jit(f)):
        with pytest.raises(TypeError, match="could not be resolved to positions: y"):
            call(1.0, y=2.0)


def test_missing_arguments_raise():
    f = custom_vjp(lambda x, y: x)
    f.defvjp(lambda x, y: (x, None), lambda _, ct: (ct, None))
    for call in (f, grad(f)):
        with pytest.raises(TypeError, match=r"custom_vjp-decorated function .* could not be"):
            call(1.0)


def test_python_numbers_are_typed():
    seen = []

    @custom_vjp
    def f(x, n):
        seen.append((x.dtype, n.dtype))
        return lax.mul(x, 2.0)

    def forward(x, n):
        return f(x, n), (x, n)

    def backward(residuals, cotangent):
        seen.append(tuple(leaf.dtype for leaf in residuals))
        return cotangent, None

    f.defvjp(forward, backward)
    assert f(1.0, 2) == 2.0
    assert grad(f)(1.0, 2) == 1.0
    assert seen == [("float32", "int32")] * 3


@custom_vjp
def constant_rule(x):
    """Returns ``x``; the cotangent of ``x`` is 100, whatever that of the result is."""
    return x


constant_rule.defvjp(lambda x: (x, None), lambda _, cotangent: (100.0,))


@custom_vjp
def no_cotangent(x):
    return x


no_cotangent.defvjp(lambda x: (x, None), lambda _, cotangent: (None,))


def plus(fun):
    return lambda x: lax.add(fun(x), x)


@pytest.mark.parametrize(
    "fun, expected",
    [
        (plus(lambda x: no_cotangent(constant_rule(x))), 101),
        (plus(lambda x: no_cotangent(lax.sin(constant_rule(x)))), 101),
        (plus(lambda x: jit(no_cotangent)(constant_rule(x))), 101),
        (plus(lambda x: lax.cond(True, lambda x: no_cotangent(constant_rule(x)), lax.sin, x)), 101),
        (lambda x: (constant_rule(x), x)[1], 1),
        (plus(lambda x: lax.stop_gradient(constant_rule(x))), 1),
    ],
)
def test_backward_rules_run_with_zero_cotangents(fun, expected):
    assert grad(fun)(2.0) == expected
    assert jit(grad(fun))(2.0) == expected
    assert vjp(fun, 2.0)[1](1.0) == (expected,)


def test_results_equal_for_all_examples():
    """The recorded call has a batch dimension: its forward pass may depend on more operands."""

    @custom_vjp
    def f(x):
        return lax.full_like(x, 3.0)

    f.defvjp(
        lambda x: (lax.add(lax.mul(x, np.float32(0)), np.float32(3)), x),
        lambda x, cotangent: (lax.mul(lax.cos(x), cotangent),),
    )
    x = np.array([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]], np.float32)

    def total(x):
        return lax.reduce_sum(vmap(jit(f))(x), (0, 1))

    np.testing.assert_allclose(grad(total)(x), np.cos(x), rtol=1e-6)
    assert total(x) == 3 * x.size


def test_forward_pass_with_mismatched_results_raises():
    @custom_vjp
    def f(x):
        return x

    def loop(x):
        return lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]

    f.defvjp(lambda x: (np.zeros(3, np.float32), None), lambda _, ct: (ct,))
    with pytest.raises(TypeError, match=r"shapes/dtypes of:\n    float32\[3\]\nwhile .* f had"):
        grad(loop)(np.float32(1))


def test_dead_results_are_removed_from_rules():
    @custom_vjp
    def f(x, i):
        return lax.sin(x), i, lax.cos(x)

    f.defvjp(
        lambda x, i: (f(x, i), x), lambda x, cts: (lax.add(lax.mul(3.0, cts[0]), cts[2]), None)
    )
    program = make_olympuspr(f)(0.1, 2).jaxpr
    reduced, _ = dce_olympuspr(program, [False, False, True])
    (call,) = reduced.eqns
    assert [equation.primitive.name for equation in call.params["call_jaxpr"].eqns] == ["cos"]
    assert grad(lambda x: eval_olympuspr(reduced, [], x, 2)[0])(0.1) == 1.0
    first, _ = dce_olympuspr(program, [True, False, False])
    assert grad(lambda x: eval_olympuspr(first, [], x, 2)[0])(0.1) == 3.0


def test_printed_tangents_show_the_linear_call():
    @custom_vjp
    def f(x):
        return lax.sin(x)

    def f_bwd(residuals, ct):
        return (ct,)

    f.defvjp(lambda x: (f(x), None), f_bwd)
    text = str(make_olympuspr(lambda x: jvp(f, (x,), (x,))[1])(1.0))
    assert "custom_lin[\n      bwd=f_bwd\n      in_zeros=[False]\n      num_res=0\n" in text


def test_python_numbers_returned_by_rules():
    @custom_vjp
    def f(x):
        return lax.sin(x)

    given = []

    def f_bwd(_, ct):
        given.append(ct)
        return (2.0,)

    f.defvjp(lambda x: (f(x), None), f_bwd)
    assert type(grad(f)(1.0)) is float
    assert type(vjp(f, 1.0)[1](1.0)[0]) is float
    assert all(isinstance(ct, Array) for ct in given)
