# SPDX-License-Identifier: Apache-2.0
"""Kernels of warpgroups on simulated threads: copies, barriers, products, pipelines, clusters."""

from __future__ import annotations

import contextlib

import ml_dtypes
import numpy as np
import pytest

import olympus_numpy as jnp
import olympus_pallas as pl
from olympus_ir import ShapeDtypeStruct, lax, make_olympuspr
from olympus_ir.types.placement import PartitionSpec as P
from olympus_pallas import mosaic_gpu as plgpu
from olympus_pallas import tpu
from olympus_sharding import Mesh, shard_map
from olympus_xla import jit
from olympus_xla.calls.effect_tokens import barrier as effects_barrier

F32, F16 = np.dtype(np.float32), np.dtype(np.float16)
CHECKED = tpu.InterpretParams(detect_races=True)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(128, 128)).astype(F32)
OUT = ShapeDtypeStruct(X.shape, F32)
GRID = {"grid": (2,), "grid_names": ("i",)}


@contextlib.contextmanager
def failure(message):
    with pytest.raises(Exception, match=message):
        yield
    with contextlib.suppress(Exception):
        effects_barrier()


def add_one(x_ref, o_ref, block, arrived):
    rows = pl.ds(lax.axis_index("i") * 64, 64)
    plgpu.copy_gmem_to_smem(x_ref.at[rows], block, arrived)
    plgpu.barrier_wait(arrived)
    block[...] = block[...] + 1
    plgpu.commit_smem()
    plgpu.copy_smem_to_gmem(block, o_ref.at[rows])
    plgpu.wait_smem_to_gmem(0)


BLOCK = plgpu.SMEM((64, 128), F32)


@pytest.mark.parametrize("mode", ["on_wait", "eager"])
def test_copies_and_barriers(mode):
    params = tpu.InterpretParams(dma_execution_mode=mode, detect_races=True)
    call = plgpu.kernel(
        add_one, OUT, scratch_shapes=[BLOCK, plgpu.Barrier()], interpret=params, **GRID
    )
    np.testing.assert_array_equal(call(X), X + 1)
    np.testing.assert_array_equal(jit(call)(X), X + 1)
    text = str(make_olympuspr(call)(X))
    for part in ("copy_gmem_to_smem", "barrier_wait", "Ref<gmem>{f32[128,128]}", "barrier[1]"):
        assert part in text


def test_missing_wait_is_detected():
    def kernel(x_ref, o_ref, block, arrived):
        plgpu.copy_gmem_to_smem(x_ref, block, arrived)
        o_ref[...] = block[...]

    scratch = [plgpu.SMEM((128, 128), F32), plgpu.Barrier()]
    call = plgpu.kernel(kernel, OUT, scratch_types=scratch, interpret=True)
    assert np.isnan(call(X)).all()

    def late(x_ref, o_ref, arrived):
        plgpu.barrier_wait(arrived)

    with failure("all cores wait for one another"):
        plgpu.kernel(late, OUT, scratch_types=[plgpu.Barrier()], interpret=True)(
            X
        ).block_until_ready()


def test_kernels_are_not_compiled_for_gpus():
    call = plgpu.kernel(add_one, OUT, scratch_types=[BLOCK, plgpu.Barrier()], **GRID)
    with pytest.raises(NotImplementedError, match="and not compiled for GPUs here"):
        jit(call).trace(X).lower(lowering_platforms=("cuda",))
    with pytest.raises(ValueError, match="Only interpret mode"):
        call(X)
    with pytest.raises(ValueError, match="out_type and out_shape are names of one argument"):
        plgpu.kernel(add_one, OUT, out_type=OUT)


def test_copies_beyond_the_edge():
    def kernel(x_ref, o_ref, block, arrived):
        i = lax.axis_index("i")
        plgpu.copy_gmem_to_smem(x_ref.at[pl.ds(i * 96, 96)], block, arrived)
        plgpu.barrier_wait(arrived)
        plgpu.copy_smem_to_gmem(block, o_ref.at[pl.ds(i * 96, 96)], i >= 0, reduction_op=None)
        plgpu.wait_smem_to_gmem(0)

    scratch = [plgpu.SMEM((96, 128), F32), plgpu.Barrier()]
    call = plgpu.kernel(kernel, OUT, scratch_types=scratch, interpret=True, **GRID)
    np.testing.assert_array_equal(call(X), X)


def test_reductions_in_the_large_memory():
    ref = np.ones((64, 128), F32)

    def kernel(x_ref, start_ref, o_ref, block, arrived):
        @pl.when(lax.axis_index("i") == 0)
        def _():
            o_ref[...] = start_ref[...]

        meeting = pl.get_global(plgpu.SemaphoreType.REGULAR)
        plgpu.semaphore_signal(meeting)
        plgpu.semaphore_wait(meeting, 2, decrement=False, memory_scope="gpu")
        rows = pl.ds(lax.axis_index("i") * 64, 64)
        plgpu.copy_gmem_to_smem(x_ref.at[rows], block, arrived)
        plgpu.barrier_wait(arrived)
        plgpu.copy_smem_to_gmem(block, o_ref, reduction_op="add")
        plgpu.wait_smem_to_gmem(0)

    call = plgpu.kernel(
        kernel,
        ShapeDtypeStruct(ref.shape, F32),
        scratch_types=[BLOCK, plgpu.Barrier()],
        interpret=True,
        **GRID,
    )
    np.testing.assert_allclose(call(X, ref), 1 + X[:64] + X[64:], rtol=1e-6, atol=1e-6)


# ---- products ----


def test_products_of_warpgroups():
    a, b = RNG.normal(size=(2, 128, 128)).astype(F16)

    def kernel(a_ref, b_ref, o_ref, a_block, b_block, arrived):
        plgpu.copy_gmem_to_smem(a_ref, a_block, arrived)
        plgpu.copy_gmem_to_smem(b_ref, b_block, arrived)
        plgpu.barrier_wait(arrived)

        def body(acc):
            plgpu.wgmma(acc, a_block, b_block)
            plgpu.wgmma(acc, a_block[...], plgpu.transpose_ref(b_block, (1, 0)))
            plgpu.wgmma_wait(0)
            return acc[...], plgpu.wgmma_accumulator_load(acc)

        total, again = pl.run_scoped(body, plgpu.ACC((128, 128), F32))
        o_ref[...] = (total + again) / 2

    tiled = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
    scratch = [plgpu.SMEM((128, 128), F16, transforms=tiled)] * 2
    call = plgpu.kernel(
        kernel, OUT, scratch_types=[*scratch, plgpu.Barrier(num_arrivals=2)], interpret=CHECKED
    )
    wide_a, wide_b = a.astype(F32), b.astype(F32)
    np.testing.assert_allclose(call(a, b), wide_a @ wide_b + wide_a @ wide_b.T, rtol=1e-3)


def test_accumulators_with_initial_values():
    def kernel(x_ref, o_ref):
        start = plgpu.ACC.init(x_ref[...] * 2)
        o_ref[...] = pl.run_scoped(lambda acc: acc[...], start)

    np.testing.assert_array_equal(plgpu.kernel(kernel, OUT, interpret=True)(X), 2 * X)


def test_mismatched_wgmma_operands_raise():
    def kernel(x_ref, o_ref, block):
        pl.run_scoped(lambda acc: plgpu.wgmma(acc, block, block), plgpu.ACC((64, 64)))

    call = plgpu.kernel(kernel, OUT, scratch_types=[BLOCK], interpret=True)
    with pytest.raises(ValueError, match="they do not fit together"):
        call(X)


def test_products_of_tensor_memory():
    a, b = RNG.normal(size=(2, 128, 128)).astype(F16)

    def kernel(a_ref, b_ref, o_ref, a_block, b_block, total, copied, computed):
        plgpu.copy_gmem_to_smem(a_ref, a_block, copied)
        plgpu.copy_gmem_to_smem(b_ref, b_block, copied)
        plgpu.barrier_wait(copied)
        plgpu.tcgen05_mma(total, a_block, b_block, computed.at[0], accumulate=False)
        plgpu.barrier_wait(computed.at[0])
        plgpu.tcgen05_mma(total, a_block, b_block)
        plgpu.tcgen05_commit_arrive(computed.at[1])
        plgpu.barrier_wait(computed.at[1])
        value = plgpu.async_load_tmem(total, layout=plgpu.Layout.TCGEN05)
        plgpu.wait_load_tmem()
        plgpu.async_store_tmem(total, value + 1)
        plgpu.commit_tmem()
        o_ref[...] = plgpu.layout_cast(plgpu.load(total, ()), plgpu.Layout.WGMMA)

    scratch = [
        *[plgpu.SMEM((128, 128), F16)] * 2,
        plgpu.TMEM((128, 128), F32, packed=False),
        plgpu.Barrier(num_arrivals=2),
        plgpu.Barrier(num_barriers=2, orders_tensor_core=True),
    ]
    call = plgpu.kernel(kernel, OUT, scratch_types=scratch, interpret=True)
    wanted = 2 * a.astype(F32) @ b.astype(F32) + 1
    np.testing.assert_allclose(call(a, b), wanted, rtol=1e-3, atol=1e-3)


def in_tiles(scales):
    """Orders scales as the memory of `async_copy_scales_to_tmem` holds them."""
    rows, columns = scales.shape
    split = scales.reshape(rows // 128, 4, 32, columns // 4, 4).transpose(0, 3, 2, 1, 4)
    return split.reshape(rows // 128, columns // 4, 32, 16)


@pytest.mark.parametrize("block", [16, 32])
def test_products_with_scales(block):
    m, n, k = 256, 128, 128
    kind = ml_dtypes.float8_e8m0fnu if block == 32 else ml_dtypes.float8_e4m3fn
    a = RNG.normal(size=(m, k)).astype(ml_dtypes.float8_e5m2)
    b = RNG.normal(size=(k, n)).astype(ml_dtypes.float8_e5m2)
    a_scale = (2.0 ** RNG.integers(-3, 3, (m, k // block))).astype(kind)
    b_scale = (2.0 ** RNG.integers(-3, 3, (n, k // block))).astype(kind)

    def kernel(a_ref, b_ref, a_tiles_ref, b_tiles_ref, o_ref, *scratch):
        total, a_scales, b_scales, a_block, b_block, a_tiles, b_tiles, arrived, computed = scratch
        for source, target in ((a_ref, a_block), (b_ref, b_block)):
            plgpu.copy_gmem_to_smem(source, target, arrived)
        for source, target in ((a_tiles_ref, a_tiles), (b_tiles_ref, b_tiles)):
            plgpu.copy_gmem_to_smem(source, target, arrived)
        plgpu.barrier_wait(arrived)
        plgpu.async_copy_scales_to_tmem(a_tiles, a_scales)
        plgpu.async_copy_scales_to_tmem(b_tiles, b_scales)
        options = {"a_scale": a_scales, "b_scale": b_scales, "accumulate": False}
        plgpu.tcgen05_mma(total, a_block, b_block, computed, **options)
        plgpu.barrier_wait(computed)
        o_ref[...] = plgpu.async_load_tmem(total)
        with pytest.raises(ValueError, match="given together"):
            plgpu.tcgen05_mma(total, a_block, b_block, computed, a_scale=a_scales)
        with pytest.raises(ValueError, match="b_scale has a scale for each block"):
            plgpu.tcgen05_mma(total, a_block, b_block, a_scale=a_scales, b_scale=a_scales)
        with pytest.raises(ValueError, match="copies tiles of shape"):
            plgpu.async_copy_scales_to_tmem(b_tiles, a_scales)

    layout = plgpu.TMEMLayout.SCALES_LAYOUT
    scratch = [
        plgpu.TMEM((m, n), F32),
        *[plgpu.TMEM(each.shape, kind, layout=layout) for each in (a_scale, b_scale)],
        *[plgpu.SMEM(each.shape, a.dtype) for each in (a, b)],
        *[plgpu.SMEM(in_tiles(each).shape, kind) for each in (a_scale, b_scale)],
        plgpu.Barrier(num_arrivals=4),
        plgpu.Barrier(orders_tensor_core=True),
    ]
    out = ShapeDtypeStruct((m, n), F32)
    call = plgpu.kernel(kernel, out, scratch_types=scratch, interpret=True)
    left = a.astype(F32).reshape(m, -1, block) * a_scale.astype(F32)[..., None]
    right = b.T.astype(F32).reshape(n, -1, block) * b_scale.astype(F32)[..., None]
    wanted = left.reshape(m, k) @ right.reshape(n, k).T
    got = call(a, b, in_tiles(a_scale), in_tiles(b_scale))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.float8_e5m2])
def test_products_with_sparse_factors(dtype):
    m, n, k = 256, 128, 256
    stored = RNG.normal(size=(m, k // 2)).astype(dtype)
    b = RNG.normal(size=(k, n)).astype(dtype)
    places = np.sort(RNG.permuted(np.tile(np.arange(4), (m, k // 4, 1)), axis=2)[..., :2])
    whole = np.zeros((m, k // 4, 4), F32)
    np.put_along_axis(whole, places, stored.astype(F32).reshape(m, k // 4, 2), 2)
    metadata = plgpu.format_tcgen05_sparse_metadata(
        jnp.asarray(places.astype(ml_dtypes.uint2)), dtype
    )

    def kernel(a_ref, b_ref, metadata_ref, o_ref, total, held, a_block, b_block, tiles, *barriers):
        arrived, computed = barriers
        for source, target in ((a_ref, a_block), (b_ref, b_block), (metadata_ref, tiles)):
            plgpu.copy_gmem_to_smem(source, target, arrived)
        plgpu.barrier_wait(arrived)
        plgpu.async_copy_sparse_metadata_to_tmem(tiles, held)
        plgpu.tcgen05_mma(
            total, a_block, b_block, computed, a_sparse_metadata=held, accumulate=False
        )
        plgpu.barrier_wait(computed)
        o_ref[...] = plgpu.async_load_tmem(total)
        with pytest.raises(ValueError, match="the shape of the stored elements"):
            plgpu.tcgen05_mma(total, b_block, a_block, a_sparse_metadata=held.at[:128])
        with pytest.raises(ValueError, match="not simulated"):
            plgpu.async_copy_sparse_metadata_to_tmem(tiles, held, collective_axis="x")

    layout = plgpu.TMEMLayout.SPARSE_METADATA_LAYOUT
    scratch = [
        plgpu.TMEM((m, n), F32),
        plgpu.TMEM((m, k // 2), ml_dtypes.uint2, layout=layout),
        *[plgpu.SMEM(each.shape, dtype) for each in (stored, b)],
        plgpu.SMEM(metadata.shape, ml_dtypes.uint2),
        plgpu.Barrier(num_arrivals=3),
        plgpu.Barrier(orders_tensor_core=True),
    ]
    out = ShapeDtypeStruct((m, n), F32)
    call = plgpu.kernel(kernel, out, scratch_types=scratch, interpret=True)
    wanted = whole.reshape(m, k) @ b.astype(F32)
    np.testing.assert_allclose(call(stored, b, metadata), wanted, rtol=1e-3, atol=1e-2)


# ---- functions of the machine ----


def test_inlined_functions_read_and_write_arrays():
    layout = plgpu.Layout.WG_STRIDED((8,), 1)
    returned = plgpu.ShapeDtypeStruct((8,), F32, layout)

    @plgpu.inline_mgpu(
        arg_types=({"x": plgpu.RefType(), "scale": layout},), return_type=[returned, returned]
    )
    def scale(thread, arguments):
        x_ref, factor = arguments["x"], arguments["scale"]
        assert isinstance(factor, np.ndarray)
        before = np.asarray(x_ref)
        x_ref[2:] = x_ref[2:] * factor[2:]
        return [before, x_ref[...]]

    @plgpu.inline_mgpu(arg_types=(plgpu.RefType(),))
    def clear(thread, x_ref):
        x_ref[0] = thread.places["i"]

    def kernel(x_ref, old_ref, new_ref, block):
        block[...] = x_ref[...]
        old, new = scale({"x": block, "scale": x_ref[...] + 1})
        block[...] = new
        assert clear(block.at[4:]) is None
        rows = lax.axis_index("i")
        old_ref[rows], new_ref[rows] = old, block[...]

    x = np.arange(8, dtype=F32)
    out = [ShapeDtypeStruct((2, 8), F32)] * 2
    call = plgpu.kernel(
        kernel, out, scratch_types=[plgpu.SMEM((8,), F32)], interpret=CHECKED, **GRID
    )
    old, new = call(x)
    np.testing.assert_array_equal(old, [x, x])
    scaled = np.where(np.arange(8) < 2, x, x * (x + 1))
    wanted = np.stack([scaled, scaled])
    wanted[:, 4] = [0, 1]
    np.testing.assert_array_equal(new, wanted)


def test_inlined_functions_with_other_types():
    out = ShapeDtypeStruct((8,), F32)
    returned = plgpu.ShapeDtypeStruct((8,), F32, plgpu.Layout.WG_STRIDED((8,), 1))
    x = np.arange(8, dtype=F32)

    def run(function, *arguments, arg_type=None):
        arg_type = arg_type or plgpu.RefType()
        inlined = plgpu.inline_mgpu(arg_types=(arg_type,), return_type=returned)(function)

        def kernel(x_ref, o_ref):
            o_ref[...] = inlined(*[read(x_ref) for read in arguments])

        call = plgpu.kernel(kernel, out, interpret=True)
        return np.asarray(call(x))

    with pytest.raises(ValueError, match="of the structure of its arg_types"):
        run(lambda thread, x: x[...])
    with pytest.raises(ValueError, match="takes a reference for RefType"):
        run(lambda thread, x: x[...], lambda ref: ref[...])
    with pytest.raises(ValueError, match="takes an array for Layout.WGMMA"):
        run(lambda thread, x: x, lambda ref: ref, arg_type=plgpu.Layout.WGMMA)
    with failure("but its return_type says"):
        run(lambda thread, x: x[:4], lambda ref: ref)
    with failure("but its return_type is"):
        run(lambda thread, x: None, lambda ref: ref)


def test_print_layout_prints_while_tracing(capsys):
    def kernel(x_ref, o_ref, total):
        plgpu.print_layout("x: {}", x_ref[...])
        plgpu.print_layout("total has the layout {}", total)
        o_ref[...] = x_ref[...]

    plgpu.kernel(kernel, OUT, scratch_types=[plgpu.TMEM((128, 64), F32)], interpret=True)(X)
    printed = capsys.readouterr().out
    assert printed == "x: unsplit float32[128,128]\ntotal has the layout unsplit float32[128,64]\n"


def test_kernels_of_tensors():
    torch = pytest.importorskip("torch")

    def kernel(x_ref, y_ref, o_ref, p_ref):
        o_ref[...] = x_ref[...] + y_ref[...]
        p_ref[...] = x_ref[...] * y_ref[...]

    out = [ShapeDtypeStruct((8,), np.int32)] * 2
    call = plgpu.as_torch_kernel(plgpu.kernel(kernel, out, interpret=True))
    x = torch.arange(8, dtype=torch.int32)
    total, product = call(x, x + 1)
    assert torch.equal(total, 2 * x + 1)
    assert torch.equal(product, x * (x + 1))
    with pytest.raises(TypeError, match="takes tensors of PyTorch, got 1 of type int"):
        call(1)


# ---- threads ----


def test_threads_of_a_block():
    def kernel(x_ref, o_ref, block, copied, read):
        @pl.when(lax.axis_index("wg") == 0)
        def _():
            plgpu.set_max_registers(40, action="decrease")
            for step in range(2):
                if step:
                    plgpu.barrier_wait(read)
                plgpu.copy_gmem_to_smem(x_ref.at[pl.ds(step * 64, 64)], block, copied)

        @pl.when(lax.axis_index("wg") == 1)
        def _():
            for step in range(2):
                plgpu.barrier_wait(copied)
                o_ref[pl.ds(step * 64, 64)] = block[...] * 2
                plgpu.barrier_arrive(read)

    call = plgpu.kernel(
        kernel,
        OUT,
        scratch_types=[BLOCK, plgpu.Barrier(), plgpu.Barrier()],
        num_threads=2,
        thread_name="wg",
        interpret=CHECKED,
    )
    np.testing.assert_array_equal(call(X), 2 * X)
    with pytest.raises(ValueError, match="a multiple of 8, got 41"):
        plgpu.set_max_registers(41, action="decrease")


def test_private_and_shared_buffers():
    def kernel(o_ref):
        def body(shared, own, meeting):
            number = lax.axis_index("wg")
            own[0] = number
            shared[number] = own[0] * 10
            plgpu.barrier_arrive(meeting)
            plgpu.barrier_wait(meeting)

            @pl.when(number == 0)
            def _():
                o_ref[...] = shared[...]

        def scoped(shared, meeting):
            pl.run_scoped(lambda own: body(shared, own, meeting), plgpu.SMEM((1,), np.int32))

        pl.run_scoped(
            scoped,
            plgpu.SMEM((2,), np.int32),
            plgpu.Barrier(num_arrivals=2),
            collective_axes="wg",
        )

    out = ShapeDtypeStruct((2,), np.int32)
    call = plgpu.kernel(kernel, out, num_threads=2, thread_name="wg", interpret=CHECKED)
    np.testing.assert_array_equal(call(), [0, 10])


def test_warps_run_the_function_with_their_index():
    def kernel(o_ref, block):
        @pl.core_map(plgpu.WarpMesh(axis_name="warp"))
        def _():
            warp = lax.axis_index("warp")
            block[warp] = warp + 1

        plgpu.warp_map(lambda warp: block.at[warp].set(block[warp] * 2))
        o_ref[...] = block[...]

    out = ShapeDtypeStruct((4,), np.int32)
    call = plgpu.kernel(kernel, out, scratch_types=[plgpu.SMEM((4,), np.int32)], interpret=True)
    np.testing.assert_array_equal(call(), [2, 4, 6, 8])


def test_barrier_tests_do_not_wait():
    def kernel(o_ref, barrier):
        o_ref[0] = plgpu.barrier_test(barrier).astype(np.int32)
        plgpu.barrier_arrive(barrier)
        o_ref[1] = plgpu.barrier_test(barrier).astype(np.int32)
        plgpu.barrier_wait(barrier)
        o_ref[2] = plgpu.barrier_test(barrier).astype(np.int32)

    out = ShapeDtypeStruct((3,), np.int32)
    call = plgpu.kernel(kernel, out, scratch_types=[plgpu.Barrier()], interpret=True)
    np.testing.assert_array_equal(call(), [0, 1, 0])


def test_atomic_updates_combine_threads():
    def kernel(x_ref, sum_ref, max_ref, or_ref):
        @pl.when(lax.axis_index("i") == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)
            max_ref[...] = jnp.zeros_like(max_ref)
            or_ref[...] = jnp.zeros_like(or_ref)

        meeting = pl.get_global(plgpu.SemaphoreType.REGULAR)
        pl.semaphore_signal(meeting)
        pl.semaphore_wait(meeting, 4, decrement=False)
        value = x_ref[lax.axis_index("i")]
        plgpu.atomic_add(sum_ref, value)
        plgpu.atomic_max(max_ref, value)
        plgpu.atomic_or(or_ref, value)

    values = np.arange(32, dtype=np.int32).reshape(4, 8)
    out = [ShapeDtypeStruct((8,), np.int32)] * 3
    call = plgpu.kernel(kernel, out, grid=(4,), grid_names=("i",), interpret=CHECKED)
    total, most, bits = call(values)
    np.testing.assert_array_equal(total, values.sum(0))
    np.testing.assert_array_equal(most, values.max(0))
    np.testing.assert_array_equal(bits, np.bitwise_or.reduce(values, 0))


# ---- clusters ----

CLUSTER = {"cluster": (2,), "cluster_names": ("c",), "interpret": CHECKED}


def test_blocks_of_a_cluster():
    def kernel(x_ref, o_ref, block, copied, meeting):
        number = lax.axis_index("c")
        plgpu.copy_gmem_to_smem(x_ref.at[pl.ds(number * 64, 64)], block, copied)
        plgpu.barrier_wait(copied)
        plgpu.barrier_arrive(meeting)
        plgpu.barrier_wait(meeting)
        other = plgpu.cluster_ref(block, {"c": 1 - number})
        o_ref[pl.ds(number * 64, 64)] = other[...]

    scratch = [BLOCK, plgpu.Barrier(), plgpu.ClusterBarrier(collective_axes=("c",))]
    call = plgpu.kernel(kernel, OUT, scratch_types=scratch, **CLUSTER)
    np.testing.assert_array_equal(call(X), np.roll(X, 64, axis=0))


def test_stores_to_blocks_of_a_cluster():
    def kernel(x_ref, o_ref, block, stored):
        number = lax.axis_index("c")
        rows = pl.ds(number * 64, 64)
        plgpu.async_store_smem(x_ref[rows], block, stored, cluster_idx=1 - number, cluster_dim="c")
        plgpu.barrier_wait(stored)
        o_ref[rows] = block[...]

    call = plgpu.kernel(kernel, OUT, scratch_types=[BLOCK, plgpu.Barrier()], **CLUSTER)
    np.testing.assert_array_equal(call(X), np.roll(X, 64, axis=0))


# ---- several devices ----


def test_remote_references_reach_other_devices(devices):
    if len(devices) < 4:
        pytest.skip("needs four devices")
    mesh = Mesh(np.array(devices[:4]), ("x",))

    def kernel(x_ref, o_ref, sum_ref):
        here = lax.axis_index("x")
        right = lax.rem(here + 1, 4)
        arrived = pl.get_global(plgpu.SemaphoreType.REGULAR)
        there = plgpu.remote_ref(o_ref, right, pl.DeviceIdType.LOGICAL)
        there[...] = x_ref[...]
        plgpu.semaphore_signal_parallel(
            plgpu.SemaphoreSignal(arrived, device_id={"x": right}),
            plgpu.SemaphoreSignal(arrived, device_id=None),
        )
        plgpu.semaphore_signal_multicast(arrived, collective_axes="x")
        plgpu.semaphore_wait(arrived, 6)
        sum_ref[...] = plgpu.multimem_load_reduce(x_ref, collective_axes="x", reduction_op="add")

    block = ShapeDtypeStruct((8,), F32)
    call = plgpu.kernel(kernel, [block, block], interpret=CHECKED)
    mapped = shard_map(
        lambda x: tuple(call(x)), mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False
    )
    x = np.arange(32, dtype=F32)
    moved, total = mapped(x)
    np.testing.assert_array_equal(moved, np.roll(x, 8))
    np.testing.assert_array_equal(total, np.tile(x.reshape(4, 8).sum(0), 4))

    def store(x_ref, o_ref):
        @pl.when(lax.axis_index("x") == 2)
        def _():
            plgpu.multimem_store(x_ref[...], o_ref, "x")

    stored = shard_map(
        plgpu.kernel(store, block, interpret=True),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
        check_vma=False,
    )
    np.testing.assert_array_equal(stored(x), np.tile(x[16:24], 4))

    def copy(x_ref, o_ref, block):
        @pl.when(lax.axis_index("x") == 1)
        def _():
            block[...] = x_ref[...]
            plgpu.commit_smem()
            plgpu.copy_smem_to_gmem(block, plgpu.multicast_ref(o_ref, "x").at[...])
            plgpu.wait_smem_to_gmem(0)

    copied = shard_map(
        plgpu.kernel(copy, block, scratch_types=[plgpu.SMEM((8,), F32)], interpret=True),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
        check_vma=False,
    )
    np.testing.assert_array_equal(copied(x), np.tile(x[8:16], 4))


# ---- types ----


def test_tilings_map_shapes_and_strides():
    tiling = plgpu.Tiling(((8, 64), (2, 32)))
    assert tiling.tile_shape((16, 128)) == (2, 2, 4, 2, 2, 32)
    assert tiling.untile_shape((2, 2, 4, 2, 2, 32)) == (16, 128)
    assert tiling.tile_strides((128, 1)) == (1024, 64, 256, 32, 128, 1)
    assert tiling.tile_dimension(0) == (True, False, True, False, True, False)
    assert str(tiling.remove_dimension(0)) == "Tiling((64,)(32,))"
    array = np.arange(16 * 128).reshape(16, 128)
    flat = array.reshape(2, 8, 2, 64).transpose(0, 2, 1, 3)
    flat = flat.reshape(2, 2, 4, 2, 2, 32).transpose(0, 1, 2, 4, 3, 5)
    for place in ((9, 70), (3, 127), (15, 0)):
        where = tiling.tile_indices(place)
        assert flat[where] == array[place]
        assert tiling.untile_indices(where) == place
    simple = plgpu.Tiling(((8, 64),))
    wanted = (((2,), (2,), (8,), (64,)), ((1024,), (64,), (128,), (1,)))
    assert simple.tile_nested_shape_strides(((16,), (128,)), ((128,), (1,))) == wanted
    assert simple.tile_nested_shape_strides(((2, 8), (128,)), ((1024, 128), (1,))) == wanted
    assert plgpu.Tiling(((8, 64), (1, 64))).canonicalize() == simple
    with pytest.raises(ValueError, match="does not apply to shape"):
        simple.tile_shape((15, 128))
    with pytest.raises(ValueError, match="decreasing rank"):
        plgpu.Tiling(((64,), (2, 32)))


def test_views_show_a_buffer_in_tiles():
    def kernel(x_ref, o_ref, block):
        block[...] = x_ref[...]
        tiles = plgpu.transform_ref(block, plgpu.TilingTransform((8, 64)))
        assert tiles.shape == (16, 2, 8, 64)
        tiles[1, 1] = jnp.zeros((8, 64), F32)
        plain = plgpu.transform_ref(block, plgpu.SwizzleTransform(128))
        o_ref[...] = plain[...]

    scratch = [plgpu.SMEM((128, 128), F32)]
    got = np.asarray(plgpu.kernel(kernel, OUT, scratch_types=scratch, interpret=True)(X))
    wanted = X.copy()
    wanted[8:16, 64:] = 0
    np.testing.assert_array_equal(got, wanted)
    with pytest.raises(ValueError, match="Only 32, 64 and 128 are accepted"):
        plgpu.SwizzleTransform(16)


def test_meshes_and_parameters():
    mesh = plgpu.Mesh(grid=(2,), grid_names=("i",), num_threads=2, thread_name="wg")
    assert dict(mesh.shape) == {"i": 2, "wg": 2}
    assert (mesh.core_type, mesh.default_memory_space) == ("gpu", plgpu.GMEM)
    for arguments, message in (
        ({"grid": (2,)}, "grid_names must have the same length as grid"),
        ({"num_threads": 2}, "must be either both set or both None"),
        ({"num_threads": 17, "thread_name": "t"}, "At most 16 are supported"),
    ):
        with pytest.raises(ValueError, match=message):
            plgpu.Mesh(**arguments)
    with pytest.raises(ValueError, match="Barriers are not arrays"):
        plgpu.Barrier().get_array_aval()
    with pytest.raises(ValueError, match="belong to buffers in TMEM"):
        plgpu.SMEM((8,), F32, packed=True)
    assert plgpu.SMEM.like(X).shape == X.shape
    assert plgpu.CompilerParams().replace(approx_math=True).approx_math
    assert plgpu.SemaphoreType.REGULAR((2,)).shape == (2,)


def places_of_sparse_elements(dtype):
    """Returns the number of the input for each number of the result; the dtype holds two bits."""
    numbers, total = np.arange(256 * 64 * 2).reshape(256, 64, 2), 0
    for digit in range(8):
        part = (numbers // 4**digit % 4).astype(ml_dtypes.uint2)
        ordered = plgpu.format_tcgen05_sparse_metadata(jnp.asarray(part), dtype)
        total = total + np.asarray(ordered).astype(np.int64) * 4**digit
    return total


def test_metadata_of_sparse_factors():
    halves = places_of_sparse_elements(np.float16)
    some = ((0, 0, 0, 9), (0, 1, 5, 33), (1, 0, 77, 63), (1, 1, 127, 1), (0, 0, 64, 20))
    # The order of jax 0.10.2.
    assert [halves[place] for place in some] == [1025, 737, 26303, 31689, 8212]
    assert len(np.unique(halves)) == halves.size
    rows, columns = np.divmod(np.arange(256 * 128).reshape(256, 128), 128)
    tiles = (rows * 128 + columns).reshape(2, 128, 2, 64).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(places_of_sparse_elements(np.int8), tiles)
    zeros = jnp.zeros((128, 32, 2), ml_dtypes.uint2)
    with pytest.raises(ValueError, match="trailing dimension of the metadata to be 2, got: 1"):
        plgpu.format_tcgen05_sparse_metadata(zeros[..., :1], np.float16)
    with pytest.raises(ValueError, match="dtype to be uint2, got: int8"):
        plgpu.format_tcgen05_sparse_metadata(zeros.astype(np.int8), np.float16)
    with pytest.raises(NotImplementedError, match="elements of 8 or 16 bits"):
        plgpu.format_tcgen05_sparse_metadata(zeros, np.float32)
