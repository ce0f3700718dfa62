# SPDX-License-Identifier: Apache-2.0
"""Foreign functions written in C++ and compiled with the system's compiler."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import olympus
from olympus import ShapeDtypeStruct, ffi, lax
from olympus.errors import JaxRuntimeError

SOURCE = Path(__file__).parent / "foreign" / "foreign_functions.cc"
COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
FUNCTIONS = "RmsNorm RmsNormForward RmsNormBackward Attributes Increment Memory Count".split()
F32 = np.float32

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler (c++, g++, CXX)")


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("foreign") / "foreign_functions.so"
    options = ["-std=c++17", "-O1", "-w", "-fPIC", "-shared", f"-I{ffi.include_dir()}"]
    subprocess.run([COMPILER, *options, str(SOURCE), "-o", str(path)], check=True, timeout=300)
    return ctypes.CDLL(str(path))


@pytest.fixture(autouse=True, scope="session")
def registered(library):
    for name in FUNCTIONS:
        ffi.register_ffi_target(f"test_{name}", ffi.pycapsule(getattr(library, name)))


def like(x) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(x.shape, x.dtype)


def rms_norm(x, eps=1e-5, vmap_method="broadcast_all"):
    return ffi.ffi_call("test_RmsNorm", like(x), vmap_method=vmap_method)(x, eps=np.float32(eps))


@functools.partial(olympus.custom_vjp, nondiff_argnums=(1,))
def differentiable_rms_norm(x, eps):
    return rms_norm(x, eps)


def forward(x, eps):
    results = like(x), ShapeDtypeStruct(x.shape[:-1], x.dtype)
    call = ffi.ffi_call("test_RmsNormForward", results, vmap_method="broadcast_all")
    y, scale = call(x, eps=np.float32(eps))
    return y, (scale, x)


def backward(eps, residuals, ct):
    scale, x = residuals
    return (
        ffi.ffi_call("test_RmsNormBackward", like(ct), vmap_method="broadcast_all")(scale, x, ct),
    )


differentiable_rms_norm.defvjp(forward, backward)


def expected(x, eps=1e-5):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(3, 5)).astype(F32)


def test_eager_calls_return_the_declared_type(x) -> None:
    y = rms_norm(x)
    assert y.shape == (3, 5)
    assert y.dtype == F32
    np.testing.assert_allclose(y, expected(x), rtol=1e-5)


def test_compiled_calls_are_part_of_the_program(x) -> None:
    function = olympus.jit(lambda x: lax.sin(rms_norm(lax.exp(x))))
    np.testing.assert_allclose(function(x), np.sin(expected(np.exp(x))), rtol=1e-4)
    text = function.lower(x).as_text()
    assert "stablehlo.custom_call @test_RmsNorm" in text
    assert "eps = 9.99999974E-6 : f32" in text


def test_program_texts_show_attributes(x) -> None:
    text = str(olympus.make_olympuspr(rms_norm)(x))
    assert "b:f32[3,5] = ffi_call[" in text
    assert "attributes=(('eps', np.float32(1e-05)),)" in text
    assert "input_layouts=((1, 0),)" in text
    assert "target_name=test_RmsNorm" in text


@pytest.mark.parametrize(
    "method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]
)
def test_every_vmap_method_equals_a_loop(x, method: str) -> None:
    batch = np.stack([x, 2 * x + 1, x**2, x - 1], axis=1)  # [3, batch, 5]
    function = functools.partial(rms_norm, vmap_method=method)
    for batched in (
        olympus.vmap(function, in_axes=1),
        olympus.jit(olympus.vmap(function, in_axes=1)),
    ):
        np.testing.assert_allclose(batched(batch), np.moveaxis(expected(batch), 1, 0), rtol=1e-5)


def test_vmap_with_unbatched_operands(x) -> None:
    ct = np.stack([x, x + 1])
    _, (scale, _) = forward(x, 1e-5)
    for method in ("sequential", "broadcast_all"):
        call = ffi.ffi_call("test_RmsNormBackward", like(x), vmap_method=method)
        result = olympus.vmap(call, in_axes=(None, None, 0))(scale, x, ct)
        singly = [call(scale, x, each) for each in ct]
        np.testing.assert_allclose(result, np.stack(singly), rtol=1e-6)


def test_vmap_without_vmap_method_raises(x) -> None:
    with pytest.raises(NotImplementedError, match="vmap is only supported for the ffi_call"):
        olympus.vmap(functools.partial(rms_norm, vmap_method=None))(x)


def test_derivative_is_that_of_the_custom_rule(x) -> None:
    def loss(x):
        return lax.reduce_sum(lax.sin(differentiable_rms_norm(x, 1e-5)), (0, 1))

    def reference_loss(x):
        squares = lax.reduce_sum(lax.mul(x, x), (1,))
        scale = lax.rsqrt(lax.add(lax.div(squares, F32(5)), F32(1e-5)))
        return lax.reduce_sum(
            lax.sin(lax.mul(x, lax.broadcast_in_dim(scale, x.shape, (0,)))), (0, 1)
        )

    gradient = olympus.grad(reference_loss)(x)
    np.testing.assert_allclose(olympus.grad(loss)(x), gradient, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(olympus.jit(olympus.grad(loss))(x), gradient, rtol=1e-4, atol=1e-5)
    batch = np.stack([x, x + 1])
    np.testing.assert_allclose(
        olympus.vmap(olympus.grad(loss))(batch),
        np.stack([olympus.grad(reference_loss)(each) for each in batch]),
        rtol=1e-4,
        atol=1e-5,
    )


def test_differentiation_without_rule_raises(x) -> None:
    with pytest.raises(ValueError, match=r"test_RmsNorm` cannot be differentiated.*custom_vjp"):
        olympus.grad(lambda x: lax.reduce_sum(rms_norm(x), (0, 1)))(x)
    with pytest.raises(ValueError, match="cannot be differentiated"):
        olympus.jvp(rms_norm, (x,), (x,))


def attributes(**changes):
    values = {
        "flag": True,
        "narrow": np.int32(-3),
        "wide": 5 << 32,
        "single": np.float32(1.5),
        "twice": 2.5,
        "text": "seven c",
        "integers": np.array([1, 2, 4], np.int64),
        "options": {"inner": 0.25, "other": {"deep": "x"}},
        **changes,
    }
    return ffi.ffi_call("test_Attributes", ShapeDtypeStruct((9,), F32))(**values)


def test_attributes_of_all_types_reach_the_function() -> None:
    for call in (attributes, olympus.jit(attributes)):
        assert call().tolist() == [1, -3, 5, 1.5, 2.5, 7, 3, 7, 0.25]
    # Calls that differ in one attribute are different programs, also where Python finds it equal.
    assert attributes(twice=3.5).tolist()[4] == 3.5
    assert attributes(integers=np.array([1, 3], np.int64)).tolist()[6:8] == [2, 4]
    with pytest.raises(JaxRuntimeError, match="expected F64 but got F32"):
        attributes(twice=np.float32(2.5))
    with pytest.raises(JaxRuntimeError, match="bad operands at: 0"):
        attributes(flag=1)


def test_aliased_results_reuse_donated_memory() -> None:
    def increment(x, aliases):
        results = like(x), ShapeDtypeStruct((1,), np.int32)
        return ffi.ffi_call("test_Increment", results, input_output_aliases=aliases)(x)

    x = np.arange(4, dtype=F32)
    donating = olympus.jit(lambda x: increment(x, {0: 0}), donate_argnums=0)
    y, same = donating(olympus.device_put(x))
    assert y.tolist() == [1, 2, 3, 4]
    assert same.tolist() == [1]
    y, same = olympus.jit(lambda x: increment(x, None))(x)
    assert y.tolist() == [1, 2, 3, 4]
    assert same.tolist() == [0]
    # Without donation XLA makes a copy to write to.
    kept = olympus.device_put(x)
    assert increment(kept, {0: 0})[0].tolist() == [1, 2, 3, 4]
    assert kept.tolist() == [0, 1, 2, 3]


def test_layouts_determine_the_order_in_memory() -> None:
    x = np.arange(6, dtype=F32).reshape(2, 3)

    def memory(x, input_layout, output_layout, method=None):
        call = ffi.ffi_call(
            "test_Memory",
            like(x),
            input_layouts=[input_layout],
            output_layouts=output_layout,
            vmap_method=method,
        )
        return call(x)

    def read(memory, layout):
        """Returns the array that flat memory holds in a layout."""
        shape = [x.shape[dim] for dim in layout]
        return np.asarray(memory).reshape(shape).transpose(np.argsort(layout))

    row, column = (0, 1), (1, 0)
    assert np.array_equal(memory(x, None, None), x)
    assert np.array_equal(memory(x, column, column), x)
    assert np.array_equal(memory(x, column, row), read(x.T.ravel(), row))
    assert np.array_equal(memory(x, row, column), read(x.ravel(), column))
    batch = np.stack([x, x + 10])
    result = olympus.vmap(lambda x: memory(x, column, row, "broadcast_all"))(batch)
    assert np.array_equal(result, [read(each.T.ravel(), row) for each in batch])


def test_calls_with_side_effects_are_kept() -> None:
    def count(x, effect):
        call = ffi.ffi_call("test_Count", ShapeDtypeStruct((), np.int32), has_side_effect=effect)
        return call(x)

    x = np.ones(2, F32)
    before = int(count(x, True))

    @olympus.jit
    def ignoring(x):
        count(x, True)
        count(x, False)
        return x

    olympus.block_until_ready(ignoring(x))
    assert int(count(x, True)) == before + 2


def test_error_status_raises() -> None:
    with pytest.raises(JaxRuntimeError, match="RmsNorm: the operand must be an array") as caught:
        rms_norm(np.float32(1))
    assert caught.value.error_code_string == "INVALID_ARGUMENT"


def test_unregistered_targets_raise_when_they_run(x) -> None:
    call = ffi.ffi_call("not_registered", like(x))
    assert olympus.eval_shape(call, x).shape == (3, 5)
    for attempt in (call, olympus.jit(call)):
        with pytest.raises(JaxRuntimeError, match="'not_registered', and none is registered"):
            attempt(x)
    old = ffi.ffi_call("not_registered", like(x), custom_call_api_version=2)
    with pytest.raises(JaxRuntimeError, match=r"register_ffi_target.*api_version=0"):
        old(x)


def test_lowering_for_an_absent_platform(x) -> None:
    text = olympus.jit(rms_norm).trace(x).lower(lowering_platforms=("cuda",)).as_text()
    assert "stablehlo.custom_call @test_RmsNorm" in text
