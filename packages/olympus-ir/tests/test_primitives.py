# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

from olympus_ir import Primitive, ShapedArray, lax, primitives, trace_to_olympuspr
from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.lax.core import late_modules
from olympus_ir.programs.primitives import add_to_instruction_set, instruction
from olympus_ir.programs.tracing import current
from olympus_ir.types.effects import debug_effect

F32 = ShapedArray((), np.float32)


def counted(**attributes):
    """Returns a primitive and the list of the arguments of its shape rule's calls."""
    calls = []
    primitive = Primitive.declare("counted", **attributes)

    @primitive.def_abstract_eval
    def rule(aval, **params):
        calls.append((aval, params))
        return [aval, aval] if primitive.multiple_results else aval

    return primitive, calls


def test_types_are_inferred_once():
    primitive, calls = counted()
    for _ in range(3):
        assert primitive.infer((F32,), {"a": 1}) == ((F32,), frozenset())
    assert primitive.infer((F32,), {"a": 2}) == ((F32,), frozenset())
    assert len(calls) == 2


def test_types_without_cache():
    primitive, calls = counted(cache_inference=False)
    primitive.infer((F32,), {"a": []})
    primitive.infer((F32,), {"a": []})
    assert len(calls) == 2


def test_parameters_of_instructions_must_be_hashable():
    params = {"axes": [0], "out_sharding": None}
    message = r"parameter `axes` of `reduce_sum` must be hashable, got \[0\]"
    with pytest.raises(TypeError, match=message):
        instruction("reduce_sum").infer((ShapedArray((2,), np.float32),), params)


def test_parameters_of_other_primitives_need_not_be_hashable():
    primitive, calls = counted()
    for _ in range(2):
        assert primitive.infer((F32,), {"a": [1]}) == ((F32,), frozenset())
    assert len(calls) == 2


def test_missing_shape_rule_raises():
    with pytest.raises(NotImplementedError, match="Abstract evaluation for 'bare' not implemented"):
        Primitive("bare").infer((F32,), {})


def test_primitives_may_have_several_results():
    primitive, _ = counted(multiple_results=True)
    olympuspr, _ = trace_to_olympuspr(lambda x: primitive.bind(x, n=2), [F32])
    assert str(olympuspr) == (
        "{ lambda ; a:f32[]. let b:f32[] c:f32[] = counted[n=2] a in (b, c) }"
    )


def test_effects_of_primitives_reach_equations():
    primitive = Primitive("effectful")
    primitive.def_effectful_abstract_eval(lambda aval: (aval, {debug_effect}))
    olympuspr, _ = trace_to_olympuspr(lambda x: [primitive.bind(x)], [F32])
    assert olympuspr.eqns[0].effects == olympuspr.effects == frozenset({debug_effect})


def test_evaluation_without_rule_or_implementation():
    primitive, _ = counted()
    with pytest.raises(MissingRuleError, match="counted"):
        primitive.bind(1.0)


def test_user_defined_implementation():
    primitive, _ = counted()
    primitive.def_impl(lambda x: np.asarray(x) + 1)
    assert primitive.bind(np.float32(1)) == 2


def test_the_instruction_set():
    assert lax.sin_p in primitives()
    assert instruction("sin") is lax.sin_p
    assert pickle.loads(pickle.dumps(lax.sin_p)) is lax.sin_p
    with pytest.raises(ValueError, match="'sin' already"):
        instruction("sin", family="elementwise")
    with pytest.raises(ValueError, match="'sin' already"):
        add_to_instruction_set(Primitive("sin"))


def test_names_are_unique_and_families_are_known():
    names = [primitive.name for primitive in primitives()]
    assert len(set(names)) == len(names)
    assert all(primitive.family for primitive in primitives())


def test_bind_with_trace_and_types():
    primitive, _ = counted()

    def program(x):
        with_types = primitive.bind_with_trace(current.trace, [x], [F32], {"n": 1})
        return [primitive.bind_with_trace(current.trace, [with_types], {"n": 2})]

    olympuspr, _ = trace_to_olympuspr(program, [F32])
    assert [equation.params for equation in olympuspr.eqns] == [{"n": 1}, {"n": 2}]
    assert primitive.get_bind_params({"n": 1}) == {"n": 1}


@pytest.mark.parametrize("module", sorted(late_modules.MODULES))
def test_modules_that_are_loaded_later(module):
    names = importlib.import_module(f"olympus_ir.lax.{module}").__all__
    assert late_modules.MODULES[module].split() == sorted(names)
    # The import system would put the module in the place of a function of the same name.
    assert module not in late_modules.MODULE_OF


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_rare_primitives_are_declared_lazily():
    code = """
import pickle, sys
from olympus_ir import lax
from olympus_ir.programs.primitives import instruction, primitives
print('olympus_ir.lax.ragged' in sys.modules, 'ragged_dot' in dir(lax), 'ragged_dot' in vars(lax))
print(instruction('ragged_dot_general').name, lax.scaled_dot_p in primitives())
"""
    assert run_python(code) == ["False", "True", "False", "ragged_dot_general", "True"]
    with pytest.raises(AttributeError, match="no attribute 'ragged_dut'"):
        _ = lax.ragged_dut
    with pytest.raises(KeyError):
        instruction("no_such_instruction")


def test_star_imports_rare_names_and_no_modules():
    code = "from olympus_ir.lax import *; print(*vars())"
    names = set(run_python(code))
    assert {"ragged_dot", "fft", "sin"} <= names
    assert not {"ragged", "elementwise", "later"} & names


@pytest.mark.parametrize("multiple_results", [False, True])
def test_shape_rule_result_must_match_multiple_results(multiple_results):
    primitive = Primitive.declare("odd", multiple_results=multiple_results)
    primitive.def_abstract_eval(lambda x: x if multiple_results else [x])
    with pytest.raises(ValueError, match=r"odd.abstract_eval\(\) method should return a tuple or"):
        primitive.infer((F32,), {})
