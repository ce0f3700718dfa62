# SPDX-License-Identifier: Apache-2.0
"""Partial evaluation of programs, and the rules of libraries for it, in JAX's form."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.api_util import debug_info
from olympus.extend import linear_util, source_info_util
from olympus.extend.core import Primitive, Var, no_effects
from olympus.interpreters import ad, mlir
from olympus.interpreters import partial_eval as pe
from olympus_ir.adapters.partial_evaluation import new_eqn_recipe

SCALAR = olympus.typeof(1.0)


def pair_of(name: str, fun) -> Primitive:
    """Returns a primitive of two operands and two results of their types."""
    primitive = Primitive(name)
    primitive.multiple_results = True
    primitive.def_abstract_eval(lambda x, y: [x, y])
    primitive.def_impl(fun)
    mlir.register_lowering(primitive, mlir.lower_fun(fun))
    return primitive


def wrapped(fun, *args):
    return linear_util.wrap_init(fun, debug_info=debug_info("test", fun, args, {}))


def test_dead_code_by_a_rule() -> None:
    single = Primitive("scaled")
    single.def_abstract_eval(lambda x, *, by: x)
    mlir.register_lowering(single, mlir.lower_fun(lambda x, *, by: x * by, multiple_results=False))
    pair = pair_of("scaled_pair", lambda x, y: [x * 2, y * 3])

    def rule(used_outputs, equation):
        if all(used_outputs):
            return [True, True], equation
        position = used_outputs.index(True)
        reduced = equation.replace(
            invars=[equation.invars[position]],
            outvars=[equation.outvars[position]],
            primitive=single,
            params={"by": (2, 3)[position]},
        )
        return used_outputs, reduced

    pe.dce_rules[pair] = rule
    assert pe.dce_rules[pair] is rule and pair in pe.dce_rules

    def f(x, y):
        return pair.bind(x, y)[1]

    program = olympus.make_olympuspr(f)(1.0, 2.0).jaxpr
    reduced, used = pe.dce_olympuspr(program, [True])
    assert str(reduced) == "{ lambda ; a:f32[]. let b:f32[] = scaled[by=3] a in (b,) }"
    assert used == [False, True]
    assert pe.dce_olympuspr(program, [True], instantiate=True)[1] == [True, True]
    assert "scaled_pair" not in str(pe.dce_olympuspr_consts(program, [True])[0])
    assert olympus.jit(f)(1.0, 2.0) == 6
    pe.dce_rules[pair] = lambda used_outputs, equation: ([False, False], None)
    assert pe.dce_olympuspr(program, [False])[0].eqns == []
    del pe.dce_rules[pair]
    assert pair not in pe.dce_rules


def test_built_in_dead_code_rules() -> None:
    def f(x, y):
        return olympus.jit(lambda x, y: (jnp.sin(x), jnp.cos(y)))(x, y)

    (equation,) = olympus.make_olympuspr(f)(1.0, 2.0).eqns
    rule = pe.dce_rules[equation.primitive]
    used, reduced = rule([False, True], equation)
    assert used == [False, True] and len(reduced.invars) == len(reduced.outvars) == 1
    assert rule([False, False], equation) == ([False, False], None)


def test_tracing_wrapped_functions() -> None:
    def f(x, y):
        jnp.tan(y)
        return [jnp.sin(x)]

    program, avals, constants = pe.trace_to_olympuspr_dynamic(wrapped(f, 1.0, 2.0), [SCALAR] * 2)
    assert [equation.primitive.name for equation in program.eqns] == ["tan", "sin"]
    assert avals == [SCALAR] and constants == []
    program, *_ = pe.trace_to_olympuspr_dynamic(
        wrapped(f, 1.0, 2.0), [SCALAR] * 2, auto_dce=True, lower=True
    )
    assert [equation.primitive.name for equation in program.eqns] == ["sin"]
    kept, *_ = pe.trace_to_olympuspr_dynamic(
        wrapped(lambda x: [x + 1], 1.0), [SCALAR] * 2, keep_inputs=[False, True]
    )
    assert len(kept.invars) == 2 and kept.eqns[0].invars[0] is kept.invars[1]


def test_partial_evaluation_by_a_rule() -> None:
    pair = pair_of("sine_and_cosine", lambda x, y: [jnp.sin(x), jnp.cos(y)])
    seen = []

    def rule(trace, x, y):
        seen.append((x.is_known(), y.is_known()))
        (sine,) = [trace.default_process_primitive(olympus.lax.sin_p, [x], {"accuracy": None})]
        cosine = trace.default_process_primitive(olympus.lax.cos_p, [y], {"accuracy": None})
        return [sine, cosine]

    values = [pe.PartialVal.unknown(SCALAR), pe.PartialVal.known(2.0)]
    pe.custom_partial_eval_rules[pair] = rule
    program, results, _ = pe.trace_to_olympuspr_nounits(wrapped(pair.bind, 1.0, 2.0), values)
    assert seen == [(False, True)]
    assert [equation.primitive.name for equation in program.eqns] == ["sin"]
    assert not results[0].is_known()
    np.testing.assert_allclose(results[1].get_known(), np.cos(2.0), rtol=1e-6)
    pe.custom_partial_eval_rules[pair] = lambda trace, *tracers: trace.default_process_primitive(
        pair, [trace.instantiate_const(tracer) for tracer in tracers], {}
    )
    program, results, _ = pe.trace_to_olympuspr_nounits(wrapped(pair.bind, 1.0, 2.0), values)
    assert [equation.primitive.name for equation in program.eqns] == ["sine_and_cosine"]
    assert not any(result.is_known() for result in results)


@pytest.mark.parametrize("keeps", [True, False])
def test_checkpoint_applies_partial_evaluation_rules(keeps: bool) -> None:
    parts = pair_of("parts", lambda x, y: [jnp.sin(x), jnp.cos(y)])

    def jvp(primals, tangents):
        dx, dy = map(ad.instantiate_zeros, tangents)
        sine, cosine = parts.bind(*primals)
        return [sine, cosine], [cosine * dx, -sine * dy]

    def rule(saveable, unknown, instantiated, equation):
        assert not any(unknown) and all(instantiated)
        assert saveable(equation.primitive) is False
        assert all(isinstance(var, Var) for var in equation.invars)
        no_results = [False] * len(equation.outvars)
        return equation, None if keeps else equation, no_results, no_results, []

    ad.primitive_jvps[parts] = jvp
    pe.partial_eval_olympuspr_custom_rules[parts] = rule

    def f(x):
        sine, cosine = parts.bind(x, x)
        return sine * cosine

    gradient = olympus.make_olympuspr(olympus.grad(olympus.checkpoint(f)))(1.0)
    (again,) = [each for each in gradient.eqns if each.primitive.name == "remat2"]
    names = [equation.primitive.name for equation in again.params["jaxpr"].eqns]
    assert ("parts" not in names) == keeps
    np.testing.assert_allclose(olympus.grad(olympus.checkpoint(f))(1.0), np.cos(2.0), rtol=1e-5)


def test_a_rule_makes_equations_by_itself() -> None:
    pair = pair_of("difference_and_product", lambda x, y: [x - y, x * y])

    def rule(trace, *tracers):
        assert all(isinstance(tracer, pe.OlympusprTracer) for tracer in tracers)
        assert [tracer.pval.get_known() for tracer in tracers] == [None, 2.0]
        outs = [pe.OlympusprTracer(trace, pe.PartialVal.unknown(SCALAR), None) for _ in range(2)]
        source = source_info_util.current()
        equation = new_eqn_recipe(trace, tracers, outs, pair, {}, no_effects, source)
        for out in outs:
            out.recipe = equation
        assert outs[0].parents == [] or outs[0].recipe is equation
        return outs

    values = [pe.PartialVal.unknown(SCALAR), pe.PartialVal.known(2.0)]
    pe.custom_partial_eval_rules[pair] = rule
    fun = wrapped(lambda x, y: [sum(pair.bind(x, y)), y + 1], 1.0, 2.0)
    program, results, constants = pe.trace_to_olympuspr_nounits(fun, values)
    assert program.eqns[0].primitive is pair
    assert [result.is_known() for result in results] == [False, True]
    assert results[1].get_known() == 3.0
    (total,) = olympus.core.eval_olympuspr(program, constants, 5.0)
    assert total == (5 - 2) + 5 * 2


def test_known_tracers_are_operands() -> None:
    pair = pair_of("scaled_and_moved", lambda x, y: [x * y, x + y])
    pe.custom_partial_eval_rules[pair] = lambda trace, x, y: [y * 2, x * y]
    values = [pe.PartialVal.unknown(SCALAR), pe.PartialVal.known(2.0)]
    program, results, constants = pe.trace_to_olympuspr_nounits(
        wrapped(pair.bind, 1.0, 2.0), values
    )
    assert results[0].get_known() == 4.0
    assert olympus.core.eval_olympuspr(program, constants, 5.0) == [10.0]
    with pytest.raises(ValueError, match="the result of an equation is unknown"):
        known = pe.OlympusprTracer(None, pe.PartialVal.known(2.0), None)
        new_eqn_recipe(None, [], [known], pair, {}, no_effects, source_info_util.current())
