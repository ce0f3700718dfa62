# SPDX-License-Identifier: Apache-2.0
"""Convolutions compared with their definition; parameters, shapes and errors."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olympus_ir import ShapedArray, lax, make_olympuspr
from olympus_ir.diagnostics.errors import ShapeError

X = np.arange(2 * 3 * 8 * 9, dtype=np.float32).reshape(2, 3, 8, 9)
KERNEL = np.ones((4, 3, 3, 3), np.float32)


def by_definition(x, kernel, strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups):
    """Computes each element of the result as a sum over features and window positions."""
    batch, _, *sizes = x.shape
    out_features, in_features, *window = kernel.shape
    lengths = [
        (size - 1) * dilation + 1 + low + high if size else low + high
        for size, dilation, (low, high) in zip(sizes, lhs_dilation, padding, strict=True)
    ]
    counts = [
        max((length - (size - 1) * dilation - 1) // stride + 1, 0)
        for length, size, dilation, stride in zip(
            lengths, window, rhs_dilation, strides, strict=True
        )
    ]
    result = np.zeros((batch // batch_groups, out_features, *counts))
    per_group = out_features // (groups * batch_groups)
    for n, o, *place in np.ndindex(*result.shape):
        group = o // per_group
        example = n + (group * result.shape[0] if batch_groups > 1 else 0)
        first = group * in_features if groups > 1 else 0
        for i, *offset in np.ndindex(in_features, *window):
            source = []
            for axis, (start, step) in enumerate(zip(place, offset, strict=True)):
                at = start * strides[axis] + step * rhs_dilation[axis] - padding[axis][0]
                if at % lhs_dilation[axis] or not 0 <= at // lhs_dilation[axis] < sizes[axis]:
                    break
                source.append(at // lhs_dilation[axis])
            else:
                element = x[(example, first + i, *source)]
                result[(n, o, *place)] += element * kernel[(o, i, *offset)]
    return result


@st.composite
def convolutions(draw):
    count = draw(st.integers(0, 2))

    def integers(low, high, n=count):
        return draw(st.lists(st.integers(low, high), min_size=n, max_size=n))

    groups, batch_groups = draw(st.sampled_from([(1, 1), (2, 1), (3, 1), (1, 2)]))
    features = draw(st.integers(1, 2))
    batch = draw(st.integers(0, 2)) * batch_groups
    x = (batch, features * groups, *integers(0, 5))
    kernel = (draw(st.integers(1, 2)) * groups * batch_groups, features, *integers(1, 3))
    lhs_dilation, rhs_dilation = integers(1, 3), integers(1, 2)
    pads = []
    for size, dilation, low, high in zip(
        x[2:], lhs_dilation, integers(-2, 3), integers(-2, 3), strict=True
    ):
        length = (size - 1) * dilation + 1 if size else 0
        pads.append((low, max(high, -length - low)))
    return x, kernel, integers(1, 3), pads, lhs_dilation, rhs_dilation, groups, batch_groups


@given(convolutions())
def test_sums_of_products(arguments):
    x_shape, kernel_shape, strides, padding, lhs_dilation, rhs_dilation, *groups = arguments
    generator = np.random.default_rng(0)
    x = generator.integers(-4, 5, x_shape).astype(np.float32)
    kernel = generator.integers(-4, 5, kernel_shape).astype(np.float32)
    result = lax.conv_general_dilated(
        x,
        kernel,
        strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        feature_group_count=groups[0],
        batch_group_count=groups[1],
    )
    expected = by_definition(x, kernel, strides, padding, lhs_dilation, rhs_dilation, *groups)
    np.testing.assert_array_equal(result, expected)


def test_dimension_numbers_permute_the_result():
    expected = np.asarray(lax.conv_general_dilated(X, KERNEL, (1, 2), "SAME"))
    for numbers in (
        ("NHWC", "HWIO", "NHWC"),
        ["HNCW", "IWOH", "CWNH"],
        ("NWHC", "WHIO", "NCHW"),
        ("NabC", "abIO", "abNC"),
    ):
        first, second = (letter for letter in numbers[1] if letter not in "OI")
        places = {"N": 0, "C": 1, "O": 0, "I": 1, first: 2, second: 3}
        x = np.transpose(X, [places[letter] for letter in numbers[0]])
        kernel = np.transpose(KERNEL, [places[letter] for letter in numbers[1]])
        result = lax.conv_general_dilated(x, kernel, (1, 2), "SAME", dimension_numbers=numbers)
        wanted = np.transpose(expected, [places[letter] for letter in numbers[2]])
        np.testing.assert_array_equal(result, wanted)
    numbers = lax.conv_dimension_numbers(X.shape, KERNEL.shape, None)
    assert numbers == ((0, 1, 2, 3),) * 3
    assert lax.conv_dimension_numbers((), (), numbers) is numbers


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (3, "must be tuple/list or None"),
        ("NHWC", "must be tuple/list or None"),
        (("NHWC", "HWIO"), "must be length 3, got 2"),
        (((0, 1, 2, 3), "HWIO", "NHWC"), "elements must be strings"),
        (("NHC", "HWIO", "NHWC"), r"numbers\[0\] must have len equal to the ndim"),
        (("NHWX", "HWIO", "NHWC"), r"numbers\[0\] must contain the characters 'N' and 'C'"),
        (("NHWC", "HWIX", "NHWC"), r"numbers\[1\] must contain the characters 'O' and 'I'"),
        (("NHHC", "HWIO", "NHWC"), r"numbers\[0\] cannot have duplicate characters, got NHHC"),
        (("NHWC", "HVIO", "NHWC"), "the same set of spatial characters"),
    ],
)
def test_invalid_dimension_numbers_raise(numbers, message):
    with pytest.raises(TypeError, match=message):
        lax.conv_dimension_numbers(X.shape, KERNEL.shape, numbers)


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (TypeError, "ndim to be equal", {"lhs": X[0], "window_strides": (1,)}),
        (
            TypeError,
            "same dtypes, got float32, bfloat16",
            {"rhs": KERNEL.astype(ml_dtypes.bfloat16)},
        ),
        (ValueError, "3 // 1 != 2", {"rhs": KERNEL[:, :2]}),
        (ValueError, "2 does not divide 3", {"feature_group_count": 2}),
        (ValueError, "must be a positive integer, got 0", {"feature_group_count": 0}),
        (ValueError, "must be a positive integer, got -1", {"batch_group_count": -1}),
        (ValueError, "does not divide 2", {"batch_group_count": 3}),
        (ValueError, "4 is not a multiple of 3", {"rhs": KERNEL[:, :1], "feature_group_count": 3}),
        (ValueError, "At most one of", {"feature_group_count": 3, "batch_group_count": 2}),
        (ValueError, "got 2 and 1", {"window_strides": (1,)}),
        (TypeError, "window_strides must be a sequence of integers", {"window_strides": 1}),
        (TypeError, "window_strides must have every element", {"window_strides": (0, 1)}),
        (TypeError, "dilations must be positive", {"rhs_dilation": (0, 1)}),
        (ValueError, "rhs_dilation must have the same number", {"rhs_dilation": (1,)}),
        (ValueError, "use conv_transpose", {"lhs_dilation": (2, 1), "padding": "SAME"}),
        (RuntimeError, "Unrecognized padding type.*got SOME", {"padding": "SOME"}),
        (TypeError, "expected 2, got 1", {"padding": [(0, 0)]}),
        (ValueError, "padding argument to conv.*pairs.*got None", {"padding": None}),
        (ValueError, "Negative padding is larger", {"padding": [(-5, -4), (0, 0)]}),
        (TypeError, "is incompatible with", {"preferred_element_type": np.int32}),
        (TypeError, "must not be narrower", {"preferred_element_type": np.float16}),
        (ValueError, "Precision argument", {"precision": "exact"}),
    ],
)
def test_invalid_input_raises(error, message, arguments):
    arguments = {"lhs": X, "rhs": KERNEL, "window_strides": (1, 1), "padding": "VALID"} | arguments
    with pytest.raises(error, match=message):
        lax.conv_general_dilated(**arguments)


def test_dimension_numbers_must_be_permutations():
    numbers = lax.ConvDimensionNumbers((0, 1, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3))
    with pytest.raises(ValueError, match=r"lhs_spec must be a permutation.*\(0, 1, 1, 2\)"):
        lax.conv_general_dilated(X, KERNEL, (1, 1), "VALID", dimension_numbers=numbers)
    with pytest.raises(ShapeError, match="at least 2"):
        lax.conv_general_dilated(np.ones(3), np.ones(3), (), "VALID")


def test_results_have_operands_dtype_or_preferred_one():
    for dtype, preferred, result in (
        (np.int8, None, np.int8),
        (np.int8, np.int32, np.int32),
        (np.uint8, np.float32, np.float32),
        (ml_dtypes.bfloat16, None, ml_dtypes.bfloat16),
        (ml_dtypes.bfloat16, np.float32, np.float32),
        (np.complex64, None, np.complex64),
        (np.bool_, None, np.bool_),
    ):
        x = X.astype(dtype)[:, :, :4, :4]
        out = lax.conv(x, KERNEL.astype(dtype), (1, 1), "SAME", preferred_element_type=preferred)
        assert out.dtype == result


def test_programs_are_printed_as_by_jax():
    x, kernel = ShapedArray((1, 2, 8), np.float32), ShapedArray((3, 2, 3), np.float32)
    text = str(make_olympuspr(lambda x, k: lax.conv(x, k, (2,), "SAME"))(x, kernel))
    assert text == (
        "{ lambda ; a:f32[1,2,8] b:f32[3,2,3]. let\n"
        "    c:f32[1,3,4] = conv_general_dilated[\n"
        "      batch_group_count=1\n"
        "      dimension_numbers=ConvDimensionNumbers(lhs_spec=(0, 1, 2), rhs_spec=(0, 1, 2), "
        "out_spec=(0, 1, 2))\n"
        "      feature_group_count=1\n"
        "      lhs_dilation=(1,)\n"
        "      out_sharding=None\n"
        "      padding=((0, 1),)\n"
        "      precision=None\n"
        "      preferred_element_type=None\n"
        "      rhs_dilation=(1,)\n"
        "      window_strides=(2,)\n"
        "    ] a b\n"
        "  in (c,) }"
    )


# ---- padding and shapes ----


def test_padding_strings_become_pairs():
    pads = lax.padtype_to_pads
    assert pads((8, 9), (3, 4), (1, 2), "SAME") == [(1, 1), (1, 2)]
    assert pads((8, 9), (3, 4), (1, 2), "same_lower") == [(1, 1), (2, 1)]
    assert pads((8, 9), (3, 4), (1, 2), "VALID") == [(0, 0), (0, 0)]
    assert pads((0, 1), (3, 1), (1, 5), "SAME") == [(1, 1), (0, 0)]
    with pytest.raises(TypeError, match="Unknown padding type: None"):
        pads((8,), (3,), (1,), None)
    with pytest.raises(ValueError, match="strides must be positive"):
        pads((8,), (3,), (0,), "SAME")


def test_shapes_of_results():
    assert lax.conv_shape_tuple((2, 3, 8, 9), (4, 3, 3, 3), (1, 2), "SAME") == (2, 4, 8, 5)
    pads = ((1, 1), (0, 0))
    assert lax.conv_shape_tuple((2, 3, 8, 9), (4, 3, 3, 3), (1, 2), pads) == (2, 4, 8, 4)
    assert lax.conv_shape_tuple((4, 3, 8), (4, 3, 3), (1,), "SAME", 2) == (2, 4, 8)
    assert lax.conv_shape_tuple((2, 3, 8), (4, 3, 30), (1,), "VALID") == (2, 4, 0)
    with pytest.raises(TypeError, match="expected 2, got 1"):
        lax.conv_shape_tuple((2, 3, 8, 9), (4, 3, 3, 3), (1, 2), ((1, 1),))
    numbers = ("NHWC", "HWIO", "NHWC")
    shape = lax.conv_general_shape_tuple((2, 8, 9, 3), (3, 3, 3, 4), (1, 2), "SAME", numbers)
    assert shape == (2, 8, 5, 4)
    for padding, expected in (("SAME", (8, 18)), ("VALID", (10, 19)), (((1, 1), (0, 1)), (8, 16))):
        shape = lax.conv_transpose_shape_tuple((2, 8, 9, 3), (3, 3, 3, 4), (1, 2), padding, numbers)
        assert shape == (2, *expected, 4)


# ---- what is made of convolutions ----


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_conv_transpose_has_shape_of_convolutions_input(padding):
    for size, window, stride in itertools.product((1, 3, 4), (1, 2, 3), (1, 2, 3, 5)):
        out = lax.conv_transpose(np.ones((1, size, 2)), np.ones((window, 2, 3)), (stride,), padding)
        expected = size * stride if padding == "SAME" else size * stride + max(window - stride, 0)
        assert out.shape == (1, expected, 3)
        kernel = np.ones((window, 3, 2))
        back = lax.conv_general_dilated(
            out, kernel, (stride,), padding, dimension_numbers=("NHC", "HIO", "NHC")
        )
        assert back.shape == (1, size, 2)


def test_conv_transpose_spreads_the_kernel():
    x = np.array([1.0, 10.0]).reshape(1, 2, 1)
    kernel = np.array([1.0, 2.0, 3.0]).reshape(3, 1, 1)
    flipped = lax.conv_transpose(x, kernel, (2,), "VALID", transpose_kernel=True)
    assert np.ravel(flipped).tolist() == [1, 2, 3 + 10, 20, 30]
    assert np.ravel(lax.conv_transpose(x, kernel, (2,), "VALID")).tolist() == [3, 2, 31, 20, 10]


def test_paddings_of_conv_transpose():
    x, kernel = np.ones((1, 8, 3)), np.ones((4, 3, 4))
    pairs = {"use_consistent_padding": True, "rhs_dilation": (2,)}
    assert lax.conv_transpose(x, kernel, (2,), [(1, 2)]).shape == (1, 15, 4)
    assert lax.conv_transpose(x, kernel, (2,), [(1, 2)], **pairs).shape == (1, 18, 4)
    with pytest.raises(ValueError, match="Invalid padding mode: SAME_LOWER"):
        lax.conv_transpose(x, kernel, (2,), "SAME_LOWER", use_consistent_padding=True)
    with pytest.raises(ValueError, match="needs dimension_numbers"):
        lax.conv_transpose(np.ones((1,) * 6), np.ones((1,) * 6), (1,) * 4, "SAME")


def test_patches_are_sliding_windows():
    patches = np.asarray(lax.conv_general_dilated_patches(X, (2, 3), (1, 2), [(1, 0), (0, 2)]))
    padded = np.pad(X, ((0, 0), (0, 0), (1, 0), (0, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 3), (2, 3))[:, :, :, ::2]
    expected = windows.transpose(0, 1, 4, 5, 2, 3).reshape(2, 18, *windows.shape[2:4])
    np.testing.assert_array_equal(patches, expected)
    last = lax.conv_general_dilated_patches(
        X.transpose(0, 2, 3, 1),
        (2, 3),
        (1, 2),
        [(1, 0), (0, 2)],
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        precision="highest",
    )
    np.testing.assert_array_equal(last, expected.transpose(0, 2, 3, 1))
    integers = lax.conv_general_dilated_patches(X.astype(np.int32), (1, 1), (1, 1), "VALID")
    assert integers.dtype == np.int32


def test_local_convolutions_use_one_kernel_for_each_position():
    generator = np.random.default_rng(1)
    x, kernels = generator.normal(size=(2, 3, 6)), generator.normal(size=(4, 6, 5))
    x, kernels = x.astype(np.float32), kernels.astype(np.float32)
    result = lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (2,))
    windows = np.lib.stride_tricks.sliding_window_view(x, 2, 2)  # [batch, feature, place, offset]
    expected = np.einsum("ncpk,ockp->nop", windows, kernels.reshape(4, 3, 2, 5))
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="batch dimensions"):
        lax.conv_general_dilated_local(x, kernels[:, :, :4], (1,), "VALID", (2,))
    last = lax.conv_general_dilated_local(
        x.transpose(0, 2, 1),
        kernels.transpose(2, 1, 0),
        (1,),
        "VALID",
        (2,),
        dimension_numbers=("NHC", "HIO", "NHC"),
        precision=("high", "default"),
    )
    np.testing.assert_allclose(last, expected.transpose(0, 2, 1), rtol=1e-5, atol=1e-6)


def test_sums_of_signed_integers_are_signed():
    x, kernel = X.astype(np.int8), KERNEL.astype(np.int8)
    with pytest.raises(TypeError, match="same signedness"):
        lax.conv(x, kernel, (1, 1), "SAME", preferred_element_type=np.uint32)
