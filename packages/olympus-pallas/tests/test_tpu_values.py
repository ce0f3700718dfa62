# SPDX-License-Identifier: Apache-2.0
"""Packing, rounding, matrix units, random numbers, pipelines with buffers, and facts of TPUs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import olympus_numpy as jnp
import olympus_pallas as pl
from olympus_ir import ShapeDtypeStruct, lax, make_olympuspr
from olympus_pallas import tpu
from olympus_random import fold_in, key, key_data, normal, split, uniform
from olympus_xla import jit

F32 = np.dtype(np.float32)
BF16 = np.dtype(ml_dtypes.bfloat16)
MODES = [True, tpu.InterpretParams()]
SMEM = pl.BlockSpec(memory_space=tpu.SMEM)


def run(kernel, out, *args, interpret=True, **options):
    """Returns the interpreter's result; checks that the kernel can be lowered, too."""
    compiled = pl.pallas_call(kernel, out, **options)
    text = jit(compiled).trace(*args).lower(lowering_platforms=("tpu",)).as_text()
    assert "@tpu_custom_call" in text
    return np.asarray(pl.pallas_call(kernel, out, interpret=interpret, **options)(*args))


@pytest.mark.parametrize("interpret", MODES)
def test_packed_bfloat16_holds_both_operands(interpret):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = tpu.pack_elementwise([x_ref[...], y_ref[...]], packed_dtype=BF16)

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 8, 128)).astype(F32)
    got = run(kernel, ShapeDtypeStruct((8, 128), np.uint32), x, y, interpret=interpret)
    low, high = x.astype(BF16).view(np.uint16), y.astype(BF16).view(np.uint16)
    np.testing.assert_array_equal(got, low.astype(np.uint32) | high.astype(np.uint32) << 16)

    def unpack(p_ref, o_ref):
        o_ref[...] = tpu.unpack_elementwise(
            p_ref[...], index=1, packed_dtype=BF16, unpacked_dtype=F32
        )

    back = run(unpack, ShapeDtypeStruct((8, 128), F32), got, interpret=interpret)
    np.testing.assert_array_equal(back, y.astype(BF16).astype(F32))


@pytest.mark.parametrize("interpret", MODES)
def test_packed_int8_keeps_low_bits(interpret):
    parts = np.random.default_rng(0).integers(-200, 200, (4, 8, 128), dtype=np.int32)

    def kernel(x_ref, o_ref):
        o_ref[...] = tpu.pack_elementwise([x_ref[i] for i in range(4)], packed_dtype=np.int8)

    got = run(kernel, ShapeDtypeStruct((8, 128), np.uint32), parts, interpret=interpret)
    wanted = np.ascontiguousarray(np.moveaxis(parts.astype(np.int8), 0, -1)).view(np.uint32)
    np.testing.assert_array_equal(got, wanted[..., 0])
    for dtype in (np.int8, np.uint8):

        def unpack(p_ref, o_ref, dtype=dtype):
            o_ref[...] = tpu.unpack_elementwise(
                p_ref[...], index=2, packed_dtype=dtype, unpacked_dtype=np.int32
            )

        back = run(unpack, ShapeDtypeStruct((8, 128), np.int32), got, interpret=interpret)
        np.testing.assert_array_equal(back, parts[2].astype(dtype))


def test_invalid_packing_raises():
    x = np.ones((8, 128), F32)
    with pytest.raises(ValueError, match="must match the packing factor \\(2\\), got 1"):
        tpu.pack_elementwise([x], packed_dtype=BF16)
    with pytest.raises(ValueError, match="Only f32 -> bf16 and int -> int are supported"):
        tpu.pack_elementwise([x] * 4, packed_dtype=np.int8)
    with pytest.raises(ValueError, match="Index 2 is out of bounds for packing factor 2"):
        tpu.unpack_elementwise(x.view(np.uint32), index=2, packed_dtype=BF16, unpacked_dtype=F32)
    with pytest.raises(ValueError, match="must be uint32 for stochastic_round, but got int32"):
        tpu.stochastic_round(x, x.astype(np.int32), target_dtype=BF16)


@pytest.mark.parametrize("interpret", MODES)
def test_stochastic_rounding_depends_on_the_bits(interpret):
    def kernel(x_ref, bits_ref, o_ref):
        o_ref[...] = tpu.stochastic_round(x_ref[...], bits_ref[...], target_dtype=BF16)

    rng = np.random.default_rng(0)
    x = np.full((64, 128), -1.0 - 0.25 / 128, F32)
    bits = rng.integers(0, 2**32, x.shape, np.uint32)
    out = ShapeDtypeStruct(x.shape, BF16)
    got = run(kernel, out, x, bits, interpret=interpret).astype(F32)
    assert set(np.unique(got)) == {np.float32(-1), np.float32(-1 - 1 / 128)}
    # The number lies a quarter of the way up, so a quarter of the results are rounded up, with a
    # standard deviation of 0.005.
    assert abs((got != -1).mean() - 0.25) < 0.03
    special = np.float32([[np.inf, -np.inf, np.nan, 0]])
    kept = tpu.stochastic_round(special, np.uint32([[2**32 - 1] * 4]), target_dtype=BF16)
    np.testing.assert_array_equal(np.asarray(kept).astype(F32), special)


@pytest.mark.parametrize(
    ("equation", "shape", "sizes", "wanted"),
    [
        ("(ab)c->abc", (8, 128), {"a": 2}, lambda x: x.reshape(2, 4, 128)),
        ("a(bc)->bac", (8, 256), {"b": 2}, lambda x: x.reshape(8, 2, 128).transpose(1, 0, 2)),
        ("abc->(ba)c", (2, 8, 128), {}, lambda x: x.transpose(1, 0, 2).reshape(16, 128)),
        ("ab->ba", (8, 128), {}, lambda x: x.T),
    ],
)
def test_einshape_equals_reshapes_and_transpositions(equation, shape, sizes, wanted):
    x = np.arange(np.prod(shape), dtype=F32).reshape(shape)

    def kernel(x_ref, o_ref):
        o_ref[...] = tpu.einshape(equation, x_ref[...], **sizes)

    got = run(kernel, ShapeDtypeStruct(wanted(x).shape, F32), x)
    np.testing.assert_array_equal(got, wanted(x))


def test_invalid_einshapes_raise():
    x = np.zeros((2, 12), F32)
    for equation, sizes, message in (
        ("ab", {}, "exactly one '->'"),
        ("abc->abc", {}, "has 3 groups but input has 2 dims"),
        ("a(bc)->abc", {}, "Ambiguous split for"),
        ("a(bc)->abc", {"b": 5}, "Cannot split size 12 with known sizes 5"),
        ("ab->ac", {}, "Unknown dimension c in RHS"),
        ("ab->a", {}, "must appear once on each side"),
    ):
        with pytest.raises(ValueError, match=message):
            tpu.einshape(equation, x, **sizes)
    with pytest.raises(ValueError, match="does not keep tiles together"):
        tpu.einshape("a(bc)->abc", x, assert_is_tile_preserving=True, b=2)


@pytest.mark.parametrize("interpret", MODES)
def test_matrix_units_accumulate_products(interpret):
    def kernel(x_ref, y_ref, o_ref):
        tpu.matmul_push_rhs(y_ref[...], 0, 0)
        tpu.matmul_acc_lhs(0, x_ref[...], 0, load_staged_rhs=0)
        tpu.matmul_acc_lhs(0, x_ref[...], 0)
        o_ref[...] = tpu.matmul_pop(0, (64, 256), F32, 0)

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(64, 256)).astype(F32), rng.normal(size=(256, 256)).astype(F32)
    got = run(kernel, ShapeDtypeStruct((64, 256), F32), x, y, interpret=interpret)
    np.testing.assert_allclose(got, 2 * x @ y, rtol=1e-4, atol=1e-4)


def test_matrix_units_are_used_in_order():
    def kernel(y_ref, o_ref):
        tpu.matmul_push_rhs(y_ref[...], 0, 0)
        tpu.matmul_push_rhs(y_ref[...], 0, 0)

    y = np.ones((256, 256), F32)
    with pytest.raises(Exception, match="staging register 0 of matrix unit 0 is not empty"):
        jit(pl.pallas_call(kernel, ShapeDtypeStruct((8, 128), F32), interpret=True))(
            y
        ).block_until_ready()


@pytest.mark.parametrize(
    ("sample", "mean", "deviation"),
    [
        (lambda shape: tpu.stateful_uniform(shape), 0.5, 12**-0.5),
        (lambda shape: tpu.stateful_normal(shape), 0, 1),
        (lambda shape: tpu.stateful_bernoulli(0.3, shape).astype(F32), 0.3, 0.21**0.5),
        (lambda shape: tpu.stateful_bits(shape) / np.float32(2**32), 0.5, 12**-0.5),
    ],
)
def test_samplers_of_a_core(sample, mean, deviation):
    def kernel(seed_ref, o_ref):
        tpu.prng_seed(seed_ref[0])
        o_ref[0] = sample((64, 128))
        o_ref[1] = sample((64, 128))

    out = ShapeDtypeStruct((2, 64, 128), F32)
    first, second = run(kernel, out, np.int32([7]), in_specs=[SMEM])
    assert (first != second).any()
    for numbers in (first, second):
        assert abs(numbers.mean() - mean) < 6 * deviation / numbers.size**0.5
        assert abs(numbers.std() - deviation) < 0.05


def test_blocks_of_one_array_of_random_numbers():
    total = (32, 256)

    def block(size, place, sampler=uniform):
        return np.asarray(tpu.sample_block(sampler, key(7), size, (8, 128), total, place))

    whole = block(total, (0, 0))
    np.testing.assert_array_equal(block((16, 128), (1, 1)), whole[16:, 128:])
    np.testing.assert_array_equal(block((8, 256), (2, 0)), whole[16:24])
    np.testing.assert_array_equal(whole[8:16, 128:], uniform(fold_in(key(7), 3), (8, 128)))
    # Samples of jax 0.10.2.
    np.testing.assert_allclose(
        block((16, 128), (1, 0))[0, :3], [0.29845166, 0.03397441, 0.25999618], rtol=1e-6
    )
    np.testing.assert_allclose(
        block((16, 128), (0, 1), normal)[0, :3], [0.4541335, 0.9391628, -0.26894313], rtol=1e-5
    )
    with pytest.raises(ValueError, match="consists of whole blocks"):
        tpu.sample_block(uniform, key(7), (12, 128), (8, 128), (24, 128), (0, 0))


def test_values_in_profiles():
    def kernel(x_ref, o_ref):
        tpu.trace_value("first", x_ref[0, 0])
        o_ref[...] = x_ref[...]

    x = np.ones((8, 128), F32)
    np.testing.assert_array_equal(run(kernel, ShapeDtypeStruct((8, 128), F32), x), x)
    call = pl.pallas_call(kernel, ShapeDtypeStruct((8, 128), F32))
    assert "trace_value[label=first]" in str(make_olympuspr(call)(x))


# ---- pipelines with buffers ----


@pytest.mark.parametrize("interpret", MODES)
def test_pipelines_that_share_buffers(interpret):
    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    pipeline, allocations = tpu.emit_pipeline_with_allocations(
        double, grid=(4,), in_specs=[rows], out_specs=[rows]
    )

    def kernel(x_ref, o_ref):
        def run_twice(made):
            assert [each.buffer_type for each in made] == [
                tpu.BufferType.INPUT,
                tpu.BufferType.OUTPUT,
            ]
            pipeline(x_ref, o_ref, allocations=made)
            pipeline(o_ref, o_ref, allocations=made)

        pl.run_scoped(run_twice, allocations(x_ref, o_ref))

    x = np.random.default_rng(0).normal(size=(32, 128)).astype(F32)
    whole = pl.BlockSpec(memory_space=pl.ANY)
    out = ShapeDtypeStruct(x.shape, F32)
    got = run(kernel, out, x, interpret=interpret, in_specs=[whole], out_specs=whole)
    np.testing.assert_array_equal(got, 4 * x)


@pytest.mark.parametrize("interpret", MODES)
def test_buffered_refs_with_explicit_copies(interpret):
    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    buffers = (
        tpu.BufferedRef.input(rows, F32),
        tpu.BufferedRef.output(rows, F32, buffer_count=3),
    )

    def kernel(x_ref, o_ref):
        def loop(source, target):
            source, target = source.initialize_slots(), target.initialize_slots()
            for step in range(4):
                place = (np.int32(step),)
                source.copy_in(x_ref, place)
                source = source.advance_copy_in_slot()
                source.wait_in(x_ref, place)
                target.current_ref[...] = source.current_ref[...] + step
                source = source.advance_wait_in_slot()
                target.copy_out(o_ref, place)
                target = target.advance_copy_out_slot()
                target.wait_out(o_ref, place)
                target = target.advance_wait_out_slot(step < 3)

        pl.run_scoped(loop, *buffers)

    x = np.zeros((32, 128), F32)
    whole = pl.BlockSpec(memory_space=pl.ANY)
    out = ShapeDtypeStruct(x.shape, F32)
    got = run(kernel, out, x, interpret=interpret, in_specs=[whole], out_specs=whole)
    np.testing.assert_array_equal(got[::8, 0], [0, 1, 2, 3])
    source, target = buffers
    assert (source.is_input, source.is_output, target.is_output) == (True, False, True)
    assert target.window_ref.shape == (3, 8, 128)
    with pytest.raises(ValueError, match="call initialize_slots"):
        _ = source.current_copy_in_slot


# ---- facts ----


def test_tpu_info_of_chips():
    v5e = tpu.get_tpu_info_for_chip(tpu.ChipVersion.TPU_V5E, 1)
    assert (v5e.generation, v5e.is_lite, v5e.is_split_chip, v5e.num_mxus) == (5, True, False, 4)
    assert v5e.is_matmul_supported(np.int8, np.int8)
    assert not v5e.is_matmul_supported(np.int8, F32)
    assert v5e.get_sublane_tiling(np.dtype(np.int8)) == 32
    v5p = tpu.get_tpu_info_for_chip(tpu.ChipVersion.TPU_V5P, 2)
    assert v5p.is_megacore
    assert v5p.sparse_core.num_subcores == 16
    assert tpu.Tiling.COMPACT.shape == (8, 128)
    with pytest.raises(ValueError, match="num_tensor_cores_per_logical_device=1, but got 2"):
        tpu.get_tpu_info_for_chip(tpu.ChipVersion.TPU_V6E, 2)
    with pytest.raises(ValueError, match="Unsupported TPU device kind: cpu"):
        tpu.get_tpu_info()


# ---- costs and choices ----


def test_estimates_count_operations_and_bytes():
    x = np.ones((8, 4), F32)
    cost = pl.estimate_cost(lambda x, y: jnp.exp(x @ y) + 1, x, x.T)
    assert (cost.flops, cost.transcendentals, cost.bytes_accessed) == (576, 64, 512)
    powers = [pl.estimate_cost(lambda x, p=p: lax.integer_pow(x, p), x).flops for p in (2, 7, 8)]
    assert powers == [64, 160, 128]
    loop = pl.estimate_cost(lambda x: lax.fori_loop(0, 9, lambda i, c: c * 2, x), x)
    assert (loop.flops, loop.bytes_accessed) == (0, 256)


@pytest.mark.parametrize("interpret", MODES)
@pytest.mark.parametrize("which", [0, 1, 9])
def test_select_ref_copies_the_chosen_reference(interpret, which):
    def kernel(which_ref, x_ref, y_ref, o_ref, arrived):
        chosen = pl.select_ref(which_ref[0], x_ref.at[pl.ds(0, 8)], y_ref.at[pl.ds(8, 8)])
        assert chosen.shape == (8, 128)
        tpu.async_copy(chosen.at[pl.ds(4, 4)], o_ref.at[pl.ds(0, 4)], arrived).wait()
        tpu.async_copy(chosen.at[pl.ds(0, 4)], o_ref.at[pl.ds(4, 4)], arrived).wait()

    x = np.arange(16 * 128, dtype=F32).reshape(16, 128)
    whole = pl.BlockSpec(memory_space=pl.ANY)
    got = run(
        kernel,
        ShapeDtypeStruct((8, 128), F32),
        *(np.int32([which]), x, -x),
        interpret=interpret,
        in_specs=[SMEM, whole, whole],
        out_specs=whole,
        scratch_shapes=[tpu.SemaphoreType.DMA],
    )
    chosen = -x[8:] if which else x[:8]
    np.testing.assert_array_equal(got, np.concatenate([chosen[4:], chosen[:4]]))


def test_poisoned_buffers_hold_nan(capsys):
    def kernel(x_ref, o_ref):
        def body(buffer):
            o_ref[...] = x_ref[...] + buffer[...]

        pl.run_scoped(body, tpu.VMEM((8, 128), F32))

    x = np.ones((8, 128), F32)
    call = pl.pallas_call(kernel, ShapeDtypeStruct((8, 128), F32), debug=True)
    jit(call).trace(x).lower(lowering_platforms=("tpu",))
    assert "0x7FC00000" not in capsys.readouterr().out
    with pl.enable_poison_buffers(True):
        jit(call).trace(x).lower(lowering_platforms=("tpu",))
    assert "0x7FC00000" in capsys.readouterr().out


def test_lower_as_mlir():
    call = pl.pallas_call(lambda x_ref, o_ref: None, ShapeDtypeStruct((8, 128), F32))
    assert "@tpu_custom_call" in pl.lower_as_mlir(call, np.ones((8, 128), F32))


@pytest.mark.parametrize("interpret", MODES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("mode", [None, "clip", "promise_in_bounds"])
def test_elements_along_one_dimension(interpret, axis, mode):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 128)).astype(F32)
    size = x.shape[axis]
    indices = rng.integers(0, size, x.shape, np.int32)

    def kernel(i_ref, x_ref, o_ref):
        o_ref[...] = jnp.take_along_axis(x_ref[...], i_ref[...], axis=axis, mode=mode)

    out = ShapeDtypeStruct(x.shape, F32)
    got = run(kernel, out, indices, x, interpret=interpret)
    np.testing.assert_array_equal(got, np.take_along_axis(x, indices, axis))
    if mode is None:
        beyond = indices + size * (indices == size - 1)
        got = run(kernel, out, beyond, x, interpret=interpret)
        wanted = np.where(indices == size - 1, np.nan, np.take_along_axis(x, indices, axis))
        np.testing.assert_array_equal(got, wanted)


def test_unsupported_gathers_raise_on_tpu():
    def kernel(i_ref, x_ref, o_ref):
        o_ref[...] = jnp.take(x_ref[...], i_ref[...], axis=0)

    call = pl.pallas_call(kernel, ShapeDtypeStruct((8, 128), F32))
    with pytest.raises(NotImplementedError, match="as jnp.take_along_axis does"):
        jit(call).trace(np.zeros(8, np.int32), np.ones((8, 128), F32)).lower(
            lowering_platforms=("tpu",)
        )


@pytest.mark.parametrize("interpret", MODES)
def test_keys_of_kernels(interpret):
    def kernel(key_ref, o_ref):
        key = key_ref[...]
        o_ref[0] = uniform(key, (64, 128))
        o_ref[1] = normal(fold_in(key, 3), (64, 128))

    kernel_key = tpu.to_pallas_key(key(0))
    # The key that jax 0.10.2 makes.
    np.testing.assert_array_equal(key_data(kernel_key), [[4070199207, 4202968722]])
    out = ShapeDtypeStruct((2, 64, 128), F32)
    first, second = run(kernel, out, kernel_key, interpret=interpret, in_specs=[SMEM])
    assert abs(first.mean() - 0.5) < 0.03
    assert abs(second.mean()) < 0.06
    again = run(kernel, out, kernel_key, interpret=interpret, in_specs=[SMEM])
    np.testing.assert_array_equal(again, [first, second])
    other = run(kernel, out, fold_in(kernel_key, 1), interpret=interpret, in_specs=[SMEM])
    assert (other[0] != first).mean() > 0.99
    with pytest.raises(NotImplementedError, match="Cannot split a Pallas key"):
        split(kernel_key)
    call = pl.pallas_call(kernel, out)
    with pytest.raises(ValueError, match="PRNG keys must be loaded from SMEM"):
        jit(call).trace(kernel_key).lower(lowering_platforms=("tpu",))
