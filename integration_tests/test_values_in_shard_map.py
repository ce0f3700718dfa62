# SPDX-License-Identifier: Apache-2.0
"""Concrete values of tracers under `shard_map` outside of compiled functions."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
from olympus import lax
from olympus.sharding import Mesh, PartitionSpec


def test_values_known_outside_of_jit():
    mesh = Mesh(np.array(olympus.devices()[:4]).reshape(2, 2), ("i", "j"))
    spec = PartitionSpec("i", "j")

    def negative_unless_small(x):
        return x if lax.psum(x, ("i", "j")).sum() < 0 else -x

    mapped = olympus.shard_map(negative_unless_small, mesh=mesh, in_specs=spec, out_specs=spec)
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    np.testing.assert_array_equal(np.asarray(mapped(x)), -x)
    with pytest.raises(olympus.errors.TracerBoolConversionError):
        olympus.jit(mapped)(x)
    differing = olympus.shard_map(
        lambda x: x if x.sum() < 0 else -x, mesh=mesh, in_specs=spec, out_specs=spec
    )
    with pytest.raises(olympus.errors.TracerBoolConversionError):
        differing(x)


def test_varying_values_print_per_device():
    mesh = Mesh(np.array(olympus.devices()[:2]), ("i",))
    texts, runs = [], []

    def show(x):
        olympus.debug.callback(lambda: runs.append(None))
        texts.append(f"{2 * x}")
        return x

    mapped = olympus.shard_map(
        show, mesh=mesh, in_specs=PartitionSpec("i"), out_specs=PartitionSpec("i")
    )
    mapped(np.arange(4, dtype=np.int32))
    olympus.effects_barrier()
    first, second = mesh.devices
    lines = [f"On {first} at mesh coordinates (i,) = (0,):", "[0 2]", ""]
    lines += [f"On {second} at mesh coordinates (i,) = (1,):", "[4 6]", ""]
    assert texts[0].split("\n") == lines
    assert len(runs) == 2  # once on each device
    olympus.jit(mapped)(np.arange(4))
    assert texts[1].startswith("JitTracer(")
