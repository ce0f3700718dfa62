# SPDX-License-Identifier: Apache-2.0
"""Applying functions of scalars, vectors or slices to whole arrays, by `vmap`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.trees.wrapping import wraps
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.creation import asarray
from ..arrays.shaping import expand_dims
from ..core.axes import canonical_axis
from ..core.promotion import broadcast_shapes, check_arraylike, check_ranks, ensure_array

__all__ = ["apply_along_axis", "apply_over_axes", "vectorize"]

Signature = tuple[list[tuple[str, ...]], list[tuple[str, ...]]]

_ARGUMENT = r"\((?:\w+(?:,\w+)*)?\)"
_ARGUMENTS = rf"{_ARGUMENT}(?:,{_ARGUMENT})*"
_SIGNATURE = re.compile(rf"^{_ARGUMENTS}->{_ARGUMENTS}$")


def _parse_signature(signature: str) -> Signature:
    compact = re.sub(r"\s+", "", signature)
    if not _SIGNATURE.match(compact):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    sides = compact.split("->")
    inputs, outputs = (
        [tuple(re.findall(r"\w+", argument)) for argument in re.findall(_ARGUMENT, side)]
        for side in sides
    )
    return inputs, outputs


def _core_sizes(
    shape: tuple[int, ...], names: tuple[str, ...], sizes: dict[str, int], context: str
) -> None:
    """Records the sizes of an argument's core dimensions, or checks them against recorded sizes."""
    if not names:
        return
    if len(shape) < len(names):
        raise ValueError(
            f"input with shape {shape} does not have enough dimensions for all core dimensions "
            f"{names} {context}"
        )
    for name, size in zip(names, shape[-len(names) :], strict=True):
        if sizes.setdefault(name, size) != size:
            raise ValueError(
                f"inconsistent size for core dimension {name!r}: {size} vs {sizes[name]} {context}"
            )


def _check_outputs(
    results: Any, outputs: Sequence[tuple[str, ...]], sizes: dict[str, int], context: str
) -> None:
    if len(outputs) > 1 and not isinstance(results, tuple):
        raise TypeError(
            "output must be a tuple when multiple outputs are expected, got: "
            f"{results!r} in place of {len(outputs)} outputs {context}"
        )
    arrays = results if isinstance(results, tuple) else (results,)
    if len(arrays) != len(outputs):
        raise TypeError(
            f"wrong number of output arguments: expected {len(outputs)}, got {len(arrays)} "
            f"{context}"
        )
    for array, names in zip(arrays, outputs, strict=True):
        shape = np.shape(array)
        if len(shape) != len(names):
            raise ValueError(
                f"output shape {shape} does not match core dimensions {names} {context}"
            )
        _core_sizes(shape, names, sizes, context)


def _check_excluded(excluded: Collection[int | str]) -> None:
    if any(not isinstance(argument, str | int) for argument in excluded):
        raise TypeError(
            "olympus.numpy.vectorize can only exclude integer or string arguments, but excluded="
            f"{set(excluded)!r}"
        )
    if any(isinstance(argument, int) and argument < 0 for argument in excluded):
        raise ValueError(f"excluded={set(excluded)!r} contains negative numbers")


@travels
def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Returns a function that applies ``pyfunc`` to all elements, or slices, of broadcast arrays.

    Args:
      pyfunc: a traceable function.
      excluded: positions and names of arguments that are passed unchanged.
      signature: the core dimensions of arguments and results, such as ``"(n,m),(m)->(n)"``; scalars
        by default.

    Returns:
      A function of arrays. Its results have the broadcast dimensions of the arguments first, then
      the dimensions that the signature names.

    Raises:
      TypeError: if ``excluded`` contains anything but integers and strings, or if a call has
        another number of arguments than the signature.
      ValueError: if ``excluded`` contains a negative position, or a position for which a call has
        no argument.

    Example:
      >>> from olympus_numpy import array, dot
      >>> vectorize(dot, signature="(n),(n)->()")(array([[1, 2], [3, 4]]), array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    _check_excluded(excluded)
    parsed = None if signature is None else _parse_signature(signature)
    context = f"on vectorized function with excluded={excluded!r} and signature={signature!r}"

    @api_boundary
    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(argument, int) and argument >= len(args) for argument in excluded):
            raise ValueError(f"excluded={excluded!r} is invalid for {len(args)} argument(s)")
        names = sorted(name for name in kwargs if name not in excluded)
        positions = [position for position in range(len(args)) if position not in excluded]
        inputs, outputs = parsed or ([()] * (len(positions) + len(names)), None)
        if len(inputs) != len(positions) + len(names):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(inputs)}, got "
                f"{len(positions) + len(names)} {context}"
            )
        # Arguments that are None are passed on unchanged.
        absent = {k for k, position in enumerate(positions) if args[position] is None}
        if any(inputs[k] for k in absent):
            message = f"Cannot pass None at locations {absent} with {signature=}"
            raise ValueError(f"{message} {context}")
        inputs = [names for k, names in enumerate(inputs) if k not in absent]
        positions = [position for position in positions if args[position] is not None]

        def call(*values: Any) -> Any:
            full = list(args)
            for position, value in zip(positions, values, strict=False):
                full[position] = value
            named = dict(zip(names, values[len(positions) :], strict=True))
            return pyfunc(*full, **{**kwargs, **named})

        arrays = [args[position] for position in positions] + [kwargs[name] for name in names]
        return _apply(call, list(map(asarray, arrays)), inputs, outputs, context)

    return vectorized


def _apply(
    fun: Callable[..., Any],
    arrays: list[Any],
    inputs: Sequence[tuple[str, ...]],
    outputs: Sequence[tuple[str, ...]] | None,
    context: str,
) -> Any:
    """Maps a function of core dimensions over the loop dimensions of arrays."""
    sizes: dict[str, int] = {}
    for array, names in zip(arrays, inputs, strict=True):
        _core_sizes(array.shape, names, sizes, context)
    loop_shapes = [
        array.shape[: array.ndim - len(names)] for array, names in zip(arrays, inputs, strict=True)
    ]
    # The ranks of loop shapes are compared for all operands except scalars, which broadcast in
    # every mode of rank promotion.
    ranked = [loop for loop, array in zip(loop_shapes, arrays, strict=True) if array.ndim]
    check_ranks(f"vectorize {context}", [array.shape for array in arrays], ranked)
    loop_shape = broadcast_shapes(*loop_shapes)
    squeezed = [
        lax.squeeze(array, tuple(axis for axis, size in enumerate(shape) if size == 1))
        for array, shape in zip(arrays, loop_shapes, strict=True)
    ]

    def checked(*args: Any) -> Any:
        results = fun(*args)
        if outputs is not None:
            _check_outputs(results, outputs, dict(sizes), context)
        return results

    call = checked
    unmapped = []  # loop dimensions of size one
    for dim in reversed(range(len(loop_shape))):
        in_axes = tuple(0 if _is_mapped(shape, loop_shape, dim) else None for shape in loop_shapes)
        if loop_shape[dim] == 1 or all(axis is None for axis in in_axes):
            unmapped.append(dim)
        else:
            call = vmap(call, in_axes=in_axes)
    results = call(*squeezed)
    if not unmapped:
        return results
    dims = tuple(sorted(unmapped))
    if isinstance(results, tuple):
        return tuple(expand_dims(result, dims) for result in results)
    return expand_dims(results, dims)


def _is_mapped(shape: tuple[int, ...], loop_shape: tuple[int, ...], dim: int) -> bool:
    """Returns whether an argument has a given loop dimension with a size other than one."""
    own_dim = dim - (len(loop_shape) - len(shape))
    return own_dim >= 0 and shape[own_dim] == loop_shape[dim] != 1


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Array:
    """Applies a function of vectors to each one-dimensional slice of an array along an axis.

    Args:
      func1d: a traceable function of a vector.
      axis: the axis; the results' dimensions take its place.
      arr: an array.
      *args: passed to the function.
      **kwargs: passed to the function.

    Returns:
      An array in which the dimensions of the function's result take the place of the axis.

    Example:
      >>> from olympus_numpy import array, sum
      >>> apply_along_axis(sum, 0, array([[1, 2], [3, 4]]))
      Array([4, 6], dtype=int32)
    """
    check_arraylike("apply_along_axis", arr)
    arr = ensure_array(arr)
    axis = canonical_axis(axis, arr.ndim)

    def call(line: Any) -> Any:
        return func1d(line, *args, **kwargs)

    for _ in range(axis + 1, arr.ndim):
        call = vmap(call, in_axes=-1, out_axes=-1)
    for _ in range(axis):
        call = vmap(call, in_axes=0, out_axes=0)
    return call(arr)


def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: int | Sequence[int]) -> Array:
    """Applies a reduction over axes one after another; keeps the axes with size one.

    Args:
      func: the reduction, a function of an array and an axis.
      a: an array.
      axes: the axes.

    Returns:
      An array of the rank of ``a``.

    Raises:
      ValueError: if the rank of a result of ``func`` is neither the rank of ``a`` nor one less.

    Example:
      >>> from olympus_numpy import ones, sum
      >>> apply_over_axes(sum, ones((2, 3)), [0, 1])
      Array([[6.]], dtype=float32)
    """
    check_arraylike("apply_over_axes", a)
    operand = ensure_array(a)
    for axis in np.atleast_1d(axes):
        axis = canonical_axis(operator.index(axis), operand.ndim)
        result = func(operand, axis)
        if result.ndim == operand.ndim:
            operand = result
        elif result.ndim == operand.ndim - 1:
            operand = expand_dims(result, axis)
        else:
            raise ValueError("function is not returning an array of the correct shape")
    return operand


def elementwise(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that broadcasts its arguments and applies ``func`` elementwise."""
    name = getattr(func, "__name__", "ufunc")

    def applied(*args: Any) -> Any:
        check_arraylike(name, *args)
        return vectorize(func)(*args)

    applied.__name__ = name
    applied.__doc__ = func.__doc__
    return applied
