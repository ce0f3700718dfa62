# SPDX-License-Identifier: Apache-2.0
"""Loops and pipelines of warpgroups on simulated threads."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_pallas as pl
from olympus_ir import ShapeDtypeStruct, lax
from olympus_pallas import mosaic_gpu as plgpu
from olympus_pallas import tpu

F32, F16 = np.dtype(np.float32), np.dtype(np.float16)
CHECKED = tpu.InterpretParams(detect_races=True)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(128, 128)).astype(F32)
OUT = ShapeDtypeStruct(X.shape, F32)
GRID = {"grid": (2,), "grid_names": ("i",)}


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_pipelines_write_every_tile(slots):
    def double(place, x_ref, o_ref, carry):
        o_ref[...] = x_ref[...] * 2
        return carry + place[0]

    tile = plgpu.BlockSpec((32, 64), lambda i, j: (i, j))

    def kernel(x_ref, o_ref, last_ref):
        last_ref[0] = plgpu.emit_pipeline(
            double,
            grid=(4, 2),
            in_specs=[tile],
            out_specs=[tile],
            max_concurrent_steps=slots,
            init_carry=np.int32(0),
        )(x_ref, o_ref)

    out = [OUT, ShapeDtypeStruct((1,), np.int32)]
    got, last = plgpu.kernel(kernel, out, interpret=CHECKED)(X)
    np.testing.assert_array_equal(got, 2 * X)
    assert last[0] == 12


@pytest.mark.parametrize("manual", [False, True])
def test_pipelines_with_a_thread_that_copies(manual):
    a, b = RNG.normal(size=(128, 256)).astype(F16), RNG.normal(size=(256, 64)).astype(F16)

    def step(place, a_block, b_block, *rest):
        *consumed, acc = rest
        wg = lax.axis_index("wg")
        plgpu.wgmma(acc, a_block.at[pl.ds(wg * 64, 64)], b_block)
        plgpu.wgmma_wait(0)
        for barrier in consumed:
            plgpu.barrier_arrive(barrier)
        return acc

    def kernel(a_ref, b_ref, o_ref):
        wg = lax.axis_index("wg")

        def with_accumulator(acc):
            def body(place, a_block, b_block, *rest):
                step(place, a_block, b_block, *rest, acc)

            plgpu.emit_pipeline_warp_specialized(
                body,
                grid=(4,),
                memory_registers=40,
                in_specs=[
                    plgpu.BlockSpec((128, 64), lambda k: (0, k)),
                    plgpu.BlockSpec((64, 64), lambda k: (k, 0)),
                ],
                wg_axis="wg",
                num_compute_wgs=2,
                manual_consumed_barriers=manual,
            )(a_ref, b_ref)
            return acc[...]

        total = pl.run_scoped(with_accumulator, plgpu.ACC((64, 64)))

        @pl.when(wg < 2)
        def _():
            o_ref[pl.ds(wg * 64, 64)] = total

    call = plgpu.kernel(
        kernel,
        ShapeDtypeStruct((128, 64), F32),
        num_threads=3,
        thread_name="wg",
        interpret=CHECKED,
    )
    wanted = a.astype(F32) @ b.astype(F32)
    np.testing.assert_allclose(call(a, b), wanted, rtol=1e-3, atol=1e-3)


def test_pipelines_with_a_thread_that_copies_back():
    tile = plgpu.BlockSpec((32, 128), lambda i: (i, 0))

    def body(place, x_block, o_block):
        rows = pl.ds(lax.axis_index("wg") * 16, 16)
        o_block[rows] = x_block[rows] + 1

    def kernel(x_ref, o_ref):
        plgpu.emit_pipeline_warp_specialized(
            body,
            grid=(4,),
            memory_registers=40,
            in_specs=[tile],
            out_specs=[tile],
            wg_axis="wg",
            num_compute_wgs=2,
        )(x_ref, o_ref)

    call = plgpu.kernel(kernel, OUT, num_threads=3, thread_name="wg", interpret=CHECKED)
    np.testing.assert_array_equal(call(X), X + 1)


@pytest.mark.parametrize("manual", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_sequences_of_pipelines(manual, shared):
    tile = plgpu.BlockSpec((32, 128), lambda i: (i, 0))
    states = plgpu.PipelinePipeline

    def pipeline(body, state):
        return plgpu.emit_pipeline_warp_specialized(
            body,
            grid=(4,),
            memory_registers=40,
            in_specs=[tile],
            out_specs=[tile],
            wg_axis="wg",
            num_compute_wgs=2,
            manual_consumed_barriers=manual,
            pipeline_state=state,
        )

    def kernel(x_ref, first_ref, second_ref, third_ref):
        def add(place, x_block, o_block, *consumed):
            rows = pl.ds(lax.axis_index("wg") * 16, 16)
            o_block[rows] = x_block[rows] + place[0]
            for barrier in consumed:
                plgpu.barrier_arrive(barrier)

        def run(**allocations):
            given = {"allocations": allocations} if shared else {}
            pipeline(add, states.START)(x_ref, first_ref, **given)
            pipeline(add, states.STEADY)(x_ref, second_ref, **given)
            pipeline(add, 2)(x_ref, third_ref, **given)

        made = pipeline(add, states.START).get_allocations(x_ref, first_ref) if shared else {}
        pl.run_scoped(run, **made, collective_axes="wg")

    call = plgpu.kernel(kernel, [OUT] * 3, num_threads=3, thread_name="wg", interpret=CHECKED)
    wanted = X + np.repeat(np.arange(4), 32)[:, None].astype(F32)
    for got in call(X):
        np.testing.assert_array_equal(got, wanted)
    with pytest.raises(ValueError, match="3 is not a valid PipelinePipeline"):
        pipeline(None, 3)


@pytest.mark.parametrize("tiling", [None, (1, 2)])
def test_grids_that_cores_share(tiling):
    def kernel(o_ref, steps_ref):
        number = lax.axis_index("i")

        @plgpu.nd_loop((3, 4), collective_axes="i", tiling=tiling, init_carry=np.int32(0))
        def count(info, carry):
            row, column = info.index
            o_ref[row, column] = number * 100 + info.local_index
            return carry + 1

        steps_ref[number] = count

    out = [ShapeDtypeStruct((3, 4), np.int32), ShapeDtypeStruct((5,), np.int32)]
    call = plgpu.kernel(kernel, out, grid=(5,), grid_names=("i",), interpret=True)
    got, steps = call()
    order = np.arange(12)
    wanted = order % 5 * 100 + order // 5
    if tiling is not None:
        wanted = wanted.reshape(3, 2, 1, 2).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(got, wanted.reshape(3, 4))
    np.testing.assert_array_equal(steps, [3, 3, 2, 2, 2])
    with pytest.raises(ValueError, match="do not fill a grid"):
        plgpu.nd_loop((3, 4), collective_axes="i", tiling=(2, 2))


def test_snakes_and_swizzles():
    def order(shape, minor, width):
        steps = range(shape[0] * shape[1])
        return [
            tuple(map(int, plgpu.planar_snake(np.int32(i), shape, minor, width))) for i in steps
        ]

    # The order of jax 0.10.2.
    assert order((3, 5), 1, 2)[6:] == [
        *[(2, 2), (2, 3), (1, 2), (1, 3), (0, 2), (0, 3), (0, 4), (1, 4), (2, 4)]
    ]
    assert order((3, 4), 0, 2)[7:] == [(1, 3), (2, 3), (2, 2), (2, 1), (2, 0)]
    assert [plgpu.find_swizzle(bits) for bits in (128, 256, 512, 1024, 1536)] == [
        *[16, 32, 64, 128, 64]
    ]
    with pytest.raises(ValueError, match="No valid out swizzle for x: minor dimension has 100"):
        plgpu.find_swizzle(100, what="x")


def test_dynamic_work_scheduling():
    def kernel(o_ref):
        @plgpu.dynamic_scheduling_loop(("i",), thread_axis="wg", init_carry=np.int32(5))
        def total(info, carry):
            o_ref[info.index[0], lax.axis_index("wg")] = carry + info.local_index
            return carry + 1

        del total

    out = ShapeDtypeStruct((3, 2), np.int32)
    call = plgpu.kernel(
        kernel,
        out,
        grid=(3,),
        grid_names=("i",),
        num_threads=2,
        thread_name="wg",
        interpret=CHECKED,
    )
    np.testing.assert_array_equal(call(), np.full((3, 2), 5))


def test_buffers_that_share_memory():
    def kernel(x_ref, o_ref, union):
        first, (second,) = union
        first[...] = x_ref[...]
        o_ref[...] = first[...]
        second[...] = x_ref[pl.ds(0, 64)] + 1
        o_ref[pl.ds(0, 64)] = second[...]

    union = plgpu.RefUnion(plgpu.SMEM((128, 128), F32), [plgpu.SMEM((64, 128), F32)])
    assert union.memory_space is plgpu.SMEM
    assert (union.shape, union.dtype) == ((4 * 128 * 128,), np.int8)
    assert union.get_array_aval().shape == union.shape
    call = plgpu.kernel(kernel, OUT, scratch_types=[union], interpret=CHECKED)
    wanted = X.copy()
    wanted[:64] += 1
    np.testing.assert_array_equal(call(X), wanted)
