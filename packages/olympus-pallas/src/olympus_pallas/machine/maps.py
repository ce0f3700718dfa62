# SPDX-License-Identifier: Apache-2.0
"""Simulation of kernels over meshes of cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.olympuspr import Equation, Olympuspr

from ..core_maps.kernels import core_map_p
from ..core_maps.meshes import Mesh
from ..operations.transfers import communicates
from .calls import run_cores, run_synchronized, shared_run
from .evaluation import Core, machine_rules
from .runs import Site

__all__ = ["run_map"]


def run_map(
    key: Any,
    device: int,
    mesh_axes: Sequence[tuple[Any, int]],
    *operands: np.ndarray,
    jaxprs: Sequence[Olympuspr],
    meshes: Sequence[Mesh],
    out_avals: Sequence[Any],
    input_output_aliases: Mapping[int, int],
    settings: Any,
    **params: Any,
) -> list[np.ndarray]:
    """Returns the outputs of an `mpmd_map` on one device."""
    # Threads of GPUs may also reach other devices through views of references.
    on_gpu = any(getattr(mesh, "core_type", None) == "gpu" for mesh in meshes)
    communicating = on_gpu or any(map(communicates, jaxprs))
    run = shared_run(key, device, mesh_axes, settings, communicating)
    core = Core(run, device, 0, settings, mesh_axes)
    outputs = [
        np.full(aval.shape, core.fill_value(aval.dtype), np.dtype(aval.dtype)) for aval in out_avals
    ]
    for source, target in input_output_aliases.items():
        outputs[target] = np.array(operands[source])
    arrays = [*map(np.array, operands), *outputs]
    sites = [core.allocate(array, ("operand", n), None) for n, array in enumerate(arrays)]
    for source, target in input_output_aliases.items():
        sites[source] = sites[len(operands) + target]

    def body() -> None:
        bodies = []
        for index, (program, mesh) in enumerate(zip(jaxprs, meshes, strict=True)):
            label = index if len(meshes) > 1 else None
            bodies += mesh_bodies(core, program, mesh, sites, label)
        run_cores(core, bodies)

    run_synchronized(core, communicating, body)
    return [site.buffer.array for site in sites[len(operands) :]]


def mesh_bodies(
    core: Core, program: Olympuspr, mesh: Mesh, sites: Sequence[Site], label: Any = None
) -> list[Any]:
    """Returns the function that each core of a mesh runs."""
    bodies = []
    for index in range(mesh.size_of_cores()):
        part = core.split(index if label is None else (label, index), mesh.axes_of(index))
        part.mesh = mesh

        def run(part: Core) -> None:
            scratch = [
                part.new_buffer(var.aval, ("scratch", index), mesh.owner(part, var.aval))
                for index, var in enumerate(program.invars[len(sites) :])
            ]
            part.evaluate_with(program, [*sites, *scratch], {})
            if "at end" in part.state:
                part.state["at end"](part)

        bodies.append((part, run))
    return bodies


@machine_rules.define(core_map_p)
def _core_map(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    """Runs a `core_map` within a kernel; the core splits into several cores."""
    mesh, program = equation.params["mesh"], equation.params["jaxpr"]
    values = dict(zip(program.constvars, operands, strict=True))
    bodies = []
    for index in range(mesh.size_of_cores()):
        axes = mesh.axes_of(index)
        part = core.split((core.number, index), axes)
        part.mesh = core.mesh
        part.state = dict(core.state)

        def run(part: Core) -> None:
            scratch = [
                part.new_buffer(var.aval, ("scratch", id(program), position))
                for position, var in enumerate(program.invars)
            ]
            part.evaluate_with(program, scratch, dict(values))

        bodies.append((part, run))
    run_cores(core, bodies)
    for part, _ in bodies:
        for key, value in part.state.items():
            if isinstance(value, int):
                core.state[key] = max(value, core.state.get(key, 0))
    return []
