# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_broadcast_in_dim(check):
    check(lambda x: lax.broadcast_in_dim(x, (4, 2, 3), (1, 2)), X)
    check(lambda x: lax.broadcast_in_dim(x, (2, 5, 3), (0, 2)), X)
    check(lambda x: lax.broadcast_in_dim(x, (2, 5), ()), np.float32(1))


def test_batches_of_reshapes_equal_a_loop(check):
    check(lambda x: lax.reshape(x, (3, 2)), X)
    check(lambda x: lax.reshape(x, (6,), (1, 0)), X)


def test_squeeze_and_expand(check):
    check(lambda x: lax.squeeze(x, (0, 2)), X.reshape(1, 2, 1, 3))
    check(lambda x: lax.expand_dims(x, (0, 2)), X)


def test_transpose_and_reverse(check):
    check(lambda x: lax.transpose(x, (2, 0, 1)), X.reshape(1, 2, 3))
    check(lambda x: lax.rev(x, (1,)), X)


def test_concatenate_split_stack(check):
    check(lambda x, y: lax.concatenate([x, y, x], 1), X, X[:, :2])
    check(lambda x: lax.split(x, (1, 2), 1), X)
    check(lambda x, y: lax.stack([x, y], 1), X, -X)
    check(lambda x: lax.unstack(x, 1), X)
    check(lambda x: lax.tile(x, (2, 3)), X)


def test_the_padding_value_may_be_batched(check):
    config = ((1, 0, 1), (-1, 2, 0))
    check(lambda x: lax.pad(x, np.float32(7), config), X)
    check(lambda x, value: lax.pad(x, value, config), X, np.float32(7))


def test_pad_with_empty_batch():
    out = vmap(lambda x, value: lax.pad(x, value, ((1, 1, 0),)))(
        np.zeros((0, 3), np.float32), np.zeros((0,), np.float32)
    )
    assert out.shape == (0, 5)
