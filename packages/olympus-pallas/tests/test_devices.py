# SPDX-License-Identifier: Apache-2.0
"""Kernels of several simulated devices: remote copies, semaphores, barriers, and errors."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import olympus_pallas as pl
from olympus_ir import ShapeDtypeStruct, lax, make_olympuspr
from olympus_ir.types.placement import PartitionSpec as P
from olympus_pallas import tpu
from olympus_sharding import Mesh, shard_map
from olympus_xla import jit
from olympus_xla.calls.effect_tokens import barrier as effects_barrier

F32 = np.dtype(np.float32)
BLOCK = ShapeDtypeStruct((8, 128), F32)
ANY = pl.BlockSpec(memory_space=pl.ANY)
DMA = tpu.SemaphoreType.DMA


@contextlib.contextmanager
def failure(message):
    """Expects an error on the device, and in the effects that wait for the device."""
    with pytest.raises(Exception, match=message):
        yield
    with contextlib.suppress(Exception):
        effects_barrier()


def on_mesh(kernel, devices, scratch, out=BLOCK, shape=(4,), names=("x",), **options):
    """Returns the function of arrays that are divided among devices along the first dimension."""
    mesh = Mesh(np.array(devices[: int(np.prod(shape))]).reshape(shape), names)
    options.setdefault("interpret", tpu.InterpretParams())
    call = pl.pallas_call(
        kernel, out, in_specs=[ANY], out_specs=ANY, scratch_shapes=scratch, **options
    )
    spec = P(names)
    return shard_map(call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)


def blocks(count=4):
    return np.arange(count * 8 * 128, dtype=F32).reshape(count * 8, 128)


def send_right(x_ref, o_ref, sent, received):
    here = lax.axis_index("x")
    right = lax.rem(here + 1, 4)
    tpu.async_remote_copy(x_ref, o_ref, sent, received, device_id=(right,)).wait()


@pytest.fixture
def four(devices):
    if len(devices) < 4:
        pytest.skip("needs four devices")
    return devices


@pytest.mark.parametrize("mode", ["on_wait", "eager"])
def test_remote_copy_shifts_blocks(four, mode):
    params = tpu.InterpretParams(dma_execution_mode=mode, detect_races=True)
    call = on_mesh(send_right, four, [DMA, DMA], interpret=params)
    np.testing.assert_array_equal(call(blocks()), np.roll(blocks(), 8, axis=0))


def test_remote_copy_with_interpret_true(four):
    call = on_mesh(send_right, four, [DMA, DMA], interpret=True)
    np.testing.assert_array_equal(call(blocks()), np.roll(blocks(), 8, axis=0))


def ring_sum(x_ref, o_ref, buffer, sent, received, count):
    """Adds up the blocks of all devices, which go round in a ring of buffers."""
    here = lax.axis_index("x")
    right, left = lax.rem(here + 1, 4), lax.rem(here + 3, 4)
    meeting = tpu.get_barrier_semaphore()
    for neighbor in (left, right):
        pl.semaphore_signal(meeting, device_id={"x": neighbor})
    pl.semaphore_wait(meeting, 2)
    tpu.sync_copy(x_ref, buffer.at[0])
    tpu.sync_copy(x_ref, o_ref)
    for step in range(3):
        copy = tpu.make_async_remote_copy(
            buffer.at[step],
            buffer.at[step + 1],
            sent.at[step],
            received.at[step],
            device_id=right,
            device_id_type=pl.DeviceIdType.LOGICAL,
        )
        copy.start()
        copy.wait_recv()
        pl.run_scoped(
            lambda part, step=step: add(o_ref, part, buffer.at[step + 1]), tpu.VMEM((8, 128), F32)
        )
        copy.wait_send()


def add(o_ref, part, more):
    tpu.sync_copy(o_ref, part)
    part[...] = part[...] + more[...]
    tpu.sync_copy(part, o_ref)


RING = [tpu.VMEM((4, 8, 128), F32), DMA((3,)), DMA((3,)), tpu.SemaphoreType.REGULAR]


def test_rings_of_devices_add_their_parts(four):
    call = on_mesh(
        ring_sum,
        four,
        RING,
        interpret=tpu.InterpretParams(detect_races=True),
        compiler_params=tpu.CompilerParams(collective_id=0),
    )
    total = blocks().reshape(4, 8, 128).sum(0)
    np.testing.assert_array_equal(jit(call)(blocks()), np.tile(total, (4, 1)))
    # In a second run the devices meet again.
    np.testing.assert_array_equal(jit(call)(2 * blocks()), np.tile(2 * total, (4, 1)))


def test_device_ids_in_mesh_of_two_axes(four):
    def kernel(x_ref, o_ref, sent, received):
        other = 1 - lax.axis_index("b")
        tpu.async_remote_copy(x_ref, o_ref, sent, received, device_id={"b": other}).wait()

    call = on_mesh(kernel, four, [DMA, DMA], shape=(2, 2), names=("a", "b"))
    parts = blocks().reshape(4, 8, 128)
    np.testing.assert_array_equal(call(blocks()), parts[[1, 0, 3, 2]].reshape(32, 128))

    def diagonal(x_ref, o_ref, sent, received):
        place = (1 - lax.axis_index("a"), 1 - lax.axis_index("b"))
        tpu.async_remote_copy(x_ref, o_ref, sent, received, device_id=place).wait()

    call = on_mesh(diagonal, four, [DMA, DMA], shape=(2, 2), names=("a", "b"))
    np.testing.assert_array_equal(call(blocks()), parts[::-1].reshape(32, 128))


def test_races_between_devices_are_detected(four):
    def kernel(x_ref, o_ref, sent, received):
        right = lax.rem(lax.axis_index("x") + 1, 4)
        copy = tpu.async_remote_copy(x_ref, o_ref, sent, received, device_id=(right,))
        # The neighbor's copy may come before or after this copy.
        tpu.sync_copy(x_ref, o_ref)
        copy.wait()

    call = on_mesh(kernel, four, [DMA, DMA], interpret=tpu.InterpretParams(detect_races=True))
    with failure("a race: a copy writes"):
        call(blocks()).block_until_ready()
    on_mesh(kernel, four, [DMA, DMA])(blocks())  # races are not detected by default


def test_deadlocks_raise(four):
    def kernel(x_ref, o_ref, semaphore):
        right = lax.rem(lax.axis_index("x") + 1, 4)
        pl.semaphore_signal(semaphore, device_id=(right,))
        pl.semaphore_wait(semaphore, 2)
        tpu.sync_copy(x_ref, o_ref)

    call = on_mesh(kernel, four, [tpu.SemaphoreType.REGULAR])
    with failure("all cores wait for one another"):
        call(blocks()).block_until_ready()


def test_unknown_device_ids_raise(four):
    def kernel(x_ref, o_ref, sent, received):
        kind = pl.DeviceIdType.LOGICAL
        tpu.async_remote_copy(x_ref, o_ref, sent, received, 7, kind).wait()

    with failure("device 7 is not among the 4"):
        on_mesh(kernel, four, [DMA, DMA])(blocks()).block_until_ready()
    with pytest.raises(ValueError, match="Cannot `wait_send` on a local copy"):
        tpu.make_async_copy(None, None, None).wait_send()


def test_programs_show_devices(four):
    text = str(make_olympuspr(on_mesh(ring_sum, four, RING))(blocks()))
    for part in (
        "Ref<semaphore_mem>{barrier_semaphore[]} = get_barrier_semaphore",
        "semaphore_signal",
        "{x: ",
        "device_id_type=DeviceIdType.LOGICAL",
        "tree=PyTreeDef((*, *, *, *, *))",
    ):
        assert part in text


def test_kernels_of_several_devices_lower_for_tpus(four, capsys):
    call = on_mesh(
        ring_sum,
        four,
        RING,
        interpret=False,
        debug=True,
        compiler_params=tpu.CompilerParams(collective_id=3),
    )
    text = jit(call).trace(blocks()).lower(lowering_platforms=("tpu",)).as_text()
    assert "has_communication\\22: true" in text
    assert "collective_id\\22: 3" in text
    module = capsys.readouterr().out
    for part in ("tpu.sem_barrier", "tpu.device_id", "source_semaphore", "tpu.wait_dma2"):
        assert part in module
