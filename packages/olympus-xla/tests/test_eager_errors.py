# SPDX-License-Identifier: Apache-2.0
"""Errors of primitives and operands that cannot be evaluated."""

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_xla import jit
from olympus_xla.calls.eager import compile_and_run


def test_a_primitive_without_any_rule():
    bare = Primitive("bare")
    with pytest.raises(NotImplementedError, match="^Evaluation rule for 'bare' not implemented"):
        bare.bind(1.0)
    with pytest.raises(NotImplementedError, match="^Abstract evaluation for 'bare' not implemen"):
        jit(bare.bind)(1.0)


def test_a_primitive_without_a_lowering_rule():
    unlowered = Primitive("unlowered")
    unlowered.def_abstract_eval(lambda x: x)
    for _ in range(2):
        with pytest.raises(NotImplementedError, match="^Evaluation rule for 'unlowered' not imple"):
            unlowered.bind(1.0)
    with pytest.raises(NotImplementedError, match="rule for primitive 'unlowered' not found"):
        jit(unlowered.bind)(1.0)
    with pytest.raises(NotImplementedError, match="rule for primitive 'unlowered' not found"):
        lax.cond(True, unlowered.bind, lax.neg, 1.0)
    unlowered.def_impl(lambda *args, **params: compile_and_run(unlowered, args, params))
    with pytest.raises(NotImplementedError, match="rule for primitive 'unlowered' not found"):
        unlowered.bind(1.0)


def test_errors_name_non_array_operands():
    with pytest.raises(TypeError, match=r"type <class 'numpy.ndarray'> and was passed to add at"):
        lax.add(1, np.array("hello"))
