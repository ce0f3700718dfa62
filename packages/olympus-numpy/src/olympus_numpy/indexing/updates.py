# SPDX-License-Identifier: Apache-2.0
"""Indexed updates such as ``x.at[...].set(y)``, which return a new array."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary, boundary_class
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.loading import deferred
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.settings import config
from olympus_ir.settings.config import config_states
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval, is_valid_value
from olympus_ir.types.promotion import lattice_result_type
from olympus_ir.types.resharding import with_out_sharding

from ..arrays.creation import asarray
from ..core.compilation import compiled
from ..core.promotion import convert, ensure_array, promote_dtypes, to_array
from ..elementwise.arithmetic import true_divide
from ..elementwise.powers import power
from .getting import gather_plan, is_staging, spread_to, take_at, taken
from .parsing import Layout, parse

if TYPE_CHECKING:
    from olympus_ir.diagnostics import suggestions

    from . import masked_updates
else:
    suggestions = deferred("olympus_ir.diagnostics.suggestions", milliseconds=0.3)
    masked_updates = deferred(".masked_updates", milliseconds=0.4)

__all__ = ["IndexedUpdate", "Updates"]

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "set": lax.scatter,
    "add": lax.scatter_add,
    "subtract": lax.scatter_sub,
    "multiply": lax.scatter_mul,
    "min": lax.scatter_min,
    "max": lax.scatter_max,
}


def _scatter_at(
    x: Any,
    values: Any,
    operation: str,
    layout: Layout,
    operands: Any,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    """Applies an update to the elements of an array at a parsed index."""
    if operation in ("divide", "power"):
        # Compute the factor or exponent of each element: the product of the values for this
        # element, or 1 if there are none.
        factors = _scatter_at(
            lax.full_like(x, 1),
            values,
            "multiply",
            layout,
            operands,
            unique_indices,
            indices_are_sorted,
            mode,
            wrap_negative_indices,
        )
        return _combine(operation, x, factors)
    x, values = ensure_array(x), to_array(values)
    if not is_staging() or np.ndim(values):  # host scalars become literals
        values = ensure_array(values)
    dtype, weak_type = x.dtype, getattr(x, "weak_type", False)
    plan = gather_plan(x.shape, layout, list(operands), wrap_negative_indices)
    if not dtypes.is_extended(dtype):
        x, values = promote_dtypes(x, values)
    values = spread_to(values, plan.result_shape, f"at[...].{operation}")
    if 0 in plan.shape or 0 in x.shape:
        return convert(x, dtype, weak_type)
    if plan.new_axes:
        values = lax.squeeze(values, plan.new_axes)
    if plan.reversed_dims:
        values = lax.rev(values, plan.reversed_dims)
    result = _OPERATIONS[operation](
        x,
        plan.indices,
        values,
        _scatter_numbers(plan),
        indices_are_sorted=plan.in_order or indices_are_sorted,
        unique_indices=plan.in_order or unique_indices,
        mode=mode,
    )
    return result if dtypes.is_extended(dtype) else convert(result, dtype, weak_type)


def _scatter_numbers(plan: Any) -> Any:
    return lax.ScatterDimensionNumbers(plan.window_dims, plan.collapsed_dims, plan.indexed_dims)


def _combine(operation: str, x: Any, factors: Any) -> Any:
    if operation == "divide":
        return true_divide(x, factors)
    return power(x, factors)


# Cache of known lossless conversions. A key has the array's dtype, the dtype or Python class of the
# values, and whether 64-bit types are enabled.
_lossless: set[tuple[Any, Any, bool]] = set()


def _as_values(values: Any, dtype: Any) -> Any:
    """Returns the values of an update as an array or scalar; warns if conversion is lossy.

    The warning is issued at every call, not only when a call is compiled.
    """
    kind = values.dtype if hasattr(values, "dtype") else values.__class__
    key = (dtype, kind, config_states.enable_x64.value)
    if key in _lossless:
        return values
    if not is_valid_value(values):
        return _as_values(asarray(values), dtype)  # a list has no dtype before conversion
    if dtypes.is_extended(dtype):
        return values
    values_dtype = get_aval(values).dtype
    if lattice_result_type(dtype, get_aval(values))[0] == dtype:
        _lossless.add(key)
        return values
    mode = config.numpy_dtype_promotion.value
    warn_user(
        "scatter inputs have incompatible types: cannot safely cast value from "
        f"dtype={dtypes.name_of(values_dtype)} to dtype={dtypes.name_of(dtype)} with "
        f"{naming.module}_numpy_dtype_promotion={getattr(mode, 'value', mode)}. In future "
        f"{naming.library} releases this will result in an error. Convert the values first, with "
        "astype.",
        FutureWarning,
    )
    if values_dtype.kind == "c":
        warn_user(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
        )
    return values


_scattered = compiled(
    _scatter_at,
    (
        "operation",
        "layout",
        "unique_indices",
        "indices_are_sorted",
        "mode",
        "wrap_negative_indices",
    ),
    inline=True,
    name="scatter",
)


@boundary_class
class Updates:
    """The value of ``x.at``: an index in brackets after it selects the elements to update.

    Example:
      >>> from olympus_numpy import zeros
      >>> zeros(3).at[1].set(5.0)
      Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexedUpdate:
        return IndexedUpdate(self.array, index)

    def __repr__(self) -> str:
        return f"Updates({self.array!r})"

    def __setitem__(self, index: Any, values: Any) -> NoReturn:
        raise TypeError(
            "x.at does not support item assignment, as arrays are immutable: use "
            "`x = x.at[index].set(values)`"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("x.at takes the index in brackets: `x.at[index].set(values)`")


# Advice for the names of updates in other libraries.
_HABITS = {
    "sub": "use `subtract`",
    "minus": "use `subtract`",
    "plus": "use `add`",
    "times": "use `multiply`",
    "div": "use `divide`",
    "pow": "use `power`",
    "maximum": "use `max`",
    "minimum": "use `min`",
    "update": "use `set`, or `apply` with a function",
    "assign": "use `set`",
    "replace": "use `set`",
}


@boundary_class
class IndexedUpdate:
    """The value of ``x.at[index]``: its methods return an updated copy of the array.

    All operations accept the options

    * ``indices_are_sorted`` and ``unique_indices``, promises that let the compiler make the update
      faster;
    * ``mode``, for indices out of range: ``"drop"``, the default, ignores their updates; ``"clip"``
      moves the indices to the edge; ``"promise_in_bounds"`` promises that there are none;
    * ``wrap_negative_indices``, whether negative indices count from the end.

    Where an index occurs several times, `add`, `multiply`, `min` and `max` apply all its updates,
    and `set` one of them.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"IndexedUpdate({self.array!r}, {self.index!r})"

    @api_boundary
    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"'IndexedUpdate' object has no attribute {name!r}"
            + suggestions.hint(name, dir(type(self)), _HABITS)
        )

    def _update(
        self,
        operation: str,
        values: Any,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: Any,
        out_sharding: Any,
        wrap_negative_indices: bool,
    ) -> Any:
        array = self.array
        values = _as_values(values, array.dtype)
        if mode is not None:
            mode = lax.GatherScatterMode.from_any(mode)
        if current.trace is evaluation_trace:
            layout, operands = parse(array.shape, self.index, False, wrap_negative_indices)
            scatter = _scattered
        else:
            part = masked_updates.masked_part(array.shape, self.index)
            if part is not None:
                return with_out_sharding(
                    lambda x, update, mask: part._replace(mask=mask).updated(x, update, operation),
                    (array, values, part.mask),
                    out_sharding,
                    "scatter",
                )
            layout, operands = parse(array.shape, self.index, is_staging(), wrap_negative_indices)
            scatter = _scatter_at
        options = (unique_indices, indices_are_sorted, mode, wrap_negative_indices)
        if out_sharding is None:
            return scatter(array, values, operation, layout, operands, *options)
        return with_out_sharding(
            lambda x, update, *indices: _scatter_at(
                x, update, operation, layout, indices, *options
            ),
            (array, values, *operands),
            out_sharding,
            "scatter",
        )

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: ArrayLike | None = None,
        out_sharding: ShardingLike = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns ``x[index]``, with a choice of the result for indices out of range.

        Args:
          indices_are_sorted: a promise; see the class.
          unique_indices: a promise; see the class.
          mode: ``"fill"`` returns ``fill_value`` for indices out of range; ``"clip"`` and the
            default return the nearest elements.
          fill_value: the fill value; by default, NaN for floats, the lowest value for signed
            integers and the highest value for unsigned integers.
          out_sharding: the sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          An array of the shape of the indexed part and of the array's dtype.

        Raises:
          ValueError: if ``fill_value`` is not a scalar.

        Example:
          >>> from olympus_numpy import array
          >>> array([1.0, 2.0]).at[5].get(mode="fill", fill_value=-1.0)
          Array(-1., dtype=float32)
        """
        array = self.array
        if mode is not None:
            mode = lax.GatherScatterMode.from_any(mode)
        eager = current.trace is evaluation_trace
        is_fixed = not eager and is_staging()
        layout, operands = parse(array.shape, self.index, is_fixed, wrap_negative_indices)
        if fill_value is not None and np.ndim(fill_value):
            raise ValueError(
                "fill_value argument to indexed get() must be a scalar, got one of shape "
                f"{np.shape(fill_value)}"
            )
        constant: Any = fill_value
        if hasattr(constant, "item"):
            constant = constant.item()  # a Python number becomes a constant of the program
        options = (mode, constant, unique_indices, indices_are_sorted, wrap_negative_indices)
        if out_sharding is None:
            return (taken if eager else take_at)(array, layout, operands, *options)
        return with_out_sharding(
            lambda x, *indices: take_at(x, layout, indices, *options),
            (array, *operands),
            out_sharding,
            "gather",
        )

    def set(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: ShardingLike = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns the array after ``x[index] = values``.

        Args:
          values: the new values, broadcast to the shape of the indexed part and converted to the
            array's dtype.
          indices_are_sorted: a promise; see the class.
          unique_indices: a promise; see the class.
          mode: the treatment of indices out of range; see the class.
          out_sharding: the sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          An array of the same shape and dtype.

        Example:
          >>> from olympus_numpy import zeros
          >>> zeros(3).at[:2].set(1.0)
          Array([1., 1., 0.], dtype=float32)
        """
        return self._update(
            "set",
            values,
            indices_are_sorted,
            unique_indices,
            mode,
            out_sharding,
            wrap_negative_indices,
        )

    def add(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: ShardingLike = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns the array after ``x[index] += values``.

        Args:
          values: the operation's second operand, broadcast to the shape of the indexed part and
            converted to the array's dtype.
          indices_are_sorted: a promise; see the class.
          unique_indices: a promise; see the class.
          mode: the treatment of indices out of range; see the class.
          out_sharding: the sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          An array of the same shape and dtype.

        Example:
          >>> from olympus_numpy import array, zeros
          >>> zeros(3).at[array([0, 0, 2])].add(1.0)
          Array([2., 0., 1.], dtype=float32)
        """
        return self._update(
            "add",
            values,
            indices_are_sorted,
            unique_indices,
            mode,
            out_sharding,
            wrap_negative_indices,
        )

    def subtract(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: ShardingLike = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns the array after ``x[index] -= values``.

        Args:
          values: the operation's second operand, broadcast to the shape of the indexed part and
            converted to the array's dtype.
          indices_are_sorted: a promise; see the class.
          unique_indices: a promise; see the class.
          mode: the treatment of indices out of range; see the class.
          out_sharding: the sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          An array of the same shape and dtype.

        Example:
          >>> from olympus_numpy import array
          >>> array([5, 2]).at[0].subtract(3)
          Array([2, 2], dtype=int32)
        """
        return self._update(
            "subtract",
            values,
            indices_are_sorted,
            unique_indices,
            mode,
            out_sharding,
            wrap_negative_indices,
        )

    def multiply(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: ShardingLike = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns the array after ``x[index] *= values``.

        Args:
          values: the operation's second operand, broadcast to the shape of the indexed part and
            converted to the array's dtype.
          indices_are_sorted: a promise; see the class.
          unique_indices: a promise; see the class.
          mode: the treatment of indices out of range; see the class.
          out_sharding: the sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          An array of the same shape and dtype.

        Example:
          >>> from olympus_numpy import array
          >>> array([5, 2]).at[0].multiply(3)
          Array([15,  2], dtype=int32)
        """
        return self._update(
            "multiply",
            values,
            indices_are_sorted,
            unique_indices,
            mode,
            out_sharding,
            wrap_negative_indices,
        )

    mul = multiply

    def divide(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: ShardingLike = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns the array after ``x[index] /= values``.

        Args:
          values: the operation's second operand, broadcast to the shape of the indexed part and
            converted to the array's dtype.
          indices_are_sorted: a promise; see the class.
          unique_indices: a promise; see the class.
          mode: the treatment of indices out of range; see the class.
          out_sharding: the sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          An array of the same shape, and of a floating or complex dtype.

        Example:
          >>> from olympus_numpy import array
          >>> array([5.0, 2.0]).at[0].divide(2)
          Array([2.5, 2. ], dtype=float32)
        """
        return self._update(
            "divide",
            values,
            indices_are_sorted,
            unique_indices,
            mode,
            out_sharding,
            wrap_negative_indices,
        )

    def power(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: ShardingLike = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns the array after ``x[index] **= values``.

        Args:
          values: the operation's second operand, broadcast to the shape of the indexed part and
            converted to the array's dtype.
          indices_are_sorted: a promise; see the class.
          unique_indices: a promise; see the class.
          mode: the treatment of indices out of range; see the class.
          out_sharding: the sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          An array of the same shape and dtype, or of integers in place of booleans; see `power`.

        Example:
          >>> from olympus_numpy import array
          >>> array([5, 2]).at[0].power(3)
          Array([125,   2], dtype=int32)
        """
        return self._update(
            "power",
            values,
            indices_are_sorted,
            unique_indices,
            mode,
            out_sharding,
            wrap_negative_indices,
        )

    def min(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: ShardingLike = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns the array after ``x[index] = minimum(x[index], values)``.

        Args:
          values: the operation's second operand, broadcast to the shape of the indexed part and
            converted to the array's dtype.
          indices_are_sorted: a promise; see the class.
          unique_indices: a promise; see the class.
          mode: the treatment of indices out of range; see the class.
          out_sharding: the sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          An array of the same shape and dtype.

        Example:
          >>> from olympus_numpy import array
          >>> array([5, 2]).at[0].min(3)
          Array([3, 2], dtype=int32)
        """
        return self._update(
            "min",
            values,
            indices_are_sorted,
            unique_indices,
            mode,
            out_sharding,
            wrap_negative_indices,
        )

    def max(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: ShardingLike = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns the array after ``x[index] = maximum(x[index], values)``.

        Args:
          values: the operation's second operand, broadcast to the shape of the indexed part and
            converted to the array's dtype.
          indices_are_sorted: a promise; see the class.
          unique_indices: a promise; see the class.
          mode: the treatment of indices out of range; see the class.
          out_sharding: the sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          An array of the same shape and dtype.

        Example:
          >>> from olympus_numpy import array
          >>> array([5, 2]).at[0].max(7)
          Array([7, 2], dtype=int32)
        """
        return self._update(
            "max",
            values,
            indices_are_sorted,
            unique_indices,
            mode,
            out_sharding,
            wrap_negative_indices,
        )

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: ShardingLike = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns the array with an elementwise function applied to the elements at the index.

        If an index occurs n times, the function is applied n times.

        Args:
          func: an elementwise function of arrays.
          indices_are_sorted: a promise; see the class.
          unique_indices: a promise; see the class.
          mode: the treatment of indices out of range; see the class.
          out_sharding: the sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          An array of the same shape and dtype.

        Example:
          >>> from olympus_numpy import arange, negative
          >>> arange(3).at[1:].apply(negative)
          Array([ 0, -1, -2], dtype=int32)
        """
        x = ensure_array(self.array)
        part = masked_updates.masked_part(x.shape, self.index)
        if part is not None:
            return with_out_sharding(
                lambda x, mask: part._replace(mask=mask).choose(
                    convert(ensure_array(func(x)), x.dtype), x
                ),
                (x, part.mask),
                out_sharding,
                "scatter",
            )
        layout, operands = parse(x.shape, self.index, is_staging(), wrap_negative_indices)
        plan = gather_plan(x.shape, layout, operands, wrap_negative_indices)
        if 0 in plan.shape or 0 in x.shape:
            return x

        def elementwise(element: Any) -> Any:
            return convert(ensure_array(func(element)), x.dtype)

        def scattered(x: Any, indices: Any) -> Any:
            return lax.scatter_apply(
                x,
                indices,
                elementwise,
                _scatter_numbers(plan),
                update_shape=plan.shape,
                indices_are_sorted=plan.in_order or indices_are_sorted,
                unique_indices=plan.in_order or unique_indices,
                mode=None if mode is None else lax.GatherScatterMode.from_any(mode),
            )

        return with_out_sharding(scattered, (x, plan.indices), out_sharding, "scatter")
