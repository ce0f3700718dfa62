# SPDX-License-Identifier: Apache-2.0
"""Convolution and pooling layers of `stax`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
import olympus_random as random
from olympus_ir import lax

from .initializers import glorot_normal, normal

__all__ = [
    "AvgPool",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "GeneralConv",
    "GeneralConvTranspose",
    "MaxPool",
    "SumPool",
]

Layer = tuple[Callable[..., Any], Callable[..., Any]]


def GeneralConv(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    W_init: Any = None,
    b_init: Any = normal(1e-6),  # noqa: B008
) -> Layer:
    """Makes a convolution layer with given dimension numbers.

    Args:
      dimension_numbers: three strings that name the dimensions of inputs, kernel and outputs, such
        as ``("NHWC", "HWIO", "NHWC")``.
      out_chan: the number of output features.
      filter_shape: the sizes of the kernel's window.
      strides: the strides of the window; 1 by default.
      padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"`` or a pair (before, after) for each
        dimension.
      W_init: initializer of the kernel; by default `glorot_normal` over the dimensions of features.
      b_init: initializer of the biases.

    Returns:
      The layer: a pair of functions ``init`` and ``apply``.

    Example:
      >>> init, apply = GeneralConv(("NCHW", "OIHW", "NCHW"), 4, (3, 3), padding="SAME")
      >>> shape, params = init(random.key(0), (-1, 2, 8, 8))
      >>> shape
      (-1, 4, 8, 8)
    """
    return _convolution(
        lax.conv_general_dilated,
        lax.conv_general_shape_tuple,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


def GeneralConvTranspose(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    W_init: Any = None,
    b_init: Any = normal(1e-6),  # noqa: B008
) -> Layer:
    """Makes a layer of transposed convolution with given dimension numbers.

    Args:
      dimension_numbers: as in `GeneralConv`.
      out_chan: the number of output features.
      filter_shape: the sizes of the kernel's window.
      strides: the factors by which the outputs are larger than the inputs.
      padding: ``"SAME"``, ``"VALID"`` or a pair (before, after) for each dimension.
      W_init: as in `GeneralConv`.
      b_init: initializer of the biases.

    Returns:
      The layer: a pair of functions ``init`` and ``apply``.

    Example:
      >>> numbers = ("NHC", "HIO", "NHC")
      >>> init, apply = GeneralConvTranspose(numbers, 4, (3,), strides=(2,), padding="SAME")
      >>> init(random.key(0), (-1, 8, 2))[0]
      (-1, 16, 4)
    """
    return _convolution(
        lax.conv_transpose,
        lax.conv_transpose_shape_tuple,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


def _convolution(
    convolve: Callable[..., Any],
    shape_of_output: Callable[..., Any],
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    W_init: Any,
    b_init: Any,
) -> Layer:
    lhs_letters, rhs_letters, out_letters = dimension_numbers
    window = tuple(filter_shape)
    steps = (1,) * len(window) if strides is None else tuple(strides)
    init_kernel = W_init or glorot_normal(rhs_letters.index("I"), rhs_letters.index("O"))

    def init(key: Any, input_shape: Any) -> Any:
        sizes = iter(window)
        features = {"O": out_chan, "I": input_shape[lhs_letters.index("C")]}
        kernel_shape = tuple(
            features[letter] if letter in features else next(sizes) for letter in rhs_letters
        )
        output_shape = shape_of_output(input_shape, kernel_shape, steps, padding, dimension_numbers)
        offsets_shape = tuple(out_chan if letter == "C" else 1 for letter in out_letters)
        kernel_key, offsets_key = random.split(key)
        kernel = init_kernel(kernel_key, kernel_shape)
        return output_shape, (kernel, b_init(offsets_key, offsets_shape))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        kernel, offsets = params
        outputs = convolve(inputs, kernel, steps, padding, dimension_numbers=dimension_numbers)
        return onp.add(outputs, offsets)

    return init, apply


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


# ---- pooling ----


class _Geometry:
    """Windows over the spatial dimensions; the inputs also have batch and feature dimensions."""

    def __init__(
        self,
        window_shape: Sequence[int],
        strides: Sequence[int] | None,
        padding: Any,
        spec: str | None,
    ) -> None:
        window = tuple(window_shape)
        self.ndim = len(window) + 2
        if spec is None:
            batch, features = 0, self.ndim - 1
        else:
            if len(spec) != self.ndim or spec.count("N") != 1 or spec.count("C") != 1:
                raise ValueError(
                    f"spec must have one letter for each of {self.ndim} dimensions, with one 'N' "
                    f"for the batch and one 'C' for the features, got {spec!r}"
                )
            batch, features = spec.index("N"), spec.index("C")
        self.others = tuple(sorted((batch, features)))
        self.spatial = tuple(axis for axis in range(self.ndim) if axis not in self.others)
        self.window = window
        self.strides = (1,) * len(window) if strides is None else tuple(strides)
        self.padding = padding

    def spread(self, values: Sequence[Any], other: Any) -> tuple[Any, ...]:
        """Returns a value for each dimension: of ``values`` for space, ``other`` for the rest."""
        of_axis = dict(zip(self.spatial, values, strict=True))
        return tuple(of_axis.get(axis, other) for axis in range(self.ndim))

    def pads(self, shape: Sequence[int]) -> list[tuple[int, int]]:
        """Returns the padding of the spatial dimensions."""
        if not isinstance(self.padding, str):
            return list(self.padding)
        sizes = [shape[axis] for axis in self.spatial]
        return lax.padtype_to_pads(sizes, self.window, self.strides, self.padding)

    def output_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        sizes = [shape[axis] for axis in self.spatial]
        counts = lax.reduce_window_shape_tuple(sizes, self.window, self.strides, self.pads(shape))
        return tuple(
            shape[axis] if count is None else count
            for axis, count in enumerate(self.spread(counts, None))
        )

    def reduce(self, inputs: Any, init_value: Any, computation: Callable[..., Any]) -> Any:
        return lax.reduce_window(
            inputs,
            init_value,
            computation,
            self.spread(self.window, 1),
            self.spread(self.strides, 1),
            self.spread(self.pads(inputs.shape), (0, 0)),
        )

    def mean(self, inputs: Any, init_value: Any, computation: Callable[..., Any]) -> Any:
        """Divides the sum of each window by its number of elements, not counting padding."""
        sums = self.reduce(inputs, init_value, computation)
        ones = onp.ones([inputs.shape[axis] for axis in self.spatial], inputs.dtype)
        counts = lax.reduce_window(
            ones, 0.0, lax.add, self.window, self.strides, self.pads(inputs.shape)
        )
        for axis in self.others:
            counts = onp.expand_dims(counts, axis)
        return onp.divide(sums, counts)


def _pooling(
    reduce: Callable[..., Any], computation: Callable[..., Any], init_value: float
) -> Callable[..., Layer]:
    def make(
        window_shape: Sequence[int],
        strides: Sequence[int] | None,
        padding: Any,
        spec: str | None,
    ) -> Layer:
        geometry = _Geometry(window_shape, strides, padding, spec)

        def init(key: Any, input_shape: Any) -> Any:
            return geometry.output_shape(input_shape), ()

        def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
            return reduce(geometry, inputs, init_value, computation)

        return init, apply

    return make


_max_pool = _pooling(_Geometry.reduce, lax.max, -np.inf)
_sum_pool = _pooling(_Geometry.reduce, lax.add, 0.0)
_avg_pool = _pooling(_Geometry.mean, lax.add, 0.0)


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    spec: str | None = None,
) -> Layer:
    """Makes a layer that computes the maximum of each window.

    Args:
      window_shape: the sizes of the window along the spatial dimensions.
      strides: the strides of the window; 1 by default.
      padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"`` or a pair (before, after) for each spatial
        dimension.
      spec: a string with one letter for each dimension: ``N`` for the batch, ``C`` for the
        features, and any other letter for a spatial dimension. By default the features come last,
        as in ``"NHWC"``.

    Returns:
      The layer: a pair of functions ``init`` and ``apply``.

    Example:
      >>> init, apply = MaxPool((2, 2), strides=(2, 2))
      >>> init(random.key(0), (-1, 8, 8, 3))[0]
      (-1, 4, 4, 3)
    """
    return _max_pool(window_shape, strides, padding, spec)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    spec: str | None = None,
) -> Layer:
    """Makes a layer that computes the sum of each window; see `MaxPool` for the arguments.

    Example:
      >>> init, apply = SumPool((2,))
      >>> apply((), onp.ones((1, 3, 1))).ravel().tolist()
      [2.0, 2.0]
    """
    return _sum_pool(window_shape, strides, padding, spec)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    spec: str | None = None,
) -> Layer:
    """Makes a layer that computes the mean of each window, padding left out; see `MaxPool`.

    Example:
      >>> init, apply = AvgPool((2,), padding="SAME")
      >>> apply((), onp.arange(3.0).reshape(1, 3, 1)).ravel().tolist()
      [0.5, 1.5, 2.0]
    """
    return _avg_pool(window_shape, strides, padding, spec)
