# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions with references, compared with equivalent pure functions."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import (
    checkpoint,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)
from olympus_autodiff.reverse.gradient_references import DidntWant, DontWant, GradRef, GradValue
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.references.primitives import addupdate, freeze, new_ref, swap
from olympus_ir.types import dtypes


def linearize_at(fun):
    return lambda x: linearize(fun, x)


VECTOR = np.array([0.5, -1.0, 2.0], np.float32)


def in_place(x):
    ref = new_ref(x)
    ref[0] = lax.mul(ref[1], ref[2])
    addupdate(ref, slice(1, None), lax.sin(x[:2]))
    ref[...] = lax.mul(ref[...], x)
    return lax.reduce_sum(lax.mul(swap(ref, (), x), ref[...]), (0,))


def pure(x):
    first = lax.reshape(lax.mul(x[1], x[2]), (1,))
    changed = lax.mul(lax.concatenate([first, lax.add(x[1:], lax.sin(x[:2]))], 0), x)
    return lax.reduce_sum(lax.mul(changed, x), (0,))


def in_loop(x):
    ref = new_ref(np.zeros(3, np.float32))

    def body(place, factor):
        ref[place] = lax.mul(factor, x[place])
        addupdate(ref, 0, lax.sin(factor))
        return lax.mul(factor, ref[0])

    lax.fori_loop(0, 3, body, x[0])
    return lax.reduce_sum(lax.mul(ref[...], ref[...]), (0,))


def in_loop_pure(x):
    values, factor = [lax.mul(x[0], 0.0)] * 3, x[0]
    for place in range(3):
        values[place] = lax.mul(factor, x[place])
        values[0] = lax.add(values[0], lax.sin(factor))
        factor = lax.mul(factor, values[0])
    return sum((lax.mul(value, value) for value in values), start=np.float32(0))


def in_branch(x):
    ref = new_ref(x)
    lax.cond(lax.gt(x[0], 0.0), lambda: ref.set(lax.exp(x[1]), 0), lambda: ref.set(x[1], 2))
    return lax.reduce_sum(lax.mul(freeze(ref), x), (0,))


def in_branch_pure(x):
    if x[0] > 0:
        return lax.add(
            lax.mul(lax.exp(x[1]), x[0]), lax.add(lax.mul(x[1], x[1]), lax.mul(x[2], x[2]))
        )
    return lax.add(lax.mul(x[0], x[0]), lax.add(lax.mul(x[1], x[1]), lax.mul(x[1], x[2])))


def in_while(x):
    ref = new_ref(x[0])

    def body(count):
        ref[...] = lax.mul(ref[...], x[1])
        return lax.add(count, 1)

    lax.while_loop(lambda count: lax.lt(count, 3), body, 0)
    return ref[...]


def in_while_pure(x):
    return lax.mul(x[0], lax.mul(x[1], lax.mul(x[1], x[1])))


def in_checkpoint(x):
    ref = new_ref(x)

    @checkpoint
    def write(y):
        ref[1] = lax.sin(lax.mul(y[0], ref[1]))
        return lax.cos(y[2])

    return lax.add(lax.reduce_sum(ref[...], (0,)), lax.mul(write(x), ref[1]))


def in_checkpoint_pure(x):
    written = lax.sin(lax.mul(x[0], x[1]))
    total = lax.reduce_sum(x, (0,))
    return lax.add(total, lax.mul(lax.cos(x[2]), written))


FUNCTIONS = {
    "in_place": (in_place, pure, True),
    "in_loop": (in_loop, in_loop_pure, True),
    "in_branch": (in_branch, in_branch_pure, True),
    "in_while": (in_while, in_while_pure, False),
    "in_checkpoint": (in_checkpoint, in_checkpoint_pure, True),
}


@pytest.mark.parametrize("compiled", [None, "inside", "outside"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_equal_those_without_references(name, compiled):
    fun, expected, reverse = FUNCTIONS[name]
    fun = jit(fun) if compiled == "inside" else fun
    transformations = [lambda f: lambda x: jvp(f, (x,), (VECTOR,)), jacfwd]
    if reverse:
        transformations += [grad, jacrev, hessian, lambda f: lambda x: linearize(f, x)[1](VECTOR)]
    for transformation in transformations:
        derivative = transformation(fun)
        result = (jit(derivative) if compiled == "outside" else derivative)(VECTOR)
        wanted = transformation(expected)(VECTOR)
        if not isinstance(result, tuple):
            result, wanted = (result,), (wanted,)
        for value, correct in zip(result, wanted, strict=True):
            np.testing.assert_allclose(value, correct, rtol=2e-5, atol=1e-5)


def test_batched_gradients_equal_single_ones():
    rows = np.stack([VECTOR, VECTOR + 1])
    expected = np.stack([grad(pure)(row) for row in rows])
    np.testing.assert_allclose(vmap(grad(in_place))(rows), expected, rtol=1e-5)
    summed = grad(lambda x: lax.reduce_sum(vmap(in_place)(x), (0,)))(rows)
    np.testing.assert_allclose(summed, expected, rtol=1e-5)


def test_programs_are_pure():
    program = make_olympuspr(grad(lambda x: lax.mul(freeze(new_ref(x)), x)))(2.0)
    assert not program.effects
    assert "Ref" not in str(program)


class TestReferencesFromOutside:
    def test_values_read_from_outside_are_constants(self):
        ref = new_ref(np.float32(3.0))
        assert grad(lambda x: lax.mul(ref[...], x))(2.0) == 3.0
        assert jit(grad(lambda x: lax.mul(ref[...], x)))(2.0) == 3.0

    @pytest.mark.parametrize("compiled", [False, True])
    def test_outer_references_take_undifferentiated_values(self, compiled):
        ref = new_ref(np.zeros(2, np.float32))

        def fun(x):
            ref[0] = lax.stop_gradient(lax.mul(x, 2.0))
            addupdate(ref, 1, 1.0)
            return lax.mul(x, x)

        derivative = grad(fun)
        assert (jit(derivative) if compiled else derivative)(3.0) == 6.0
        np.testing.assert_array_equal(ref[...], [6, 1])

    def test_writing_differentiated_values_to_outer_references_raises(self):
        ref = new_ref(np.zeros(2, np.float32))
        for write in (lambda x: ref.set(x, 0), lambda x: ref.addupdate(x, 0)):
            for transform in (grad, lambda f: lambda x: jvp(f, (x,), (1.0,))):
                with pytest.raises(ValueError, match="non-differentiated array reference"):
                    transform(lambda x, write=write: (write(x), x)[1])(1.0)

    def test_checkpoint_reads_once(self):
        ref = new_ref(np.float32(3.0))
        fun = checkpoint(lambda x: lax.mul(lax.sin(lax.mul(ref[...], x)), x))
        _, f_vjp = vjp(fun, np.float32(2.0))
        ref[...] = np.float32(100.0)
        expected = np.sin(6.0) + 3 * 2 * np.cos(6.0)
        np.testing.assert_allclose(f_vjp(np.float32(1.0))[0], expected, rtol=1e-5)

    def test_references_as_arguments_raise(self):
        with pytest.raises(TypeError, match="reference"):
            grad(lambda ref: ref[0])(new_ref(np.zeros(2)))
        with pytest.raises(TypeError, match="reference"):
            linearize(lambda ref: ref[0], new_ref(np.zeros(2)))

    def test_references_as_results_raise(self):
        for transform in (grad, linearize_at, lambda f: lambda x: jvp(f, (x,), (1.0,))):
            with pytest.raises(TypeError, match="reference"):
                transform(lambda x: new_ref(x))(1.0)


class TestGradientsInReferences:
    def test_backward_pass_writes(self):
        @custom_vjp
        def note(ref, x):
            return x

        def backward(ref, cotangent):
            ref[...] = cotangent
            return None, cotangent

        note.defvjp(lambda ref, x: (x, ref), backward)
        for compiled in (False, True):
            ref = new_ref(np.float32(0.0))
            derivative = grad(lambda x, ref: lax.sin(note(ref, lax.mul(x, x))))
            (jit(derivative) if compiled else derivative)(np.float32(3.0), ref)
            np.testing.assert_allclose(ref[...], np.cos(9.0), rtol=1e-6)

    def test_cotangents_are_added_to_references(self):
        total = new_ref(np.ones(3, np.float32))
        _, f_vjp = vjp(lambda x, y: lax.mul(x["a"], y), {"a": VECTOR}, VECTOR)
        cotangents = f_vjp.with_refs({"a": total}, GradValue())(VECTOR)
        assert cotangents[0] == {"a": GradRef()}
        np.testing.assert_allclose(cotangents[1], VECTOR * VECTOR)
        np.testing.assert_allclose(total[...], 1 + VECTOR * VECTOR)
        assert f_vjp.with_refs({"a": DontWant()}, DontWant())(VECTOR) == (
            {"a": DidntWant()},
            DidntWant(),
        )

    def test_invalid_with_refs_arguments_raise(self):
        _, f_vjp = vjp(lambda x: lax.sin(x), VECTOR)
        with pytest.raises(TypeError, match=r"GradValue\(\) or DontWant\(\)"):
            f_vjp.with_refs(1.0)(VECTOR)
        with pytest.raises(ValueError, match="cannot be added"):
            f_vjp.with_refs(new_ref(np.zeros(2, np.float32)))(VECTOR)


def test_references_as_residuals_of_loops():
    ref = new_ref(np.zeros(3, np.float32))

    @custom_vjp
    def noted(ref, place, x):
        return x

    def backward(residuals, ct):
        ref, place = residuals
        ref[place] = ct
        return None, None, ct

    noted.defvjp(lambda ref, place, x: (x, (ref, place)), backward)

    def function(x):
        def step(carry, place):
            return lax.sin(noted(ref, place, carry)), None

        return lax.scan(step, x, np.arange(3))[0]

    gradient = grad(function)(1.0)
    first, second = np.sin(1.0), np.sin(np.sin(1.0))
    expected = np.cumprod([np.cos(second), np.cos(first), np.cos(1.0)])
    np.testing.assert_allclose(ref[...], expected[::-1], rtol=1e-5)
    np.testing.assert_allclose(gradient, expected[-1], rtol=1e-5)


def test_references_with_tangents():
    ref, tangent = new_ref(np.float32(1)), new_ref(np.float32(2))

    def function(ref, x):
        ref[...] = lax.sin(ref[...])
        return lax.mul(ref[...], x)

    result, change = jvp(function, (ref, 3.0), (tangent, 0.0))
    np.testing.assert_allclose([result, change], [3 * np.sin(1), 6 * np.cos(1)], rtol=1e-6)
    np.testing.assert_allclose([ref[...], tangent[...]], [np.sin(1), 2 * np.cos(1)], rtol=1e-6)
    with pytest.raises(TypeError, match="tangent of a reference"):
        jvp(function, (ref, 3.0), (1.0, 0.0))


def test_undifferentiated_reference_arguments():
    ref = new_ref(np.float32(2))

    def function(x, ref):
        ref[...] = lax.mul(ref[...], 5.0)
        return lax.mul(x, ref[...])

    result, pullback = vjp(function, 3.0, ref)
    assert result == 30 and ref[...] == 10
    cotangent, none = pullback(1.0)
    assert cotangent == 10 and none.dtype == dtypes.float0
    with pytest.raises(TypeError, match="with respect to a reference"):
        grad(lambda ref: ref[...])(ref)


@pytest.mark.parametrize("around", [lambda fun: fun, jit], ids=["eager", "jit"])
def test_custom_vjp_refuses_repeated_references(around):
    @custom_vjp
    def first(a, b):
        return a[0]

    first.defvjp(lambda a, b: (a[0], None), lambda _, ct: (None, None))

    @custom_vjp
    def itself(a):
        return a

    itself.defvjp(lambda a: (a, None), lambda _, ct: (None,))
    ref, other = new_ref(VECTOR), new_ref(VECTOR)
    assert around(lambda a, b: first(a, b))(ref, other) == VECTOR[0]
    with pytest.raises(ValueError, match="only one reference to a mutable array.*both a and b"):
        around(lambda ref: first(ref, ref))(ref)
    with pytest.raises(ValueError, match="only one reference to a mutable array.*both a and b"):
        around(lambda ref: first(b=ref, a=ref))(ref)
    returned = r"custom_vjp primal function.* returned a mutable array reference of type Ref\{"
    with pytest.raises(ValueError, match=returned):
        around(lambda ref: itself(ref)[0])(ref)


@pytest.mark.parametrize("around", [lambda fun: fun, jit], ids=["eager", "jit"])
def test_references_among_the_residuals_of_custom_vjp_are_arguments(around):
    def with_forward(forward):
        @custom_vjp
        def scaled(x, ref):
            return x * 2

        scaled.defvjp(forward, lambda residual, ct: (ct * residual["ref"][0], None))
        return around(scaled)

    ref = new_ref(VECTOR + 3)
    passed = with_forward(lambda x, ref: (x * 2, {"ref": ref}))
    assert grad(passed)(1.0, ref) == VECTOR[0] + 3
    refused = r"custom_vjp fwd function.* Ref\{.*\} at output tree path \[1\]\['ref'\]"
    for forward in (
        lambda x, _: (x * 2, {"ref": ref}),
        lambda x, _: (x * 2, {"ref": new_ref(VECTOR)}),
    ):
        with pytest.raises(ValueError, match=refused):
            grad(with_forward(forward))(1.0, new_ref(VECTOR))
