# SPDX-License-Identifier: Apache-2.0
"""Kernels under vmap, jvp and control flow."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import custom_vjp, grad, jvp
from olympus_batching import vmap
from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.programs.jit import jit
from olympus_ir.types.placement import AxisType, PartitionSpec
from olympus_pallas import BlockSpec, pallas_call, program_id
from olympus_pallas.tpu import VMEM, PrefetchScalarGridSpec
from olympus_sharding import make_mesh
from olympus_sharding.manual.shard_map import shard_map

F32 = np.dtype(np.float32)
call = functools.partial(pallas_call, interpret=True)
block = BlockSpec((4,), lambda i: (i,))


def weighted(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...] * program_id(0)

    out = ShapeDtypeStruct((10,), F32)
    return call(kernel, out, grid=(3,), in_specs=[block, block], out_specs=block)(x, y)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def expected(x, y):
    return x + y * (np.arange(10) // 4)


@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0), (1, 0)])
def test_batches_of_calls_equal_the_formula(rng, in_axes):
    shapes = [(10,) if axis is None else np.insert([10], axis, 5) for axis in in_axes]
    x, y = (rng.normal(size=shape).astype(F32) for shape in shapes)
    got = vmap(weighted, in_axes=in_axes)(x, y)
    wide = [
        np.moveaxis(a, axis, 0) if axis is not None else a[None]
        for a, axis in zip((x, y), in_axes, strict=True)
    ]
    np.testing.assert_allclose(got, expected(*wide), rtol=1e-6)


def test_vmap_of_vmap(rng):
    x, y = rng.normal(size=(2, 3, 5, 10)).astype(F32)
    got = vmap(vmap(weighted, in_axes=(0, 0), out_axes=1))(x, y)
    np.testing.assert_allclose(got, expected(x, y).swapaxes(1, 2), rtol=1e-6)


def test_vmap_over_prefetched_scalars():
    def kernel(rows_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * rows_ref[0]

    spec = PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(2,),
        in_specs=[BlockSpec((4,), lambda i, rows: (rows[i],))],
        out_specs=BlockSpec((4,), lambda i, rows: (i,)),
    )
    one = call(kernel, ShapeDtypeStruct((8,), F32), grid_spec=spec)
    rows = np.array([[1, 0], [2, 1], [1, 1]], np.int32)
    x = np.arange(36, dtype=F32).reshape(3, 12)
    got = vmap(one)(rows, x)
    wanted = [np.concatenate([row[4 * j : 4 * j + 4] for j in r]) * r[0] for r, row in zip(rows, x)]
    np.testing.assert_array_equal(got, wanted)


def test_vmap_with_memory_of_shared_inputs():
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] += y_ref[...]

    out = ShapeDtypeStruct((4,), F32)
    one = call(kernel, out, input_output_aliases={0: 0})
    x, y = np.ones(4, F32), np.arange(8, dtype=F32).reshape(2, 4)
    np.testing.assert_array_equal(vmap(one, in_axes=(None, 0))(x, y), x + y)


def test_tangents_of_calls_equal_the_formula(rng):
    def kernel(x_ref, scale_ref, o_ref, n_ref):
        o_ref[...] = jnp.sin(x_ref[...]) * scale_ref[...]
        n_ref[...] = x_ref[...].astype(np.int32)

    outs = (ShapeDtypeStruct((10,), F32), ShapeDtypeStruct((10,), np.int32))
    apply = call(kernel, outs, grid=(3,), in_specs=[block] * 2, out_specs=(block, block))
    x, scale, t = rng.normal(size=(3, 10)).astype(F32)
    (y, _), (y_dot, n_dot) = jvp(lambda x: apply(x, scale), (x,), (t,))
    np.testing.assert_allclose(y, np.sin(x) * scale, rtol=1e-6)
    np.testing.assert_allclose(y_dot, np.cos(x) * scale * t, rtol=1e-5)
    assert n_dot.dtype.names == ("float0",)


def test_jvp_through_loops_and_scratch(rng):
    def kernel(x_ref, o_ref, total_ref):
        total_ref[...] = jnp.zeros_like(total_ref)

        def body(i, carry):
            total_ref[...] += x_ref[i] ** 2
            return carry

        lax.fori_loop(0, 4, body, 0)
        o_ref[...] = total_ref[...] * x_ref[0]

    apply = call(kernel, ShapeDtypeStruct((1,), F32), scratch_shapes=[VMEM((1,), F32)])
    x, t = rng.normal(size=(2, 4)).astype(F32)
    _, y_dot = jvp(apply, (x,), (t,))
    wanted = 2 * (x @ t) * x[0] + (x @ x) * t[0]
    np.testing.assert_allclose(y_dot, [wanted], rtol=1e-5)


def test_jvp_of_vmap(rng):
    x, y, t = rng.normal(size=(3, 5, 10)).astype(F32)
    _, z_dot = jvp(lambda y: vmap(weighted)(x, y), (y,), (t,))
    np.testing.assert_allclose(z_dot, t * (np.arange(10) // 4), rtol=1e-6)


def test_jvp_with_aliased_inputs_raises():
    def kernel(x_ref, o_ref):
        o_ref[...] *= 2.0

    apply = call(kernel, ShapeDtypeStruct((4,), F32), input_output_aliases={0: 0})
    x = np.ones(4, F32)
    with pytest.raises(NotImplementedError, match="JVP with aliasing not supported"):
        jvp(apply, (x,), (x,))


def test_users_define_reverse_derivatives():
    def double(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = 2 * x_ref[...]

        return call(kernel, ShapeDtypeStruct((4,), F32))(x)

    x = np.ones(4, F32)
    with pytest.raises(ValueError, match="no reverse derivative.*custom_vjp"):
        grad(lambda x: double(x).sum())(x)
    own = custom_vjp(double)
    own.defvjp(lambda x: (double(x), None), lambda _, ct: (double(ct),))
    np.testing.assert_array_equal(grad(lambda x: own(x).sum())(x), [2, 2, 2, 2])


def test_inside_of_a_loop():
    def double(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = 2 * x_ref[...]

        return call(kernel, ShapeDtypeStruct((4,), F32))(x)

    got = jit(lambda x: lax.fori_loop(0, 3, lambda _, x: double(x), x))(np.ones(4, F32))
    np.testing.assert_array_equal(got, [8, 8, 8, 8])


@pytest.mark.parametrize("check_vma", [False, True])
def test_inside_of_shard_map(devices, check_vma):
    def double(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = 2 * x_ref[...] + program_id(0)

        out = ShapeDtypeStruct(x.shape, x.dtype)
        return call(kernel, out, grid=(2,), in_specs=[pair], out_specs=pair)(x)

    pair = BlockSpec((2,), lambda i: (i,))
    mesh = make_mesh((2,), ("x",), (AxisType.Auto,), devices=devices[:2])
    spec = PartitionSpec("x")
    mapped = shard_map(double, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=check_vma)
    x = np.arange(8, dtype=F32)
    np.testing.assert_array_equal(jit(mapped)(x), 2 * x + [0, 0, 1, 1, 0, 0, 1, 1])
