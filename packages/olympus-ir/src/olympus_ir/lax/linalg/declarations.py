# SPDX-License-Identifier: Apache-2.0
"""Declaration of primitives of linear algebra: checks of ranks, dtypes and batch dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...programs.primitives import Primitive, instruction
from ...types.avals import ShapedArray
from ..core.declarations import Inexact, check_dtype, check_same_dtypes

__all__ = ["check_square", "declare"]

# The shape and dtype of each result, without batch dimensions.
Results: TypeAlias = list[tuple[tuple[int, ...], Any]]


def declare(
    name: str,
    *,
    ranks: Sequence[int] = (2,),
    accepted: Sequence[type] = Inexact,
    multiple_results: bool = False,
    batched: bool = True,
    linear_in: tuple[int, ...] = (),
) -> Callable[[Callable[..., Results]], Primitive]:
    """Declares a primitive that works on the last dimensions of its operands.

    The leading dimensions are batch dimensions, the same for all operands.

    Args:
      name: the primitive's name.
      ranks: for each operand, its number of dimensions without batch dimensions.
      accepted: the kinds of dtypes that operands may have; all operands have the same dtype.
      multiple_results: whether the primitive returns a list.
      batched: whether batch dimensions are allowed.
      linear_in: the operands in which the result is linear.

    Returns:
      A decorator for the shape rule of one example. The rule takes the operands' shapes without
      batch dimensions, the dtype, and the parameters as keywords. It returns the shapes and dtypes
      of the results, which are weakly typed if all operands are.
    """
    primitive = instruction(name, family="linalg", multiple_results=multiple_results)
    primitive.linear_in = linear_in

    def make(rule: Callable[..., Results]) -> Primitive:
        def shape_rule(*avals: ShapedArray, **params: Any) -> Any:
            if len(avals) != len(ranks):
                raise TypeError(f"{name} takes {len(ranks)} operands, got {len(avals)}")
            for position, (aval, rank) in enumerate(zip(avals, ranks, strict=True)):
                check_dtype(name, aval, accepted, position)
                _check_rank(name, position, aval, rank, batched)
            check_same_dtypes(name, avals)
            batch = _batch_shape(name, avals, ranks)
            shapes = [aval.shape[len(batch) :] for aval in avals]
            weak = all(aval.weak_type for aval in avals)
            results = [
                ShapedArray((*batch, *shape), dtype, weak)
                for shape, dtype in rule(*shapes, avals[0].dtype, **params)
            ]
            return results if multiple_results else results[0]

        primitive.def_abstract_eval(shape_rule)
        return primitive

    return make


def _check_rank(name: str, position: int, aval: ShapedArray, rank: int, batched: bool) -> None:
    if aval.ndim < rank:
        raise TypeError(
            f"Input {position} to {name} must have rank at least {rank}, but got shape={aval.shape}"
        )
    if not batched and aval.ndim != rank:
        raise TypeError(
            f"Input {position} to {name} must have a rank of exactly {rank}, but got "
            f"shape={aval.shape}; use vmap for several"
        )


def _batch_shape(name: str, avals: Sequence[ShapedArray], ranks: Sequence[int]) -> tuple[int, ...]:
    counts = [aval.ndim - rank for aval, rank in zip(avals, ranks, strict=True)]
    if len(set(counts)) > 1:
        raise TypeError(
            f"All inputs to {name} must have the same number of batch dimensions, but got "
            f"{counts} batch dimensions for the inputs."
        )
    shapes = [aval.shape[: counts[0]] for aval in avals]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(
            f"All inputs to {name} must have the same batch dimensions, but got {shapes} for the "
            "inputs."
        )
    return shapes[0]


def check_square(name: str, shape: tuple[int, ...], subject: str = "The input to") -> None:
    """Raises ValueError if a matrix is not square."""
    if shape[0] != shape[1]:
        raise ValueError(f"{subject} {name} must be a square matrix. Got shape {shape}.")
