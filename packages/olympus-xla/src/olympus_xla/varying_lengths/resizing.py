# SPDX-License-Identifier: Apache-2.0
"""Changes of array sizes: `lengthen` appends elements, `shorten` cuts them off.

NumPy evaluates the primitives on the host, because compiling a program for each length would cost
more than padding saves. Both primitives are linear, and each is the transpose of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_autodiff.tables import jvp_rules, transpose_rules
from olympus_autodiff.zeros import Zero
from olympus_batching.tables import batching_rules, to_front
from olympus_ir import lax
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray, get_aval

from ..arrays.transfer import array_from_host, device_put
from ..calls.eager import compile_and_run

__all__ = ["lengthen", "shorten"]

# The parameter ``shape`` is the shape of the result. ``repeats`` says whether copies of the last
# element along each axis are appended, rather than zeros. Functions that are defined at the
# elements are defined at the copies, so the padding does not become NaN. The copies have no
# derivatives.
lengthen_p = Primitive.declare("lengthen", family="resizing")
shorten_p = Primitive.declare("shorten", family="resizing")
shorten_p.linear_in = True
lengthen_p.linear_in = True


@lengthen_p.def_abstract_eval
def _longer(x: ShapedArray, *, shape: tuple[int, ...], repeats: bool) -> ShapedArray:
    return x.update(shape=shape)


@shorten_p.def_abstract_eval
def _shorter(x: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    return x.update(shape=shape)


def lengthen(x: Any, shape: Sequence[int]) -> Any:
    """Returns an array of a larger shape; its first elements along each axis are those of ``x``."""
    shape = tuple(shape)
    return x if np.shape(x) == shape else lengthen_p.bind(x, shape=shape, repeats=True)


def shorten(x: Any, shape: Sequence[int]) -> Any:
    """Returns the first elements of an array along each axis."""
    shape = tuple(shape)
    return x if np.shape(x) == shape else shorten_p.bind(x, shape=shape)


# ---- evaluation on the host ----


@lengthen_p.def_impl
def _lengthen_on_host(x: Any, *, shape: tuple[int, ...], repeats: bool) -> Any:
    if not _is_plain(x):
        return compile_and_run(lengthen_p, [x], {"shape": shape, "repeats": repeats})
    values = np.asarray(x)
    longer = np.empty(shape, values.dtype) if repeats else np.zeros(shape, values.dtype)
    longer[tuple(map(slice, values.shape))] = values
    for axis, size in enumerate(values.shape) if repeats and values.size else ():
        if size < shape[axis]:
            leading = (slice(None),) * axis
            longer[(*leading, slice(size, None))] = longer[(*leading, slice(size - 1, size))]
    return _placed_like(longer, x)


@shorten_p.def_impl
def _shorten_on_host(x: Any, *, shape: tuple[int, ...]) -> Any:
    if not _is_plain(x):
        return compile_and_run(shorten_p, [x], {"shape": shape})
    return _placed_like(np.asarray(x)[tuple(map(slice, shape))], x)


def _is_plain(x: Any) -> bool:
    """Returns whether NumPy can read an array: it is fully addressable and holds no typed keys."""
    return not dtypes.is_extended(get_aval(x).dtype) and getattr(x, "is_fully_addressable", True)


def _placed_like(values: np.ndarray, x: Any) -> Any:
    """Returns an array of some values on the devices of another array."""
    if not hasattr(x, "sharding"):
        return values
    if not x.committed:
        return array_from_host(values, get_aval(x).update(shape=values.shape))
    if x.is_fully_replicated:
        return device_put(values, x.sharding)
    try:
        return device_put(values, x.sharding)
    except ValueError:  # the new size is not a multiple of the number of devices
        return array_from_host(values, get_aval(x).update(shape=values.shape))


# ---- rules ----


@expansion_rules.define(lengthen_p)
def _lengthen_in_program(x: Any, *, shape: tuple[int, ...], repeats: bool) -> Any:
    for axis, size in enumerate(shape):
        count = size - x.shape[axis]
        if not count:
            continue
        last = lax.slice_in_dim(x, x.shape[axis] - 1, x.shape[axis], axis=axis)
        added = tuple(count if position == axis else kept for position, kept in enumerate(x.shape))
        filling = lax.broadcast_in_dim(last, added, tuple(range(x.ndim)))
        filling = filling if repeats else lax.full_like(filling, 0)
        x = lax.concatenate([x, filling], axis)
    return x


@expansion_rules.define(shorten_p)
def _shorten_in_program(x: Any, *, shape: tuple[int, ...]) -> Any:
    return lax.slice(x, (0,) * len(shape), shape)


@jvp_rules.define(lengthen_p)
def _lengthen_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    result = lengthen_p.bind(*primals, **params)
    (tangent,) = tangents
    if tangent.__class__ is Zero:
        return result, Zero.of(result)
    return result, lengthen_p.bind(tangent, shape=params["shape"], repeats=False)


@transpose_rules.define(lengthen_p)
def _lengthen_transpose(cotangent: Any, x: Any, **params: Any) -> list[Any]:
    return [shorten_p.bind(cotangent, shape=x.aval.shape)]


@transpose_rules.define(shorten_p)
def _shorten_transpose(cotangent: Any, x: Any, **params: Any) -> list[Any]:
    return [lengthen_p.bind(cotangent, shape=x.aval.shape, repeats=False)]


@jvp_rules.define(shorten_p)
def _shorten_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    result = shorten_p.bind(*primals, **params)
    (tangent,) = tangents
    if tangent.__class__ is Zero:
        return result, Zero.of(result)
    return result, shorten_p.bind(tangent, **params)


def _define_batching(primitive: Primitive) -> None:
    @batching_rules.define(primitive)
    def rule(
        axis_size: int, args: Any, batch_dims: Any, *, shape: tuple[int, ...], **params: Any
    ) -> Any:
        x = to_front(args[0], batch_dims[0])
        return primitive.bind(x, shape=(axis_size, *shape), **params), 0

    del rule


_define_batching(lengthen_p)
_define_batching(shorten_p)
