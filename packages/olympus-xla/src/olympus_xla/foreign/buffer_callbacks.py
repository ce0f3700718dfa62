# SPDX-License-Identifier: Apache-2.0
"""Callbacks that access device buffers, and write results in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_autodiff.tables import jvp_rules
from olympus_batching.callback_calls import call_by_vmap_method
from olympus_batching.tables import batching_rules
from olympus_ir.lax.callbacks import check_vmap_method
from olympus_ir.programs.primitives import instruction
from olympus_ir.reference import reference_rules
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray, get_aval

from .._jaxlib import Buffer, ExecutionContext, ExecutionStage
from .ffi import check_aliases
from .ffi_primitive import side_effect

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]

# *outs = buffer_callback[callback command_buffer_compatible has_side_effect in_tree
#                         input_output_aliases out_tree result_avals vmap_method] *operands
buffer_callback_p = instruction("buffer_callback", multiple_results=True, family="buffer_callbacks")

reference_rules.exempt(
    buffer_callback_p, reason="it works on buffers of devices, not on NumPy arrays"
)


def buffer_callback(
    callback: Callable[..., None],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: dict[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """Converts a function that fills its results' buffers to a function of arrays.

    The function runs on CPUs and GPUs. On a CPU, ``numpy.asarray`` of a buffer is a view of it.

    Args:
      callback: called as ``callback(context, out, *args, **kwargs)`` with an `ExecutionContext`,
        the buffers of the results, in the structure of ``result_shape_dtypes``, and the buffers of
        the arguments. It must not change the arguments. Its result is ignored.
      result_shape_dtypes: the types of the results, a pytree of objects with ``shape`` and
        ``dtype``.
      has_side_effect: whether the function must be called even if its results are not used.
      vmap_method: the behavior under `vmap`; see `ffi.ffi_call`.
      input_output_aliases: maps the index of an argument to the index of the result that reuses its
        memory. The result's buffer initially has the argument's values.
      command_buffer_compatible: whether a GPU may record and repeat the callback's commands.

    Returns:
      A function of arrays that returns arrays of the types in ``result_shape_dtypes``.

    Raises:
      ValueError: an argument does not have the form described above.

    Example:
      >>> import numpy as np
      >>> def add_one(context, out, x):
      ...     np.asarray(out)[...] = np.asarray(x) + 1
      >>> x = np.arange(3, dtype=np.float32)
      >>> buffer_callback(add_one, x)(x)
      Array([1., 2., 3.], dtype=float32)
    """
    check_vmap_method(vmap_method)
    types, out_tree = pytrees.tree_flatten(result_shape_dtypes)
    result_avals = tuple(ShapedArray(type_.shape, type_.dtype) for type_ in types)

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = pytrees.tree_flatten((args, kwargs))
        in_avals = [get_aval(leaf) for leaf in leaves]
        results = buffer_callback_p.bind(
            *leaves,
            callback=callback,
            result_avals=result_avals,
            in_tree=in_tree,
            out_tree=out_tree,
            has_side_effect=bool(has_side_effect),
            vmap_method=vmap_method,
            input_output_aliases=check_aliases(input_output_aliases, in_avals, result_avals),
            command_buffer_compatible=bool(command_buffer_compatible),
        )
        return pytrees.tree_unflatten(out_tree, results)

    return call


@buffer_callback_p.def_effectful_abstract_eval
def _types(
    *avals: Any, result_avals: tuple, has_side_effect: bool, **params: Any
) -> tuple[Any, frozenset]:
    return result_avals, side_effect if has_side_effect else frozenset()


@batching_rules.define(buffer_callback_p)
def _batch(axis_size: int, args: Sequence[Any], batch_dims: Sequence[Any], **params: Any) -> Any:
    return call_by_vmap_method(buffer_callback_p, axis_size, args, batch_dims, params)


@jvp_rules.define(buffer_callback_p)
def _differentiate(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    raise ValueError(
        "Buffer callbacks do not support JVP. Please use `olympus.custom_jvp` to use callbacks "
        "while taking gradients."
    )
