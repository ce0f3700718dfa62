# SPDX-License-Identifier: Apache-2.0
"""Depthwise and pointwise convolutions: sums of views and products of matrices."""

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad, value_and_grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p
from olympus_ir.reference import reference_evaluator
from olympus_ir.settings import config
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_testing import assert_close, cases
from olympus_xla import device_put, jit
from olympus_xla.calls import eager
from olympus_xla.compiling.lowering.cpu.convolutions import limits, products

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
def test_depthwise_convolutions_equal_those_of_xla(strides, padding, dilation):
    images = np.tile(IMAGES, (4, 1, 1, 1))
    run = jit(lambda x, w: depthwise(x, w, strides, padding, rhs_dilation=dilation))
    assert "stablehlo.convolution" not in run.lower(images, WINDOWS).as_text()
    expected = depthwise_by_numpy(images, WINDOWS, strides, padding, dilation)
    np.testing.assert_allclose(run(images, WINDOWS), expected, atol=1e-5)


def test_features_may_come_last():
    last = jit(lambda x, w: depthwise(x, w, dimension_numbers=CHANNELS_LAST))
    result = last(np.transpose(IMAGES, (0, 2, 3, 1)), np.transpose(WINDOWS, (2, 3, 1, 0)))
    expected = depthwise_by_numpy(IMAGES, WINDOWS, (1, 1), ((1, 1), (0, 1)), (1, 1))
    np.testing.assert_allclose(np.transpose(result, (0, 3, 1, 2)), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_errors_are_about_half_a_unit(dtype):
    images, windows = IMAGES.astype(dtype), WINDOWS.astype(dtype)
    result = np.asarray(jit(depthwise)(images, windows))
    wide = images.astype(np.float64), windows.astype(np.float64)
    expected = depthwise_by_numpy(*wide, (1, 1), ((1, 1), (0, 1)), (1, 1))
    eps = float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(result.astype(np.float64), expected, rtol=eps, atol=1e-5)


def test_pointwise_convolutions_are_products():
    images = np.tile(IMAGES, (1, 1, 2, 1))
    run = jit(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "VALID"))
    assert "stablehlo.convolution" not in run.lower(images, MATRIX).as_text()
    expected = np.einsum("bfhw,of->bohw", images, MATRIX[:, :, 0, 0])
    np.testing.assert_allclose(run(images, MATRIX), expected, atol=1e-5)


def grouped_by_numpy(images, windows, cotangents, groups, strides, padding):
    """Returns the result of a convolution, and the cotangents of its operands, in float64."""
    wide = np.pad(images.astype(np.float64), ((0, 0), (0, 0), *padding))
    back = np.zeros_like(wide)
    count, _, *sizes = cotangents.shape
    weights = windows.reshape(groups, -1, *windows.shape[1:]).astype(np.float64)
    outer = cotangents.reshape(count, groups, -1, *sizes).astype(np.float64)
    result, slope = np.zeros(outer.shape), np.zeros(weights.shape)
    for row, column in np.ndindex(*windows.shape[2:]):
        seen = np.s_[
            :,
            :,
            row : row + strides[0] * (sizes[0] - 1) + 1 : strides[0],
            column : column + strides[1] * (sizes[1] - 1) + 1 : strides[1],
        ]
        view, weight = wide[seen].reshape(count, groups, -1, *sizes), weights[..., row, column]
        result += np.einsum("bgihw,goi->bgohw", view, weight)
        slope[..., row, column] = np.einsum("bgihw,bgohw->goi", view, outer)
        back[seen] += np.einsum("bgohw,goi->bgihw", outer, weight).reshape(back[seen].shape)
    inside = tuple(
        slice(low, size - high) for (low, high), size in zip(padding, back.shape[2:], strict=True)
    )
    return result.reshape(cotangents.shape), back[(..., *inside)], slope.reshape(windows.shape)


@pytest.mark.parametrize("numbers", [("NCHW", "OIHW", "NCHW"), CHANNELS_LAST], ids=str)
@pytest.mark.parametrize(
    ("groups", "features", "outputs", "strides", "dtype"),
    [
        (2, 4, 2, (1, 1), np.float32),
        (5, 3, 1, (2, 1), np.float64),
        (6, 1, 2, (2, 3), np.float32),
        (7, 1, 1, (1, 2), np.float32),
    ],
)
def test_groups_of_few_features(numbers, groups, features, outputs, strides, dtype):
    text = check_groups(numbers, groups, features, outputs, strides, dtype)
    assert "stablehlo.convolution" not in text


@pytest.mark.parametrize("numbers", [("NCHW", "OIHW", "NCHW"), CHANNELS_LAST], ids=str)
def test_many_groups_of_several_features_become_loop(numbers):
    text = check_groups(numbers, 9, 10, 9, (2, 1), np.float32)
    # the convolution and the derivative with respect to the images
    assert text.count("stablehlo.convolution") == 2
    # and the products of views
    assert text.count("stablehlo.while") == 3


def check_groups(numbers, groups, features, outputs, strides, dtype):
    """Checks the convolution and both of its derivatives. Returns the text of the program."""
    to_lhs, to_rhs = (
        ["NCHW".index(letter) for letter in numbers[0]],
        ["OIHW".index(letter) for letter in numbers[1]],
    )
    padding = ((1, 0), (2, 1))
    images = RNG.normal(size=(3, groups * features, 22, 23)).astype(dtype)
    windows = RNG.normal(size=(groups * outputs, features, 3, 2)).astype(dtype)
    sizes = (20 // strides[0] + 1, 24 // strides[1] + 1)
    cotangents = RNG.normal(size=(3, groups * outputs, *sizes)).astype(dtype)

    def weighted(x, w, y):
        result = lax.conv_general_dilated(
            x, w, strides, padding, dimension_numbers=numbers, feature_group_count=groups
        )
        return lax.reduce_sum(lax.mul(result, y), (0, 1, 2, 3)), result

    with config.enable_x64(dtype is np.float64):
        run = jit(value_and_grad(weighted, (0, 1), has_aux=True))
        pairs = (images, to_lhs), (windows, to_rhs), (cotangents, to_lhs)
        operands = [np.transpose(each, order) for each, order in pairs]
        text = run.lower(*operands).as_text()
        (_, result), (back, slope) = run(*operands)
    expected = grouped_by_numpy(images, windows, cotangents, groups, strides, padding)
    tolerance = 1e-4 if dtype is np.float32 else 1e-12
    for ours, theirs, order in zip((result, back, slope), expected, (to_lhs, to_lhs, to_rhs)):
        assert ours.dtype == dtype
        np.testing.assert_allclose(
            ours, np.transpose(theirs, order), rtol=tolerance, atol=10 * tolerance
        )
    return text


@pytest.mark.parametrize("numbers", [("NCHW", "OIHW", "NCHW"), CHANNELS_LAST], ids=str)
def test_groups_become_separate_convolutions(numbers):
    lhs_places, rhs_places = (
        ["NCHW".index(letter) for letter in numbers[0]],
        ["OIHW".index(letter) for letter in numbers[1]],
    )
    images = RNG.normal(size=(4, 18, 10, 11)).astype(np.float32)
    windows = RNG.normal(size=(6, 9, 3, 2)).astype(np.float32)
    run = jit(
        lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "VALID", dimension_numbers=numbers, feature_group_count=2
        )
    )
    operands = np.transpose(images, lhs_places), np.transpose(windows, rhs_places)
    assert run.lower(*operands).as_text().count("stablehlo.convolution") == 2
    views = np.lib.stride_tricks.sliding_window_view(images, (3, 2), axis=(2, 3))
    halves = [
        np.einsum("bfhwij,ofij->bohw", views[:, :9], windows[:3]),
        np.einsum("bfhwij,ofij->bohw", views[:, 9:], windows[3:]),
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
@pytest.mark.parametrize("has_fast_convolutions", [False, True])
def test_derivatives_of_windows_are_products(
    numbers, strides, padding, dilation, has_fast_convolutions, monkeypatch
):
    monkeypatch.setattr(products, "has_fast_wide_vectors", lambda identity: has_fast_convolutions)
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
    text = slope.lower(w, x, weights).as_text()
    assert ("stablehlo.convolution" in text) == has_fast_convolutions
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
    cpu_limits(limits, SMALLEST=0)


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.primitive is conv_general_dilated_p], ids=str
)
def test_samples_agree_with_the_reference(case, every_size):
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
