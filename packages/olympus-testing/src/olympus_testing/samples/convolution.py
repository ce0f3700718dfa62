# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p

from .declarations import NUMBERS, Operand, Operation, sample

_FEW = (np.float32, np.float64)


def _convolution(
    label: str,
    lhs: tuple,
    rhs: tuple,
    strides: tuple,
    padding: tuple,
    lhs_dilation: tuple | None = None,
    rhs_dilation: tuple | None = None,
    letters: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    preferred_element_type: Any = None,
    dtypes: Any = _FEW,
    **options: Any,
) -> Operation:
    params = {
        "window_strides": strides,
        "padding": padding,
        "lhs_dilation": lhs_dilation or (1,) * len(strides),
        "rhs_dilation": rhs_dilation or (1,) * len(strides),
        "dimension_numbers": lax.conv_dimension_numbers(lhs, rhs, letters),
        "feature_group_count": feature_group_count,
        "batch_group_count": batch_group_count,
        "precision": None,
        "preferred_element_type": preferred_element_type,
        "out_sharding": None,
    }
    return Operation(label, (Operand(lhs), Operand(rhs)), params, dtypes=dtypes, **options)


_NONE = ((0, 0),)

sample(
    conv_general_dilated_p,
    _convolution("plain", (2, 3, 6), (4, 3, 2), (1,), _NONE, dtypes=NUMBERS),
    _convolution("matrices", (2, 3), (4, 3), (), ()),
    _convolution("strided", (2, 3, 5, 6), (2, 3, 3, 2), (2, 1), ((1, 1), (0, 2))),
    _convolution("dilated_kernel", (1, 2, 7), (2, 2, 2), (2,), ((2, 1),), None, (3,)),
    _convolution("transposed", (1, 2, 3), (2, 2, 3), (2,), ((2, 3),), (3,), (2,)),
    _convolution("cropped", (1, 2, 7), (2, 2, 2), (1,), ((-1, -2),)),
    _convolution("padded_beyond", (1, 1, 2), (1, 1, 2), (2,), ((5, 4),)),
    _convolution(
        "features_last",
        (2, 4, 5, 3),
        (2, 2, 3, 2),
        (1, 2),
        ((1, 0), (0, 0)),
        letters=("NHWC", "HWIO", "NHWC"),
    ),
    _convolution(
        "dimensions_mixed",
        (4, 2, 3, 5),
        (3, 2, 2, 2),
        (1, 2),
        ((1, 0), (0, 0)),
        letters=("HNCW", "IWOH", "CWNH"),
    ),
    _convolution("feature_groups", (2, 6, 4), (9, 2, 2), (1,), _NONE, feature_group_count=3),
    _convolution("depthwise", (2, 3, 4), (6, 1, 2), (1,), _NONE, feature_group_count=3),
    _convolution("batch_groups", (4, 3, 4), (6, 3, 2), (1,), _NONE, batch_group_count=2),
    _convolution("no_windows", (2, 3, 2), (2, 3, 4), (1,), _NONE, dtypes=_FEW[:1]),
    _convolution("empty_batch", (0, 3, 4), (2, 3, 2), (1,), _NONE, dtypes=_FEW[:1]),
    _convolution("no_features", (2, 0, 4), (2, 0, 2), (1,), _NONE, dtypes=_FEW[:1]),
    _convolution("empty_input", (2, 3, 0), (2, 3, 2), (1,), ((2, 1),), dtypes=_FEW[:1]),
    _convolution("empty_kernel", (2, 3, 4), (2, 3, 0), (1,), _NONE, dtypes=_FEW[:1]),
    _convolution(
        "wider_result",
        (1, 2, 5),
        (2, 2, 2),
        (1,),
        _NONE,
        preferred_element_type=np.dtype(np.int32),
        dtypes=(np.int8, np.uint8),
    ),
    _convolution(
        "wider_float",
        (1, 2, 5),
        (2, 2, 2),
        (1,),
        _NONE,
        preferred_element_type=np.dtype(np.float32),
        dtypes=(np.float16, np.int8),
    ),
)
