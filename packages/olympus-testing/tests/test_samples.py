# SPDX-License-Identifier: Apache-2.0
"""Samples: complete, reproducible, and legal."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import pytest

from olympus_ir import Primitive, get_aval, lax, primitives
from olympus_ir.reference import reference_rules
from olympus_testing import (
    Binary,
    Operand,
    Operation,
    Unary,
    assert_complete,
    cases,
    check_shape_rule,
    sample,
    samples,
)


def test_each_primitive_has_a_sample():
    # The samples of olympus-ir's primitives: importing other packages adds samples.
    declared = {
        id(value)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "olympus_ir"
        for value in vars(module).values()
    }
    instructions = [each for each in primitives() if id(each) in declared]
    assert len(instructions) > 100
    assert_complete(samples, instructions)


def test_case_names_are_unique():
    repeated = [name for name, count in Counter(map(str, cases())).items() if count > 1]
    assert repeated == []


@pytest.mark.parametrize("case", cases(), ids=str)
def test_examples_are_reproducible_and_of_one_type(case):
    with case.context():
        first, second = case.examples(2), case.examples(2)
        types = [[get_aval(arg) for arg in example] for example in first]
    assert types[0] == types[1]
    for one, other in zip(first, second, strict=True):
        for arg, again in zip(one, other, strict=True):
            np.testing.assert_array_equal(np.asarray(arg), np.asarray(again))
    for position in case.differentiable:
        assert np.asarray(case.args[position]).dtype in (np.float64, np.complex128)


def test_examples_of_a_case_differ():
    (case, *_) = cases(lax.sin_p)
    one, other = case.examples(2)
    assert not np.array_equal(one[0], other[0])


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.complex64, np.bool_])
def test_operands_are_in_the_domain(dtype):
    values = Operand((100,), (-300.0, 0.5)).draw(np.random.default_rng(0), dtype)
    assert (values.shape, values.dtype) == ((100,), dtype)
    assert values.real.min() >= (-128 if dtype is np.int8 else -300)
    assert values.real.max() <= (1 if dtype is np.bool_ else 0.5)


def declared(*declarations):
    primitive = Primitive("declared")
    primitive.def_abstract_eval(lambda x, y=None: x)
    sample(primitive, *declarations)
    try:
        return {str(case).removeprefix("declared-"): case for case in cases(primitive)}
    finally:
        samples.pop(primitive)


def test_unary_declarations_become_cases():
    found = declared(Unary(dtypes=(np.float32, np.float64), order=1))
    assert set(found) == {
        "matrix-float32",
        "matrix-float64",
        "scalar-float32",
        "empty-float32",
        "special-float32",
    }
    assert found["matrix-float64"].differentiable == (0,)
    assert found["matrix-float32"].differentiable == ()
    assert found["matrix-float64"].order == 1
    assert found["matrix-float64"].batchable == (0,)
    assert np.isnan(found["special-float32"].args[0]).any()


def test_binary_declarations_become_cases():
    found = declared(Binary(dtypes=(np.float32,), second_domain=(5, 6), special_values=False))
    shapes = {name: tuple(arg.shape for arg in case.args) for name, case in found.items()}
    assert shapes == {
        "matrices-float32": ((2, 3), (2, 3)),
        "scalar_and_matrix-float32": ((), (2, 3)),
        "matrix_and_scalar-float32": ((2, 3), ()),
        "row_and_column-float32": ((1, 3), (2, 1)),
        "scalars-float32": ((), ()),
    }
    assert all((case.args[1] >= 5).all() for case in found.values())


def test_operations_become_cases():
    operation = Operation(
        "mixed",
        (Operand((2,)), np.arange(3), lambda generator, dtype: generator.integers(5)),
        lambda dtype: {"dtype": dtype},
        dtypes=(np.float64,),
        differentiable=(0,),
        batchable=False,
    )
    (case,) = declared(operation).values()
    assert (case.differentiable, case.batchable) == ((0,), ())
    assert case.params == {"dtype": np.float64}
    assert case.args[1].tolist() == [0, 1, 2]


def test_cases_enable_the_types_they_need():
    with cases(lax.sin_p)[0].context():
        assert get_aval(np.ones(1)).dtype == np.float32
    (wide,) = [case for case in cases(lax.sin_p) if str(case) == "sin-matrix-float64"]
    with wide.context():
        assert wide.run(*wide.args).dtype == np.float64


def test_cases_of_families():
    families = {case.primitive.family for case in cases(families=["sorting"])}
    assert families == {"sorting"}


def test_incorrect_shape_rules_are_detected():
    primitive = Primitive("wrong")
    primitive.def_abstract_eval(lambda x: x.update(shape=(7,)))
    reference_rules.define(primitive, np.negative)
    try:
        (case,) = Operation("vector", (Operand((2,)),), dtypes=(np.float32,)).cases(primitive)
        with pytest.raises(AssertionError, match=r"wrong-vector-float32: the shape rule says"):
            check_shape_rule(case)
    finally:
        reference_rules.pop(primitive)


def test_second_sample_of_a_primitive_raises():
    with pytest.raises(ValueError, match="sin has a sample rule already"):
        sample(lax.sin_p, Unary())
