# SPDX-License-Identifier: Apache-2.0
"""Shardings of a compiled function that is called inside another program.

The operands and results of such a function are values of the outer program, so its `in_shardings`
and `out_shardings` become sharding constraints. All transformations have rules for these. The
arguments `device` and `backend` of `jit` become constraints of the results to one device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import get_aval
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding.annotations.constraints import constrain
from olympus_sharding.meshes.context import concrete_mesh_in_force

from .._jaxlib import NamedSharding
from ..arrays.layouts import Format, Layout
from ..compiling.placement import asked_device, prefix_of_shardings
from ..platforms.backends import device_sharding

__all__ = ["with_constraints"]


def with_constraints(fun: Callable[..., Any], options: JitOptions) -> Callable[..., Any]:
    """Returns a function that constrains operands and results to the shardings in ``options``.

    Args:
      fun: the function.
      options: the options of `jit`.
    """
    asked = dict(options.placement)
    in_shardings = asked.get("in_shardings")
    asked_out_shardings = asked.get("out_shardings")

    @functools.wraps(fun)
    def constrained(*args: Any, **kwargs: Any) -> Any:
        if in_shardings is not None:
            static = {number % len(args) for number in options.static_argnums if args}
            dynamic = tuple(arg for n, arg in enumerate(args) if n not in static)
            placed = iter(_constrain(dynamic, in_shardings, "in_shardings"))
            args = tuple(arg if n in static else next(placed) for n, arg in enumerate(args))
        result = fun(*args, **kwargs)
        # The device is looked up only here, because `jit` accepts backends that do not exist.
        out_shardings = asked_out_shardings
        if out_shardings is None:
            out_shardings = _on_one_device(asked)
        if out_shardings is not None:
            result = _constrain(result, out_shardings, "out_shardings")
        return result

    return constrained


def _on_one_device(asked: dict[str, Any]) -> Any:
    """Returns the prefix of result shardings that `device` or `backend` stands for, or None."""
    device = asked_device(asked)
    if device is None:
        return None
    leaves, tree = pytrees.tree_flatten(device_sharding(device))
    return tree, leaves


def _constrain(values: Any, prefix: Any, what: str) -> Any:
    leaves, tree = pytrees.tree_flatten(values)
    shardings = prefix_of_shardings(prefix, values, what)
    return pytrees.tree_unflatten(
        tree,
        [
            leaf if sharding is None else _constrain_leaf(leaf, sharding, what)
            for leaf, sharding in zip(leaves, shardings, strict=True)
        ],
    )


def _constrain_leaf(leaf: Any, target: Any, what: str) -> Any:
    if get_aval(leaf).is_ref:
        return leaf  # references do not move
    if isinstance(target, PartitionSpec):
        mesh = concrete_mesh_in_force()
        # A partition spec names only axes. Over a mesh of devices it becomes a `NamedSharding`, so
        # that the constraint also determines the devices of the outer program.
        return constrain(leaf, target if mesh is None else NamedSharding(mesh, target), what)
    if type(target) is not Format:
        return constrain(leaf, target, what)
    if target.sharding is None:
        return leaf
    layout = target.layout if isinstance(target.layout, Layout) else None
    return constrain(leaf, target.sharding, what, layout)
