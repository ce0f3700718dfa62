# SPDX-License-Identifier: Apache-2.0
"""Compiled convolutions and reductions of windows are the reference's, for any geometry."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import olympus_xla  # noqa: F401 - becomes the evaluator
from olympus_autodiff import grad, jvp
from olympus_ir import lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p
from olympus_ir.lax.windows import reductions
from olympus_ir.programs.jit import jit
from olympus_ir.reference import reference_rules
from olympus_sharding import NamedSharding
from olympus_sharding import PartitionSpec as P
from olympus_xla import device_put

# Each example is compiled, so there are few.
FEW = settings(max_examples=25)


def numbers(shape, dtype, seed):
    values = np.random.default_rng(seed).integers(-3, 4, shape)
    return np.abs(values).astype(dtype) if dtype == np.uint8 else values.astype(dtype)


def compare(primitive, *args, **params):
    expected = reference_rules[primitive](*args, **params)
    found = jit(lambda *args: primitive.bind(*args, **params))(*args)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(
        np.asarray(found).astype(complex), np.asarray(expected).astype(complex)
    )


@st.composite
def window_parameters(draw, count, largest=3):
    def integers(low, high):
        return tuple(draw(st.lists(st.integers(low, high), min_size=count, max_size=count)))

    return {
        "window_strides": integers(1, 3),
        "padding": tuple(zip(integers(0, largest), integers(-1, largest), strict=True)),
    }, (integers(1, 2), integers(1, 2))


@FEW
@given(st.data())
def test_convolutions_agree_with_the_reference(data):
    count = data.draw(st.integers(0, 2))
    groups, batch_groups = data.draw(st.sampled_from([(1, 1), (2, 1), (1, 3)]))
    dtype = data.draw(
        st.sampled_from([np.float32, np.int32, np.int8, np.complex64, ml_dtypes.bfloat16, np.bool_])
    )
    sizes = st.lists(st.integers(0, 4), min_size=count, max_size=count)
    window_sizes = st.lists(st.integers(1, 2), min_size=count, max_size=count)
    params, (lhs_dilation, rhs_dilation) = data.draw(window_parameters(count))
    x_sizes = [max(size, 1) for size in data.draw(sizes)]
    features = data.draw(st.integers(1, 2))
    x = numbers((2 * batch_groups, features * groups, *x_sizes), dtype, 0)
    kernel_sizes = data.draw(window_sizes)
    kernel = numbers((2 * groups * batch_groups, features, *kernel_sizes), dtype, 1)
    order = data.draw(st.permutations(range(count + 2)))
    spec = tuple(order)
    inverse = np.argsort(order)
    compare(
        conv_general_dilated_p,
        np.transpose(x, inverse),
        np.transpose(kernel, inverse),
        **params,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        dimension_numbers=lax.ConvDimensionNumbers(spec, spec, spec),
        feature_group_count=groups,
        batch_group_count=batch_groups,
        precision=None,
        preferred_element_type=None,
        out_sharding=None,
    )


@FEW
@given(st.data())
def test_window_reductions_agree_with_the_reference(data):
    count = data.draw(st.integers(0, 2))
    dtype = data.draw(st.sampled_from([np.float32, ml_dtypes.bfloat16, np.float16]))
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    x = numbers(sizes, dtype, 0)
    params, (base_dilation, window_dilation) = data.draw(window_parameters(count))
    params["padding"] = tuple((low, max(high, 0)) for low, high in params["padding"])
    params["window_dimensions"] = tuple(
        data.draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
    )
    dilations = {"base_dilation": base_dilation, "window_dilation": window_dilation}
    for primitive in (
        reductions.reduce_window_sum_p,
        reductions.reduce_window_max_p,
        reductions.reduce_window_min_p,
    ):
        compare(primitive, x, **params, **dilations)
    tangents = numbers(sizes, dtype, 1)
    counts = lax.reduce_window_shape_tuple(sizes, **params)
    source = numbers(counts, dtype, 2)
    # Which of equal elements is selected is the compiler's choice, so there are none.
    size = int(np.prod(sizes))
    x = np.random.default_rng(0).permutation(size).reshape(sizes).astype(dtype)
    for select_prim in (lax.ge_p, lax.le_p):
        selection = {"select_prim": select_prim, **params}
        compare(reductions.select_and_gather_add_p, tangents, x, **selection, **dilations)
        compare(reductions.select_and_scatter_add_p, source, x, **selection)


@pytest.mark.parametrize("padding", [(0, 0), (2, 1)])
def test_windows_of_infinities(padding):
    """Padding is never selected, even if its value equals the extremum of the window."""
    x = np.array([-np.inf, -np.inf, 1.0, np.inf], np.float32)
    window = {"window_dimensions": (2,), "window_strides": (1,), "padding": (padding,)}
    source = np.arange(1.0, 4 + sum(padding), dtype=np.float32)
    compare(reductions.select_and_scatter_add_p, source, x, select_prim=lax.ge_p, **window)
    compare(reductions.select_and_scatter_add_p, source, -x, select_prim=lax.le_p, **window)


@pytest.mark.parametrize("window", [2, 3])
def test_convolutions_that_xla_mistakes_for_grouped_ones(window):
    """XLA alone would abort the process if the kernel is larger than the input."""
    x, kernel = numbers((1, 1, 4, 1), np.float32, 0), numbers((1, 1, window, 2), np.float32, 1)
    for order in ((0, 1, 2, 3), (0, 1, 3, 2)):
        spatial = [axis - 2 for axis in order[2:]]
        params = {
            "window_strides": [window - 1, 1],
            "padding": [(0, 0), (0, 1)],
            "lhs_dilation": [window, 1],
            "rhs_dilation": [1, 1],
        }
        compare(
            conv_general_dilated_p,
            np.transpose(x, order),
            np.transpose(kernel, order),
            **{name: tuple(values[axis] for axis in spatial) for name, values in params.items()},
            dimension_numbers=lax.ConvDimensionNumbers(*[(0, 1, 2, 3)] * 3),
            feature_group_count=1,
            batch_group_count=1,
            precision=None,
            preferred_element_type=None,
            out_sharding=None,
        )


def test_windows_without_dimensions():
    """The compiler would abort the process."""
    x, source = np.float32(2), np.float32(3)
    window = {"window_dimensions": (), "window_strides": (), "padding": ()}
    compare(reductions.select_and_scatter_add_p, source, x, select_prim=lax.ge_p, **window)
    result = jit(
        lambda x: reductions.select_and_scatter(x, lax.ge, (), (), (), source, 4.0, lax.mul)
    )
    assert float(result(x)) == 12


def test_complex_convolutions_are_four_real_ones_on_gpus():
    x = np.ones((1, 2, 5), np.complex64)
    traced = jit(lambda x: lax.conv(x, x, (1,), "SAME")).trace(x)
    for platform, count in (("cpu", 1), ("tpu", 1), ("cuda", 4), ("rocm", 4)):
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        assert text.count("stablehlo.convolution") == count


@pytest.mark.parametrize("strides", [(1, 1), (2, 1)])
@pytest.mark.parametrize("padding", ["SAME", ((0, 2), (2, 0))])
def test_derivatives_of_pooling_over_sharded_windows(mesh, strides, padding):
    """XLA's partitioner loses what windows of one device add to elements of another."""
    x = np.random.default_rng(0).standard_normal((2, 8, 8)).astype(np.float32)
    if not isinstance(padding, str):
        padding = ((0, 0), *padding)

    def pooled(x):
        return lax.reduce_window(x, -np.inf, lax.max, (1, 3, 3), (1, *strides), padding)

    def derivatives(x):
        gradient = grad(lambda x: lax.reduce_sum(lax.sin(pooled(x)), (0, 1, 2)))
        return pooled(x), *jvp(pooled, (x,), (x * x,)), *jvp(gradient, (x,), (x,))

    expected = jit(derivatives)(x)
    for spec in (P("x", "y"), P(None, None, ("x", "y"))):
        results = jit(derivatives)(device_put(x, NamedSharding(mesh, spec)))
        for result, each in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, each, rtol=1e-5, atol=1e-6)
