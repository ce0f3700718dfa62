# SPDX-License-Identifier: Apache-2.0
"""The sample of each primitive: XLA computes what the NumPy reference does."""

from __future__ import annotations

import pytest

from olympus_ir.avals import get_aval
from olympus_ir.reference import reference_evaluator
from olympus_testing import assert_close, cases
from olympus_xla import eager, jit


def listed(results):
    return list(results) if isinstance(results, list | tuple) else [results]


@pytest.mark.parametrize("case", cases(), ids=str)
def test_xla_agrees_with_the_reference(case):
    with case.context():
        params = dict(case.params)
        expected = listed(reference_evaluator.evaluate(case.primitive, case.args, params))
        actual = listed(eager.evaluate(case.primitive, case.args, params))
        assert [get_aval(each) for each in actual] == [get_aval(each) for each in expected]
        assert_close(actual, expected)


@pytest.mark.parametrize("case", cases(), ids=str)
@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_lowers_for_platforms_that_are_absent(case, platform):
    if platform == "tpu" and case.primitive.family == "callbacks":
        with case.context(), pytest.raises(NotImplementedError, match="cannot be lowered for tpu"):
            jit(case.run).lower(*case.args, lowering_platforms=(platform,))
        return
    with case.context():
        lowered = jit(case.run).lower(*case.args, lowering_platforms=(platform,))
        assert lowered.compiler_ir().operation.verify()
