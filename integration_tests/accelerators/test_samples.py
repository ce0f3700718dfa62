# SPDX-License-Identifier: Apache-2.0
"""Comparison of the accelerator with the NumPy reference on the sample of each primitive."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import olympus
from olympus_ir.reference import reference_evaluator
from olympus_ir.types.avals import get_aval
from olympus_testing import assert_close, cases

# No accelerator has a routine for these; lowering refuses them by name.
WITHOUT_ROUTINE = ("schur",)
# Their result says on which platform they run.
OF_PLATFORM = ("platform_index",)


def listed(results):
    return list(results) if isinstance(results, list | tuple) else [results]


def with_highest_precision(params):
    """Returns parameters without an approximate product such as TF32."""
    if "precision" in params and params["precision"] is None:
        return {**params, "precision": (olympus.lax.Precision.HIGHEST,) * 2}
    return dict(params)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_accelerator_agrees_with_the_reference(case, accelerator):
    if case.primitive.name in OF_PLATFORM:
        pytest.skip("the result depends on the platform")
    params = with_highest_precision(case.params)
    case = dataclasses.replace(case, params=params)
    with case.context(), olympus.default_matmul_precision("highest"):
        if case.primitive.name in WITHOUT_ROUTINE:
            with pytest.raises(NotImplementedError):
                olympus.jit(case.run)(*case.args)
            return
        expected = listed(reference_evaluator.evaluate(case.primitive, case.args, params))
        actual = listed(olympus.jit(case.run)(*case.args))
        assert {device for each in actual for device in each.devices()} <= {accelerator}
        if case.canonical is not None:
            actual, expected = (
                case.canonical([np.asarray(each) for each in found]) for found in (actual, expected)
            )
        assert [get_aval(each) for each in actual] == [get_aval(each) for each in expected]
        assert_close(actual, expected)
