# SPDX-License-Identifier: Apache-2.0
"""Record of a lowered program, and facts about lowering, for modules that do not import MLIR."""

from __future__ import annotations

from typing import Any

from olympus_ir.lax.calls.primitives import custom_jvp_call_p, custom_vjp_call_p, jit_p
from olympus_ir.programs.primitives import Primitive

__all__ = ["LARGEST_INLINE_CONSTANT", "PARAMETERS_THAT_MATTER", "Lowered"]

# Constants up to this many bytes are written into the module. Larger constants are passed as
# operands, so the compiler does not have to read or fold them.
LARGEST_INLINE_CONSTANT = 1024

# The only parameters that lowering uses in equations of these primitives. In equations of other
# primitives, it uses all parameters.
PARAMETERS_THAT_MATTER: dict[Primitive, tuple[str, ...]] = {
    custom_jvp_call_p: ("call_jaxpr",),
    custom_vjp_call_p: ("call_jaxpr",),
    jit_p: ("jaxpr", "name", "in_shardings", "out_shardings", "in_layouts", "out_layouts"),
}


class Lowered:
    """A program lowered to a StableHLO module, with the data needed to call it.

    A program whose executable came from disk without lowering has no ``module`` and no ``program``.

    Attributes:
      module: the MLIR module.
      name: the name of the computation.
      kept: for each operand, whether the module takes it.
      constants: arrays passed before the operands.
      cuts: the cuts that limit the size of fused functions.
      in_avals: the types of all operands.
      out_avals: the types of the results.
      donated: for each operand, whether it is donated.
      effects: all effects of the program.
      ordered_effects: the effects whose tokens are the first operands and results.
      host_callbacks: Python functions that the computation calls.
      callback_errors: keeps exceptions of these functions until the computation has ended; None
        if XLA handles them.
      is_for_devices: whether the module can run only on the devices of its placement.
      keep_alive: objects that must live as long as the computation.
      platforms: the platforms for which the program was lowered.
      program: the program whose equations were lowered, after the passes that change it.
      needs_refinement: whether the module has dynamic shapes, which must be inferred from the
        shapes of the operands.
    """

    __slots__ = (
        "callback_errors",
        "closed",
        "constants",
        "cuts",
        "donated",
        "effects",
        "host_callbacks",
        "in_avals",
        "is_for_devices",
        "keep_alive",
        "kept",
        "module",
        "name",
        "needs_refinement",
        "ordered_effects",
        "out_avals",
        "platforms",
        "program",
    )

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)
