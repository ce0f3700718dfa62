# SPDX-License-Identifier: Apache-2.0
"""`convert`, which makes OLYMPUS functions callable from TensorFlow programs.

Each function is exported, and embedded as one operation of the TensorFlow program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.programs.make import eval_shape
from olympus_ir.symbolic import is_symbolic_dim, symbolic_args_specs
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.avals import get_aval
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_xla.calls.jit import jit

from ..functions.exported import Exported
from ..functions.exporting import export
from ..functions.safety_checks import DisabledSafetyCheck
from ._tensorflow import tf, xla_operations, xla_sharding
from .shapes import PolyShape, as_text

__all__ = ["convert", "dtype_of_val", "eval_polymorphic_shape", "split_to_logical_devices"]

# TensorFlow's names of the platforms.
_PLATFORMS = {"cpu": "CPU", "cuda": "CUDA", "rocm": "ROCM", "tpu": "TPU"}


def numpy_dtype(dtype: Any) -> np.dtype:
    """Returns the NumPy dtype for a TensorFlow dtype; 32 bits wide if 64-bit types are disabled."""
    return dtypes.canonicalize_dtype(dtype.as_numpy_dtype)


def dtype_of_val(val: Any) -> Any:
    """Returns TensorFlow's dtype of a tensor, or of a value that becomes one.

    If 64-bit types are disabled, 32-bit types replace them.

    Args:
      val: a tensor, an array or a number.
    """
    if isinstance(val, tf.Tensor | tf.Variable):
        return tf.as_dtype(numpy_dtype(val.dtype))
    return tf.as_dtype(get_aval(val).dtype)


def _tensor(value: Any) -> Any:
    """Returns a value as a tensor, with the dtype that the value would have as an array."""
    dtype = dtype_of_val(value)
    if isinstance(value, tf.Tensor | tf.Variable):
        tensor = tf.convert_to_tensor(value)
        return tensor if tensor.dtype == dtype else tf.cast(tensor, dtype)
    return tf.convert_to_tensor(np.asarray(value), dtype=dtype)


class _Type:
    """Type of a tensor, with sizes that may be unknown."""

    def __init__(self, tensor: Any) -> None:
        self.shape = tuple(tensor.shape)
        self.dtype = numpy_dtype(tensor.dtype)


def _specs(args: Any, polymorphic_shapes: Any, constraints: Sequence[str]) -> Any:
    """Returns the types of the arguments. Unknown sizes become symbolic sizes."""
    leaves, tree = pytrees.tree_flatten(args)
    texts = pytrees.tree_map(
        as_text, polymorphic_shapes, is_leaf=lambda leaf: isinstance(leaf, PolyShape)
    )
    # -1 stands for an unknown size, which a dimension variable must replace.
    known = [tuple(-1 if size is None else size for size in leaf.shape) for leaf in leaves]
    structs = [
        ShapeDtypeStruct(tuple(max(size, 1) for size in shape), leaf.dtype)
        for shape, leaf in zip(known, leaves, strict=True)
    ]
    specs = symbolic_args_specs(pytrees.tree_unflatten(tree, structs), texts, constraints)
    for index, (shape, spec) in enumerate(zip(known, pytrees.tree_leaves(specs), strict=True)):
        for axis, (size, symbol) in enumerate(zip(shape, spec.shape, strict=True)):
            if size == -1 and not is_symbolic_dim(symbol):
                raise ValueError(
                    f"the size of dimension {axis} of argument {index} is not known to TensorFlow. "
                    "Name it by a variable: convert(fun, polymorphic_shapes=...)"
                )
    return specs


def convert(
    fun_jax: Callable[..., Any],
    *,
    polymorphic_shapes: Any = None,
    polymorphic_constraints: Sequence[str] = (),
    with_gradient: bool = True,
    enable_xla: Any = None,
    native_serialization: Any = None,
    native_serialization_platforms: Sequence[str] | None = None,
    native_serialization_disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Any]:
    """Turns a function into a function that TensorFlow programs can call.

    Args:
      fun_jax: a function of pytrees of arrays.
      polymorphic_shapes: specifications of the symbolic shapes of arguments, such as
        ``"b, _"``: one for all arguments, or a sequence with one for each argument.
      polymorphic_constraints: constraints of the variables in ``polymorphic_shapes``.
      with_gradient: whether TensorFlow can differentiate the result, in reverse mode, any number of
        times.
      enable_xla: has no effect.
      native_serialization: has no effect.
      native_serialization_platforms: the platforms on which the result can run; by default the
        platform of the default device.
      native_serialization_disabled_checks: safety checks to disable.

    Returns:
      A function of pytrees of tensors to pytrees of tensors.

    Raises:
      ValueError: a size is unknown and has no dimension variable.

    Example:
      Needs the library TensorFlow::

        fun = tf.function(convert(olympus.numpy.sin), autograph=False)
        fun(tf.constant(1.0))
    """
    for name, value in (("enable_xla", enable_xla), ("native_serialization", native_serialization)):
        if value is not None:
            warn_user(
                f"the parameter `{name}` of convert is deprecated and has no effect",
                DeprecationWarning,
            )
    jitted = fun_jax if hasattr(fun_jax, "trace") else jit(fun_jax)
    exporting = export(
        jitted,
        platforms=native_serialization_platforms,
        disabled_checks=native_serialization_disabled_checks,
    )

    @functools.wraps(fun_jax)
    def converted(*args: Any, **kwargs: Any) -> Any:
        tensors = pytrees.tree_map(_tensor, (args, kwargs))
        types, keywords = pytrees.tree_map(_Type, tensors)
        keywords = {
            name: pytrees.tree_map(lambda leaf: ShapeDtypeStruct(leaf.shape, leaf.dtype), value)
            for name, value in keywords.items()
        }
        specs = _specs(types, polymorphic_shapes, polymorphic_constraints)
        exported = exporting(*specs, **keywords)
        flat = pytrees.tree_leaves(tensors)
        results = _with_gradient(exported, with_gradient)(*flat)
        return pytrees.tree_unflatten(exported.out_tree, results)

    return converted


def _tensor_dtype(dtype: Any) -> Any:
    """Returns TensorFlow's dtype for an operand or result; float0 becomes bool."""
    return tf.bool if dtype == dtypes.float0 else tf.as_dtype(dtype)


def _run(exported: Exported, tensors: Sequence[Any]) -> list[Any]:
    """Calls an exported function as one TensorFlow operation."""
    results = xla_operations().call_module(
        [tensors[position] for position in exported.module_kept_var_idx],
        version=exported.calling_convention_version,
        module=exported.mlir_module_serialized,
        Tout=[_tensor_dtype(aval.dtype) for aval in exported.out_avals],
        Sout=[
            [None if is_symbolic_dim(size) else size for size in aval.shape]
            for aval in exported.out_avals
        ],
        platforms=[_PLATFORMS[platform] for platform in exported.platforms],
        disabled_checks=[str(check) for check in exported.disabled_safety_checks],
        use_shardy_partitioner=True,
    )
    return list(results)


def _with_gradient(exported: Exported, with_gradient: bool) -> Callable[..., list[Any]]:
    """Returns a TensorFlow function that calls ``exported``, with the exported VJP as gradient."""

    if not with_gradient:

        def without(*tensors: Any) -> list[Any]:
            return [
                tf.raw_ops.PreventGradient(
                    input=result,
                    message="The converted function does not support gradients. Use "
                    "`with_gradient` parameter to enable gradients",
                )
                for result in _run(exported, tensors)
            ]

        return without

    @tf.custom_gradient
    def run(*tensors: Any) -> tuple[list[Any], Callable[..., list[Any]]]:
        def gradient(*cotangents: Any, variables: Any = None) -> list[Any]:
            backward = exported.vjp()
            operands = [*tensors, *map(_cotangent, cotangents, exported.out_avals)]
            results = iter(_with_gradient(backward, True)(*operands))
            # Gradients of integers have dtype float0; TensorFlow expects None.
            return [
                result if np.issubdtype(numpy_dtype(tensor.dtype), np.inexact) else None
                for tensor, result in zip(tensors, results, strict=True)
            ]

        return _run(exported, tensors), gradient

    return run


def _cotangent(cotangent: Any, aval: Any) -> Any:
    """Converts a result's cotangent to the dtype that the exported VJP takes."""
    dtype = _tensor_dtype(dtypes.tangent_dtype(aval.dtype))
    if dtype == tf.bool:
        return tf.zeros(tf.shape(cotangent), dtype)
    return tf.cast(cotangent, dtype)


def eval_polymorphic_shape(
    fun_jax: Callable[..., Any], *, polymorphic_shapes: Any = None
) -> Callable[..., tuple[Any, Any]]:
    """Returns a function that infers the shapes of results, without running the function.

    Args:
      fun_jax: a function of pytrees of arrays.
      polymorphic_shapes: specifications of the argument shapes; see `convert`.

    Returns:
      A function of arguments, or of their types. It returns the types of the results, with symbolic
      sizes, and the specifications of their shapes as texts.
    """

    def evaluate(*args: Any) -> tuple[Any, Any]:
        types = eval_shape(fun_jax, *_specs(args, polymorphic_shapes, ()))
        texts = pytrees.tree_map(lambda leaf: f"({', '.join(map(str, leaf.shape))})", types)
        return types, texts

    return evaluate


def split_to_logical_devices(tensor: Any, partition_dimensions: Any) -> Any:
    """Returns a tensor with an annotation that splits it over devices.

    Args:
      tensor: the tensor.
      partition_dimensions: the number of parts of each dimension; None to replicate.
    """
    sharding = xla_sharding()
    if partition_dimensions is None:
        return sharding.replicate(tensor, use_sharding_op=True)
    devices = np.arange(np.prod(partition_dimensions)).reshape(partition_dimensions)
    return sharding.tile(tensor, devices, use_sharding_op=True)
