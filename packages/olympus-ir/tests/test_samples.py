# SPDX-License-Identifier: Apache-2.0
"""The sample of each primitive: shape rules and the reference evaluator agree."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import eval_olympuspr, lax
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.staging import staging_rules, trace_to_olympuspr
from olympus_ir.reference import reference_evaluator
from olympus_ir.types.avals import get_aval
from olympus_testing import assert_close, cases, check_shape_rule


@pytest.mark.parametrize("case", cases(), ids=str)
def test_samples_have_the_types_of_shape_rules(case):
    check_shape_rule(case)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_traced_programs_equal_direct_evaluation(case):
    with case.context():
        results = _listed(
            reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        )
        avals = [get_aval(arg) for arg in case.args]
        olympuspr, consts = trace_to_olympuspr(lambda *args: _listed(case.run(*args)), avals)
        check_olympuspr(olympuspr)
        # What tracing leaves out has no equation, all else has one.
        assert len(olympuspr.eqns) == 1 or (case.primitive in staging_rules and not olympuspr.eqns)
        assert consts == []
        assert [get_aval(result) for result in results] == olympuspr.out_avals
        evaluated = eval_olympuspr(olympuspr, [], *case.args)
        if case.canonical is not None:
            evaluated, results = (
                case.canonical([np.asarray(each) for each in found])
                for found in (evaluated, results)
            )
        assert_close(evaluated, results)


def test_weak_operands_give_weak_results():
    assert reference_evaluator.evaluate(lax.add_p, (1.0, 2.0), {}).weak_type
    assert not reference_evaluator.evaluate(lax.add_p, (1.0, np.float32(2)), {}).weak_type


def _listed(results):
    return list(results) if isinstance(results, list | tuple) else [results]
