# SPDX-License-Identifier: Apache-2.0
"""`call_tf`, which lets OLYMPUS programs call TensorFlow functions on the host."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_autodiff import custom_vjp
from olympus_ir import lax
from olympus_ir.lax.callbacks import io_callback, pure_callback
from olympus_ir.programs.tracing import Tracer, typeof
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from ._tensorflow import tf
from .converting import numpy_dtype

__all__ = ["call_tf"]


class _Unspecified:
    """Type of the default value of ``output_shape_dtype``, which requests inferred types."""

    def __repr__(self) -> str:
        return "unspecified"


UNSPECIFIED = _Unspecified()


def call_tf(
    callable_tf: Callable[..., Any],
    has_side_effects: bool = True,
    ordered: bool = False,
    output_shape_dtype: Any = UNSPECIFIED,
    call_tf_graph: bool = False,
) -> Callable[..., Any]:
    """Turns a TensorFlow function into a function of arrays.

    A compiled function calls the TensorFlow function on the host. TensorFlow infers the types of
    the results from the types of the arguments. TensorFlow's gradient tape computes the derivative
    in reverse mode.

    Args:
      callable_tf: a function of pytrees of tensors.
      has_side_effects: whether to call the function even if its results are not used.
      ordered: whether calls happen in program order.
      output_shape_dtype: the types of the results, a pytree of `ShapeDtypeStruct`; None for a
        function without results. By default TensorFlow infers the types.
      call_tf_graph: whether to call the function as a graph, which TensorFlow optimizes.

    Returns:
      A function of pytrees of arrays.

    Example:
      Needs the library TensorFlow::

        olympus.grad(call_tf(tf.math.sin))(1.0)
    """
    graph = tf.function(callable_tf, autograph=False)
    called = graph if call_tf_graph else callable_tf

    @functools.wraps(callable_tf)
    def call(*args: Any) -> Any:
        leaves, tree = pytrees.tree_flatten(args)
        structs = [ShapeDtypeStruct(aval.shape, aval.dtype) for aval in map(_aval, leaves)]
        types = output_shape_dtype
        if types is UNSPECIFIED:
            types = _inferred(graph, tree, structs)
        elif types is None:
            types = ()
        return _flat_call(called, tree, types, has_side_effects, ordered)(*leaves)

    return call


def _aval(value: Any) -> Any:
    return typeof(value)


def _inferred(graph: Any, tree: Any, structs: list[ShapeDtypeStruct]) -> Any:
    """Returns the types of results that TensorFlow infers."""
    specs = [tf.TensorSpec(struct.shape, tf.as_dtype(struct.dtype)) for struct in structs]
    concrete = graph.get_concrete_function(*pytrees.tree_unflatten(tree, specs))

    def checked_type(tensor: Any) -> ShapeDtypeStruct:
        if not tensor.shape.is_fully_defined():
            raise ValueError(
                f"call_tf needs to know the shapes of results; TensorFlow infers {tensor.shape}. "
                "Pass them: call_tf(fun, output_shape_dtype=...)"
            )
        return ShapeDtypeStruct(tuple(tensor.shape), numpy_dtype(tensor.dtype))

    return pytrees.tree_map(checked_type, concrete.structured_outputs)


def _flat_call(
    called: Callable[..., Any], tree: Any, types: Any, has_side_effects: bool, ordered: bool
) -> Callable[..., Any]:
    """Returns a TensorFlow function as a differentiable function of flat arrays."""

    def results_of(*arrays: Any) -> Any:
        tensors = map(tf.convert_to_tensor, map(np.asarray, arrays))
        results = called(*pytrees.tree_unflatten(tree, tensors))
        return pytrees.tree_map(_checked, types, results)

    def run(*arrays: Any) -> Any:
        if not any(isinstance(array, Tracer) for array in arrays):
            return pytrees.tree_map(lax.copy, results_of(*arrays))
        if has_side_effects:
            return io_callback(results_of, types, *arrays, ordered=ordered)
        return pure_callback(results_of, types, *arrays, vmap_method="sequential")

    flat: Any = custom_vjp(run)

    def forward(*arrays: Any) -> Any:
        return flat(*arrays), arrays

    def backward(arrays: Any, cotangents: Any) -> Any:
        avals: list[Any] = list(map(typeof, arrays))
        is_smooth = [dtypes.issubdtype(aval.dtype, np.inexact) for aval in avals]
        structs = [
            ShapeDtypeStruct(aval.shape, aval.dtype)
            for aval, flag in zip(avals, is_smooth, strict=True)
            if flag
        ]
        # Cotangents of integers have dtype float0; TensorFlow takes zeros instead.
        leaves = [
            lax.full(struct.shape, 0, struct.dtype)
            if cotangent.dtype == dtypes.float0
            else cotangent
            for cotangent, struct in zip(
                pytrees.tree_leaves(cotangents), pytrees.tree_leaves(types), strict=True
            )
        ]
        pulled_back = _pullback(called, tree)
        found = iter(pure_callback(pulled_back, structs, arrays, leaves, vmap_method="sequential"))
        return tuple(next(found) if flag else None for flag in is_smooth)

    flat.defvjp(forward, backward)
    return flat


def _pullback(called: Callable[..., Any], tree: Any) -> Callable[[Any, Any], Any]:
    """Returns the map from arrays and cotangents of the results to cotangents of the arrays.

    There is a cotangent for each array of a floating or complex dtype.
    """

    def pulled_back(arrays: Any, cotangents: Any) -> Any:
        tensors = [tf.convert_to_tensor(np.asarray(array)) for array in arrays]
        smooth = [
            tensor for tensor in tensors if tensor.dtype.is_floating or tensor.dtype.is_complex
        ]
        with tf.GradientTape() as tape:
            tape.watch(smooth)
            results = pytrees.tree_leaves(called(*pytrees.tree_unflatten(tree, tensors)))
        upstream = [tf.convert_to_tensor(np.asarray(cotangent)) for cotangent in cotangents]
        gradients = tape.gradient(
            results, smooth, upstream, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        return [np.asarray(gradient) for gradient in gradients]

    return pulled_back


def _checked(struct: ShapeDtypeStruct, result: Any) -> np.ndarray:
    array = np.asarray(result)
    if array.shape != tuple(struct.shape):
        raise ValueError(
            f"the function of call_tf returned a tensor of shape {array.shape}, but its declared "
            f"output has the shape {tuple(struct.shape)}"
        )
    return array.astype(struct.dtype, copy=False)
