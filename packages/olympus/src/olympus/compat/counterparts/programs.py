# SPDX-License-Identifier: Apache-2.0
"""Types, axis environments and effects of programs, under the names of JAX's private modules."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from olympus_ir.programs.olympuspr import (
    ClosedOlympuspr,
    Equation,
    Literal,
    Olympuspr,
    Var,
    olympusprs_in_params,
)
from olympus_ir.programs.tracing import (
    AxisEnvironment,
    Tracer,
    concrete_or_error,
    current,
    extend_axes,
)
from olympus_ir.symbolic.expressions import is_symbolic_dim
from olympus_ir.types import dtypes
from olympus_ir.types.avals import AbstractValue, ShapedArray, canonicalize_shape, get_aval
from olympus_ir.types.avals import typematch as _typematch
from olympus_ir.types.effects import NamedAxisEffect, no_effects

__all__ = [
    "AxisEnv",
    "axis_frame",
    "canonicalize_dim",
    "clean_up_dead_vars",
    "concrete_dim_or_error",
    "definitely_equal",
    "definitely_equal_shape",
    "extend_axis_env_nd",
    "filter_named_axis_effects",
    "get_axis_env",
    "get_referent",
    "has_effects",
    "is_dim",
    "is_empty_shape",
    "join_effects",
    "last_used",
    "olympuspr_has_primitive",
    "physical_element_aval",
    "remove_named_axis_effects",
    "replace_olympuspr_effects",
    "same_referent",
    "str_short_aval",
    "to_concrete_value",
    "typecheck",
    "typecompat",
    "typematch",
]


# ---- contents ----


def olympuspr_has_primitive(olympuspr: Olympuspr, prim_name: str) -> bool:
    """Returns whether a program, or one that it calls, has an equation of a primitive.

    Args:
      olympuspr: the program.
      prim_name: the name of the primitive, or a part of it.
    """
    return any(
        prim_name in equation.primitive.name
        or any(
            olympuspr_has_primitive(inner, prim_name)
            for inner in olympusprs_in_params(equation.params)
        )
        for equation in olympuspr.eqns
    )


# ---- types ----


def typematch(t1: AbstractValue, t2: AbstractValue, no_dtype_check: bool = False) -> bool:
    """Returns whether two types are equal up to weak types.

    Args:
      t1: a type.
      t2: another.
      no_dtype_check: whether to compare only the shapes.
    """
    if no_dtype_check:
        return getattr(t1, "shape", None) == getattr(t2, "shape", None)
    return _typematch(t1, t2)


def typecompat(aval_ref: AbstractValue, aval: AbstractValue) -> bool:
    """Returns whether a value of a type may be used where another type is expected."""
    return _typematch(aval_ref, aval)


def typecheck(aval: AbstractValue, x: Any) -> bool:
    """Returns whether a value has a type, up to weak types."""
    return _typematch(aval, get_aval(x))


def physical_element_aval(edtype: Any) -> Any:
    """Returns the type of the data of one element of an extended dtype."""
    return edtype.physical_element_aval()


def same_referent(x: Any, y: Any) -> bool:
    """Returns whether two values are the same object, or tracers of the same value."""
    return x is y


# ---- sizes ----


def canonicalize_dim(d: Any, context: str = "") -> Any:
    """Returns a size as an integer or a symbolic dimension."""
    return canonicalize_shape((d,), context)[0]


def definitely_equal(x: Any, y: Any) -> bool:
    """Returns whether two sizes are equal for all values of symbolic dimensions."""
    return x is y or bool(x == y)


def definitely_equal_shape(s1: Sequence[Any], s2: Sequence[Any]) -> bool:
    """Returns whether two shapes are equal for all values of symbolic dimensions."""
    return len(s1) == len(s2) and all(map(definitely_equal, s1, s2))


def is_empty_shape(s: Sequence[Any]) -> bool:
    """Returns whether arrays of a shape have no elements."""
    return any(definitely_equal(size, 0) for size in s)


# ---- axis environments ----


class AxisEnv:
    """The named axes in scope.

    Args:
      axes: the axis environment of the current trace.
    """

    __slots__ = ("_axes",)

    def __init__(self, axes: AxisEnvironment) -> None:
        self._axes = axes

    @property
    def axis_sizes(self) -> dict[Any, int]:
        """The size of each axis."""
        return dict(self._axes.sizes)

    @property
    def spmd_axis_names(self) -> set[Any]:
        """The mesh axes over which mapped axes are sharded."""
        return set(self._axes.spmd_names)

    def axis_size(self, axis_name: Any) -> int:
        """Returns the size of an axis, or the product of the sizes of several axes."""
        names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
        return math.prod(map(self._axes.size, names))

    def axis_exists(self, axis_name: Any) -> bool:
        """Returns whether an axis is in scope."""
        return axis_name in self._axes

    def axis_names(self) -> tuple[Any, ...]:
        """Returns the names of all axes, the outermost first."""
        return tuple(self._axes.sizes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AxisEnv) and self._axes == other._axes

    def __hash__(self) -> int:
        return hash(self._axes)


def get_axis_env() -> AxisEnv:
    """Returns the named axes in scope."""
    return AxisEnv(current.axes)


def axis_frame(axis_name: Any) -> int:
    """Returns the size of a named axis.

    Raises:
      NameError: no such axis is in scope.
    """
    return current.axes.size(axis_name)


def extend_axis_env_nd(
    name_size_pairs: Iterable[tuple[Any, int]],
) -> AbstractContextManager[None]:
    """Returns a context manager that binds named axes."""
    return extend_axes(dict(name_size_pairs))


# ---- effects ----


def join_effects(*effects: Iterable[Any]) -> frozenset[Any]:
    """Returns the union of effects."""
    return no_effects.union(*effects)


def has_effects(jaxpr: Olympuspr | ClosedOlympuspr) -> bool:
    """Returns whether a program has effects other than the use of named axes."""
    return any(not isinstance(effect, NamedAxisEffect) for effect in jaxpr.effects)


def filter_named_axis_effects(effects: Iterable[Any], names: Collection[Any]) -> frozenset[Any]:
    """Returns effects without those that record the use of some named axes."""
    return frozenset(
        effect
        for effect in effects
        if not (isinstance(effect, NamedAxisEffect) and effect.name in names)
    )


def remove_named_axis_effects(jaxpr: Olympuspr, names: Collection[Any]) -> Olympuspr:
    """Returns a program without the effects that record the use of some named axes."""
    return jaxpr.replace(effects=filter_named_axis_effects(jaxpr.effects, names))


def replace_olympuspr_effects(jaxpr: ClosedOlympuspr, effects: Iterable[Any]) -> ClosedOlympuspr:
    """Returns a program with other effects."""
    return jaxpr.replace(jaxpr=jaxpr.jaxpr.replace(effects=frozenset(effects)))


def dim_value_dtype() -> Any:
    """Returns the dtype of the value of a symbolic dimension."""
    return dtypes.default_int_dtype()


# ---- values and variables ----


def get_referent(x: Any) -> Any:
    """Returns the value that a tracer stands for; any other value, and an unknown one, itself."""
    known = to_concrete_value(x)
    return x if known is None else known


def to_concrete_value(x: Any) -> Any:
    """Returns the value that a tracer stands for; None if it is not known."""
    return x.concrete_or_none() if isinstance(x, Tracer) else x


def is_dim(v: Any) -> bool:
    """Returns whether a value is a size of a dimension: an integer or a symbolic expression.

    Example:
      >>> is_dim(3), is_dim(3.0)
      (True, False)
    """
    return is_symbolic_dim(v) or isinstance(v, int | np.integer)


def concrete_dim_or_error(val: Any, context: str = "") -> Any:
    """Returns a size of a dimension, as an integer unless it is symbolic.

    Raises:
      ConcretizationTypeError: the size is traced.
      TypeError: the value is not an integer.
    """
    return val if is_symbolic_dim(val) else concrete_or_error(operator.index, val, context)


def str_short_aval(
    shape: Sequence[Any], dtype: Any, short_dtypes: bool = False, **described: Any
) -> str:
    """Returns the short text of the type of arrays with a shape and a dtype.

    Example:
      >>> str_short_aval((2, 3), np.dtype("float32"), True)
      'f32[2,3]'
    """
    del described  # the sharding and the memory of the type
    return ShapedArray(tuple(shape), dtype).str_short(short_dtypes)


def last_used(jaxpr: Olympuspr) -> dict[Var, Equation | None]:
    """Returns the last equation that uses each variable; None for results of the program."""
    used: dict[Var, Equation | None] = {
        variable: None for variable in jaxpr.outvars if not isinstance(variable, Literal)
    }
    for equation in reversed(jaxpr.eqns):
        for variable in equation.invars:
            if not isinstance(variable, Literal):
                used.setdefault(variable, equation)
    return used


def clean_up_dead_vars(
    eqn: Equation, env: dict[Var, Any], last_used: dict[Var, Equation | None]
) -> None:
    """Drops the values of variables that no equation after the given one uses."""
    for variable in {v for v in eqn.invars if not isinstance(v, Literal)}:
        if last_used.get(variable) is eqn:
            env.pop(variable, None)
