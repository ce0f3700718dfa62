# SPDX-License-Identifier: Apache-2.0
"""Refusal of kernels that load from or store to the main memory of a TPU.

The compiler refuses them, too: the units of a core reach its own memories only.
"""

from __future__ import annotations

from olympus_ir.programs.olympuspr import Olympuspr, subolympusprs
from olympus_ir.references import primitives as references

from ..memory.access import load_p, swap_p
from ..memory.spaces import MemorySpace, TpuMemorySpace

__all__ = ["check_near_memory"]

_FAR = (MemorySpace.ANY, TpuMemorySpace.HBM)
_ACCESSES = (references.get_p, references.swap_p, references.addupdate_p, load_p, swap_p)


def check_near_memory(program: Olympuspr) -> None:
    """Checks that a kernel loads from and stores to memories of its core only.

    Raises:
      ValueError: a reference that is loaded from or stored to may be in main memory.
    """
    for equation in program.eqns:
        if equation.primitive not in _ACCESSES:
            continue
        if getattr(equation.invars[0].aval, "memory_space", None) in _FAR:
            raise ValueError(
                f"{equation.primitive}: Buffers with a memory space of HBM or ANY cannot be "
                "referenced directly. Instead, use `tpu.sync_copy` or `tpu.async_copy`."
            )
    for inner in subolympusprs(program):
        check_near_memory(inner)
