# SPDX-License-Identifier: Apache-2.0
"""Name stacks of equations name the transformations that created them, as in JAX."""

from __future__ import annotations

import numpy as np

from olympus_autodiff import grad, jvp, linearize
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.source_info import name_stack_text
from olympus_ir.programs.make import make_olympuspr, named_scope

X = np.ones((3, 2), np.float32)


def scoped(x):
    with named_scope("a"):
        return lax.mul(lax.sin(x), np.float32(2))


def total(x):
    return lax.reduce_sum(scoped(x), tuple(range(np.ndim(x))))


def names(fun, *args):
    program = make_olympuspr(fun)(*args)
    return [
        (equation.primitive.name, name_stack_text(equation.source_info.name_stack))
        for equation in program.eqns
    ]


def test_names_show_vmap_around_scopes():
    assert names(vmap(scoped), X) == [("sin", "vmap(a)"), ("mul", "vmap(a)")]
    assert names(vmap(vmap(scoped)), X)[0] == ("sin", "vmap(vmap(a))")


def test_jvp_and_linearize():
    assert names(lambda x: jvp(lax.sin, (x,), (x,)), X) == [
        ("sin", "jvp()"),
        ("cos", "jvp()"),
        ("mul", "jvp()"),
    ]
    assert {name for _, name in names(lambda x: linearize(scoped, x)[1](x), X)} == {"jvp(a)"}


def test_names_show_forward_and_backward_pass():
    assert names(grad(total), X) == [
        ("sin", "jvp(a)"),
        ("cos", "jvp(a)"),
        ("mul", "jvp(a)"),
        ("reduce_sum", "jvp()"),
        ("broadcast_in_dim", "transpose(jvp())"),
        ("mul", "transpose(jvp(a))"),
        ("mul", "transpose(jvp(a))"),
    ]


def test_grad_within_vmap():
    found = dict(names(vmap(grad(total)), X))
    assert found["sin"] == "vmap(jvp(a))"
    assert found["mul"] == "vmap(transpose(jvp(a)))"


def test_printed_programs_show_them():
    text = make_olympuspr(vmap(scoped))(X).pretty_print(name_stack=True)
    assert "[vmap(a)]" in text
