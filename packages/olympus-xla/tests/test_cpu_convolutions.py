# SPDX-License-Identifier: Apache-2.0
"""Depthwise and pointwise convolutions: sums of views and products of matrices."""

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax.convolution import conv_general_dilated_p
from olympus_ir.reference import reference_evaluator
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_testing import assert_close, cases
from olympus_xla import device_put, jit
from olympus_xla.calls import eager
from olympus_xla.compiling.lowering.cpu import convolutions

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(2, 6, 12, 11)).astype(np.float32)
WINDOWS = RNG.normal(size=(6, 1, 3, 2)).astype(np.float32)
MATRIX = RNG.normal(size=(5, 6, 1, 1)).astype(np.float32)
CHANNELS_LAST = ("NHWC", "HWIO", "NHWC")


def depthwise(images, windows, strides=(1, 1), padding="SAME", **options):
    return lax.conv_general_dilated(
        images, windows, strides, padding, feature_group_count=6, **options
    )


def depthwise_by_numpy(images, windows, strides, padding, dilation):
    wide = np.pad(images.astype(np.float64), ((0, 0), (0, 0), *padding))
    reach = [d * (size - 1) + 1 for d, size in zip(dilation, windows.shape[2:], strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(wide, reach, axis=(2, 3))
    views = views[:, :, :: strides[0], :: strides[1], :: dilation[0], :: dilation[1]]
    return np.einsum("bfhwij,fij->bfhw", views, windows[:, 0].astype(np.float64))


@pytest.mark.parametrize(
    ("strides", "padding", "dilation"),
    [
        ((1, 1), ((1, 1), (0, 1)), (1, 1)),
        ((2, 1), ((0, 0), (3, 0)), (1, 1)),
        ((2, 3), ((2, 1), (1, 2)), (2, 3)),
    ],
)
def test_depthwise_convolutions(strides, padding, dilation):
    images = np.tile(IMAGES, (4, 1, 1, 1))
    run = jit(lambda x, w: depthwise(x, w, strides, padding, rhs_dilation=dilation))
    assert "stablehlo.convolution" not in run.lower(images, WINDOWS).as_text()
    expected = depthwise_by_numpy(images, WINDOWS, strides, padding, dilation)
    np.testing.assert_allclose(run(images, WINDOWS), expected, atol=1e-5)


def test_features_last():
    last = jit(lambda x, w: depthwise(x, w, dimension_numbers=CHANNELS_LAST))
    result = last(np.transpose(IMAGES, (0, 2, 3, 1)), np.transpose(WINDOWS, (2, 3, 1, 0)))
    expected = depthwise_by_numpy(IMAGES, WINDOWS, (1, 1), ((1, 1), (0, 1)), (1, 1))
    np.testing.assert_allclose(np.transpose(result, (0, 3, 1, 2)), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(dtype):
    images, windows = IMAGES.astype(dtype), WINDOWS.astype(dtype)
    result = np.asarray(jit(depthwise)(images, windows))
    wide = images.astype(np.float64), windows.astype(np.float64)
    expected = depthwise_by_numpy(*wide, (1, 1), ((1, 1), (0, 1)), (1, 1))
    eps = float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(result.astype(np.float64), expected, rtol=eps, atol=1e-5)


def test_pointwise_convolutions():
    images = np.tile(IMAGES, (1, 1, 2, 1))
    run = jit(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "VALID"))
    assert "stablehlo.convolution" not in run.lower(images, MATRIX).as_text()
    expected = np.einsum("bfhw,of->bohw", images, MATRIX[:, :, 0, 0])
    np.testing.assert_allclose(run(images, MATRIX), expected, atol=1e-5)


def test_groups_of_examples_are_convolved_by_themselves():
    """The derivative with respect to the windows of a convolution with groups of features."""
    images = RNG.normal(size=(4, 8, 10, 11)).astype(np.float32)
    windows = RNG.normal(size=(6, 4, 3, 2)).astype(np.float32)
    weights = RNG.normal(size=(4, 6, 8, 10)).astype(np.float32)

    def weighted(w):
        result = lax.conv_general_dilated(images, w, (1, 1), "VALID", feature_group_count=2)
        return lax.reduce_sum(lax.mul(result, weights), (0, 1, 2, 3))

    run = jit(grad(weighted))
    assert "batch_group_count = 2" not in run.lower(windows).as_text()
    views = np.lib.stride_tricks.sliding_window_view(images, (3, 2), axis=(2, 3))
    halves = [
        np.einsum("bfhwij,bohw->ofij", views[:, :4], weights[:, :3]),
        np.einsum("bfhwij,bohw->ofij", views[:, 4:], weights[:, 3:]),
    ]
    np.testing.assert_allclose(run(windows), np.concatenate(halves), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("numbers", [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")], ids=str)
def test_groups_are_convolved_by_themselves(numbers):
    lhs_places, rhs_places = (
        ["NCHW".index(letter) for letter in numbers[0]],
        ["OIHW".index(letter) for letter in numbers[1]],
    )
    images = RNG.normal(size=(4, 8, 10, 11)).astype(np.float32)
    windows = RNG.normal(size=(6, 4, 3, 2)).astype(np.float32)
    run = jit(
        lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "VALID", dimension_numbers=numbers, feature_group_count=2
        )
    )
    operands = np.transpose(images, lhs_places), np.transpose(windows, rhs_places)
    assert run.lower(*operands).as_text().count("stablehlo.convolution") == 2
    views = np.lib.stride_tricks.sliding_window_view(images, (3, 2), axis=(2, 3))
    halves = [
        np.einsum("bfhwij,ofij->bohw", views[:, :4], windows[:3]),
        np.einsum("bfhwij,ofij->bohw", views[:, 4:], windows[3:]),
    ]
    expected = np.transpose(np.concatenate(halves, 1), lhs_places)
    np.testing.assert_allclose(run(*operands), expected, atol=1e-4)


@pytest.mark.parametrize("numbers", [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")], ids=str)
@pytest.mark.parametrize(
    ("strides", "padding", "dilation"),
    [
        ((1, 1), ((1, 1), (1, 0)), (1, 1)),
        ((2, 1), ((0, 2), (0, 0)), (1, 2)),
        ((1, 2), ((0, 0), (1, 1)), (1, 1)),
    ],
)
def test_derivatives_of_windows_are_products(numbers, strides, padding, dilation):
    lhs_places, rhs_places = (
        ["NCHW".index(letter) for letter in numbers[0]],
        ["OIHW".index(letter) for letter in numbers[1]],
    )
    images = RNG.normal(size=(3, 5, 22, 23)).astype(np.float32)
    windows = RNG.normal(size=(7, 5, 3, 2)).astype(np.float32)

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, strides, padding, dimension_numbers=numbers, rhs_dilation=dilation
        )

    x, w = np.transpose(images, lhs_places), np.transpose(windows, rhs_places)
    weights = RNG.normal(size=np.asarray(convolve(x, w)).shape).astype(np.float32)
    slope = jit(grad(lambda w, x, y: lax.reduce_sum(lax.mul(convolve(x, w), y), (0, 1, 2, 3))))
    assert "stablehlo.convolution" not in slope.lower(w, x, weights).as_text()
    wide = np.pad(images.astype(np.float64), ((0, 0), (0, 0), *padding))
    reach = [d * (size - 1) + 1 for d, size in zip(dilation, (3, 2), strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(wide, reach, axis=(2, 3))
    views = views[:, :, :: strides[0], :: strides[1], :: dilation[0], :: dilation[1]]
    cotangent = np.transpose(weights, np.argsort(lhs_places))
    expected = np.einsum("bfhwij,bohw->ofij", views, cotangent.astype(np.float64))
    ours = np.transpose(slope(w, x, weights), np.argsort(rhs_places))
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-3)


def test_derivatives_and_batches(operations_of_xla):
    def loss(windows, matrix, images):
        hidden = lax.conv_general_dilated(
            lax.sin(depthwise(images, windows)), matrix, (1, 1), "VALID"
        )
        return lax.reduce_sum(lax.mul(hidden, hidden), (0, 1, 2, 3))

    images = np.stack([IMAGES, 2 * IMAGES])
    slopes = jit(vmap(grad(loss, argnums=(0, 1, 2)), (None, None, 0)))
    ours = slopes(WINDOWS, MATRIX, images)
    with operations_of_xla():
        theirs = jit(vmap(grad(loss, argnums=(0, 1, 2)), (None, None, 0)))(WINDOWS, MATRIX, images)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


@pytest.fixture
def every_size(cpu_limits):
    cpu_limits(convolutions, SMALLEST=0)


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.primitive is conv_general_dilated_p], ids=str
)
def test_samples(case, every_size):
    with case.context():
        expected = reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        assert_close(eager.evaluate(case.primitive, case.args, dict(case.params)), expected)


def test_programs_for_several_devices_keep_the_convolution(mesh):
    images = np.tile(IMAGES, (4, 1, 1, 1))
    lowered = jit(depthwise).lower(images, WINDOWS, lowering_platforms=("tpu",))
    assert "stablehlo.convolution" in lowered.as_text()
    sharded = device_put(images, NamedSharding(mesh, PartitionSpec("x")))
    assert "stablehlo.convolution" in jit(depthwise).lower(sharded, WINDOWS).as_text()
    np.testing.assert_allclose(
        jit(depthwise)(sharded, WINDOWS), jit(depthwise)(images, WINDOWS), atol=1e-5
    )
