# SPDX-License-Identifier: Apache-2.0
"""Values of tracers while `shard_map` traces a function outside of compiled functions.

There, the function may branch on values that are equal on all devices, and may print values. To
compute a value, `RunningParts` evaluates the operations recorded so far. The whole program runs
once the function has returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import Literal, Olympuspr
from olympus_ir.programs.staging import StagingTracer
from olympus_ir.programs.tracing import current, evaluation_trace, set_current_trace
from olympus_ir.types import dtypes
from olympus_ir.types.effects import NamedAxisEffect
from olympus_ir.types.placement import PartitionSpec
from olympus_ir.types.resharding import mesh_scope

from ..meshes.context import get_abstract_mesh
from ..meshes.mesh import Mesh

__all__ = ["RunningParts"]


class RunningParts:
    """Evaluates tracers of a running `shard_map` call on every device of its mesh.

    All axes of the mesh are manual, so a tracer has one value on each device: its part.

    Args:
      apply: applies `shard_map` to the operands of the running call. It takes a function of the
        operands' parts and the partition spec of that function's result.
      mesh: the mesh.
    """

    __slots__ = ("_apply", "_axes", "_mesh", "_mesh_around")

    def __init__(self, apply: Callable[[Callable[..., Any], Any], Any], mesh: Mesh) -> None:
        self._apply = apply
        self._mesh = mesh
        self._mesh_around = get_abstract_mesh()
        self._axes = current.axes

    def value_of(self, tracer: StagingTracer) -> Any:
        """Returns the value of a tracer; None if the devices may have different values."""
        if tracer.aval.vma.intersection(self._mesh.axis_names):
            return None
        parts = self._parts(tracer)
        return None if parts is None else parts[0]

    def text_of(self, tracer: StagingTracer) -> str | None:
        """Returns the values of a tracer on all devices; None if they cannot be computed."""
        parts = self._parts(tracer)
        if parts is None:
            return None
        names = "".join(f"{name}, " for name in self._mesh.axis_names)[:-1]
        indices = np.ndindex(*self._mesh.devices.shape)
        return "\n".join(
            f"On {self._mesh.devices[index]} at mesh coordinates ({names}) = {index}:\n{part}\n"
            for index, part in zip(indices, parts, strict=True)
        )

    def _parts(self, tracer: StagingTracer) -> np.ndarray | None:
        """Returns the values on all devices, stacked along a new first dimension."""
        aval = tracer.aval
        if aval.is_ref or dtypes.is_extended(aval.dtype) or aval.dtype == dtypes.float0:
            return None
        program, constants = tracer._trace.to_olympuspr([tracer])  # type: ignore[attr-defined]
        program = _needed(program)
        if any(not isinstance(effect, NamedAxisEffect) for effect in program.effects):
            return None  # the effects would take place twice

        def part(*operands: Any) -> Any:
            (value,) = eval_olympuspr(program, constants, *operands)
            return lax.expand_dims(value, (0,))

        saved, current.axes = current.axes, self._axes
        try:
            with set_current_trace(evaluation_trace), mesh_scope(self._mesh_around):
                spec = PartitionSpec(tuple(self._mesh.axis_names))
                return np.asarray(self._apply(part, spec))
        finally:
            current.axes = saved


def _needed(program: Olympuspr) -> Olympuspr:
    """Returns a program without the equations on which its results do not depend."""
    needed = {atom for atom in program.outvars if not isinstance(atom, Literal)}
    kept: list[Any] = []
    for equation in reversed(program.eqns):
        if needed.intersection(equation.outvars):
            kept.append(equation)
            needed.update(atom for atom in equation.invars if not isinstance(atom, Literal))
    effects: Sequence[frozenset] = [equation.effects for equation in kept]
    return program.replace(eqns=kept[::-1], effects=frozenset().union(*effects))
