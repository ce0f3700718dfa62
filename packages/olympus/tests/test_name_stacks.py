# SPDX-License-Identifier: Apache-2.0
"""The names of scopes, from the context managers to the compiled program."""

from __future__ import annotations

import re

import olympus
import olympus.numpy as jnp
from olympus.extend import source_info_util


def operation_names(fun, *args) -> set[str]:
    text = olympus.jit(fun).lower(*args).compile().as_text()
    return set(re.findall(r'op_name="([^"]*)"', text))


def test_stacks_are_values() -> None:
    stack = source_info_util.new_name_stack("a").extend("b").transform("vmap").extend("c")
    assert str(stack) == "a/b/vmap(c)" and len(stack) == 4
    assert repr(stack[1:3]) == "NameStack(stack=(Scope(name='b'), Transform(name='vmap')))"
    assert stack == source_info_util.NameStack(stack.stack)
    assert str(stack + source_info_util.new_name_stack("d")) == "a/b/vmap(c)/d"
    assert source_info_util.new_name_stack() == source_info_util.NameStack()


def test_context_managers_name_equations() -> None:
    outer = source_info_util.new_name_stack("outer")
    place = source_info_util.current().traceback

    def f(x):
        with source_info_util.extend_name_stack("scope"), olympus.named_scope("inner"):
            x = jnp.sin(x)
        with source_info_util.set_name_stack(outer):
            x = jnp.cos(x)
            with source_info_util.reset_name_stack():
                x = jnp.tan(x)
        with source_info_util.transform_name_stack("change"):
            x = jnp.exp(x)
        with (
            source_info_util.user_context(place, name_stack=outer),
            source_info_util.extend_name_stack("more"),
        ):
            return jnp.log(x)

    program = olympus.make_olympuspr(f)(1.0)
    stacks = [str(equation.source_info.name_stack) for equation in program.eqns]
    assert stacks == ["scope/inner", "outer", "", "change()", "outer/more"]
    last = program.eqns[-1].source_info
    assert last.traceback is place
    assert "test_context_managers_name_equations" in source_info_util.summarize(last)
    assert source_info_util.current_name_stack() == source_info_util.NameStack()


def test_names_reach_compiled_programs_through_calls_and_loops() -> None:
    def f(x):
        with olympus.named_scope("outer"):
            y = olympus.jit(lambda y: jnp.cumsum(jnp.tan(y)))(x * jnp.ones(5))
            return olympus.lax.while_loop(lambda c: c < 9, lambda c: jnp.exp(c), x) + y[2]

    names = operation_names(f, 1.0)
    assert "jit(f)/outer/while/body/exp" in names
    assert "jit(f)/outer/while/cond/lt" in names
    assert "jit(f)/outer/jit(<lambda>)/tan" in names
    assert not any("jit(f)/" in name.removeprefix("jit(f)") for name in names)


def test_operands_and_results_are_named() -> None:
    def f(params, x, *, scale=2.0):
        return {"r": jnp.sin(x) * params["w"], "s": (scale, x + 1)}

    lowered = olympus.jit(f).lower({"w": 1.0, "unused": 3.0}, jnp.ones(3), scale=1.0)
    (main,) = [line for line in lowered.as_text().splitlines() if "@main" in line]
    results = re.findall(r'jax.result_info = "([^"]*)"', main)
    assert results == ["result['r']", "result['s'][0]", "result['s'][1]"]
    text = lowered.compile().as_text().replace("\\'", "'")
    named = set(re.findall(r'op_name="([^"]*)"', text))
    assert {"params['w']", "x", "scale"} <= named and "params['unused']" not in named


def test_scopes_of_backward_passes() -> None:
    @olympus.custom_vjp
    def f(x):
        return jnp.sin(x)

    def forward(x):
        with olympus.named_scope("forward"):
            return jnp.sin(x), x

    def backward(x, cotangent):
        with olympus.named_scope("backward"):
            return (cotangent * jnp.cos(x),)

    f.defvjp(forward, backward)
    program = olympus.make_olympuspr(olympus.grad(f))(1.0)
    names = {e.primitive.name: e.source_info.name_stack for e in program.eqns}
    assert str(names["sin"]) == "jvp(forward)"
    assert str(names["cos"]) == str(names["mul"]) == "transpose(jvp(backward))"
    assert str(olympus.make_olympuspr(jnp.sin)(1.0).eqns[0].source_info.name_stack) == ""


def test_calls_take_names_of_transformations_and_scopes() -> None:
    inner = olympus.jit(jnp.sin)
    names = operation_names(lambda x: olympus.grad(lambda x: inner(x))(x), 1.0)
    assert "jit(<lambda>)/jvp(jit(sin))/cos" in names

    def scoped(x):
        with olympus.named_scope("outer"):
            return olympus.nn.relu(x)

    assert "jit(scoped)/outer/jit(relu)/max" in operation_names(scoped, 1.0)


def test_recomputed_operations_are_named_rematted() -> None:
    fun = olympus.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    names = operation_names(lambda x: olympus.grad(fun)(x), 1.0)
    assert "jit(<lambda>)/transpose(jvp())/checkpoint/rematted_computation/cos" in names
    assert "jit(<lambda>)/transpose(jvp())/checkpoint/mul" in names


def test_einsum_names_its_equations_by_the_subscripts() -> None:
    matrix = jnp.ones((3, 3))
    program = olympus.make_olympuspr(lambda x: jnp.einsum("ij, jk, kl -> il", x, x, x))(matrix)
    assert {str(e.source_info.name_stack) for e in program.eqns} == {"ij, jk, kl -> il"}
    by_lists = olympus.make_olympuspr(lambda x: jnp.einsum(x, [0, 1], x, [1, 2]))(matrix)
    assert {str(e.source_info.name_stack) for e in by_lists.eqns} == {""}
    names = operation_names(lambda x: jnp.einsum("ij,jk->ik", x, x), matrix)
    assert "jit(<lambda>)/ij,jk->ik/dot_general" in names
