# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    grad,
    jvp,
    linearize,
    vjp,
)
from olympus_autodiff.rematerialization.policies import Offloadable, Recompute, Saveable
from olympus_autodiff.rematerialization.saved_residuals import saved_residuals
from olympus_batching import vmap
from olympus_ir import ShapedArray, lax
from olympus_ir.diagnostics.errors import TracerBoolConversionError
from olympus_ir.programs.jit import jit
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees

F32 = ShapedArray((), np.float32)
M = np.arange(4, dtype=np.float32).reshape(2, 2) / 4


def twice_sine(x):
    return lax.sin(lax.sin(x))


def derivative(x):
    return np.cos(np.sin(x)) * np.cos(x)


def gradient_program(fun, aval=F32):
    return trace_to_closed(lambda x: [vjp(fun, x)[1](np.ones(aval.shape, np.float32))[0]], [aval])


def saved_by(fun, x):
    """Returns the shapes of the residuals."""
    _, pullback = vjp(fun, x)
    return sorted(leaf.shape for leaf in pytrees.tree_leaves(pullback))


def test_results_and_derivatives():
    f = checkpoint(twice_sine)
    np.testing.assert_allclose(f(0.5), np.sin(np.sin(0.5)), rtol=1e-6)
    for gradient in (grad(f), jit(grad(f)), grad(jit(f)), grad(checkpoint(f))):
        np.testing.assert_allclose(gradient(0.5), derivative(0.5), rtol=1e-6)
    np.testing.assert_allclose(jvp(f, (0.5,), (1.0,))[1], derivative(0.5), rtol=1e-6)
    np.testing.assert_allclose(linearize(f, 0.5)[1](1.0), derivative(0.5), rtol=1e-6)
    x = np.array([0.1, 0.5], np.float32)
    np.testing.assert_allclose(vmap(grad(f))(x), derivative(x), rtol=1e-6)
    plain = grad(grad(twice_sine))(0.5)
    np.testing.assert_allclose(grad(grad(f))(0.5), plain, rtol=1e-6)


def test_backward_pass_starts_from_the_arguments():
    assert str(gradient_program(checkpoint(twice_sine))) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = sin a\n"
        "    _:f32[] = sin b\n"
        "    c:f32[] = remat2[\n"
        "      differentiated=True\n"
        "      jaxpr={ lambda ; d:f32[] e:f32[]. let\n"
        "          f:f32[] = sin d\n"
        "          g:f32[] = cos d\n"
        "          h:f32[] = cos f\n"
        "          i:f32[] = mul e h\n"
        "          j:f32[] = mul i g\n"
        "        in (j,) }\n"
        "      policy=None\n"
        "      prevent_cse=True\n"
        "    ] a 1.0:f32[]\n"
        "  in (c,) }"
    )


def test_program_of_the_function():
    closed = trace_to_closed(lambda x: [checkpoint(lax.sin, prevent_cse=False)(x)], [F32])
    assert str(closed) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = remat2[\n"
        "      differentiated=False\n"
        "      jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }\n"
        "      policy=None\n"
        "      prevent_cse=False\n"
        "    ] a\n"
        "  in (b,) }"
    )


def no_index(x):
    y = lax.dot(lax.sin(x), x)
    z = checkpoint_name(lax.sin(y), "inner")
    one = lax.expand_dims(z, (0,))
    batched = lax.dot_general(one, lax.expand_dims(x, (0,)), (((2,), (1,)), ((0,), (0,))))
    return lax.sin(lax.squeeze(batched, (0,)))


@pytest.mark.parametrize(
    "policy, shapes",
    [
        (None, [(2, 2)]),
        (checkpoint_policies.nothing_saveable, [(2, 2)]),
        (checkpoint_policies.dots_saveable, [(1, 2, 2), (2, 2), (2, 2)]),
        (checkpoint_policies.checkpoint_dots, [(1, 2, 2), (2, 2), (2, 2)]),
        (checkpoint_policies.dots_with_no_batch_dims_saveable, [(2, 2), (2, 2)]),
        (checkpoint_policies.save_only_these_names("inner"), [(2, 2), (2, 2)]),
        (checkpoint_policies.save_only_these_names("other"), [(2, 2)]),
        (checkpoint_policies.save_any_names_but_these("other"), [(2, 2), (2, 2)]),
        (checkpoint_policies.save_any_names_but_these("inner"), [(2, 2)]),
        (
            checkpoint_policies.save_from_both_policies(
                checkpoint_policies.save_only_these_names("inner"),
                checkpoint_policies.dots_with_no_batch_dims_saveable,
            ),
            [(2, 2), (2, 2), (2, 2)],
        ),
    ],
)
def test_policies_select_the_saved_values(policy, shapes):
    f = checkpoint(no_index, policy=policy)
    assert saved_by(f, M) == shapes
    plain = vjp(no_index, M)[1](M)[0]
    np.testing.assert_allclose(vjp(f, M)[1](M)[0], plain, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(vjp(jit(f), M)[1](M)[0], plain, rtol=1e-5, atol=1e-6)


def test_everything_saveable_recomputes_nothing():
    f = checkpoint(twice_sine, policy=checkpoint_policies.everything_saveable)
    program = gradient_program(f)
    (remat,) = [e for e in program.eqns if e.primitive is lax.checkpoint_p]
    assert [e.primitive.name for e in remat.params["jaxpr"].eqns] == ["mul", "mul"]


def test_save_anything_except_names():
    def f(x):
        return lax.sin(checkpoint_name(lax.sin(x), "again"))

    policy = checkpoint_policies.save_anything_except_these_names("again")
    program = gradient_program(checkpoint(f, policy=policy))
    (remat,) = [e for e in program.eqns if e.primitive is lax.checkpoint_p]
    names = [e.primitive.name for e in remat.params["jaxpr"].eqns]
    assert names.count("name") == names.count("sin") == 0 or "name" in names


def test_policies_apply_inside_calls():
    policy = checkpoint_policies.dots_saveable
    f = checkpoint(lambda x: lax.sin(jit(lambda x: lax.dot(x, x))(x)), policy=policy)
    assert saved_by(f, M) == [(2, 2), (2, 2)]


def test_user_defined_policy():
    seen = []

    def policy(primitive, *avals, **params):
        seen.append((primitive.name, *[aval.str_short() for aval in avals]))
        return Saveable if primitive is lax.cos_p else Recompute

    f = checkpoint(twice_sine, policy=policy)
    np.testing.assert_allclose(grad(f)(0.5), derivative(0.5), rtol=1e-6)
    assert set(seen) == {("cos", "float32[]")}
    with pytest.raises(
        TypeError, match="must return a bool, Saveable, Recompute or an Offloadable"
    ):
        grad(checkpoint(twice_sine, policy=lambda *args, **params: None))(0.5)


def test_offload_policies_name_source_and_destination():
    policy = checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    assert policy(lax.dot_general_p, dimension_numbers=(((1,), (0,)), ((), ()))) == Offloadable(
        src="device", dst="pinned_host"
    )
    names = checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["kept"],
        names_which_can_be_offloaded=["moved"],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def named(x):
        kept = checkpoint_name(lax.sin(x), "kept")
        return lax.sin(checkpoint_name(lax.sin(kept), "moved"))

    f = checkpoint(named, policy=names)
    np.testing.assert_allclose(grad(f)(0.5), grad(named)(0.5), rtol=1e-6)
    found = [aval.str_short() for aval, _ in saved_residuals(f, 0.5)]
    assert found == ["float32[]", "float32[]", "float32<host>[]"]
    with pytest.raises(ValueError, match="should not intersect"):
        checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"],
            names_which_can_be_offloaded=["a"],
            offload_src="device",
            offload_dst="pinned_host",
        )


def sines_in_loops(x):
    def step(carry, _):
        return lax.sin(checkpoint_name(lax.sin(carry), "inner")), None

    def steps(carry, _):
        return lax.scan(step, carry, None, length=2)[0], None

    return lax.scan(steps, x, None, length=3)[0]


def test_policies_apply_inside_loops():
    f = checkpoint(sines_in_loops, policy=checkpoint_policies.save_only_these_names("inner"))
    found = sorted(aval.str_short() for aval, _ in saved_residuals(f, 0.5))
    assert found == ["float32[3,2]", "float32[]"]
    np.testing.assert_allclose(grad(f)(0.5), grad(sines_in_loops)(0.5), rtol=1e-6)
    nothing = checkpoint(sines_in_loops, policy=checkpoint_policies.dots_saveable)
    assert [aval.str_short() for aval, _ in saved_residuals(nothing, 0.5)] == ["float32[]"]


def named_product(x):
    return lax.sin(checkpoint_name(lax.mul(lax.sin(x), lax.exp(x)), "inner"))


def test_policies_apply_inside_branches():
    def f(x):
        return lax.cond(
            lax.gt(x, 0.0), named_product, lambda x: lax.cos(checkpoint_name(x, "inner")), x
        )

    saving = checkpoint(f, policy=checkpoint_policies.save_only_these_names("inner"))
    # The predicate is computed again; each branch has a slot for what it saves.
    found = sorted(aval.str_short() for aval, _ in saved_residuals(saving, 0.5))
    assert found == ["float32[]", "float32[]", "float32[]"]
    for x in (0.5, -0.5):
        np.testing.assert_allclose(grad(saving)(x), grad(f)(x), rtol=1e-6)
        np.testing.assert_allclose(jit(grad(saving))(x), grad(f)(x), rtol=1e-6)


def test_branches_recompute_unsaved_values():
    def f(x):
        return lax.cond(
            lax.gt(x, 0.0), lambda x: lax.sin(checkpoint_name(lax.log(x), "a")), lambda x: x, x
        )

    policies = checkpoint_policies
    for policy, logarithms in (
        (policies.nothing_saveable, 2),
        (policies.save_only_these_names("a"), 1),
        (policies.everything_saveable, 1),
    ):
        program = trace_to_closed(
            lambda x, policy=policy: [grad(checkpoint(f, policy=policy))(x)],
            [ShapedArray((), np.float32)],
        )
        assert str(program).count("= log ") == logarithms, policy
        assert str(program).count("= sin ") == 1  # nothing computes the unused result again


def test_invalid_static_argnums_raise():
    with pytest.raises(ValueError, match=r"can only take integer values .* got \(4,\)"):
        checkpoint(lambda x, y: x, static_argnums=(4,))(1.0, 2.0)
    with pytest.raises(TypeError, match="must be an int or a tuple of ints"):
        checkpoint(lambda x: x, static_argnums=True)


def test_reprs_of_policies():
    assert repr(checkpoint_policies.dots_saveable) == "DotsSaveable(only_if_no_batch_dims=False)"
    named = checkpoint_policies.save_only_these_names("a")
    assert repr(named) == "SaveOnlyTheseNames(saveable_names=frozenset({'a'}))"
    assert named == checkpoint_policies.save_only_these_names("a")


def test_checkpoint_name_is_the_identity():
    assert checkpoint_name({"a": 1.0}, "x") == {"a": 1.0}
    np.testing.assert_array_equal(vmap(lambda x: checkpoint_name(x, "x"))(M), M)
    assert grad(lambda x: checkpoint_name(lax.mul(x, x), "x"))(3.0) == 6.0
    closed = trace_to_closed(lambda x: [checkpoint_name(x, "foo")], [F32])
    assert str(closed) == "{ lambda ; a:f32[]. let b:f32[] = name[name=foo] a in (b,) }"


def test_static_arguments_are_not_traced():
    def f(x, power, *, negative=False):
        y = lax.integer_pow(x, power)
        return lax.neg(y) if negative else y

    assert checkpoint(f, static_argnums=1)(2.0, 3) == 8.0
    assert (
        checkpoint(f, static_argnums=(1,), static_argnames="negative")(2.0, 3, negative=True)
        == -8.0
    )
    assert grad(checkpoint(f, static_argnums=-1))(2.0, 3) == 12.0


def test_static_arguments_need_not_be_hashable():
    def f(x, powers):
        return lax.integer_pow(x, powers[0])

    for power in (3, 2):
        assert checkpoint(f, static_argnums=1)(2.0, [power]) == 2.0**power
        assert grad(checkpoint(f, static_argnums=1))(2.0, [power]) == power * 2.0 ** (power - 1)


def test_closing_over_values():
    def f(w, x):
        return checkpoint(lambda x: lax.mul(lax.sin(x), w))(x)

    assert grad(f, argnums=(0, 1))(2.0, 0.0) == (0.0, 2.0)
    array = np.array([1.0, 2.0], np.float32)
    g = checkpoint(lambda x: lax.mul(lax.sin(x), array))
    np.testing.assert_allclose(vjp(g, array)[1](array)[0], np.cos(array) * array**2, rtol=1e-6)


def test_the_function_is_traced_once():
    calls = []
    f = checkpoint(lambda x: (calls.append(x), lax.sin(x))[1])
    f(1.0), grad(f)(2.0)
    assert len(calls) == 1


def test_checkpoints_in_scans_keep_gradients():
    def loop(body):
        return lambda x: lax.scan(lambda c, _: (body(c), None), x, None, length=3)[0]

    plain, checkpointed = loop(twice_sine), loop(checkpoint(twice_sine, prevent_cse=False))
    np.testing.assert_allclose(grad(checkpointed)(0.5), grad(plain)(0.5), rtol=1e-6)


def test_invalid_arguments_raise():
    with pytest.raises(TypeError, match="Expected a callable value"):
        checkpoint(3)
    with pytest.raises(NotImplementedError, match="'concrete' option"):
        checkpoint(lax.sin, concrete=True)
    with pytest.raises(TracerBoolConversionError, match="for checkpoint / remat") as caught:
        checkpoint(lambda x: x if lax.gt(x, 0.0) else lax.neg(x))(1.0)
    assert any("static_argnums" in note for note in caught.value.__notes__)


def test_flags_for_each_argument():
    def f(x, y):
        return lax.mul(lax.sin(x), y)

    for flags in ((True, False), [True, False]):
        assert grad(checkpoint(f, prevent_cse=flags))(1.0, 2.0) == grad(f)(1.0, 2.0)
    with pytest.raises(ValueError, match="has 1 entries, but f was called with 2"):
        checkpoint(f, prevent_cse=(True,))(1.0, 2.0)


def test_names_are_strings():
    with pytest.raises(TypeError, match=r"write checkpoint_name\(x, 'name'\)"):
        checkpoint_name("kept", np.ones(3))
