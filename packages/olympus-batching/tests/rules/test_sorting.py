# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np

from olympus_ir import lax

X = np.sin(np.arange(12, dtype=np.float32) * 5).reshape(3, 4)


def test_batches_of_sorts_equal_a_loop(check):
    check(lambda x: lax.sort(x, dimension=0), X)
    check(lambda x, y: lax.sort((x, y), dimension=1, num_keys=1), X, -X)


def test_batches_of_top_k_equal_a_loop(check):
    check(lambda x: tuple(lax.top_k(x, 2)), X)
    check(lambda x: tuple(lax.top_k(x, 2, axis=0)), X)
