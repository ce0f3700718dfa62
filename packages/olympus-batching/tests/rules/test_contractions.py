# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr

CASES = [
    ((3, 4), (4, 5), (((1,), (0,)), ((), ()))),
    ((4,), (4,), (((0,), (0,)), ((), ()))),
    ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
    ((3, 2, 4, 6), (6, 2, 4, 5), (((2, 3), (2, 0)), ((1,), (1,)))),
    ((2, 3), (4,), (((), ()), ((), ()))),
]


@pytest.mark.parametrize(("lhs", "rhs", "numbers"), CASES)
def test_batches_of_contractions_equal_a_loop(check, lhs, rhs, numbers):
    generator = np.random.default_rng(0)
    x = generator.normal(size=lhs).astype(np.float32)
    y = generator.normal(size=rhs).astype(np.float32)
    check(lambda x, y: lax.dot_general(x, y, numbers), x, y, rtol=1e-4)


def test_products_with_python_numbers():
    numbers = (((), ()), ((), ()))
    params = make_olympuspr(lambda x, y: lax.dot_general(x, y, numbers))(1.0, 1.0).eqns[0].params
    product = vmap(lambda x: lax.dot_general_p.bind(2.0, x, **params))
    np.testing.assert_array_equal(product(np.arange(3, dtype=np.float32)), [0, 2, 4])
