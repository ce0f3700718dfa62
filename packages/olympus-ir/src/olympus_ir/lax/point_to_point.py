# SPDX-License-Identifier: Apache-2.0
"""Sending and receiving along a named axis as two operations, ordered by tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..programs.primitives import instruction
from ..programs.tracing import current
from ..trees import pytrees
from ..types.annotations import PyTree
from ..types.avals import AbstractToken, AbstractValue, ShapedArray, abstract_token, get_aval
from .collectives.named_axes import AxisName, axis_names, axis_size, named_effects, pvary

__all__ = ["precv", "psend"]

psend_p = instruction("psend", family="point_to_point")
precv_p = instruction("precv", family="point_to_point", cache_inference=False)


@psend_p.def_effectful_abstract_eval
def _psend_type(
    operand: ShapedArray, *, axis_name: tuple, perm: tuple
) -> tuple[AbstractValue, frozenset]:
    return abstract_token, named_effects(axis_name)


@precv_p.def_effectful_abstract_eval
def _precv_type(
    token: AbstractValue, *, out_shape: ShapedArray, axis_name: tuple, perm: tuple
) -> tuple[ShapedArray, frozenset]:
    # The received value varies over the axes.
    varying = current.axes.varying.intersection(axis_name)
    return out_shape.update(vma=varying), named_effects(axis_name)


def psend(x: PyTree, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> PyTree:
    """Sends values between instances along a named axis; `precv` receives them.

    Only GPUs support these transfers; `ppermute` sends and receives on all platforms.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names.
      perm: pairs of a source index and a destination index.

    Returns:
      A token for each array. An operation that takes the token, such as `precv` or
      `optimization_barrier`, runs after the array has been sent.

    Raises:
      NameError: if an axis is not bound.

    Example:
      >>> import numpy as np
      >>> from olympus_ir.programs.make import make_olympuspr
      >>> program = make_olympuspr(lambda x: psend(x, "i", [(0, 1)]), axis_env=[("i", 4)])
      >>> program(np.ones(2, np.float32)).out_avals
      [AbstractToken()]
    """
    names = axis_names(axis_name)
    pairs = _pairs(names, perm)

    def of_leaf(leaf: Any) -> Any:
        operand = pvary(leaf, names) if current.axes.varying else leaf
        return psend_p.bind(operand, axis_name=names, perm=pairs)

    return pytrees.tree_map(of_leaf, x)


def precv(
    token: Any, out_shape: PyTree, axis_name: AxisName, perm: Sequence[tuple[int, int]]
) -> PyTree:
    """Receives an array that another instance along a named axis sends by `psend`.

    Args:
      token: the token of the matching `psend`, or a token from `create_token`.
      out_shape: the shape and dtype of the array, such as a ``ShapeDtypeStruct``.
      axis_name: a name or a tuple of names.
      perm: pairs of a source index and a destination index, the same as for `psend`.

    Returns:
      The array; zeros on instances that are not a destination.

    Raises:
      NameError: if an axis is not bound.
      TypeError: if ``token`` is not a token, or ``out_shape`` has no shape and dtype.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> from olympus_ir.programs.make import make_olympuspr
      >>> received = np.ones(2, np.float32)
      >>> receive = lambda: precv(lax.create_token(), received, "i", [(0, 1)])
      >>> make_olympuspr(receive, axis_env=[("i", 4)])().out_avals
      [ShapedArray(float32[2])]
    """
    if not isinstance(get_aval(token), AbstractToken):
        raise TypeError(
            f"precv takes a token of psend or create_token first, got {get_aval(token)}"
        )
    if not (hasattr(out_shape, "shape") and hasattr(out_shape, "dtype")):
        raise TypeError(
            "precv takes one out_shape, with a shape and a dtype, such as a ShapeDtypeStruct; got "
            f"{type(out_shape).__name__}. Receive the arrays of a pytree one by one."
        )
    names = axis_names(axis_name)
    aval = ShapedArray(tuple(out_shape.shape), out_shape.dtype)
    return precv_p.bind(token, out_shape=aval, axis_name=names, perm=_pairs(names, perm))


def _pairs(names: tuple, perm: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    axis_size(names)  # This raises an error if a name is not bound.
    return tuple((int(source), int(destination)) for source, destination in perm)
