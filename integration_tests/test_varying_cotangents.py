# SPDX-License-Identifier: Apache-2.0
"""Cotangents of `custom_vjp` functions under `shard_map`, and parts of programs that do not run."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
from olympus import lax
from olympus.sharding import Mesh, NamedSharding, PartitionSpec

SPLIT, WHOLE = PartitionSpec("i"), PartitionSpec()
X = np.arange(4, dtype=np.float32)


@pytest.fixture
def mesh():
    return Mesh(np.array(olympus.devices()[:4]).reshape(2, 2), ("i", "j"))


def product(bwd):
    function = olympus.custom_vjp(lambda x, y: x * y)
    function.defvjp(lambda x, y: (x * y, (x, y)), bwd)
    return function


def gradients(function, mesh):
    """Returns the gradients of a sum over products of a split and a replicated vector."""

    def loss(x, y):
        body = olympus.shard_map(
            lambda x, y: function(x, y[:2]), mesh=mesh, in_specs=(SPLIT, WHOLE), out_specs=SPLIT
        )
        return body(x, y).sum()

    return olympus.grad(loss, (0, 1))(X, X)


@pytest.mark.parametrize("wrap", [lambda f: f, olympus.jit, olympus.checkpoint])
def test_rules_sum_cotangents_of_replicated_arguments(mesh, wrap):
    function = wrap(product(lambda r, g: (g * r[1], lax.psum(g * r[0], "i"))))
    to_split, to_whole = gradients(function, mesh)
    np.testing.assert_array_equal(to_split, [0, 1, 0, 1])
    np.testing.assert_array_equal(to_whole, [0 + 2, 1 + 3, 0, 0])


def test_cotangents_that_start_within_vary_as_the_result(mesh):
    function = product(lambda r, g: (g * r[1], lax.psum(g * r[0], "i")))
    body = olympus.shard_map(
        lambda x, y: olympus.grad(lambda x: function(x, y[:2]).sum())(x),
        mesh=mesh,
        in_specs=(SPLIT, WHOLE),
        out_specs=SPLIT,
    )
    np.testing.assert_array_equal(body(X, X), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("bwd", "place", "advice"),
    [
        (lambda r, g: (g * r[1], g * r[0]), r"output\[1\]", r"lax\.psum\(cotangent, \('i',\)\)"),
        (
            lambda r, g: (np.ones(2, np.float32), None),
            r"output\[0\]",
            r"lax\.pcast\(cotangent, \('i',\), to='varying'\)",
        ),
    ],
)
def test_cotangents_over_other_axes_are_refused(mesh, bwd, place, advice):
    match = f"(?s)must produce an output with the same type as the args tuple.*{place}.*{advice}"
    with pytest.raises(ValueError, match=match):
        gradients(product(bwd), mesh)


def test_axes_are_not_looked_at_without_checks(mesh):
    function = product(lambda r, g: (g * r[1], g * r[0]))

    def loss(x, y):
        body = olympus.shard_map(
            lambda x, y: function(x, y[:2]),
            mesh=mesh,
            in_specs=(SPLIT, WHOLE),
            out_specs=SPLIT,
            check_vma=False,
        )
        return body(x, y).sum()

    np.testing.assert_array_equal(olympus.grad(loss, 1)(X, X), [2, 4, 0, 0])


@pytest.mark.parametrize("placed", [False, True])
def test_parts_of_a_program_that_nothing_reads_run_on_no_devices(mesh, placed):
    other = Mesh(np.array(olympus.devices()[4:6]), ("k",))

    def unread(x):
        spec = PartitionSpec("k")
        olympus.shard_map(lambda x: 2 * x, mesh=other, in_specs=spec, out_specs=spec)(x)
        return olympus.shard_map(lambda x: x + 1, mesh=mesh, in_specs=SPLIT, out_specs=SPLIT)(x)

    x = olympus.device_put(X, NamedSharding(mesh, SPLIT)) if placed else X
    np.testing.assert_array_equal(olympus.jit(unread)(x), X + 1)
    np.testing.assert_array_equal(
        olympus.jit(olympus.grad(lambda x: unread(x).sum()))(x), np.ones(4)
    )

    def read(x):
        spec = PartitionSpec("k")
        return x + olympus.shard_map(lambda x: 2 * x, mesh=other, in_specs=spec, out_specs=spec)(x)

    with pytest.raises(ValueError, match="Received incompatible devices"):
        olympus.jit(read)(olympus.device_put(X, NamedSharding(mesh, SPLIT)))
