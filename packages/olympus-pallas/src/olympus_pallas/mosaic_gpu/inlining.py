# SPDX-License-Identifier: Apache-2.0
"""`inline_mgpu`, which calls functions on NumPy arrays in a kernel, and `print_layout`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.avals import ShapedArray, get_aval

from ..memory.annotations import RefLike
from .layouts import Layout, ParameterizedLayout
from .operations import aval_of_view, bind_operation, is_reference, operation
from .types import RefType, ShapeDtypeStruct

__all__ = ["inline_mgpu", "print_layout"]

inline_p = operation("inline_mgpu")

_LAYOUTS = (Layout, ParameterizedLayout)


def inline_mgpu(
    *, arg_types: Sequence[Any] = (), return_type: Any = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function on NumPy arrays callable in a kernel.

    The function takes the simulated thread, then the arguments of the call. An array arrives as a
    NumPy array. A reference is read and written by indexing, with NumPy arrays as values. On a GPU,
    JAX calls such a function with the arrays and references of its compiler.

    Args:
      arg_types: for each argument a pytree, with a `RefType` for each reference and a layout
        (`Layout`) for each array.
      return_type: a pytree with a `ShapeDtypeStruct` for each array that the function returns.

    Returns:
      A decorator. The decorated function takes the arguments and returns arrays.

    Raises:
      ValueError: a call has other arguments than ``arg_types``.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import mosaic_gpu as plgpu
      >>> layout = plgpu.Layout.WG_STRIDED((4,), 1)
      >>> out = plgpu.ShapeDtypeStruct((4,), np.float32, layout)
      >>> @plgpu.inline_mgpu(arg_types=(plgpu.RefType(),), return_type=out)
      ... def add_one(thread, x_ref):
      ...     return x_ref[...] + 1
      >>> def kernel(x_ref, o_ref):
      ...     o_ref[...] = add_one(x_ref)
      >>> call = plgpu.kernel(
      ...     kernel, out_type=ShapeDtypeStruct((4,), np.float32), interpret=True)
      >>> call(np.arange(4, dtype=np.float32))
      Array([1., 2., 3., 4.], dtype=float32)
    """
    types, type_tree = pytrees.tree_flatten(tuple(arg_types), is_leaf=_is_type)
    returned, result_tree = pytrees.tree_flatten(return_type, is_leaf=_is_struct)
    out_avals = [
        ShapedArray(tuple(result.shape), dtypes.dtype(result.dtype)) for result in returned
    ]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def inlined(*args: Any) -> Any:
            values, tree = pytrees.tree_flatten(args)
            if tree != type_tree:
                raise ValueError(
                    f"{function.__name__} takes arguments of the structure of its arg_types, "
                    f"{type_tree}, got {tree}"
                )
            for value, kind in zip(values, types, strict=True):
                _check_argument(function.__name__, value, kind)
            results = bind_operation(
                inline_p,
                values,
                out_avals,
                function=function,
                in_tree=tree,
                in_avals=tuple(map(_aval, values)),
                result_tree=result_tree,
            )
            return pytrees.tree_unflatten(result_tree, results)

        inlined.__name__ = function.__name__
        return inlined

    return decorate


def _is_type(value: Any) -> bool:
    return isinstance(value, (RefType, *_LAYOUTS))


def _is_struct(value: Any) -> bool:
    return isinstance(value, ShapeDtypeStruct)


def _aval(value: Any) -> Any:
    return aval_of_view(value) if is_reference(value) else get_aval(value)


def _check_argument(name: str, value: Any, kind: Any) -> None:
    if is_reference(value) != isinstance(kind, RefType):
        expected = "a reference" if isinstance(kind, RefType) else "an array"
        raise ValueError(
            f"{name} takes {expected} for {kind} of its arg_types, got {_aval(value).str_short()}"
        )


def print_layout(fmt: str, x: ArrayLike | RefLike) -> None:
    """Prints the layout of an array, or of a reference to tensor memory, while tracing.

    On simulated threads an array is never split among threads, and the text says so.

    Args:
      fmt: the text, with braces for the layout.
      x: the array or the reference.

    Example:
      >>> import numpy as np
      >>> print_layout("x: {}", np.zeros((4, 8), np.float32))
      x: unsplit float32[4,8]
    """
    print(fmt.format(f"unsplit {_aval(x).str_short()}"))
