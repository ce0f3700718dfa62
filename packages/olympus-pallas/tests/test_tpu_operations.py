# SPDX-License-Identifier: Apache-2.0
"""Operations of TPUs in the interpreter, scoped buffers, and rules of third parties."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_pallas as pl
from olympus_ir import ShapeDtypeStruct
from olympus_ir.programs.jit import jit
from olympus_pallas import tpu, triton
from olympus_pallas.lowerings.calls import register_lowering_rule
from olympus_xla.calls.effect_tokens import barrier as effects_barrier

F32 = np.dtype(np.float32)
X = np.arange(8 * 128, dtype=F32).reshape(8, 128)
OUT = ShapeDtypeStruct((8, 128), F32)


def run(kernel, *args, out=OUT, **options):
    return np.asarray(pl.pallas_call(kernel, out, interpret=True, **options)(*args))


@pytest.mark.parametrize(("shift", "axis"), [(3, 1), (2, 0), (0, 1), (130, 1)])
def test_roll_equals_numpy(shift, axis):
    def kernel(x_ref, o_ref):
        o_ref[...] = tpu.roll(x_ref[...], shift, axis)

    np.testing.assert_array_equal(run(kernel, X), np.roll(X, shift, axis))


def test_roll_by_more_in_each_row():
    def kernel(x_ref, o_ref):
        o_ref[...] = tpu.roll(x_ref[...], 2, 1, stride=1, stride_axis=0)

    wanted = [np.roll(row, 2 + number) for number, row in enumerate(X)]
    np.testing.assert_array_equal(run(kernel, X), wanted)


def test_invalid_rolls_raise():
    with pytest.raises(ValueError, match="shift must be non-negative, got -1"):
        tpu.roll(X, -1, 0)
    with pytest.raises(ValueError, match="axis 2 is out of range"):
        tpu.roll(X, 1, 2)
    with pytest.raises(ValueError, match="must be given together"):
        tpu.roll(X, 1, 0, stride=1)


def test_copies_arrive_before_wait_returns():
    def kernel(x_ref, o_ref, buffer, arrived):
        copy = tpu.make_async_copy(x_ref.at[pl.ds(2, 4), :], buffer, arrived)
        copy.start()
        copy.wait()
        tpu.sync_copy(buffer, o_ref.at[pl.ds(0, 4), :])
        tpu.sync_copy(x_ref.at[pl.ds(0, 4), :], o_ref.at[pl.ds(4, 4), :])

    scratch = [tpu.VMEM((4, 128), F32), tpu.SemaphoreType.DMA]
    got = run(kernel, X, scratch_shapes=scratch)
    np.testing.assert_array_equal(got, np.concatenate([X[2:6], X[:4]]))


def test_semaphores_count():
    def kernel(o_ref, semaphores):
        pl.semaphore_signal(semaphores.at[0], 5)
        pl.semaphore_wait(semaphores.at[0], 2)
        pl.semaphore_wait(semaphores.at[0], 1, decrement=False)
        o_ref[0] = pl.semaphore_read(semaphores.at[0])
        o_ref[1] = pl.semaphore_read(semaphores.at[1])

    out = ShapeDtypeStruct((2,), np.int32)
    got = run(kernel, out=out, scratch_shapes=[tpu.SemaphoreType.REGULAR((2,))])
    np.testing.assert_array_equal(got, [3, 0])


def test_run_scoped_returns_values_and_sees_program_id():
    def kernel(x_ref, o_ref):
        def body(buffer, count):
            buffer[...] = x_ref[...] * 2
            pl.semaphore_signal(count, pl.program_id(0))
            return buffer[...] + pl.semaphore_read(count)

        o_ref[...] = pl.run_scoped(body, tpu.VMEM((4, 128), F32), count=tpu.SemaphoreType.REGULAR)

    rows = pl.BlockSpec((4, 128), lambda i: (i, 0))
    got = run(kernel, X, grid=(2,), in_specs=[rows], out_specs=rows)
    np.testing.assert_array_equal(got, 2 * X + np.arange(8)[:, None] // 4)


def test_scoped_buffers_as_arguments_of_a_decorator():
    def kernel(x_ref, o_ref):
        @pl.with_scoped(tpu.VMEM((8, 128), F32))
        def body(factor, buffer):
            buffer[...] = x_ref[...] * factor
            o_ref[...] = buffer[...]

        body(3.0)

    np.testing.assert_array_equal(run(kernel, X), 3 * X)


def test_returning_a_scoped_reference_raises():
    def kernel(o_ref):
        pl.run_scoped(lambda buffer: buffer, tpu.VMEM((8, 128), F32))

    with pytest.raises(ValueError, match="returned a mutable array reference"):
        run(kernel)


def test_random_bits_of_a_core():
    def kernel(o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            tpu.prng_seed(3)

        bits = tpu.prng_random_bits((8, 128))
        o_ref[0] = bits

    out = ShapeDtypeStruct((2, 8, 128), np.int32)
    page = pl.BlockSpec((1, 8, 128), lambda i: (i, 0, 0))
    first, second = run(kernel, out=out, grid=(2,), out_specs=page)
    assert len(np.unique(first)) > 1000
    assert (first != second).mean() > 0.99
    again, _ = run(kernel, out=out, grid=(2,), out_specs=page)
    np.testing.assert_array_equal(first, again)


def test_messages_show_values_in_order(capfd):
    def kernel(x_ref, o_ref):
        pl.debug_print("first {}", x_ref[0, 1])
        pl.debug_print("second", x_ref[0, 2])

    pl.pallas_call(kernel, OUT, interpret=True)(X)[0].block_until_ready()
    printed = capfd.readouterr().out
    assert "first 1.0" in printed
    assert "second 2.0" in printed
    with pytest.raises(ValueError, match="2 placeholders, but debug_print was given 1 values"):
        pl.debug_print("{} {}", 1)


def test_all_kernels_interpreted():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    params = tpu.InterpretParams(dma_execution_mode="eager")
    with tpu.force_tpu_interpret_mode(params):
        np.testing.assert_array_equal(pl.pallas_call(kernel, OUT)(X), X + 1)
    with pytest.raises(ValueError, match="Only interpret mode"):
        pl.pallas_call(kernel, OUT)(X + 1)
    with pytest.raises(ValueError, match="`buffer_bounds` must be .logical., got .padded."):
        tpu.InterpretParams(buffer_bounds="padded")


def test_rules_of_third_parties():
    class Params(pl.CompilerParams):
        pass

    def rule(context, *operands, out_avals, **params):
        return context.custom_call("my_kernels", context.result_types, operands)

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    register_lowering_rule(Params, rule, "cuda")
    call = pl.pallas_call(kernel, OUT, compiler_params=Params())
    text = jit(call).trace(X).lower(lowering_platforms=("cuda",)).as_text()
    assert "@my_kernels" in text
    with pytest.raises(ValueError, match="Params have a lowering rule for cuda already"):
        register_lowering_rule(Params, rule, ("cuda", "tpu"))
    other = pl.pallas_call(kernel, OUT, compiler_params=triton.CompilerParams())
    assert "triton" in jit(other).trace(X).lower(lowering_platforms=("cuda",)).as_text()


def test_checks_are_made_where_they_are_enabled(capsys):
    def kernel(x_ref, o_ref):
        pl.debug_check(x_ref[0, 0] > 0, "the first element is positive")
        o_ref[...] = x_ref[...]

    np.testing.assert_array_equal(run(kernel, X), X)
    compiled = jit(pl.pallas_call(kernel, OUT, debug=True))
    with pl.enable_debug_checks():
        for platform, dialect in (("cuda", "tt"), ("tpu", "cf")):
            compiled.trace(X).lower(lowering_platforms=(platform,))
            assert f"{dialect}.assert" in capsys.readouterr().out
        with pytest.raises(Exception, match="a check in a kernel failed: the first element"):
            pl.pallas_call(kernel, OUT, interpret=True)(X).block_until_ready()
            effects_barrier()
    with pytest.raises(ValueError, match="takes a boolean scalar, got float32"):
        pl.debug_check(np.float32(1), "no boolean")


@pytest.mark.parametrize(
    ("shape", "given", "wanted"),
    [((4, 2), np.int32, np.int16), ((2, 8, 3), np.uint8, np.int32), ((2, 2), np.float32, np.int32)],
)
def test_bitcast_between_widths(shape, given, wanted):
    x = (np.arange(np.prod(shape)) * 37 % 251).reshape(shape).astype(given)
    # Words lie along the second last dimension, the lower bits first.
    columns = np.ascontiguousarray(np.swapaxes(x, -1, -2)).view(wanted)
    expected = np.swapaxes(columns, -1, -2)

    def kernel(x_ref, o_ref):
        o_ref[...] = tpu.bitcast(x_ref[...], wanted)

    call = pl.pallas_call(kernel, ShapeDtypeStruct(expected.shape, wanted), interpret=True)
    np.testing.assert_array_equal(call(x), expected)


def test_invalid_bitcasts_raise():
    with pytest.raises(ValueError, match="can not be perfectly packed or unpacked"):
        tpu.bitcast(np.zeros((3, 2), np.int16), np.int32)
    with pytest.raises(ValueError, match="Not implemented: bitcast of int32"):
        tpu.bitcast(np.zeros(4, np.int32), np.int16)
