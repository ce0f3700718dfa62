# SPDX-License-Identifier: Apache-2.0
"""Functions with custom batching rules: `custom_vmap` and `sequential_vmap`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.diagnostics.source_info import signature_of
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.programs.calls.user_rules import call_rule
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import instruction
from olympus_ir.programs.staging import separate_constants, trace_to_olympuspr
from olympus_ir.trees import pytrees
from olympus_ir.trees.decorated_functions import DecoratedFunction
from olympus_ir.trees.flattening import FlatFunction, debug_info_of_tree, function_name
from olympus_ir.trees.wrapping import update_wrapper
from olympus_ir.types.avals import get_aval

from .dimensions import BatchDim, to_front
from .tables import batching_rules

__all__ = ["called_rule", "custom_vmap", "custom_vmap_call_p", "sequential_vmap"]

# The parameters are ``call``, the program of the function; ``rule``, the user's rule; and the
# structures of the arguments and the result. Closed-over values are the first operands.
custom_vmap_call_p = instruction(
    "custom_vmap_call", multiple_results=True, family="calls", cache_inference=False
)


@custom_vmap_call_p.def_effectful_abstract_eval
def _custom_vmap_call_types(*avals: Any, call: ClosedOlympuspr, **params: Any) -> Any:
    return call.out_avals, call.effects


@expansion_rules.define(custom_vmap_call_p)
def _custom_vmap_call(*operands: Any, call: ClosedOlympuspr, **params: Any) -> list[Any]:
    return eval_olympuspr(call.jaxpr, call.consts, *operands)


@boundary_class
class custom_vmap(DecoratedFunction):
    """Function with a custom rule for `vmap`.

    `def_vmap` sets the rule. `vmap` calls it as ``rule(axis_size, in_batched, *args)``, where

    - ``axis_size`` is the number of examples,
    - ``in_batched`` is a list with a tree of booleans for each argument: whether its leaves are
      batched,
    - ``args`` are the arguments. Batched leaves have their batch dimension in front.

    The rule returns a pair ``(result, out_batched)``: the result for all examples, batched along
    dimension 0, and a tree of booleans of the same structure: whether its leaves are batched.

    Args:
      fun: the function of one example. Its arguments must be resolvable by position.

    Example:
      >>> from olympus_ir import lax
      >>> from olympus_batching import vmap
      >>> import numpy as np
      >>> @custom_vmap
      ... def double(x):
      ...     return lax.add(x, x)
      >>> @double.def_vmap
      ... def double_all(axis_size, in_batched, xs):
      ...     return lax.mul(xs, np.float32(2)), in_batched[0]
      >>> vmap(double)(np.ones(3, np.float32))
      Array([2., 2., 2.], dtype=float32)
    """

    fun: Callable[..., Any]
    vmap_rule: Callable[..., tuple[Any, Any]] | None

    def __init__(self, fun: Callable[..., Any]) -> None:
        update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule = None

    def def_vmap(self, vmap_rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """Sets the rule for `vmap`; usable as a decorator.

        Args:
          vmap_rule: ``(axis_size, in_batched, *args) -> (result, out_batched)``.

        Returns:
          The rule itself.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = function_name(self.fun)
        args = self._positional(args, kwargs)
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {name} using def_vmap."
            )
        leaves, in_tree = pytrees.tree_flatten((args, {}))
        flat = FlatFunction(self.fun, in_tree)
        info = debug_info_of_tree("custom_vmap", self.fun, in_tree)
        program = trace_to_olympuspr(flat, [get_aval(leaf) for leaf in leaves], info)
        closed_over, call = separate_constants(ClosedOlympuspr(*program))
        outs = custom_vmap_call_p.bind(
            *closed_over,
            *leaves,
            call=call,
            rule=self.vmap_rule,
            in_tree=in_tree,
            out_tree=flat.out_tree,
        )
        return pytrees.tree_unflatten(flat.out_tree, outs)

    def _positional(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """Returns all arguments by position, including defaults."""
        problem: Any = None
        try:
            bound = signature_of(self.fun).bind(*args, **kwargs)
        except TypeError as error:
            problem = error
        else:
            bound.apply_defaults()
            if not bound.kwargs:
                return bound.args
            names = ", ".join(bound.kwargs)
            problem = f"The following keyword arguments could not be resolved to positions: {names}"
        raise TypeError(
            f"The input arguments to the custom_vmap-decorated function {function_name(self.fun)} "
            "could not be resolved to positional-only arguments. Binding failed with the error:\n"
            f"{problem}"
        )


@batching_rules.define(custom_vmap_call_p)
def _batch_custom_vmap_call(
    axis_size: int,
    operands: Sequence[Any],
    batch_dims: Sequence[BatchDim],
    *,
    call: ClosedOlympuspr,
    rule: Callable[..., Any],
    in_tree: Any,
    out_tree: Any,
) -> Any:
    name = function_name(rule)
    num_closed_over = len(operands) - in_tree.num_leaves
    if any(dim is not None for dim in batch_dims[:num_closed_over]):
        raise ValueError(
            f"the custom_vmap function of the rule {name} closes over a value that differs between "
            "the examples, which its rule does not get. Pass the value as an argument."
        )
    operands, batch_dims = operands[num_closed_over:], batch_dims[num_closed_over:]
    fronted = [to_front(operand, dim) for operand, dim in zip(operands, batch_dims, strict=True)]
    args, _ = pytrees.tree_unflatten(in_tree, fronted)
    in_batched, _ = pytrees.tree_unflatten(in_tree, [dim is not None for dim in batch_dims])
    outs, flags = called_rule(rule, axis_size, in_batched, args, out_tree)
    return outs, [0 if batched else None for batched in flags]


def called_rule(
    rule: Callable[..., Any],
    axis_size: int,
    in_batched: Sequence[Any],
    args: Sequence[Any],
    out_tree: Any,
) -> tuple[list[Any], list[bool]]:
    """Calls a user's batching rule and checks its result.

    Args:
      rule: the rule.
      axis_size: the number of examples.
      in_batched: for each argument, a tree of booleans that say which leaves are batched.
      args: the arguments, with batch dimension 0.
      out_tree: the structure of the function's result.

    Returns:
      The flat results, and whether each is batched.

    Raises:
      TypeError: the rule does not return a pair.
      ValueError: the rule returns a wrong structure.
    """
    name = function_name(rule)
    result = call_rule(rule, axis_size, list(in_batched), *args)
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise TypeError(
            f"the custom vmap rule ({name}) must return a pair: the result, and booleans in the "
            f"same structure that tell which leaves are batched; got {result!r}"
        )
    out, out_batched = result
    outs, tree = pytrees.tree_flatten(out)
    flags, flags_tree = pytrees.tree_flatten(out_batched)
    if tree != flags_tree:
        raise ValueError(
            "structure of output value and output batching specification returned by custom vmap "
            f"rule ({name}) do not match.\n"
            f"Output values: {tree}\nBatching spec: {flags_tree}"
        )
    if tree != out_tree:
        raise ValueError(
            f"structure of output returned by custom vmap rule ({name}) does not match that of "
            f"original custom-vmapped function.\nOriginal output: {out_tree}\nRule output: {tree}"
        )
    return outs, flags


def sequential_vmap(f: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function so that `vmap` runs it in a loop over the examples.

    Args:
      f: the function of one example.

    Example:
      >>> from olympus_ir import lax
      >>> from olympus_batching import vmap
      >>> import numpy as np
      >>> sine = sequential_vmap(lambda x: lax.sin(x))
      >>> vmap(sine)(np.zeros(2, np.float32))
      Array([0., 0.], dtype=float32)
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> Any:
        leaves, tree = pytrees.tree_flatten(tuple(args))
        flags = pytrees.tree_leaves(tuple(in_batched))
        examples = [leaf for leaf, batched in zip(leaves, flags, strict=True) if batched]

        def of_one(values: list[Any]) -> Any:
            remaining = iter(values)
            operands = [
                next(remaining) if batched else leaf
                for leaf, batched in zip(leaves, flags, strict=True)
            ]
            return mapped(*pytrees.tree_unflatten(tree, operands))

        out = lax.map(of_one, examples)
        return out, pytrees.tree_map(lambda _: True, out)

    return mapped
