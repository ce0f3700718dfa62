# SPDX-License-Identifier: Apache-2.0
"""How arrays are printed."""

import ml_dtypes
import numpy as np
import pytest

from olympus_sharding import NamedSharding
from olympus_sharding import PartitionSpec as P
from olympus_xla import device_put


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([1, 2], np.float32), "Array([1., 2.], dtype=float32)"),
        (3.0, "Array(3., dtype=float32, weak_type=True)"),
        (True, "Array(True, dtype=bool)"),
        (1 + 2j, "Array(1.+2.j, dtype=complex64, weak_type=True)"),
        (np.zeros((0, 3), np.float32), "Array([], shape=(0, 3), dtype=float32)"),
        (np.ones(3, ml_dtypes.bfloat16), "Array([1, 1, 1], dtype=bfloat16)"),
        (np.arange(3).astype(ml_dtypes.int4), "Array([0, 1, 2], dtype=int4)"),
        (
            np.arange(6, dtype=np.float32).reshape(2, 3),
            "Array([[0., 1., 2.],\n       [3., 4., 5.]], dtype=float32)",
        ),
        (
            np.arange(2000, dtype=np.float32),
            (
                "Array([0.000e+00, 1.000e+00, 2.000e+00, ..., 1.997e+03, 1.998e+03,\n"
                "       1.999e+03], dtype=float32)"
            ),
        ),
        (
            np.arange(21, dtype=np.int32),
            (
                "Array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16,\n"
                "       17, 18, 19, 20], dtype=int32)"
            ),
        ),
        (
            np.arange(17, dtype=np.int32),
            (
                "Array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16],\n"
                "      dtype=int32)"
            ),
        ),
    ],
)
def test_representations_show_value_and_dtype(value, text):
    assert repr(device_put(value)) == text


def test_str_equals_numpy():
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert str(device_put(host)) == str(host) == f"{device_put(host)}"
    assert str(device_put(3.0)) == "3.0"


def test_numpy_print_options_apply():
    with np.printoptions(precision=2, linewidth=20):
        assert repr(device_put(np.array([1 / 3, 2 / 3], np.float32))) == (
            "Array([0.33, 0.67],\n      dtype=float32)"
        )


def test_sharded_arrays_are_printed_whole(mesh):
    array = device_put(np.arange(4, dtype=np.int32), NamedSharding(mesh, P("x")))
    assert repr(array) == "Array([0, 1, 2, 3], dtype=int32)"


def test_format_specifications_apply_to_scalars():
    assert f"{device_put(1 / 3):.3f}" == "0.333"
    assert f"{device_put(3):>4d}" == "   3"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{device_put(np.zeros(2)):.3f}"
