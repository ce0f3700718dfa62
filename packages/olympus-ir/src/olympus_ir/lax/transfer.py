# SPDX-License-Identifier: Apache-2.0
"""Placement of values on devices, as an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._jaxlib import ArrayCopySemantics
from ..programs.primitives import instruction
from ..programs.tracing import current, evaluation_trace
from ..types.annotations import DeviceLike
from ..types.avals import AbstractValue
from ..types.layouts import placed
from ..types.memory_spaces import MemorySpace, space_of_kind
from ..types.placement import AbstractMesh, NamedSharding
from ..types.resharding import asked_sharding, bind_reshard
from .core.values import Array, ArrayLike, as_array

__all__ = ["device_put", "device_put_p", "reshard"]

# The primitive returns one result for each operand. `devices` holds the destination of each
# operand, and `srcs` its source. Each entry is a device, a sharding, or None to leave the operand
# in place. `copy_semantics` states whether the result may share the operand's memory.
device_put_p = instruction("device_put", multiple_results=True, family="transfer")
device_put_p.linear_in = True
device_put_p.follows_memory = False
# Checks a destination and returns the parameter for it. Evaluators that know devices set this.
device_put_p.recorded_place = lambda place: place  # type: ignore[attr-defined]


@device_put_p.def_abstract_eval
def _device_put_shape(
    *operands: AbstractValue,
    devices: Sequence[Any],
    srcs: Sequence[Any],
    copy_semantics: Sequence[Any],
) -> tuple[AbstractValue, ...]:
    return tuple(map(_put, operands, devices))


def _put(aval: Any, device: Any) -> Any:
    """Returns the type of a value after its transfer to a device."""
    if type(device) is MemorySpace:
        return aval.update(memory_space=device)
    if type(device) is NamedSharding:
        return placed(aval, device)
    kind = getattr(device, "_memory_kind", None)
    return aval if kind is None else aval.update(memory_space=space_of_kind(kind))


def device_put(x: ArrayLike, device: DeviceLike | MemorySpace = None) -> Array:
    """Places an array on a device or according to a sharding.

    Args:
      x: an array or scalar.
      device: a device, a sharding or a memory space; None to leave the array where it is.

    Returns:
      An array of the same elements.

    Example:
      >>> from olympus_ir import lax
      >>> lax.device_put(2.0)
      Array(2., dtype=float32, weak_type=True)
    """
    if current.trace is not evaluation_trace:
        device = device_put_p.recorded_place(device)  # type: ignore[attr-defined]
    (result,) = device_put_p.bind(
        x,
        devices=(device,),
        srcs=(None,),
        copy_semantics=(ArrayCopySemantics.REUSE_INPUT,),
    )
    return result


def reshard(x: ArrayLike, out_sharding: Any) -> Array:
    """Changes the sharding of an array over the explicit axes of a mesh.

    Args:
      x: an array or scalar.
      out_sharding: a `NamedSharding`, or a partition spec over the current mesh.

    Returns:
      An array of the same elements.

    Example:
      >>> import olympus
      >>> from olympus import P
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> with olympus.set_mesh(mesh):
      ...     print(reshard(olympus.numpy.ones(4), P("i")).sharding.spec)
      P('i',)
    """
    sharding = asked_sharding(out_sharding, "reshard")
    if sharding is None:
        return as_array(x)
    mesh = getattr(out_sharding, "mesh", None)
    return bind_reshard(x, sharding, None if isinstance(mesh, AbstractMesh) else mesh)
