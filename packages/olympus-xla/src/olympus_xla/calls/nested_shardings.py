# SPDX-License-Identifier: Apache-2.0
"""Shardings of a compiled function that is called inside another program.

The operands and results of such a function are values of the outer program. Its `in_shardings`
and `out_shardings` are parameters of the `jit` equation, which transformations carry along and
lowering turns into sharding constraints. The arguments `device` and `backend` of `jit` place the
results on one device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.trees import pytrees
from olympus_ir.types.layouts import mesh_in_force
from olympus_ir.types.placement import UNSPECIFIED, PartitionSpec
from olympus_sharding.meshes.context import concrete_mesh_in_force

from .._jaxlib import NamedSharding
from ..arrays.layouts import Format
from ..compiling.placement.checks import check_divisible
from ..compiling.placement.requests import prefix_of_shardings, requested_device, spec_without_mesh
from ..platforms.backends import device_sharding

__all__ = ["nested_placement"]


def nested_placement(program: TracedProgram, options: JitOptions) -> dict[str, tuple]:
    """Returns the parameters of a `jit` equation that hold shardings and layouts.

    Args:
      program: the traced program of the function.
      options: the options of `jit`.

    Raises:
      ValueError: the shardings do not fit the structure, ranks or sizes of the operands or results.
      RuntimeError: a sharding is a partition spec, and no mesh is in force.
    """
    requested = dict(options.placement)
    in_avals, out_avals = program.closed.in_avals, program.closed.out_avals
    arguments, _ = program.in_tree.children()
    captured = [None] * len(program.hoisted)
    in_requested = [*captured, *_spread(requested.get("in_shardings"), arguments, "in_shardings")]
    in_requested += [None] * (len(in_avals) - len(in_requested))  # keyword arguments
    # The device is looked up only here, because `jit` accepts backends that do not exist.
    device = requested_device(requested)
    if device is None:
        out_requested = _spread(requested.get("out_shardings"), program.out_tree, "out_shardings")
    else:
        out_requested = [device_sharding(device)] * len(out_avals)
    in_shardings = _shardings(in_requested, in_avals, "in_shardings")
    out_shardings = _shardings(out_requested, out_avals, "out_shardings")
    check_divisible(program, "arguments", in_shardings, in_avals)
    check_divisible(program, "outputs", out_shardings, out_avals)
    return {
        "in_shardings": _or_unspecified(in_shardings),
        "out_shardings": _or_unspecified(out_shardings),
        "in_layouts": _layouts(in_requested),
        "out_layouts": _layouts(out_requested),
    }


def _spread(prefix: Any, tree: Any, option: str) -> list[Any]:
    """Returns the user's sharding or format for each leaf of a tree; None where there is none."""
    if prefix is None:
        return [None] * tree.num_leaves
    return prefix_of_shardings(prefix, pytrees.Structure(tree), option)


def _shardings(requested: Sequence[Any], avals: Sequence[Any], option: str) -> list[Any]:
    return [_sharding(leaf, aval, option) for leaf, aval in zip(requested, avals, strict=True)]


def _sharding(requested: Any, aval: Any, option: str) -> Any:
    sharding = requested.sharding if type(requested) is Format else requested
    if sharding is None or aval.is_ref:  # references do not move
        return None
    if isinstance(sharding, PartitionSpec):
        # A partition spec names only axes. Over a mesh of devices, it also determines the devices
        # of the outer program.
        mesh = concrete_mesh_in_force() or mesh_in_force()
        if mesh.empty:
            raise spec_without_mesh(sharding, option)
        sharding = NamedSharding(mesh, sharding)
    return sharding


def _or_unspecified(shardings: Sequence[Any]) -> tuple:
    return tuple([UNSPECIFIED if sharding is None else sharding for sharding in shardings])


def _layouts(requested: Sequence[Any]) -> tuple:
    return tuple([leaf.layout if type(leaf) is Format else None for leaf in requested])
