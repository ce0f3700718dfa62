# SPDX-License-Identifier: Apache-2.0
"""Declarations of primitives by a shape rule and a dtype rule, as in JAX's private modules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from olympus.interpreters.xla import apply_primitive
from olympus_ir.lax.core.declarations import check_dtype, check_same_dtypes
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray

from .operands import try_broadcast_shapes

__all__ = [
    "COMPLEX",
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "argnum_weak_type",
    "broadcasting_shape_rule",
    "input_dtype",
    "naryop",
    "naryop_dtype_rule",
    "same_dtypes",
    "standard_naryop",
    "standard_primitive",
    "unop",
    "unop_dtype_rule",
]

FLOATS = {np.floating}
COMPLEX = {np.complexfloating}
INTEGERS = {np.integer}
NUMBERS = FLOATS | COMPLEX | INTEGERS


def standard_primitive(
    shape_rule: Callable[..., Any],
    dtype_rule: Callable[..., Any],
    name: str,
    weak_type_rule: Callable[..., bool] | None = None,
    sharding_rule: Any = None,
    vma_rule: Any = None,
    ur_rule: Any = None,
    memory_space_rule: Any = None,
) -> Primitive:
    """Declares a primitive with one result, which is evaluated by its lowering rule.

    Args:
      shape_rule: takes the types of the operands and the parameters, and returns the shape.
      dtype_rule: takes the same, and returns the dtype.
      name: the name.
      weak_type_rule: takes the same, and returns whether the result is weakly typed. By default it
        is if all operands are.
      sharding_rule: has no effect; the compiler chooses the layout.
      vma_rule: has no effect; results vary over the mesh axes over which operands vary.
      ur_rule: has no effect.
      memory_space_rule: has no effect; results are on the host if operands are.
    """
    primitive = Primitive(name)

    def abstract_eval(*avals: ShapedArray, **params: Any) -> ShapedArray:
        weak = (
            all(aval.weak_type for aval in avals)
            if weak_type_rule is None
            else weak_type_rule(*avals, **params)
        )
        shape, dtype = shape_rule(*avals, **params), dtype_rule(*avals, **params)
        return ShapedArray(tuple(shape), dtypes.dtype(dtype), weak)

    primitive.def_abstract_eval(abstract_eval)
    primitive.def_impl(functools.partial(apply_primitive, primitive))
    return primitive


def broadcasting_shape_rule(name: str, *avals: ShapedArray, **kwargs: Any) -> tuple[int, ...]:
    """Returns the common shape of operands of one rank.

    Raises:
      TypeError: the ranks differ, or the shapes do not fit.
    """
    if len({len(aval.shape) for aval in avals}) > 1:
        ranks = ", ".join(str(len(aval.shape)) for aval in avals)
        raise TypeError(f"{name}: arrays must have same number of dimensions, got {ranks}.")
    return try_broadcast_shapes(*(aval.shape for aval in avals), name=name)


def _result(result_dtype: Any, avals: Sequence[ShapedArray], params: dict[str, Any]) -> Any:
    is_rule = callable(result_dtype) and not isinstance(result_dtype, type)
    return result_dtype(*avals, **params) if is_rule else result_dtype


def unop_dtype_rule(
    result_dtype: Any,
    accepted_dtypes: Collection[type],
    name: str,
    aval: ShapedArray,
    supports_narrow_ints: bool = True,
    **kwargs: Any,
) -> Any:
    """Checks the dtype of an operand, and returns the dtype of the result."""
    check_dtype(name, aval, tuple(accepted_dtypes))
    return _result(result_dtype, [aval], kwargs)


def naryop_dtype_rule(
    result_dtype: Any,
    accepted_dtypes: Sequence[Collection[type]],
    name: str,
    *avals: ShapedArray,
    require_same: bool = True,
    allow_extended_dtype: bool = False,
    **kwargs: Any,
) -> Any:
    """Checks the dtypes of operands, and returns the dtype of the result."""
    for position, (aval, accepted) in enumerate(zip(avals, accepted_dtypes, strict=True)):
        extended = allow_extended_dtype and dtypes.issubdtype(aval.dtype, dtypes.extended)
        if not extended:
            check_dtype(name, aval, tuple(accepted), position)
    if require_same:
        check_same_dtypes(name, avals)
    return _result(result_dtype, avals, kwargs)


def naryop(
    result_dtype: Any,
    accepted_dtypes: Sequence[Collection[type]],
    name: str,
    allow_extended_dtype: bool = False,
    require_same_dtypes: bool = True,
    ur_rule: Any = None,
) -> Primitive:
    """Declares an elementwise primitive.

    Args:
      result_dtype: the dtype of the result, or a function of the operands' types and the
        parameters.
      accepted_dtypes: the accepted kinds of dtypes of each operand.
      name: the name.
      allow_extended_dtype: whether operands may have extended dtypes.
      require_same_dtypes: whether the dtypes of the operands must be equal.
      ur_rule: has no effect.
    """
    dtype_rule = functools.partial(
        naryop_dtype_rule,
        result_dtype,
        accepted_dtypes,
        name,
        require_same=require_same_dtypes,
        allow_extended_dtype=allow_extended_dtype,
    )
    primitive = standard_primitive(
        functools.partial(broadcasting_shape_rule, name), dtype_rule, name
    )
    primitive.elementwise = True
    return primitive


def input_dtype(x: ShapedArray, *_: Any, out_dtype: Any = None, **__: Any) -> Any:
    """Returns the dtype of the first operand, or the parameter ``out_dtype``."""
    return x.dtype if out_dtype is None else dtypes.dtype(out_dtype)


def standard_naryop(
    accepted_dtypes: Sequence[Collection[type]],
    name: str,
    allow_extended_dtype: bool = False,
    require_same_dtypes: bool = True,
    ur_rule: Any = None,
) -> Primitive:
    """Declares an elementwise primitive whose result has the dtype of the first operand."""
    return naryop(input_dtype, accepted_dtypes, name, allow_extended_dtype, require_same_dtypes)


def unop(
    result_dtype: Any,
    accepted_dtypes: Collection[type],
    name: str,
    supports_narrow_ints: bool = True,
) -> Primitive:
    """Declares an elementwise primitive of one operand; see `naryop`."""
    return naryop(result_dtype, [accepted_dtypes], name)


def same_dtypes(name: str, *avals: ShapedArray) -> None:
    """Raises TypeError if dtypes differ."""
    check_same_dtypes(name, avals)


def argnum_weak_type(*argnums: int) -> Callable[..., bool]:
    """Returns a rule: the result is weakly typed if the operands in the given positions are."""

    def rule(*avals: ShapedArray, **_: Any) -> bool:
        return all(avals[number].weak_type for number in argnums)

    return rule
