# SPDX-License-Identifier: Apache-2.0
"""Hints to compilers of kernels, and instructions of the hardware."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_autodiff.tables import jvp_rules
from olympus_batching.tables import batching_rules, unary
from olympus_ir import lax
from olympus_ir.lax.core.values import shape_of
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.references import primitives as references
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, PyTree
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray, canonicalize_shape, get_aval
from olympus_ir.types.effects import (
    Effect,
    control_flow_allowed_effects,
    lowerable_effects,
    no_effects,
)
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from ..memory.annotations import IntLike

__all__ = [
    "approx_tanh",
    "broadcast_to",
    "debug_barrier",
    "debug_barrier_p",
    "delay",
    "delay_p",
    "elementwise_inline_asm",
    "elementwise_inline_asm_p",
    "empty",
    "empty_like",
    "empty_ref_like",
    "max_contiguous",
    "max_contiguous_p",
    "multiple_of",
    "multiple_of_p",
    "reciprocal",
    "reciprocal_p",
]

multiple_of_p = Primitive("multiple_of")
max_contiguous_p = Primitive("max_contiguous")
reciprocal_p = Primitive("reciprocal")
broadcast_to_p = Primitive("broadcast_to")
empty_p = Primitive("empty")
elementwise_inline_asm_p = Primitive.declare("elementwise_inline_asm_p", multiple_results=True)
debug_barrier_p = Primitive.declare("debug_barrier_p", multiple_results=True)
delay_p = Primitive.declare("delay", multiple_results=True)


class _Marker(Effect):
    """Effect that keeps operations without results from being removed as dead code."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


lowerable_effects.add_type(_Marker)
control_flow_allowed_effects.add_type(_Marker)
_barrier_effect = _Marker("Barrier")
_delay_effect = _Marker("Delay")

# ---- facts about integers ----

for _primitive in (multiple_of_p, max_contiguous_p):
    _primitive.def_abstract_eval(lambda x, *, values: x)
    expansion_rules.define(_primitive, lambda x, *, values: x)
    batching_rules.define(_primitive, unary(_primitive))


def _numbers(values: Any) -> tuple[int, ...]:
    return tuple(values) if isinstance(values, Sequence) else (values,)


def multiple_of(x: ArrayLike, values: Sequence[int] | int) -> Array:
    """Asserts that an integer is a multiple of a number, so that the compiler makes better code.

    Args:
      x: the integer, or an array of integers.
      values: the number, or one for each dimension.

    Returns:
      ``x`` itself.

    Example:
      >>> multiple_of(24, 8)
      Array(24, dtype=int32, weak_type=True)
    """
    return multiple_of_p.bind(x, values=_numbers(values))


def max_contiguous(x: ArrayLike, values: Sequence[int] | int) -> Array:
    """Asserts that the first elements of an integer array are consecutive numbers.

    Args:
      x: the integers.
      values: the number of consecutive elements, or one number for each dimension.

    Returns:
      ``x`` itself.
    """
    return max_contiguous_p.bind(x, values=_numbers(values))


# ---- arithmetic ----


@reciprocal_p.def_abstract_eval
def _reciprocal_type(x: ShapedArray, *, approx: bool, full_range: bool) -> ShapedArray:
    if not dtypes.issubdtype(x.dtype, np.floating):
        raise TypeError(f"reciprocal takes floating-point numbers, got {x.str_short()}")
    return x


@expansion_rules.define(reciprocal_p)
def _reciprocal(x: Any, *, approx: bool, full_range: bool) -> Any:
    if approx:
        narrow = lax.convert_element_type(x, dtypes.bfloat16)
        return lax.convert_element_type(lax.integer_pow(narrow, -1), x.dtype)
    return lax.integer_pow(x, -1)


batching_rules.define(reciprocal_p, unary(reciprocal_p))


@jvp_rules.define(reciprocal_p)
def _reciprocal_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    y = reciprocal_p.bind(primals[0], **params)
    return y, lax.neg(lax.mul(tangents[0], lax.mul(y, y)))


def reciprocal(x: ArrayLike, *, approx: bool = False, full_range: bool = True) -> Array:
    """Returns one divided by each number.

    Args:
      x: floating-point numbers.
      approx: whether to compute the result fast, in low precision.
      full_range: whether the result must also be right for very large and very small numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> reciprocal(np.float32(4))
      Array(0.25, dtype=float32)
    """
    return reciprocal_p.bind(x, approx=approx, full_range=full_range)


@broadcast_to_p.def_abstract_eval
def _broadcast_to_type(x: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    if len(shape) < x.ndim or any(
        own not in (1, size)
        for own, size in zip(x.shape, shape[len(shape) - x.ndim :], strict=True)
    ):
        raise ValueError(f"Cannot broadcast an array of shape {x.shape} to shape {shape}.")
    return x.update(shape=shape, weak_type=False)


@expansion_rules.define(broadcast_to_p)
def _broadcast_to(x: Any, *, shape: tuple[int, ...]) -> Any:
    offset = len(shape) - x.ndim
    return lax.broadcast_in_dim(x, shape, tuple(range(offset, len(shape))))


@batching_rules.define(broadcast_to_p)
def _broadcast_to_batched(axis_size: int, args: Any, batch_dims: Any, *, shape: Any) -> Any:
    (x,), (dim,) = args, batch_dims
    x = lax.transpose(x, (dim, *(position for position in range(x.ndim) if position != dim)))
    missing = tuple(range(1, len(shape) + 2 - x.ndim))
    return broadcast_to_p.bind(lax.expand_dims(x, missing), shape=(axis_size, *shape)), 0


@jvp_rules.define(broadcast_to_p)
def _broadcast_to_jvp(primals: Any, tangents: Any, *, shape: Any) -> Any:
    return broadcast_to_p.bind(*primals, shape=shape), broadcast_to_p.bind(*tangents, shape=shape)


def broadcast_to(a: Array, shape: Sequence[int]) -> Array:
    """Broadcasts an array to a shape, as NumPy does.

    Example:
      >>> broadcast_to(np.float32([[1], [2]]), (2, 3))
      Array([[1., 1., 1.],
             [2., 2., 2.]], dtype=float32)
    """
    shape = canonicalize_shape(shape)
    return a if shape_of(a) == shape else broadcast_to_p.bind(a, shape=shape)


# ---- arrays with unspecified elements ----


@empty_p.def_abstract_eval
def _empty_type(*, shape: tuple[int, ...], dtype: Any, out_sharding: Any) -> ShapedArray:
    return ShapedArray(shape, dtypes.dtype(dtype))


@expansion_rules.define(empty_p)
def _empty(*, shape: tuple[int, ...], dtype: Any, out_sharding: Any) -> Any:
    return lax.full(shape, 0, dtypes.dtype(dtype))


def empty(shape: Sequence[int], dtype: DTypeLike, *, out_sharding: Any = None) -> Array:
    """Returns an array with unspecified elements.

    Example:
      >>> empty((2, 3), "float32").shape
      (2, 3)
    """
    return empty_p.bind(
        shape=canonicalize_shape(shape), dtype=dtypes.dtype(dtype), out_sharding=out_sharding
    )


def empty_like(x: PyTree) -> PyTree:
    """Returns arrays with unspecified elements, of the shapes and dtypes of given arrays.

    Example:
      >>> empty_like(np.ones(3, np.int32)).shape
      (3,)
    """
    return pytrees.tree_map(lambda leaf: empty(leaf.shape, leaf.dtype), x)


def empty_ref_like(x: PyTree) -> PyTree:
    """Returns references to new arrays with unspecified elements, of the types of given arrays.

    Example:
      >>> empty_ref_like(np.ones(3, np.int32)).shape
      (3,)
    """
    return pytrees.tree_map(
        lambda leaf: references.empty_ref(ShapedArray(leaf.shape, leaf.dtype)), x
    )


# ---- instructions of the hardware ----


@debug_barrier_p.def_effectful_abstract_eval
def _debug_barrier_types() -> Any:
    return (), frozenset({_barrier_effect})


@delay_p.def_effectful_abstract_eval
def _delay_types(nanos: ShapedArray) -> Any:
    return (), frozenset({_delay_effect})


expansion_rules.define(debug_barrier_p, lambda: [])
expansion_rules.define(delay_p, lambda nanos: [])


def debug_barrier() -> None:
    """Waits until all threads of the running program have arrived."""
    debug_barrier_p.bind()


def delay(nanos: IntLike) -> None:
    """Waits for a duration.

    Args:
      nanos: the duration in nanoseconds.
    """
    delay_p.bind(nanos)


@elementwise_inline_asm_p.def_effectful_abstract_eval
def _elementwise_inline_asm_types(
    *avals: ShapedArray, asm: str, constraints: str, pack: int, result_shape_dtypes: Any
) -> Any:
    return [ShapedArray(dtype.shape, dtype.dtype) for dtype in result_shape_dtypes], no_effects


# Functions that replace some instructions on machines without a GPU. The keys are the texts of the
# instructions without spaces.
_MEANINGS: dict[str, Callable[..., Any]] = {
    "tanh.approx.f32$0,$1;": lax.tanh,
    "ex2.approx.f32$0,$1;": lax.exp2,
    "rcp.approx.f32$0,$1;": lambda x: lax.integer_pow(x, -1),
}


@expansion_rules.define(elementwise_inline_asm_p)
def _elementwise_inline_asm(
    *operands: Any, asm: str, constraints: str, pack: int, result_shape_dtypes: Any
) -> list[Any]:
    meaning = _MEANINGS.get("".join(asm.split()))
    if meaning is None:
        raise ValueError(
            "instructions of a GPU cannot be interpreted, got elementwise_inline_asm with "
            f"{asm!r}. Compile the kernel for CUDA (interpret=False)."
        )
    return [meaning(*operands)]


def elementwise_inline_asm(
    asm: str,
    *,
    args: Sequence[ArrayLike],
    constraints: str,
    pack: int,
    result_shape_dtypes: Sequence[Any],
) -> Sequence[Array]:
    """Runs instructions of NVIDIA's PTX on each element.

    Args:
      asm: the instructions; ``$0`` and so on are results and operands.
      args: the operands, arrays of the same shape.
      constraints: the kinds of registers, in LLVM's notation.
      pack: the number of elements that one run of the instructions processes.
      result_shape_dtypes: the types of the results.

    Returns:
      The results.
    """
    return elementwise_inline_asm_p.bind(
        *args,
        asm=asm,
        constraints=constraints,
        pack=pack,
        result_shape_dtypes=tuple(result_shape_dtypes),
    )


def approx_tanh(x: ArrayLike) -> Array:
    """Computes the hyperbolic tangent by the GPU's approximate instruction.

    Args:
      x: numbers of float16, bfloat16 or float32.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> approx_tanh(np.float32([0, 1]))
      Array([0.       , 0.7615942], dtype=float32)
    """
    aval = get_aval(x)
    if aval.dtype == np.float32:
        asm, constraints = "tanh.approx.f32 $0, $1;", "=f,f"
    elif aval.dtype in (np.float16, dtypes.bfloat16):
        # The result is computed in single precision and rounded.
        wide = lax.convert_element_type(x, np.float32)
        return lax.convert_element_type(approx_tanh(wide), aval.dtype)
    else:
        raise TypeError(f"approx_tanh does not accept {dtypes.name_of(aval.dtype)} arrays")
    (result,) = elementwise_inline_asm(
        asm,
        args=[x],
        constraints=constraints,
        pack=1,
        result_shape_dtypes=[ShapeDtypeStruct(aval.shape, aval.dtype)],
    )
    return result
