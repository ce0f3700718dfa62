# SPDX-License-Identifier: Apache-2.0
"""Creation of arrays on given devices, and updates of sharded arrays."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.sharding import Mesh, NamedSharding, PartitionSpec


def test_creation_functions_take_a_device():
    device = olympus.devices()[-1]
    x = jnp.zeros(3)
    assert x.devices() != {device}
    for made in (
        jnp.array([1, 2], device=device),
        jnp.asarray(x, device=device),
        jnp.zeros(3, device=device),
        jnp.full(3, 2.0, device=device),
        jnp.arange(3, device=device),
        jnp.linspace(0, 1, 3, device=device),
        jnp.zeros_like(x, device=device),
    ):
        assert made.devices() == {device}


@pytest.mark.parametrize("size", [1, 2])
def test_updates_of_sharded_dimensions_are_clamped(size):
    mesh = Mesh(np.array(olympus.devices()[:2]), ("i",))
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    placed = olympus.device_put(x, NamedSharding(mesh, PartitionSpec("i")))
    update = np.full((size, 3), -1, np.float32)
    updated = olympus.jit(lambda x, start: lax.dynamic_update_slice(x, update, (start, 0)))
    for start in (-9, -1, 0, 3, 5, 100):
        first = start + 4 if start < 0 else start  # negative indices count from the end
        expected = x.copy()
        expected[np.clip(first, 0, 4 - size) :][:size] = -1
        np.testing.assert_array_equal(updated(placed, np.int32(start)), expected)


def _over(names, sizes):
    count = int(np.prod(sizes))
    return Mesh(np.array(olympus.devices()[:count]).reshape(sizes), names)


def test_results_stay_on_mesh_of_one_device():
    sharding = NamedSharding(_over(("i",), (1,)), PartitionSpec("i"))
    x = olympus.device_put(np.arange(8.0), sharding)
    assert (x + 1).sharding == sharding
    assert olympus.jit(lambda x: x)(x).sharding == sharding
    assert x[0].sharding == NamedSharding(sharding.mesh, PartitionSpec())


@pytest.mark.parametrize("spec", [PartitionSpec("i"), PartitionSpec("i", "j")])
def test_rows_of_sharded_arrays_are_uncommitted_operands(spec):
    device = olympus.devices()[-1]
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    rows = list(olympus.device_put(values, NamedSharding(_over(("i", "j"), (2, 2)), spec)))
    for row, expected in zip(rows, values, strict=True):
        moved = row + olympus.device_put(np.float32(1), device)
        assert moved.devices() == {device}
        np.testing.assert_array_equal(np.asarray(moved), expected + 1)


def test_replicated_arrays_have_replicated_rows():
    sharding = NamedSharding(_over(("i",), (2,)), PartitionSpec())
    row, _ = olympus.device_put(np.ones((2, 3)), sharding)
    assert row.sharding == sharding


def test_donation_to_another_device():
    x = jnp.arange(4.0)
    moved = olympus.device_put(x, olympus.devices()[1], donate=True)
    np.testing.assert_array_equal(np.asarray(moved), [0, 1, 2, 3])
    replicated = NamedSharding(_over(("i",), (2,)), PartitionSpec())
    double = olympus.jit(lambda x: 2 * x, in_shardings=replicated, donate_argnums=0)
    np.testing.assert_array_equal(np.asarray(double(x)), [0, 2, 4, 6])
    assert x.is_deleted()


def test_jit_with_device_accepts_arrays_over_several_devices():
    x = olympus.device_put(np.arange(4.0), NamedSharding(_over(("i",), (2,)), PartitionSpec("i")))
    device = olympus.devices()[2]
    with pytest.warns(DeprecationWarning, match="backend and device argument on jit"):
        assert olympus.jit(lambda x: x + 1, device=device)(x).devices() == {device}


def test_constraints_to_abstract_meshes_of_concrete_arrays():
    sharding = NamedSharding(_over(("i",), (2,)), PartitionSpec("i"))
    asked = NamedSharding(sharding.mesh.abstract_mesh, PartitionSpec())
    x = olympus.device_put(np.arange(4.0), sharding)
    assert lax.with_sharding_constraint(x, asked).sharding.is_fully_replicated
    with pytest.raises(ValueError, match=r"requires the input passed should be a `olympus.Array`"):
        lax.with_sharding_constraint(np.arange(4.0), asked)
    with pytest.raises(TypeError, match="sharding on the input must be a `NamedSharding`"):
        lax.with_sharding_constraint(jnp.arange(4.0), asked)
    other = NamedSharding(_over(("j",), (2,)).abstract_mesh, PartitionSpec())
    with pytest.raises(ValueError, match="does not match the mesh shape of the target"):
        lax.with_sharding_constraint(x, other)


def test_structs_have_shardings_and_layouts():
    sharding = NamedSharding(_over(("i",), (2,)), PartitionSpec("i"))
    struct = olympus.ShapeDtypeStruct((4,), jnp.float32, sharding=sharding)
    assert jnp.zeros_like(struct).sharding == sharding
    layout = olympus.experimental.layout
    placed = olympus.ShapeDtypeStruct(
        (4,), jnp.float32, sharding=layout.Format(layout.Layout((0,)), sharding)
    )
    with pytest.raises(ValueError, match="updating ShapeDtypeStruct"):
        placed.update(sharding=NamedSharding(sharding.mesh, PartitionSpec()))


def _incompatible(x, y):
    return olympus.jit(lambda pair: pair)((x, (y, x)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: _incompatible(
                olympus.device_put(np.ones(3), olympus.devices()[0]),
                olympus.device_put(
                    np.ones(2), NamedSharding(_over(("i",), (2,)), PartitionSpec("i"))
                ),
            ),
            ValueError,
            r"argument pair\[0\] of.*device ids \[0\].*argument pair\[1\]\[0\] of",
        ),
        (
            lambda: olympus.jit(lambda x: x, in_shardings="i"),
            TypeError,
            "in_shardings leaf specifications are expected to be PartitionSpec instances or None",
        ),
        (
            lambda: olympus.jit(lambda x: x, out_shardings=PartitionSpec("i", ("j", "i"))),
            ValueError,
            "A single out_shardings specification can map every .* duplicate entries for `i`",
        ),
        (
            lambda: olympus.jit(
                lambda x: x,
                in_shardings=NamedSharding(_over(("i",), (2,)), PartitionSpec(None, None)),
            )(olympus.device_put(np.ones(2), NamedSharding(_over(("i",), (2,)), PartitionSpec()))),
            ValueError,
            "pjit arguments with pytree key path x is incompatible .* rank at least 2",
        ),
        (
            lambda: olympus.jit(
                lambda x: {"a": x},
                out_shardings=NamedSharding(_over(("i",), (2,)), PartitionSpec(None, "i")),
            )(np.ones(2)),
            ValueError,
            r"pjit outputs with pytree key path result\['a'\] is incompatible",
        ),
        (
            lambda: olympus.jit(lambda x: x)({"a": olympus.ShapeDtypeStruct((4, 2), np.int32)}),
            TypeError,
            r"Argument 'x\['a'\]' of shape int32\[4,2\] of type.*is not a valid",
        ),
        (
            lambda: olympus.jit(lambda: olympus.ShapeDtypeStruct((4, 2), np.int32))(),
            TypeError,
            "does not have a value and cannot be used as a constant",
        ),
    ],
)
def test_errors_of_placed_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
