# SPDX-License-Identifier: Apache-2.0
"""Derivative rules made from other derivative rules.

Each function here makes a jvp rule, as `custom_jvp` takes it, from a vjp rule, a linearization, or
the transpose of a linear function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from ..reverse.transpose import linear_transpose
from ..zeros import aval_of
from .calling import name_of
from .linear_call import linear_call, linear_call_p

__all__ = ["jvp_of_linearization", "jvp_of_vjp", "with_transpose"]

JvpRule = Callable[[Sequence[Any], Sequence[Any]], tuple[Any, Any]]


def jvp_of_linearization(linearize: Callable[..., tuple[Any, Callable[..., Any]]]) -> JvpRule:
    """Returns a jvp rule, given a function that linearizes.

    Args:
      linearize: takes the arguments, and returns the result and a linear function that maps the
        arguments' tangents to the result's tangent.
    """

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        out, push = linearize(*primals)
        return out, push(*tangents)

    return rule


def jvp_of_vjp(
    fwd: Callable[..., tuple[Any, Any]],
    bwd: Callable[[Any, Any], Any],
    jvp: JvpRule | None = None,
) -> JvpRule:
    """Returns a jvp rule, given a forward and a backward pass.

    Reverse mode uses ``bwd`` as it is. Forward mode uses ``jvp`` if given, else the transpose of
    ``bwd``, which is linear in the cotangents. Each mode traces only the functions that it uses.

    Args:
      fwd: takes the arguments, and returns the pair of the result and the residuals.
      bwd: takes residuals and cotangents, and returns a tuple of the arguments' cotangents.
      jvp: a jvp rule for forward mode, or None.
    """

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        out, residuals = fwd(*primals)
        call = _LinearizedCall(bwd, jvp, tuple(primals), out)
        return out, call(residuals, tangents)

    return rule


class _LinearizedCall:
    """The linear map of tangents at one point. Its transpose is a user's backward pass.

    Integer leaves have no tangents and are left out.
    """

    def __init__(
        self, bwd: Callable[..., Any], jvp: JvpRule | None, primals: tuple, out: Any
    ) -> None:
        self._bwd = bwd
        self._jvp = jvp
        leaves, self._in_tree = pytrees.tree_flatten(primals)
        self._in_avals = [aval_of(leaf).to_tangent_aval() for leaf in leaves]
        out_leaves, self._out_tree = pytrees.tree_flatten(out)
        self._out_avals = [aval_of(leaf).to_tangent_aval() for leaf in out_leaves]
        self._primals = leaves

    def __call__(self, residuals: Any, tangents: Sequence[Any]) -> Any:
        residual_leaves, residual_tree = pytrees.tree_flatten(residuals)
        around = [*residual_leaves, *(self._primals if self._jvp is not None else ())]

        def split(operands: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
            values = pytrees.tree_unflatten(residual_tree, operands[: len(residual_leaves)])
            return values, operands[len(residual_leaves) : len(around)], operands[len(around) :]

        def push(*operands: Any) -> list[Any]:
            return self._push(*split(operands))

        def pull(*operands: Any) -> list[Any]:
            values, _, cotangents = split(operands)
            return self._pull(values, cotangents)

        results = linear_call_p.bind(
            *around,
            *_moving(pytrees.tree_leaves(tangents), self._in_avals),
            fun=push,
            transpose=pull,
            num_res=len(around),
            out_avals=tuple(_moving(self._out_avals, self._out_avals)),
            smooth=True,
        )
        return pytrees.tree_unflatten(self._out_tree, _with_zeros(results, self._out_avals))

    def _push(self, residuals: Any, primals: Sequence[Any], moving: Sequence[Any]) -> list[Any]:
        if self._jvp is not None:
            tangents = pytrees.tree_unflatten(self._in_tree, _with_zeros(moving, self._in_avals))
            _, out = self._jvp(pytrees.tree_unflatten(self._in_tree, primals), tangents)
            return _moving(pytrees.tree_leaves(out), self._out_avals)
        cotangents = _moving(self._out_avals, self._out_avals)
        pushed = linear_transpose(lambda *cts: self._pull(residuals, cts), *cotangents)
        return list(pushed(list(moving)))

    def _pull(self, residuals: Any, moving: Sequence[Any]) -> list[Any]:
        out = pytrees.tree_unflatten(self._out_tree, _with_zeros(moving, self._out_avals))
        returned = self._bwd(residuals, out)
        cotangents = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
        structure = pytrees.Structure(self._in_tree)
        try:
            leaves = pytrees.spread_prefix(cotangents, structure, is_leaf=lambda leaf: leaf is None)
        except ValueError:
            raise TypeError(
                f"the backward pass {name_of(self._bwd)} must return a tuple with a cotangent for "
                f"each argument, in the structure {self._in_tree}; got the structure "
                f"{pytrees.tree_structure(returned)}"
            ) from None
        zeros = [
            _zero(aval) if leaf is None else leaf
            for leaf, aval in zip(leaves, self._in_avals, strict=True)
        ]
        return _moving(zeros, self._in_avals)


def _is_moving(aval: Any) -> bool:
    return aval.dtype != dtypes.float0


def _zero(aval: Any) -> np.ndarray:
    return np.zeros(aval.shape, aval.dtype)


def _moving(leaves: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    return [leaf for leaf, aval in zip(leaves, avals, strict=True) if _is_moving(aval)]


def _with_zeros(moving: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    """Returns one leaf for each type: zeros for integers, and the given leaves for other types."""
    remaining = iter(moving)
    return [next(remaining) if _is_moving(aval) else _zero(aval) for aval in avals]


def with_transpose(
    fun: Callable[..., Any], transpose: Callable[..., Any], linear_argnums: Sequence[int] | None
) -> Callable[..., Any]:
    """Returns a function that is transposed by a given rule.

    Args:
      fun: a function that is jointly linear in some of its arguments.
      transpose: takes the other arguments and the result's cotangent, and returns the cotangents of
        the linear arguments: a tuple, or one cotangent if there is a single linear argument.
      linear_argnums: the positions of the linear arguments. If None, all arguments that contain
        arrays are linear.
    """

    def called(*args: Any) -> Any:
        positions = range(len(args))
        if linear_argnums is None:
            linear = {position for position, arg in enumerate(args) if pytrees.tree_leaves(arg)}
            others = []
        else:
            linear = {position % len(args) for position in linear_argnums}
            others = [arg for position, arg in enumerate(args) if position not in linear]

        def forward(others: Sequence[Any], linear_args: Sequence[Any]) -> Any:
            first, second = iter(others), iter(linear_args)
            return fun(*(next(second) if n in linear else next(first, None) for n in positions))

        def backward(others: Sequence[Any], cotangent: Any) -> tuple:
            out = transpose(*others, cotangent)
            return tuple(out) if isinstance(out, tuple | list) else (out,)

        linear_operands = tuple(arg for position, arg in enumerate(args) if position in linear)
        return linear_call(forward, backward, others, linear_operands, smooth=True)

    return called
