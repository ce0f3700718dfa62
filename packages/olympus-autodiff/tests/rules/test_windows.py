# SPDX-License-Identifier: Apache-2.0
"""Derivatives of convolutions and pooling that the samples do not cover."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad, hessian, jacfwd, jacrev, jvp, linear_transpose, vjp
from olympus_batching import vmap
from olympus_ir import lax, make_olympuspr
from olympus_ir.lax.windows.reductions import select_and_scatter
from olympus_ir.settings import config
from olympus_testing import check_grads as check_grads_with


@pytest.fixture(autouse=True)
def double_precision():
    with config.enable_x64(True):
        yield


def check_grads(fun, args, order):
    check_grads_with(fun, args, order=order, jvp=jvp, vjp=vjp)


def numbers(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def primitives(fun, *args):
    return [str(equation.primitive) for equation in make_olympuspr(fun)(*args).eqns]


# ---- convolutions ----


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_conv_transpose_is_the_transpose(padding):
    """Of the convolution with the same kernel, for all strides and windows."""
    for window, stride in ((1, 1), (2, 1), (3, 2), (2, 3), (4, 3)):
        kernel = numbers((window, 3, 2))
        x = numbers((2, 4 * stride + (max(window - stride, 0) if padding == "VALID" else 0), 3))

        def convolve(x, kernel=kernel, stride=stride):
            letters = ("NHC", "HIO", "NHC")
            return lax.conv_general_dilated(
                x, kernel, (stride,), padding, dimension_numbers=letters
            )

        cotangent = numbers(convolve(x).shape, 1)
        (pulled_back,) = linear_transpose(convolve, x)(cotangent)
        transposed = lax.conv_transpose(
            cotangent, kernel, (stride,), padding, transpose_kernel=True
        )
        np.testing.assert_allclose(transposed, pulled_back, rtol=1e-12, atol=1e-12)


def test_gradients_of_empty_convolutions_are_zero():
    """The derivatives of a result without elements, or of no elements, are zeros."""
    for x_shape, kernel_shape, padding in (
        ((2, 3, 2), (4, 3, 5), [(0, 0)]),
        ((0, 3, 4), (4, 3, 2), [(0, 0)]),
        ((2, 3, 0), (4, 3, 2), [(2, 2)]),
        ((2, 0, 4), (4, 0, 2), [(0, 0)]),
    ):
        x, kernel = numbers(x_shape), numbers(kernel_shape)
        out, pullback = vjp(
            lambda x, k, padding=padding: lax.conv_general_dilated(x, k, (1,), padding), x, kernel
        )
        of_x, of_kernel = pullback(numbers(out.shape, 1))
        assert of_x.shape == x_shape
        assert of_kernel.shape == kernel_shape
        if 0 in out.shape or 0 in x_shape:
            assert not np.any(np.asarray(of_kernel))
            assert not np.any(np.asarray(of_x))


def test_narrow_operands_with_wide_sums():
    """Cotangents have the operands' dtypes; sums use the preferred element type."""
    x, kernel = numbers((2, 3, 8)).astype(np.float16), numbers((4, 3, 3)).astype(np.float16)

    def wide(x, kernel):
        return lax.conv(x, kernel, (2,), "SAME", preferred_element_type=np.float32)

    out, pullback = vjp(wide, x, kernel)
    assert out.dtype == np.float32
    of_x, of_kernel = pullback(np.ones_like(out))
    assert of_x.dtype == of_kernel.dtype == np.float16
    exact = vjp(lambda x, k: lax.conv(x, k, (2,), "SAME"), x.astype(float), kernel.astype(float))
    for found, expected in zip((of_x, of_kernel), exact[1](np.ones(out.shape)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


def test_precisions_follow_operands_in_the_transpose():
    """The transpose exchanges the operands; each keeps its precision."""

    def convolve(x, kernel):
        return lax.conv(x, kernel, (1,), "SAME", precision="highest")

    def both(x, kernel, cotangent):
        return vjp(convolve, x, kernel)[1](cotangent)

    x = numbers((1, 1, 4))
    for equation in make_olympuspr(both)(x, x, numbers((1, 1, 4))).eqns:
        if str(equation.primitive) == "conv_general_dilated":
            assert equation.params["precision"] == (lax.Precision.HIGHEST,) * 2


# ---- pooling ----


def max_pool(x):
    return lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), "SAME")


def test_the_gradient_goes_to_the_first_maximum():
    x = np.array([[1.0, 3.0, 3.0], [0.0, 3.0, 2.0]])
    gradient = grad(lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1)).sum())(x)
    assert gradient.tolist() == [[0, 2, 0], [0, 0, 0]]
    gradient = grad(lambda x: lax.reduce_window(x, np.inf, lax.min, (1, 2), (1, 1)).sum())(x)
    assert gradient.tolist() == [[1, 1, 0], [1, 0, 1]]


def test_programs_of_pooling():
    x = numbers((4, 5))
    assert primitives(lambda x: jvp(max_pool, (x,), (x,)), x) == [
        "reduce_window_max",
        "select_and_gather_add",
    ]
    names = primitives(grad(lambda x: max_pool(x).sum()), x)
    assert "select_and_scatter_add" in names
    assert "select_and_gather_add" not in names


def test_second_derivatives_of_pooling():
    x = numbers((3, 4))
    second = hessian(lambda x: (max_pool(x) ** 2).sum())(x)
    # Each element counts as often as it is the maximum of a window.
    counts = grad(lambda x: max_pool(x).sum())(x)
    expected = np.diag(2 * np.ravel(counts)).reshape(second.shape)
    np.testing.assert_allclose(second, expected)
    check_grads(lambda x: grad(lambda x: (max_pool(x) ** 3).sum())(x), (x,), order=2)


@pytest.mark.parametrize("computation", [lax.max, lax.min])
def test_pooling_of_dilated_windows(computation):
    """The compiler scatters into windows without gaps only; these have gaps."""
    init = -np.inf if computation is lax.max else np.inf

    def pool(x):
        return lax.reduce_window(
            x, init, computation, (2, 3), (2, 1), [(1, 0), (0, 2)], (1, 2), (2, 1)
        )

    x = numbers((5, 4))
    check_grads(pool, (x,), order=3)
    np.testing.assert_allclose(jacrev(pool)(x), jacfwd(pool)(x))


# ---- functions of the user ----


def product_of_windows(x):
    return lax.reduce_window(x, 1.0, lax.mul, (2, 2), (1, 2), [(0, 1), (1, 0)])


def test_reductions_by_function_have_derivatives_of_both_modes():
    x = numbers((3, 4)) + 3
    check_grads(product_of_windows, (x,), order=2)
    np.testing.assert_allclose(jacrev(product_of_windows)(x), jacfwd(product_of_windows)(x))
    # One operation computes products and their tangents.
    assert primitives(lambda x: jvp(product_of_windows, (x,), (x,)), x) == ["reduce_window"]


def test_reductions_of_large_windows():
    """They are worked through in a loop: programs do not grow with the window."""

    def reduced(x, width):
        window = ((3, width), (1, 2), [(1, 0), (0, 3)], (1, 2), (1, 2))
        return lax.reduce_window(x, 1.0, lax.mul, *window)

    x = numbers((4, 30)) / 9 + 1
    check_grads(lambda x: reduced(x, 12), (x,), order=2)
    lengths = [
        len(primitives(grad(lambda x, width=width: reduced(x, width).sum()), x))
        for width in (12, 20)
    ]
    assert lengths[0] == lengths[1]


def test_reductions_of_several_operands():
    def log_sum_exp(state, element):
        (largest, total), (x, weight) = state, element
        top = lax.max(largest, x)
        return top, total * lax.exp(largest - top) + weight * lax.exp(x - top)

    def reduced(x):
        operands, inits = (x, x * 0 + 1), (-1e3, 0.0)
        tops, totals = lax.reduce_window(operands, inits, log_sum_exp, (3,), (1,))
        return tops + lax.log(totals)

    x = numbers(6)
    windows = np.lib.stride_tricks.sliding_window_view(x, 3)
    np.testing.assert_allclose(reduced(x), np.log(np.exp(windows).sum(-1)))
    jacobian = jacrev(reduced)(x)
    softmax = np.exp(windows) / np.exp(windows).sum(-1, keepdims=True)
    np.testing.assert_allclose([row[i : i + 3] for i, row in enumerate(jacobian)], softmax)
    np.testing.assert_allclose(jacfwd(reduced)(x), jacobian, atol=1e-12)


def test_derivatives_with_respect_to_the_initial_value():
    """The initial value starts every window and fills the padding."""
    x = numbers(3) + 3

    def reduced(init):
        return lax.reduce_window(x, init, lax.mul, (2,), (1,), [(1, 0)])

    check_grads(reduced, (1.5,), order=2)


def test_select_and_scatter_with_a_function():
    x, source = numbers((3, 4)), numbers((2, 3), 1) + 3

    def scattered(source):
        return select_and_scatter(x, lax.ge, (2, 2), (1, 1), ((0, 0), (0, 0)), source, 1.0, lax.mul)

    check_grads(scattered, (source,), order=2)
    batch = np.stack([source, 2 * source])
    expected = [jacrev(scattered)(one) for one in batch]
    np.testing.assert_allclose(vmap(jacrev(scattered))(batch), expected)
