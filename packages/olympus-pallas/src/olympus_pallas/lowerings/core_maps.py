# SPDX-License-Identifier: Apache-2.0
"""Lowering rules of kernels over meshes of cores, by platform."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from olympus_batching.tables import batching_rules
from olympus_ir.loading import deferred
from olympus_ir.programs.expansion import expansion_rules
from olympus_xla.compiling.lowering.tables import define_for_platform

from ..calls.batching import one_by_one
from ..core_maps.kernels import core_map_p, mpmd_map_p
from ..mlir.building import KernelLoweringError
from ..settings import interpret_modes
from ..settings.interpret_params import InterpretParams

if TYPE_CHECKING:
    from ..machine import calls as machine_calls
    from ..machine import maps as machine_maps
    from .mosaic import maps as mosaic_maps
else:
    machine_calls = deferred("..machine.calls", milliseconds=110)
    machine_maps = deferred("..machine.maps", milliseconds=110)
    mosaic_maps = deferred(".mosaic.maps", milliseconds=140)

_CALLBACK_PLATFORMS = ("cpu", "cuda")


def _rule(platform: str, compiled: Callable[..., Any]) -> Callable[..., Any]:
    def rule(context: Any, *operands: Any, **params: Any) -> Any:
        settings = params["interpret"] or interpret_modes.interpret_params()
        if not settings:
            return compiled(context, *operands, **params)
        if platform not in _CALLBACK_PLATFORMS:
            raise ValueError(
                f"kernels over meshes of cores are simulated on CPUs, not on {platform}"
            )
        settings = InterpretParams() if settings is True else settings
        return machine_calls.emit_simulation(
            context, operands, functools.partial(machine_maps.run_map, settings=settings, **params)
        )

    return rule


def _refused(context: Any, *operands: Any, **params: Any) -> Any:
    raise ValueError("Only interpret mode is supported on CPU backend.")


def _not_compiled(context: Any, *operands: Any, meshes: Any, **params: Any) -> Any:
    raise KernelLoweringError(
        f"kernels over {meshes[0]} are simulated (interpret=True), and not compiled for GPUs here; "
        "write them with pallas_call and olympus.experimental.pallas.triton to compile them"
    )


def _with_mosaic(context: Any, *operands: Any, **params: Any) -> Any:
    return mosaic_maps.lower_map(context, *operands, **params)


define_for_platform(mpmd_map_p, "cpu", _rule("cpu", _refused))
define_for_platform(mpmd_map_p, "cuda", _rule("cuda", _not_compiled))
define_for_platform(mpmd_map_p, "tpu", _rule("tpu", _with_mosaic))


def _not_discharged(*operands: Any, jaxpr: Any, **params: Any) -> Any:
    raise ValueError(
        "Attempted to lower core_map without discharging. This can happen if the core_map body "
        f"does not modify any Refs or have other observable side-effects.\n Jaxpr of the body: "
        f"{jaxpr}"
    )


expansion_rules.define(core_map_p, _not_discharged)


@batching_rules.define(mpmd_map_p)
def _mpmd_map(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    return one_by_one(mpmd_map_p, axis_size, args, batch_dims, **params)
