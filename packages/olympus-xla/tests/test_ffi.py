# SPDX-License-Identifier: Apache-2.0
"""Foreign calls as far as no foreign function is needed: programs, rules, lowering, bad input.

Functions compiled from C++ are called in integration_tests/test_ffi.py.
"""

import ctypes
import os

import numpy as np
import pytest

from olympus_autodiff import jvp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.errors import JaxRuntimeError
from olympus_ir.programs.make import ShapeDtypeStruct, eval_shape, make_olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_xla import jit
from olympus_xla.arrays.layouts import Layout
from olympus_xla.compiling.lowering.adapters import ffi_rules
from olympus_xla.compiling.lowering.tables import lowering_rules
from olympus_xla.foreign import ffi
from olympus_xla.foreign.ffi_attributes import (
    FrozenDict,
    HashableArray,
    TypedScalar,
    hashable_attribute,
)

F32 = np.float32
X = np.ones((3, 4), F32)
LIKE_X = ShapeDtypeStruct((3, 4), F32)


def parameters(function, *args):
    (equation,) = make_olympuspr(function)(*args).jaxpr.eqns
    return equation.params


def text(function, *args):
    lowered = jit(function).lower(*args)
    assert lowered.compiler_ir().operation.verify()
    return lowered.as_text()


def test_one_result_or_several():
    closed = make_olympuspr(ffi.ffi_call("f", LIKE_X))(X)
    assert [str(aval) for aval in closed.out_avals] == ["float32[3,4]"]
    results = make_olympuspr(ffi.ffi_call("f", (LIKE_X, ShapeDtypeStruct((), "int32"))))(X)
    assert [str(aval) for aval in results.out_avals] == ["float32[3,4]", "int32[]"]
    assert make_olympuspr(ffi.ffi_call("f", []))(X).out_avals == []


def test_attributes_in_the_module():
    call = ffi.ffi_call("f", LIKE_X)
    lowered = text(
        lambda x: call(
            x,
            flag=True,
            integer=2**40,
            small=np.int8(3),
            real=1.5,
            single=np.float32(0.5),
            text="hi",
            raw=b"bytes",
            kind=np.dtype(F32),
            pair=(1, 2.0),
            array=np.array([[1.0, 2.0]], F32),
            table={"inner": {"deep": 7}},
        ),
        X,
    )
    for shown in (
        "flag = true",
        'raw = "bytes"',
        "kind = f32",
        "integer = 1099511627776 : i64",
        "small = 3 : i8",
        "real = 1.500000e+00 : f64",
        "single = 5.000000e-01 : f32",
        'text = "hi"',
        "pair = [1, 2.000000e+00]",
        "array = dense<[[1.000000e+00, 2.000000e+00]]> : tensor<1x2xf32>",
        "table = {inner = {deep = 7 : i64}}",
        'backend_config = "", mhlo.backend_config = {',
    ):
        assert shown in lowered


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([1, 2], "Non-hashable keyword argument to ffi_call a: .1, 2."),
        (None, "Unsupported keyword argument to ffi_call a: None of type NoneType"),
        (object(), "Unsupported keyword argument to ffi_call a"),
        (1j, "Unsupported keyword argument to ffi_call a: 1j"),
        ((1, [2]), "Non-hashable keyword argument"),
    ],
)
def test_invalid_attributes_raise(value, complaint):
    with pytest.raises(TypeError, match=complaint):
        make_olympuspr(lambda x: ffi.ffi_call("f", LIKE_X)(x, a=value))(X)


def test_integers_beyond_64_bits():
    with pytest.raises(OverflowError, match="does not fit into 64 bits"):
        text(lambda x: ffi.ffi_call("f", LIKE_X)(x, a=2**63), X)


def test_attributes_are_compared_with_their_types():
    for one, other in [(1, 1.0), (1, True), (0.0, -0.0), (np.float32(1), 1.0), (1, np.int64(1))]:
        first, second = hashable_attribute("a", one), hashable_attribute("a", other)
        assert isinstance(first, TypedScalar)
        assert first != second
        assert first == hashable_attribute("a", one)
        assert hash(first) == hash(hashable_attribute("a", one))
        assert repr(first) == repr(one)
    nan = hashable_attribute("a", float("nan"))
    assert nan == hashable_attribute("a", float("nan"))
    array = np.arange(3)
    frozen = hashable_attribute("a", array)
    array[0] = 7
    assert frozen == HashableArray(np.arange(3))
    assert frozen != HashableArray(np.arange(3, dtype=np.int8))
    assert hash(frozen) == hash(HashableArray(np.arange(3)))
    table = hashable_attribute("a", {"x": 1, "y": {"z": np.arange(2)}})
    assert isinstance(table, FrozenDict)
    assert table == hashable_attribute("a", {"y": {"z": np.arange(2)}, "x": 1})
    assert hash(table) == hash(hashable_attribute("a", {"y": {"z": np.arange(2)}, "x": 1}))


def test_layouts_are_given_from_major_to_minor():
    call = ffi.ffi_call("f", LIKE_X, input_layouts=[(1, 0)], output_layouts=Layout((1, 0)))
    params = parameters(call, X)
    assert params["input_layouts"] == params["output_layouts"] == ((0, 1),)
    assert parameters(ffi.ffi_call("f", LIKE_X), X)["input_layouts"] == ((1, 0),)
    assert "operand_layouts = [dense<[0, 1]> : tensor<2xindex>]" in text(call, X)
    with pytest.raises(ValueError, match=r"input arguments \(1\) must equal .* layouts \(2\)"):
        ffi.ffi_call("f", LIKE_X, input_layouts=[None, None])(X)
    with pytest.raises(ValueError, match=r"output results \(1\) must equal"):
        ffi.ffi_call("f", [LIKE_X], output_layouts=[None, None])(X)
    with pytest.raises(ValueError, match=r"input_layouts\[0\] is \(0, 2\).*permutation"):
        ffi.ffi_call("f", LIKE_X, input_layouts=[(0, 2)])(X)


def test_aliases_are_written_into_the_module():
    call = ffi.ffi_call("f", LIKE_X, input_output_aliases={0: 0})
    assert "output_tuple_indices = [], operand_index = 0" in text(call, X)
    two = ffi.ffi_call("f", [LIKE_X, LIKE_X], input_output_aliases={0: 1})
    assert "output_tuple_indices = [1], operand_index = 0" in text(two, X)
    for aliases, complaint in [
        ({0: 1}, "mapping '0:1' with output index 1 outside the range"),
        ({1: 0}, "mapping '1:0' with input index 1 outside the range"),
        ({-1: 0}, "input index -1 outside the range"),
    ]:
        with pytest.raises(ValueError, match=complaint):
            ffi.ffi_call("f", LIKE_X, input_output_aliases=aliases)(X)
    with pytest.raises(ValueError, match=r"float32\[3,4\] and an output with a different .*\[2\]"):
        ffi.ffi_call("f", ShapeDtypeStruct((2,), F32), input_output_aliases={0: 0})(X)


@pytest.mark.parametrize(
    ("method", "shapes", "layouts"),
    [
        ("broadcast_all", [(3, 4), (3, 2)], ((1, 0), (1, 0))),
        ("expand_dims", [(3, 4), (1, 2)], ((1, 0), (1, 0))),
        ("legacy_vectorized", [(3, 4), (2,)], ((1, 0), (0,))),
    ],
)
def test_one_call_for_all_examples(method, shapes, layouts):
    call = ffi.ffi_call("f", ShapeDtypeStruct((4,), F32), vmap_method=method)
    closed = make_olympuspr(vmap(call, in_axes=(0, None)))(X, np.ones(2, F32))
    equation = closed.jaxpr.eqns[-1]
    assert equation.primitive is ffi.ffi_call_p
    assert [atom.aval.shape for atom in equation.invars] == shapes
    assert equation.params["input_layouts"] == layouts
    assert equation.params["output_layouts"] == ((1, 0),)
    assert equation.outvars[0].aval.shape == (3, 4)


@pytest.mark.parametrize(("method", "unroll"), [("sequential", 1), ("sequential_unrolled", 3)])
def test_a_call_for_each_example(method, unroll):
    call = ffi.ffi_call("f", ShapeDtypeStruct((4,), F32), vmap_method=method)
    closed = make_olympuspr(vmap(call))(X)
    (loop,) = closed.jaxpr.eqns
    assert loop.primitive is lax.scan_p
    assert loop.params["unroll"] == unroll
    assert closed.out_avals[0].shape == (3, 4)


def test_unknown_vmap_methods_raise():
    with pytest.raises(ValueError, match="vmap_method must be one of the allowed methods"):
        ffi.ffi_call("f", LIKE_X, vmap_method="quickly")
    with pytest.raises(NotImplementedError, match="vmap is only supported for the ffi_call prim"):
        make_olympuspr(vmap(ffi.ffi_call("f", ShapeDtypeStruct((4,), F32))))(X)


def test_derivatives_of_foreign_calls_raise():
    with pytest.raises(ValueError, match=r"FFI call to `f` cannot be differentiated.*custom_vjp"):
        jvp(ffi.ffi_call("f", LIKE_X), (X,), (X,))


def test_side_effects_keep_the_call():
    def function(x, effect):
        ffi.ffi_call("f", LIKE_X, has_side_effect=effect)(x)
        return x

    assert "custom_call" not in text(lambda x: function(x, False), X)
    assert "has_side_effect = true" in text(lambda x: function(x, True), X)
    assert len(make_olympuspr(lambda x: function(x, True))(X).effects) == 1


def test_older_interfaces_are_lowered():
    call = ffi.ffi_call("f", LIKE_X, custom_call_api_version=2, legacy_backend_config="opaque")
    lowered = text(call, X)
    assert "api_version = 2 : i32" in lowered
    assert 'backend_config = "opaque"' in lowered
    with pytest.raises(ValueError, match="requires custom_call_api_version < 4; got 4"):
        ffi.ffi_call("f", LIKE_X, legacy_backend_config="opaque")
    with pytest.raises(ValueError, match="attributes requires .* at least 4; got api_version=2"):
        call(X, scale=2)
    with pytest.raises(ValueError, match="must be 0 or positive"):
        ffi.ffi_call("f", LIKE_X, custom_call_api_version=-1)


def test_sequence_of_results():
    for kind in (list, tuple):
        assert type(eval_shape(ffi.ffi_call("f", kind([LIKE_X])), X)) is kind


def test_routines_of_lapack():
    square = (X.T @ X + 9 * np.eye(X.shape[1])).astype(F32)
    results = (ShapeDtypeStruct(square.shape, F32), ShapeDtypeStruct((), np.int32))
    layouts = {"input_layouts": [(1, 0)], "output_layouts": [(1, 0), ()]}
    call = ffi.ffi_call("lapack_spotrf_ffi", results, **layouts)
    factor, failed = call(square, uplo=np.uint8(ord("L")))
    assert failed == 0
    assert np.allclose(np.tril(factor), np.linalg.cholesky(square), atol=1e-5)


def test_results_must_have_types():
    with pytest.raises(ValueError, match="must have 'shape' and 'dtype' attributes"):
        ffi.ffi_call("f", {"a": LIKE_X})


def test_unregistered_functions_raise():
    for call in (ffi.ffi_call("no_such_function", LIKE_X), jit(ffi.ffi_call("no_such_f", LIKE_X))):
        with pytest.raises(JaxRuntimeError, match=r"none is registered under this .*'cpu'"):
            call(X)


def test_invalid_registrations_raise():
    with pytest.raises(TypeError, match="fn must be a capsule"):
        ffi.register_ffi_target("f", lambda x: x)
    with pytest.raises(TypeError, match="fn must be a capsule"):
        ffi.register_ffi_target("f", {"execute": 3})
    for bad in (3, {}):
        with pytest.raises(TypeError, match="type_registration must be a dictionary"):
            ffi.register_ffi_type("t", bad)


def test_pycapsule_and_include_dir():
    assert type(ffi.pycapsule(ctypes.CDLL(None).abs)).__name__ == "PyCapsule"
    assert os.path.isfile(os.path.join(ffi.include_dir(), "xla", "ffi", "api", "c_api.h"))


def test_lowering_rules_of_other_primitives():
    scaled_p = Primitive("scaled")
    scaled_p.def_abstract_eval(lambda x, scale: x)
    lowering_rules.define(
        scaled_p,
        # A plain sequence is as XLA writes it, unlike a `Layout` and unlike those of `ffi_call`.
        ffi_rules.ffi_lowering(
            "scaled_function",
            operand_layouts=[(0, 1)],
            result_layouts=[Layout((0, 1))],
            has_side_effect=True,
        ),
    )
    lowered = text(lambda x: scaled_p.bind(x, scale=2.5), X)
    assert "custom_call @scaled_function" in lowered
    assert "scale = 2.500000e+00 : f64" in lowered
    assert "has_side_effect = true" in lowered
    assert "operand_layouts = [dense<[0, 1]>" in lowered
    assert "result_layouts = [dense<[1, 0]>" in lowered
    build = ffi_rules.build_ffi_lowering_function("scaled_function")
    both_p = Primitive.declare("both", multiple_results=True)
    both_p.def_abstract_eval(lambda x: [x, x])
    lowering_rules.define(both_p, lambda context, x: list(build(context, x).results))
    assert "%0:2 = stablehlo.custom_call @scaled_function" in text(both_p.bind, X)
