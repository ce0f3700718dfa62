# SPDX-License-Identifier: Apache-2.0
"""Comparison of samples with those of jax 0.10.2, which `data/record.py` recorded.

The reference evaluator's logarithms and inverse error function round differently from XLA's, so
floats are compared within a few units in the last place. `integration_tests/test_random_vectors.py`
compares them exactly.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from olympus_ir.types import dtypes

# Units in the last place. Rounding errors grow where a formula takes differences or steep functions
# of intermediate results: XLA's inverse error function is off by 22 units near its poles.
ULPS = {"normal": 32, "truncated_normal": 32, "lognormal": 32, "maxwell": 32}


def test_draws_are_the_recorded_ones(record, draw):
    found, expected = draw(record)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if dtypes.issubdtype(expected.dtype, np.inexact):
        eps = float(ml_dtypes.finfo(expected.dtype).eps)
        tolerance = ULPS.get(record["function"], 16) * eps
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            found.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance
        )
    else:
        np.testing.assert_array_equal(found, expected)
