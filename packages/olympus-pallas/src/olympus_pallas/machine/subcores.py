# SPDX-License-Identifier: Apache-2.0
"""Evaluation rules of operations between simulated subcores of sparse cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.olympuspr import Equation

from ..tpu_sc.meshes import VectorSubcoreMesh
from ..tpu_sc.subcores import fetch_and_add_p, subcore_barrier_p
from .evaluation import Core, machine_rules
from .runs import Site


def _mesh(core: Core, operation: str) -> VectorSubcoreMesh:
    if not isinstance(core.mesh, VectorSubcoreMesh):
        raise ValueError(f"{operation} is for kernels over a VectorSubcoreMesh, not {core.mesh}")
    return core.mesh


@machine_rules.define(subcore_barrier_p)
def _subcore_barrier(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    mesh = _mesh(core, "subcore_barrier")
    position = core.places[mesh.core_axis_name]
    name = ("subcores", core.device, position)
    core.run.rendezvous(core, name, mesh.num_subcores)
    return []


@machine_rules.define(fetch_and_add_p)
def _fetch_and_add(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    site, value, subcore = operands
    mesh = _mesh(core, "fetch_and_add")
    number = mesh.number_of(core, int(subcore))
    with core.run.changed:
        remote_site = Site(core.run.elsewhere(core, site.buffer, core.device, number))
        with core.run.access(core, remote_site) as array:
            before = np.array(array)
            array[...] = array + value
            core.run.touch()
    return before
