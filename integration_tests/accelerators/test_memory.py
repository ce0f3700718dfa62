# SPDX-License-Identifier: Apache-2.0
"""Memory of the accelerator: transfers, memory kinds, donation, exchange with other libraries."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.sharding import SingleDeviceSharding


def test_transfers_between_host_cpu_and_accelerator(accelerator, cpu):
    values = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)
    there = olympus.device_put(values, accelerator)
    back = olympus.device_put(there, cpu)
    assert there.devices() == {accelerator} and back.devices() == {cpu}
    np.testing.assert_array_equal(there, values)
    np.testing.assert_array_equal(back, values)
    np.testing.assert_array_equal(olympus.device_get([there, back])[0], values)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64", "uint32"])
def test_transfers_round_trip_for_each_dtype(dtype):
    values = np.random.default_rng(0).integers(0, 2, (5, 3, 2)).astype(dtype)
    array = jnp.asarray(values)
    assert array.dtype == values.dtype
    np.testing.assert_array_equal(np.asarray(array.T).T, values)


def test_programs_run_on_device_of_committed_arrays(accelerator, cpu):
    function = olympus.jit(lambda x: x * 2)
    assert function(olympus.device_put(1.0, cpu)).devices() == {cpu}
    assert function(1.0).devices() == {accelerator}
    with pytest.raises(ValueError, match="incompatible devices"):
        olympus.jit(jnp.add)(olympus.device_put(1.0, cpu), olympus.device_put(1.0, accelerator))
    with olympus.default_device(cpu):
        assert function(1.0).devices() == {cpu}


@pytest.mark.parametrize("kind", ["pinned_host", "unpinned_host"])
def test_host_memory_space(accelerator, kind):
    if kind not in {memory.kind for memory in accelerator.addressable_memories()}:
        pytest.skip(f"{accelerator} has no memory of kind {kind}")
    on_device = SingleDeviceSharding(accelerator, memory_kind="device")
    on_host = SingleDeviceSharding(accelerator, memory_kind=kind)
    x = jnp.arange(1024.0)
    kept = olympus.device_put(x, on_host)
    assert kept.sharding.memory_kind == kind
    np.testing.assert_array_equal(kept, x)

    @olympus.jit
    def from_host(kept):
        return jnp.sum(olympus.device_put(kept, on_device) * 2)

    assert from_host(kept) == 2 * 1023 * 512


def test_residuals_are_offloaded(accelerator):
    if "pinned_host" not in {memory.kind for memory in accelerator.addressable_memories()}:
        pytest.skip("needs pinned memory of the host")
    policy = olympus.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["hidden"],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def network(x):
        for _ in range(3):
            x = olympus.ad_checkpoint.checkpoint_name(jnp.sin(x), "hidden")
        return jnp.sum(x)

    x = jnp.linspace(0, 1, 256)
    offloaded = olympus.jit(olympus.grad(olympus.checkpoint(network, policy=policy)))
    np.testing.assert_allclose(offloaded(x), olympus.grad(network)(x), rtol=1e-6)


def test_donated_memory_is_reused():
    x = jnp.ones((1024, 1024))
    place = x.unsafe_buffer_pointer()
    y = olympus.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and y.unsafe_buffer_pointer() == place
    assert float(y[0, 0]) == 2.0


def test_memory_statistics_count_live_arrays(accelerator):
    before = accelerator.memory_stats()["bytes_in_use"]
    kept = jnp.ones((1 << 24,), jnp.float32).block_until_ready()
    after = accelerator.memory_stats()["bytes_in_use"]
    assert after - before >= kept.nbytes


def test_out_of_memory_error(accelerator):
    available = accelerator.memory_stats()["bytes_limit"]
    with pytest.raises(olympus.errors.JaxRuntimeError, match="(?i)out of memory"):
        jnp.zeros((available // 2,), jnp.float32).block_until_ready()
    assert float(jnp.ones(3).sum()) == 3.0


def test_exchange_with_pytorch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no GPU")
    ours = jnp.arange(12.0).reshape(3, 4)
    theirs = torch.from_dlpack(ours)
    assert theirs.is_cuda and theirs.data_ptr() == ours.unsafe_buffer_pointer()
    np.testing.assert_array_equal(theirs.cpu().numpy(), ours)
    tensor = torch.arange(6, device="cuda", dtype=torch.float32).reshape(2, 3) * 2
    torch.cuda.synchronize()
    array = jnp.from_dlpack(tensor)
    assert array.unsafe_buffer_pointer() == tensor.data_ptr()
    np.testing.assert_array_equal(array + 1, tensor.cpu().numpy() + 1)


def test_exchange_with_cupy():
    cupy = pytest.importorskip("cupy")
    ours = jnp.arange(12.0).reshape(3, 4)
    view = cupy.asarray(ours)
    assert view.data.ptr == ours.unsafe_buffer_pointer()
    np.testing.assert_array_equal(cupy.asnumpy(view), ours)
    array = jnp.from_dlpack(cupy.arange(6, dtype=cupy.float32))
    np.testing.assert_array_equal(array, np.arange(6, dtype=np.float32))
