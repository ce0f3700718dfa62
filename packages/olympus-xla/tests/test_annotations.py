# SPDX-License-Identifier: Apache-2.0
"""Annotations in modules, which do not change values."""

import re

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax.annotations.functions import (
    compute_on,
    compute_on2,
    fused,
    scheduling_group,
    set_xla_metadata,
    shard_alike,
    xla_metadata_call,
)
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.references.primitives import new_ref
from olympus_ir.rules.annotations import dce_olympuspr_xla_metadata_rule
from olympus_ir.types.memory_spaces import MemorySpace
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit
from olympus_xla.arrays.layouts import Layout, with_layout_constraint
from olympus_xla.foreign.control_deps import schedule

F32 = np.float32
X = np.arange(8, dtype=F32)


def operations(fun, *args):
    """The names of the module's operations with their attributes for the compiler, as texts."""
    text = jit(fun).lower(*args).as_text()
    found = {}
    for line in text.splitlines():
        name = re.search(r"(stablehlo\.\w+|call @\w+|custom_call @\w+)", line)
        attributes = re.search(r"frontend_attributes = \{([^}]*)\}", line)
        if name and attributes:
            found.setdefault(name.group(1), attributes.group(1))
    return found


# ---- attributes ----


def test_blocks_and_values():
    def fun(x):
        with set_xla_metadata(key="text", number=2, flag=True):
            y = lax.sin(x)
        return set_xla_metadata(lax.cos(y), late=True, number=3)

    assert operations(fun, X) == {
        "stablehlo.sine": 'flag = "true", key = "text", number = "2"',
        "stablehlo.cosine": 'late = "true", number = "3"',
    }
    np.testing.assert_allclose(jit(fun)(X), np.cos(np.sin(X)), rtol=1e-6)
    attributes = "(('late', True), ('number', 3))"
    assert f"xla_metadata_kvs={attributes}" in str(make_olympuspr(fun)(X))


def test_inner_metadata_blocks_take_precedence():
    @set_xla_metadata(a=1)
    def fun(x):
        with set_xla_metadata(a=2, b=3):
            y = lax.sin(x)
        return lax.cos(y)

    assert operations(fun, X) == {
        "stablehlo.sine": 'a = "2", b = "3"',
        "stablehlo.cosine": 'a = "1"',
    }


def test_none_removes_metadata_of_outer_blocks():
    def fun(x):
        with set_xla_metadata(a=1, b=2):
            with set_xla_metadata(a=None):
                y = lax.sin(x)
            with set_xla_metadata(a=None, b=None):
                return lax.cos(y)

    assert operations(fun, X) == {"stablehlo.sine": 'b = "2"'}


def test_called_functions_and_derivatives_are_marked():
    inner = jit(lambda x: lax.sin(x))

    def fun(x):
        with set_xla_metadata(a=1):
            return inner(x)

    assert operations(fun, X)["stablehlo.sine"] == 'a = "1"'
    # The same function outside is another program.
    assert operations(lambda x: inner(x), X) == {}
    gradient = grad(lambda x: lax.reduce_sum(fun(x), (0,)))
    assert operations(gradient, X)["stablehlo.cosine"] == 'a = "1"'


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("device", '_xla_compute_type = "dense"'),
        ("device_host", '_xla_compute_type = "host"'),
        ("tpu_sparsecore", '_xla_compute_type = "sparseoffload"'),
        ("gpu_stream:1", '_xla_stream_annotation = "1", inlineable = "false"'),
    ],
)
def test_compute_types_become_attributes(kind, attributes):
    assert operations(compute_on(kind)(lax.sin), X)["stablehlo.sine"] == attributes


def test_invalid_compute_types_raise():
    with pytest.raises(ValueError, match="Invalid compute type foo"):
        compute_on("foo")
    with pytest.raises(TypeError, match="must be a string"):
        compute_on(3)


# ---- calls ----


def test_compute_on_as_a_call():
    @compute_on2(compute_type="device_host", out_memory_spaces=MemorySpace.Device)
    def fun(x):
        return lax.mul(x, x)

    found = operations(fun, X)
    assert found["call @compute_on"] == '_xla_compute_type = "host"'
    assert found["stablehlo.multiply"] == '_xla_compute_type = "host"'
    assert found["stablehlo.custom_call"] == '_xla_buffer_placement = "device"'
    np.testing.assert_array_equal(jit(fun)(X), X * X)
    np.testing.assert_array_equal(grad(lambda x: lax.reduce_sum(fun(x), (0,)))(X), 2 * X)
    np.testing.assert_array_equal(vmap(fun)(X), X * X)
    text = str(make_olympuspr(fun)(X))
    assert "compute_on[\n      compiler_options_json=None\n      compute_type=device_host" in text


def test_memory_of_results():
    fun = compute_on2(
        lambda x: (x, lax.neg(x)),
        compute_type="device_host",
        out_memory_spaces=(MemorySpace.Host, MemorySpace.Device),
        compiler_options={"a": "b"},
    )
    program = make_olympuspr(fun)(X)
    assert list(map(str, program.out_avals)) == ["float32<host>[8]", "float32[8]"]
    assert operations(fun, X)["call @compute_on"].startswith('_xla_compute_type = "host", backend')


def test_calls_with_attributes():
    fun = scheduling_group("first")(lambda x: lax.sin(x))
    assert operations(fun, X) == {"call @xla_metadata_call": 'scheduling_group = "first"'}
    np.testing.assert_allclose(jit(fun)(X), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(
        grad(lambda x: lax.reduce_sum(fun(x), (0,)))(X), np.cos(X), rtol=1e-6
    )
    with pytest.raises(TypeError, match="strings, got a=1; write a='1'"):
        xla_metadata_call(lax.sin, a=1)


def test_unused_results_of_calls():
    fun = xla_metadata_call(lambda x, y: (lax.sin(x), lax.cos(y)), a="b")
    (equation,) = make_olympuspr(fun)(X, X).jaxpr.eqns
    used, reduced = dce_olympuspr_xla_metadata_rule([True, False], equation)
    assert used == [True, False]
    assert len(reduced.outvars) == 1
    assert dce_olympuspr_xla_metadata_rule([False, False], equation) == ([False, False], None)
    assert "cosine" not in jit(lambda x, y: fun(x, y)[0]).lower(X, X).as_text()


def test_fused_calls_have_spaces_and_derivatives():
    fun = fused(out_spaces=(MemorySpace.Device,))(lambda x: lax.mul(x, x))
    assert "f32<any>[8] = mul" in str(make_olympuspr(fun)(X))
    np.testing.assert_array_equal(jit(fun)(X), X * X)
    np.testing.assert_array_equal(grad(lambda x: lax.reduce_sum(fun(x), (0,)))(X), 2 * X)
    with pytest.raises(ValueError, match="out_spaces has 2 entries for 1 results"):
        fused(out_spaces=(MemorySpace.Device,) * 2)(lax.sin)(X)


# ---- shardings, layouts and order ----


def test_shard_alike_spreads_shardings(mesh):
    def fun(x):
        return shard_alike(x, lax.full(x.shape, F32(1)))[1]

    x = device_put(X, NamedSharding(mesh, PartitionSpec("x")))
    assert jit(fun).lower(x).as_text().count("sdy.sharding_group") == 2
    assert jit(fun)(x).sharding.is_equivalent_to(x.sharding, 1)
    with pytest.raises(ValueError, match=r"leaf shape: \(8,\), `y` leaf shape: \(3,\)"):
        shard_alike(X, X[:3])
    with pytest.raises(ValueError, match="Trees should be equal"):
        shard_alike([X], {"a": X})


def test_layout_constraints_become_custom_calls():
    x = np.arange(6, dtype=F32).reshape(2, 3)

    def fun(x):
        return with_layout_constraint(lax.neg(x), Layout((1, 0)))

    assert "@LayoutConstraint" in jit(fun).lower(x).as_text()
    np.testing.assert_array_equal(jit(fun)(x), -x)
    batched = str(make_olympuspr(vmap(fun))(np.stack([x, x])))
    assert "Layout(major_to_minor=(0, 2, 1)" in batched
    np.testing.assert_array_equal(
        grad(lambda x: lax.reduce_sum(fun(x), (0, 1)))(x), np.full((2, 3), -1)
    )
    with pytest.raises(ValueError, match="must be of type `Layout`"):
        with_layout_constraint(x, "a")
    with pytest.raises(ValueError, match="rank of the value should match"):
        with_layout_constraint(x, Layout((0,)))


def test_schedules_become_control_dependencies():
    text = jit(lambda x: schedule([lax.sin(x), lax.cos(x), x])).lower(X).as_text()
    assert text.count("@control_dep") == 2


# ---- under other transformations ----


def test_references_are_written_by_calls_with_attributes():
    def twice(x):
        ref = new_ref(x)

        def write():
            ref[...] = lax.mul(ref[...], F32(2))
            return ref[...]

        first = xla_metadata_call(write, a="b")()
        compute_on2(write, compute_type="device", out_memory_spaces=MemorySpace.Device)()
        return first, ref[...]

    first, last = jit(twice)(X)
    np.testing.assert_array_equal(first, 2 * X)
    np.testing.assert_array_equal(last, 4 * X)


def test_metadata_applies_inside_loops():
    def fun(x):
        with set_xla_metadata(a=1):
            return lax.fori_loop(0, 3, lambda i, c: lax.sin(c), x)

    assert operations(fun, X)["stablehlo.sine"] == 'a = "1"'
    np.testing.assert_allclose(jit(fun)(X), np.sin(np.sin(np.sin(X))), rtol=1e-6)
