# SPDX-License-Identifier: Apache-2.0
"""Functions of the leaves of one argument, and the programs and patterns of their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import olympus_autodiff as autodiff
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray, get_aval

from .patterns import Flow, Pattern, identity, stacked_rows
from .propagation import propagate

__all__ = ["Derivative", "FunctionOfLeaves", "forward_derivative", "real_aval", "reverse_pattern"]


class FunctionOfLeaves:
    """Function of the leaves of one argument; a call takes the values of the other arguments, too.

    Args:
      fun: a function.
      argnum: the position of the differentiated argument.
      args: the arguments, or their types.
    """

    def __init__(self, fun: Callable[..., Any], argnum: int, args: Sequence[Any]) -> None:
        self.fun = fun
        self.argnum = argnum
        leaves, self.in_tree = pytrees.tree_flatten(args[argnum])
        self.avals = [real_aval(leaf) for leaf in leaves]
        self.others = [arg for position, arg in enumerate(args) if position != argnum]
        self.out_tree: Any = None

    def __call__(self, leaves: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        args = list(others)
        args.insert(self.argnum, pytrees.tree_unflatten(self.in_tree, leaves))
        out, self.out_tree = pytrees.tree_flatten(self.fun(*args))
        return out


def real_aval(leaf: Any) -> ShapedArray:
    aval = get_aval(leaf) if not hasattr(leaf, "aval") else leaf.aval
    if not dtypes.issubdtype(aval.dtype, np.floating):
        raise TypeError(
            "sparse derivatives must be with respect to arrays of real floating-point numbers, got "
            f"an argument of type {aval.str_short()}; convert it, or choose another argument by "
            "`argnums`"
        )
    return ShapedArray(aval.shape, aval.dtype)


class Derivative(NamedTuple):
    """Program that is linear in its first operands, and its pattern.

    Attributes:
      program: the program.
      pattern: the pattern, with a row for each element of the results.
    """

    program: ClosedOlympuspr
    pattern: Pattern


def _derivative_of(
    function: Callable[..., Any], linear: Sequence[ShapedArray], around: Sequence[Any]
) -> Derivative:
    """Returns the program and pattern of a function that is linear in its first argument.

    Args:
      function: the function.
      linear: the types of the elements of the first argument, a list.
      around: the other arguments, or their types.
    """
    closed = make_olympuspr(function)(list(linear), *around)
    width = sum(math.prod(aval.shape) for aval in linear)
    inputs, start = [], 0
    for position, aval in enumerate(closed.in_avals):
        flow = Flow(aval)
        if position < len(linear):
            flow = flow._replace(pattern=identity(flow.size, width, start))
            start += flow.size
        inputs.append(flow)
    pattern = stacked_rows(propagate(closed, inputs), width)
    pattern.sort_indices()
    return Derivative(closed, pattern)


def forward_derivative(flat: FunctionOfLeaves) -> Derivative:
    def push(tangents: Any, leaves: Any, others: Any) -> Any:
        return autodiff.jvp(lambda values: flat(values, others), (leaves,), (tangents,))[1]

    return _derivative_of(push, flat.avals, (list(flat.avals), flat.others))


def reverse_pattern(flat: FunctionOfLeaves) -> tuple[Pattern, list[Any]]:
    out_avals = make_olympuspr(flat)(list(flat.avals), flat.others).out_avals

    def pull(cotangents: Any, leaves: Any, others: Any) -> Any:
        return autodiff.vjp(lambda values: flat(values, others), leaves)[1](cotangents)[0]

    mirrored = _derivative_of(pull, out_avals, (list(flat.avals), flat.others)).pattern
    pattern = mirrored.T.tocsr()
    pattern.sort_indices()
    return pattern, out_avals
