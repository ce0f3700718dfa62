# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of primitives that annotate values or calls for the compiler."""

from __future__ import annotations

from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.types.memory_spaces import MemorySpace

from .calls import _operands, _program, _vector
from .declarations import Operand, Operation, sample

_two_devices = (MemorySpace.Device, MemorySpace.Device)


class _Layout(NamedTuple):
    """Stand-in for a device layout, whose class is in a package that needs devices."""

    major_to_minor: tuple[int, ...]
    tiling: Any = None
    sub_byte_element_size_in_bits: int = 0


sample(
    lax.xla_metadata_value_p,
    Operation("one", (_vector,), {"xla_metadata_kvs": (("name", "text"),)}),
)
sample(
    lax.xla_metadata_call_p,
    Operation("two_results", _operands, lambda dtype: {"jaxpr": _program(dtype), "group": "one"}),
)
sample(
    lax.compute_on_p,
    Operation(
        "two_results",
        _operands,
        lambda dtype: {
            "jaxpr": _program(dtype),
            "compute_type": "device_host",
            "out_memory_spaces": _two_devices,
            "compiler_options_json": None,
        },
    ),
)
sample(
    lax.fused_call_p,
    Operation(
        "two_results",
        _operands,
        lambda dtype: {"jaxpr": _program(dtype), "out_spaces": _two_devices},
    ),
)
sample(lax.shard_alike_p, Operation("two", _operands))
sample(
    lax.layout_constraint_p,
    Operation("columns", (Operand((2, 3)),), {"layout": _Layout((0, 1))}),
)
