# SPDX-License-Identifier: Apache-2.0
"""Functions with user-defined partitioning rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_autodiff.tables import jvp_rules
from olympus_batching.tables import batching_rules
from olympus_ir.diagnostics.source_info import signature_of
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import instruction
from olympus_ir.programs.propagation import declared_types, propagation_rules
from olympus_ir.programs.staging import separate_constants, trace_to_closed
from olympus_ir.reference import reference_rules
from olympus_ir.reference.calls import call
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, debug_info_of_tree
from olympus_ir.types.avals import get_aval

from .sharding_rules import SdyShardingRule, parse_sharding_rule

__all__ = ["custom_partitioning", "custom_partitioning_p"]

# *outs = custom_partitioning[call decode_shardings in_tree infer_sharding_from_operands out_tree
#                             partition propagate_user_sharding sharding_rule static_args] *operands
custom_partitioning_p = instruction(
    "custom_partitioning",
    multiple_results=True,
    family="custom_partitioning",
    cache_inference=False,
)

reference_rules.define(
    custom_partitioning_p,
    lambda *operands, **params: call(*operands, call_jaxpr=params["call"]),
)
propagation_rules.define(custom_partitioning_p, declared_types)
jvp_rules.exempt(
    custom_partitioning_p,
    reason="the partitioning of derivatives is not known; define the derivative with custom_vjp, "
    "by functions with custom_partitioning",
)
batching_rules.exempt(
    custom_partitioning_p,
    reason="the partitioning of batches is not known; call custom_vmap around it",
)


@custom_partitioning_p.def_effectful_abstract_eval
def _types(*avals: Any, call: ClosedOlympuspr, **params: Any) -> tuple[Any, frozenset]:
    return call.out_avals, call.effects


@boundary_class
class custom_partitioning:
    """Function with user-defined rules that partition it over devices.

    Args:
      fun: the function. On a single device, it runs unchanged.
      static_argnums: the positions of arguments that are not arrays. They come first among the
        arguments of the functions passed to `def_partition`.

    Example:
      >>> from olympus import lax
      >>> @custom_partitioning
      ... def f(x):
      ...     return lax.sin(x)
      >>> def partition(mesh, arg_shapes, result_shape):
      ...     return mesh, lax.sin, arg_shapes[0].sharding, (arg_shapes[0].sharding,)
      >>> f.def_partition(partition=partition, sharding_rule="i -> i")
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Sequence[int] = ()) -> None:
        self.fun = fun
        self.static_argnums = tuple(static_argnums)
        self.partition: Callable[..., Any] | None = None
        self.infer_sharding_from_operands: Callable[..., Any] | None = None
        self.propagate_user_sharding: Callable[..., Any] | None = None
        self.decode_shardings = True
        self.sharding_rule: Any = None
        functools.update_wrapper(self, fun)

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: Any = None,
        *,
        reduction_factors: Sequence[str] = (),
        need_replication_factors: Sequence[str] = (),
        permutation_factors: Sequence[str] = (),
        **factor_sizes: int,
    ) -> None:
        """Sets the rules by which the function is partitioned.

        Args:
          partition: takes ``(mesh, arg_shapes, result_shape)``. ``arg_shapes`` and ``result_shape``
            are types with shardings, in the structures of the arguments and of the result.
            ``partition`` returns the mesh, the function that each device runs on its shards, the
            shardings of the result, and the shardings of the arguments. The function may use
            collectives over the axes of the mesh.
          infer_sharding_from_operands: takes the same arguments, and returns the sharding of the
            result; used if there is no ``sharding_rule``.
          propagate_user_sharding: takes ``(mesh, result_shape)``, where ``result_shape`` has the
            sharding with which the result is used, and returns the sharding of the result.
          decode_shardings: whether the functions get `NamedSharding`s rather than XLA's form.
          sharding_rule: a rule such as ``"i j, j k -> i k"``, an `SdyShardingRule`, or a function
            of mesh, operand types and result types that returns either.
          reduction_factors: factors of the rule over which devices hold partial sums of results.
          need_replication_factors: factors that must not be sharded.
          permutation_factors: factors along which devices exchange shards.
          **factor_sizes: the sizes of factors that do not follow from the sizes of dimensions.
        """
        self.partition = partition
        self.propagate_user_sharding = propagate_user_sharding
        self.infer_sharding_from_operands = infer_sharding_from_operands
        self.decode_shardings = decode_shardings
        factors = (
            tuple(reduction_factors),
            tuple(need_replication_factors),
            tuple(permutation_factors),
        )
        if isinstance(sharding_rule, str):
            sharding_rule = parse_sharding_rule(sharding_rule, *factors, **factor_sizes)
        elif factor_sizes or any(factors):
            raise ValueError(
                "def_partition takes factors, and their sizes, with a sharding_rule that is a "
                f"string; got {type(sharding_rule).__name__}"
            )
        elif sharding_rule is not None and not (
            isinstance(sharding_rule, SdyShardingRule) or callable(sharding_rule)
        ):
            raise ValueError(
                "sharding_rule must be a string, an SdyShardingRule or a function, got "
                f"{sharding_rule!r}"
            )
        self.sharding_rule = sharding_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = getattr(self.fun, "__name__", "the function")
        if self.partition is None:
            raise AttributeError(
                f"No partition is defined for {name}: call def_partition before the function"
            )
        args = _positional(self.fun, args, kwargs)
        static = [args[position] for position in self.static_argnums]
        dynamic = [arg for position, arg in enumerate(args) if position not in self.static_argnums]

        def function(*arrays: Any) -> Any:
            values = iter(arrays)
            return self.fun(
                *(
                    arg if position in self.static_argnums else next(values)
                    for position, arg in enumerate(args)
                )
            )

        leaves, in_tree = pytrees.tree_flatten(tuple(dynamic))
        _, full_tree = pytrees.tree_flatten((tuple(dynamic), {}))
        flat = FlatFunction(function, full_tree)
        info = debug_info_of_tree("custom_partitioning", self.fun, full_tree)
        closed = trace_to_closed(flat, [get_aval(leaf) for leaf in leaves], info)
        constants, closed = separate_constants(closed)
        if constants:
            raise ValueError(
                f"custom_partitioning: {name} closes over traced values, whose division is not "
                "known; pass them as arguments"
            )
        outs = custom_partitioning_p.bind(
            *leaves,
            call=closed,
            partition=self.partition,
            propagate_user_sharding=self.propagate_user_sharding,
            infer_sharding_from_operands=(
                self.infer_sharding_from_operands if self.sharding_rule is None else None
            ),
            decode_shardings=self.decode_shardings,
            sharding_rule=self.sharding_rule,
            in_tree=in_tree,
            out_tree=flat.out_tree,
            static_args=tuple(static),
        )
        return pytrees.tree_unflatten(flat.out_tree, outs)


def _positional(fun: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> tuple:
    """Returns all arguments by position, including defaults."""
    bound = signature_of(fun).bind(*args, **kwargs)
    if bound.kwargs:
        raise TypeError(
            f"custom_partitioning takes no keyword-only arguments, got {sorted(bound.kwargs)}"
        )
    bound.apply_defaults()
    return bound.args
