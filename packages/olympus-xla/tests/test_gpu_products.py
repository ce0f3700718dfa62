# SPDX-License-Identifier: Apache-2.0
"""Products of 8-bit integers on GPUs: wide integers replace products that XLA would pad."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import ShapeDtypeStruct, lax
from olympus_xla import jit
from olympus_xla.compiling.lowering.gpu.products import product_of_wide

WIDE = np.dtype(np.int32)
NUMBERS = (((2,), (1,)), ((0,), (0,)))


def product(x, y):
    return lax.dot_general(x, y, NUMBERS, preferred_element_type=WIDE)


@pytest.mark.parametrize(
    "sizes,dtype,widens",
    [
        ((5, 4, 8, 12), np.int8, False),
        ((5, 4, 6, 12), np.int8, True),
        ((5, 3, 8, 12), np.int8, True),
        ((5, 4, 8, 10), np.int8, True),
        ((5, 3, 6, 10), np.uint8, False),
    ],
    ids=str,
)
def test_products_that_would_be_padded(sizes, dtype, widens):
    batch, rows, inner, columns = sizes
    shapes = (batch, rows, inner), (batch, inner, columns)
    traced = jit(product).trace(*(ShapeDtypeStruct(shape, dtype) for shape in shapes))
    assert ("convert" in traced.lower(lowering_platforms=("cuda",)).as_text()) == widens
    assert "convert" not in traced.lower(lowering_platforms=("cpu",)).as_text()


def test_products_of_bytes_are_exact():
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((2, 3, 5), (2, 5, 7)))
    params = {"dimension_numbers": NUMBERS, "precision": None, "preferred_element_type": WIDE}
    found = jit(lambda x, y: product_of_wide(x, y, **params, out_sharding=None))(x, y)
    np.testing.assert_array_equal(found, x.astype(np.int32) @ y.astype(np.int32))
