# SPDX-License-Identifier: Apache-2.0
"""Inspection of the shardings that the compiler chose, from inside compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_autodiff.tables import jvp_rules, transpose_rules
from olympus_batching.tables import batching_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.reference.tables import reference_rules
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.avals import AbstractValue, get_aval
from olympus_ir.types.effects import debug_effect
from olympus_ir.types.placement import Sharding

from ..shardings.visualization import visualize_sharding

__all__ = ["inspect_array_sharding", "inspect_sharding_p", "visualize_array_sharding"]

# Parameter: ``callback``, called with the sharding of the operand when the compiler knows it.
inspect_sharding_p = Primitive.declare(
    "inspect_sharding", multiple_results=True, family="inspection", cache_inference=False
)


def inspect_array_sharding(value: ArrayLike, *, callback: Callable[[Sharding], object]) -> None:
    """Calls a function with the sharding of an array.

    Inside a compiled function the call happens at compile time, not at run time.

    Args:
      value: an array.
      callback: a function of a sharding; its result is ignored.

    Raises:
      TypeError: ``value`` is a concrete value that is not on devices.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> inspect_array_sharding(olympus.device_put(np.arange(3)), callback=print)
      SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """
    inspect_sharding_p.bind(value, callback=callback)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Prints a drawing of how an array is partitioned over devices.

    Inside a compiled function, the drawing is printed at compile time.

    Args:
      arr: an array of one or two dimensions.
      **kwargs: the options of `visualize_sharding`.

    Raises:
      ValueError: the array does not have one or two dimensions.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> visualize_array_sharding(olympus.device_put(np.arange(3)))
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    shape = get_aval(arr).shape
    inspect_array_sharding(
        arr, callback=lambda sharding: visualize_sharding(shape, sharding, **kwargs)
    )


# ---- interpreters ----


@inspect_sharding_p.def_effectful_abstract_eval
def _inspect_types(operand: AbstractValue, *, callback: Any) -> tuple[tuple, frozenset]:
    # The equation has no results. Its effect keeps it from being removed as dead code.
    return (), frozenset((debug_effect,))


def _inspect_now(operand: Any, *, callback: Callable[[Any], Any]) -> list[Any]:
    sharding = getattr(operand, "sharding", None)
    if sharding is None:
        raise TypeError(
            f"only arrays on devices have a sharding to inspect, got {operand!r} of type "
            f"{type(operand).__name__}. Put it on a device with device_put."
        )
    callback(sharding)
    return []


inspect_sharding_p.eager = _inspect_now
reference_rules.define(inspect_sharding_p, _inspect_now)


@batching_rules.define(inspect_sharding_p)
def _inspect_batch(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    # The whole batch is one array, so the callback gets the sharding of the batch.
    return inspect_sharding_p.bind(*args, **params), []


@jvp_rules.define(inspect_sharding_p)
def _inspect_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    return inspect_sharding_p.bind(*primals, **params), []


@transpose_rules.define(inspect_sharding_p)
def _inspect_transpose(cotangents: Any, *operands: Any, **params: Any) -> list[Any]:
    return [None] * len(operands)
