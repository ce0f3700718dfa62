# SPDX-License-Identifier: Apache-2.0
"""Random programs: their texts, their types, and their reduction."""

from __future__ import annotations

import ast
import doctest

import numpy as np
import pytest

from olympus_testing import compositions
from olympus_testing.compositions import (
    FAMILIES,
    Function,
    Kind,
    Program,
    Statement,
    Value,
    generation,
    random_program,
    shrinking,
    shrunk,
    source,
)

FORMS = ("plain", "loop", "numeric", "nudged")


def test_same_seed_makes_the_same_program():
    assert random_program(3, 5) == random_program(3, 5)
    texts = {source(random_program(3, number)) for number in range(50)}
    assert len(texts) == 50


@pytest.mark.parametrize("form", FORMS)
def test_program_texts_read_only_assigned_names(form):
    given = {"jax", "jnp", "lax", "np", "numeric", "nudged"}
    given |= {"collections", "dataclasses", "functools"}
    builtins = {"abs", "bool", "getattr", "slice", "sum", "tuple", "type", "zip"}
    for number in range(60):
        tree = ast.parse(source(random_program(1, number, devices=4), form))
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        stored |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        stored |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert read <= given | builtins | stored


def test_every_family_is_used():
    written = "\n".join(source(random_program(2, number, devices=4)) for number in range(250))
    for text in (
        *("lax.scan(", "lax.while_loop(", "lax.cond(", "lax.switch(", "lax.fori_loop("),
        *("jax.custom_jvp(", "jax.custom_vjp(", "jax.checkpoint(", "jax.new_ref("),
        *("jax.shard_map(", "lax.map("),
        *("axis_name='i'", "jax.random.", "lax.conv_general_dilated(", "jnp.sort(", "bfloat16"),
        *("complex64", "uint8", "float64", "jax.vmap(", "jax.jvp(", "jax.linearize(", "jax.vjp("),
        *("float8_e5m2", "jnp.linalg.eigh(", "donate_argnums", "static_argnums", "nondiff_argnums"),
        *(
            "promise_in_bounds",
            "mode='fill'",
            "unique_indices",
            "lax.gather(",
            "reshape(2, 2), ('a'",
        ),
        *("jax.hessian(", "jax.make_jaxpr(", "jax.export.", "jax.device_put(", ".at["),
    ):
        assert text in written, text
    assert len(FAMILIES) > 25


def doubled() -> Program:
    """The program ``cos(sin(x) + y)``, which returns the sine too."""
    x, y, a, b, c = (Value(name, Kind((2,), "float32")) for name in "xyabc")
    statements = (
        Statement((a,), "np.sin($0)", ("x",)),
        Statement((b,), "$0 + $1", ("a", "y")),
        Statement((c,), "np.cos($0)", ("b",)),
    )
    return Program(Function("f", (x, y), statements, ("a", "c")), ("[1.0, 2.0]", "[0.5, 0.5]"))


def test_text_computes_what_the_statements_say():
    names = {"np": np, "jnp": np}
    names["jnp"] = np
    exec(source(doubled()), names)
    first, second = names["run"](*names["arguments"])
    np.testing.assert_allclose(second, np.cos(np.sin([1.0, 2.0]) + 0.5), rtol=1e-6)
    np.testing.assert_allclose(first, np.sin([1.0, 2.0]), rtol=1e-6)


def test_failing_programs_are_minimized():
    def fails(program):
        return "np.cos" in source(program)

    small = shrunk(doubled(), fails)
    assert [statement.template for statement in small.function.statements] == ["np.cos($0)"]
    assert len(small.function.parameters) == 1
    assert small.function.results == ("c",)


def test_smaller_random_programs_fail_too():
    for number in range(30):
        program = random_program(4, number)
        if "lax.scan(" not in source(program):
            continue
        small = shrunk(program, lambda candidate: "lax.scan(" in source(candidate))
        assert "lax.scan(" in source(small)
        assert small.size() <= program.size()
        compile(source(small), "<small>", "exec")


@pytest.mark.parametrize("module", [generation, shrinking])
def test_examples_print_what_they_show(module):
    assert doctest.testmod(module).failed == 0
    assert compositions.random_program is random_program
