# SPDX-License-Identifier: Apache-2.0
"""Convolutions of integers as sums of products, which GPUs use: the values of the reference."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p
from olympus_ir.reference import reference_evaluator
from olympus_testing import cases
from olympus_xla import jit
from olympus_xla.compiling.lowering.gpu.convolutions import sum_of_products

CASES = [case for case in cases() if case.primitive is conv_general_dilated_p]


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8, np.int64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sums_of_products(case, dtype):
    rng = np.random.default_rng(0)
    with case.context():
        arguments = [rng.integers(0, 100, each.shape).astype(dtype) for each in case.args]
        params = dict(case.params)
        if params["preferred_element_type"] is not None:
            params["preferred_element_type"] = np.dtype(np.int32)
        expected = reference_evaluator.evaluate(conv_general_dilated_p, arguments, params)
        actual = jit(lambda x, y: sum_of_products(x, y, **params))(*arguments)
        assert actual.dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(actual, expected)


def test_integers_have_no_convolution_on_gpus():
    kinds = [ShapeDtypeStruct(shape, np.int8) for shape in ((1, 2, 5), (2, 2, 2))]
    convolution = jit(lambda x, y: lax.conv(x, y, (1,), "VALID"))
    texts = [
        convolution.trace(*kinds).lower(lowering_platforms=(platform,)).as_text()
        for platform in ("cuda", "cpu")
    ]
    assert ["stablehlo.convolution" in text for text in texts] == [False, True]
