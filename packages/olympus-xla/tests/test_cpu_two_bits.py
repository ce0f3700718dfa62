# SPDX-License-Identifier: Apache-2.0
"""Operations on integers of two bits: XLA's end the process, fail, or return other values."""

import ml_dtypes
import numpy as np
import pytest

from olympus_ir import lax
from olympus_xla import jit


@pytest.mark.parametrize("name", ["int2", "uint2"])
def test_results_equal_those_of_wide_integers(name):
    x = np.array([1, 3, 0, 2, 3, 0, 1]).astype(np.int8).astype(name)
    wide = x.astype(np.int32)
    places = np.arange(7, dtype=np.int8)

    @jit
    def run(x, places):
        return (
            lax.concatenate([x, lax.slice(x, (0,), (2,))], 0),
            lax.sort((places, x, places), num_keys=2),
            lax.sort(x),
            lax.argmax(x, 0, np.int32),
            lax.argmin(x, 0, np.int32),
            lax.top_k(x, 2),
        )

    joined, (first, second, third), ordered, largest, smallest, (top, where) = run(x, places)
    for result in (joined, second, ordered, top):
        assert result.dtype == getattr(ml_dtypes, name)
    np.testing.assert_array_equal(joined.astype(np.int32), [*wide, *wide[:2]])
    np.testing.assert_array_equal(second.astype(np.int32), wide)
    np.testing.assert_array_equal(ordered.astype(np.int32), np.sort(wide))
    np.testing.assert_array_equal(top.astype(np.int32), np.sort(wide)[-1:-3:-1])
    np.testing.assert_array_equal(where, np.argsort(-wide, stable=True)[:2])
    np.testing.assert_array_equal((first, third), (places, places))
    assert (first.dtype, where.dtype) == (np.int8, np.int32)
    assert (int(largest), int(smallest)) == (np.argmax(wide), np.argmin(wide))
