# SPDX-License-Identifier: Apache-2.0
"""Comparison of interpreted kernels with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_ir import lax, make_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_pallas import BlockSpec, Element, ds, num_programs, pallas_call, program_id, when
from olympus_pallas.memory.access import (
    atomic_add,
    atomic_cas,
    atomic_max,
    atomic_xchg,
    load,
    store,
)
from olympus_pallas.memory.spaces import TpuMemorySpace

F32 = np.dtype(np.float32)


def struct(shape, dtype=F32):
    return ShapeDtypeStruct(shape, dtype)


def run(kernel, out_shape, *args, **options):
    return np.asarray(pallas_call(kernel, out_shape, interpret=True, **options)(*args))


def rows(block, width):
    return BlockSpec((block, width), lambda i: (i, 0))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_sum_of_two_arrays(rng):
    x, y = rng.normal(size=(2, 8, 128)).astype(F32)

    def add(x_ref, y_ref, o_ref):
        o_ref[:, :] = x_ref[:, :] + y_ref[:, :]

    np.testing.assert_array_equal(run(add, struct(x.shape), x, y), x + y)
    block = rows(4, 128)
    blocked = run(add, struct(x.shape), x, y, grid=(2,), in_specs=[block, block], out_specs=block)
    np.testing.assert_array_equal(blocked, x + y)


def test_softmax_by_rows(rng):
    x = rng.normal(size=(6, 16)).astype(F32)

    def softmax(x_ref, o_ref):
        row = x_ref[...]
        e = jnp.exp(row - jnp.max(row, axis=1, keepdims=True))
        o_ref[...] = e / jnp.sum(e, axis=1, keepdims=True)

    got = run(softmax, struct(x.shape), x, grid=(3,), in_specs=[rows(2, 16)], out_specs=rows(2, 16))
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(got, e / e.sum(1, keepdims=True), rtol=1e-6)


def test_matmul_accumulates_over_the_last_axis(rng):
    x, y = rng.normal(size=(32, 48)).astype(F32), rng.normal(size=(48, 16)).astype(F32)

    def matmul(x_ref, y_ref, o_ref, sum_ref):
        @when(program_id(2) == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        sum_ref[...] += x_ref[...] @ y_ref[...]

        @when(program_id(2) == num_programs(2) - 1)
        def _():
            o_ref[...] = sum_ref[...]

    got = run(
        matmul,
        struct((32, 16)),
        x,
        y,
        grid=(2, 1, 3),
        in_specs=[
            BlockSpec((16, 16), lambda i, j, k: (i, k)),
            BlockSpec((16, 16), lambda i, j, k: (k, j)),
        ],
        out_specs=BlockSpec((16, 16), lambda i, j, k: (i, j)),
        scratch_shapes=[TpuMemorySpace.VMEM((16, 16), F32)],
    )
    np.testing.assert_allclose(got, x @ y, rtol=2e-5, atol=1e-5)


def test_masked_access_to_arrays_of_ragged_size(rng):
    x = rng.normal(size=100).astype(F32)

    def double(x_ref, o_ref):
        start = program_id(0) * 32
        inside = start + lax.iota(np.int32, 32) < 100
        part = load(x_ref.at[ds(start, 32)], mask=inside, other=-1.0)
        store(o_ref.at[ds(start, 32)], 2 * part, mask=inside)

    np.testing.assert_array_equal(run(double, struct((100,)), x, grid=(4,)), 2 * x)


def test_masked_load_returns_the_other_value():
    def kernel(x_ref, o_ref):
        mask = lax.iota(np.int32, 4) < 2
        o_ref[...] = load(x_ref.at[ds(program_id(0) + 8, 4)], mask=mask, other=-1.0)

    x = np.arange(10, dtype=F32)
    np.testing.assert_array_equal(run(kernel, struct((4,)), x, grid=(1,)), [8, 9, -1, -1])


def test_blocks_beyond_the_edge():
    x = np.arange(10)

    def sums(x_ref, o_ref):
        o_ref[...] = jnp.full((4,), jnp.sum(x_ref[...]))

    block = BlockSpec((4,), lambda i: (i,))
    got = run(sums, struct((10,), np.int32), x, grid=(3,), in_specs=[block], out_specs=block)
    # Beyond the edge lie the smallest integers; the sum of two of them is zero.
    np.testing.assert_array_equal(got, [6] * 4 + [22] * 4 + [17] * 2)


def test_unwritten_outputs_are_nan():
    assert np.isnan(run(lambda o_ref: None, struct((3,)))).all()
    lowest = np.iinfo(np.int32).min
    assert (run(lambda o_ref: None, struct((3,), np.int32)) == lowest).all()


def test_windows_that_overlap():
    def copy(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    got = run(
        copy,
        struct((12,)),
        np.arange(10, dtype=F32),
        grid=(3,),
        in_specs=[BlockSpec((Element(4, (1, 2)),), lambda i: i * 3)],
        out_specs=BlockSpec((4,), lambda i: i),
    )
    np.testing.assert_array_equal(got, [np.nan, 0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8])


def test_dimensions_that_are_squeezed(rng):
    x = rng.normal(size=(3, 4, 8)).astype(F32)

    def total(x_ref, o_ref):
        assert x_ref.shape == (4, 8)
        assert o_ref.shape == (8,)
        o_ref[...] = x_ref[...].sum(0)

    got = run(
        total,
        struct((3, 8)),
        x,
        grid=(3,),
        in_specs=[BlockSpec((None, 4, 8), lambda i: (i, 0, 0))],
        out_specs=BlockSpec((None, 8), lambda i: (i, 0)),
    )
    np.testing.assert_allclose(got, x.sum(1), rtol=1e-5)


def test_outputs_that_take_the_memory_of_inputs():
    x = np.arange(8, dtype=F32)

    def kernel(x_ref, o_ref):
        o_ref[program_id(0)] += 10.0

    got = run(kernel, struct((8,)), x, grid=(4,), input_output_aliases={0: 0})
    np.testing.assert_array_equal(got, x + 10 * (np.arange(8) < 4))


def test_atomic_updates_return_old_values():
    start = np.array([1, 2, 4, 8], np.int32)

    def kernel(x_ref, start_ref, o_ref, old_ref):
        old_ref[0] = atomic_add(o_ref, 0, x_ref[0])
        atomic_add(o_ref, ds(0, 4), x_ref[...], mask=lax.iota(np.int32, 4) < 2)
        old_ref[1] = atomic_max(o_ref, 1, 100)
        old_ref[2] = atomic_xchg(o_ref, 2, 5)
        old_ref[3] = atomic_cas(o_ref.at[3], 8, 9)

    shape = struct((4,), np.int32)
    call = pallas_call(kernel, (shape, shape), input_output_aliases={1: 0}, interpret=True)
    result, old = call(np.array([10, 20, 30, 40], np.int32), start)
    np.testing.assert_array_equal(result, [21, 100, 5, 9])
    np.testing.assert_array_equal(old, [1, 22, 4, 8])


def test_program_id_inside_loops_and_branches():
    def kernel(o_ref):
        def body(i, total):
            return total + lax.cond(i > program_id(0), lambda: program_id(0), lambda: 100)

        o_ref[program_id(0)] = lax.fori_loop(0, 3, body, 0)

    np.testing.assert_array_equal(run(kernel, struct((3,), np.int32), grid=(3,)), [100, 201, 300])


def test_grid_of_computed_size():
    def kernel(o_ref):
        o_ref[program_id(0)] = num_programs(0)

    @jit
    def call(n):
        return pallas_call(kernel, struct((4,), np.int32), grid=(n,), interpret=True)()

    lowest = np.iinfo(np.int32).min
    np.testing.assert_array_equal(call(3), [3, 3, 3, lowest])


@pytest.mark.parametrize("size", [9, 10])
def test_elements_beyond_the_end(size):
    def copy_block(x_ref, o_ref):
        o_ref[0] = x_ref[...]

    blocks = run(
        copy_block,
        struct((3, 4)),
        np.arange(size, dtype=F32),
        grid=(3,),
        in_specs=[BlockSpec((Element(4),), lambda i: (3 * i,))],
        out_specs=rows(1, 4),
    )
    expected = 3 * np.arange(3)[:, None] + np.arange(4.0)
    np.testing.assert_array_equal(blocks, np.where(expected < size, expected, np.nan))


def test_axes_of_the_grid_by_name():
    def places(o_ref):
        assert (lax.axis_size("i"), lax.axis_size("j")) == (2, 3)

        def add(k, total):
            return total + lax.axis_index("j")

        o_ref[...] = 10 * lax.axis_index("i") + lax.fori_loop(0, 1, add, jnp.zeros((1, 1), int))

    spec = BlockSpec((1, 1), lambda i, j: (i, j))
    filled = run(places, struct((2, 3), np.int32), grid=(("i", 2), ("j", 3)), out_specs=spec)
    np.testing.assert_array_equal(filled, [[0, 1, 2], [10, 11, 12]])


def test_loops_carry_references():
    def kernel(x_ref, o_ref):
        def step(i, carry):
            total, ref = carry
            ref[i] = 2 * x_ref[i]
            return total + ref[i], ref

        def count(carry):
            number, ref = carry
            ref[3] = number
            return number + 1, ref

        total, ref = lax.fori_loop(0, 3, step, (0.0, o_ref))
        _, ref = lax.while_loop(lambda carry: carry[0] < 8, count, (total, ref))
        ref[4] = total

    x = np.arange(5, dtype=F32)
    np.testing.assert_array_equal(run(kernel, struct((5,)), x), [0, 2, 4, 7, 6])


def test_loops_do_not_exchange_references():
    def kernel(x_ref, o_ref):
        lax.fori_loop(0, 3, lambda i, refs: refs[::-1], (x_ref, o_ref))

    with pytest.raises(ValueError, match="mutable array references cannot be returned"):
        run(kernel, struct((5,)), np.arange(5, dtype=F32))


def test_kernel_programs_have_no_dead_code():
    def kernel(x_ref, o_ref):
        x_ref[...] + program_id(0)

        def step(i, total):
            x_ref[i]
            return total + 1.0

        o_ref[0] = lax.fori_loop(0, 3, step, 0.0)

    call = pallas_call(kernel, struct((5,)), grid=(1,), interpret=True)
    (equation,) = make_olympuspr(call)(np.zeros(5, F32)).eqns
    names = [inner.primitive.name for inner in equation.params["jaxpr"].eqns]
    # The weakly typed sum of the loop becomes a number of the reference's type.
    assert names == ["scan", "convert_element_type", "swap"]
    assert len(equation.params["jaxpr"].eqns[0].params["jaxpr"].eqns) == 1


def test_grid_of_a_kernel():
    def kernel(o_ref):
        o_ref[program_id(0)] = program_id(1)

    call = pallas_call(kernel, struct((4,), np.int32), grid=(4, 2), interpret=True)
    mapping = make_olympuspr(call)().eqns[0].params["grid_mapping"]
    assert mapping.to_lojax() == mapping
    with pytest.raises(RuntimeError, match="outside of a kernel"):
        program_id(0)
    with mapping.trace_env():
        text = str(make_olympuspr(lambda: (program_id(1), num_programs(0)))())
    assert "program_id[axis=1]" in text
    assert "4" in text
