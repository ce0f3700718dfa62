# SPDX-License-Identifier: Apache-2.0
"""Lowering rules of `pallas_call`: each platform interprets, simulates or compiles kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types.avals import ShapedArray
from olympus_xla.compiling.lowering.tables import define_for_platform

from ..calls.interpreter import interpret_call
from ..calls.pallas_call import pallas_call_p
from ..operations.simulated import needs_simulation
from ..settings import interpret_modes
from ..settings.interpret_params import InterpretParams

if TYPE_CHECKING:
    from ..machine import calls as machine_calls
    from ..machine import near_memory
    from .mosaic import module as mosaic_module
    from .triton import module as triton_module
else:
    machine_calls = deferred("..machine.calls", milliseconds=110)
    near_memory = deferred("..machine.near_memory", milliseconds=1)
    mosaic_module = deferred(".mosaic.module", milliseconds=140)
    triton_module = deferred(".triton.module", milliseconds=30)

__all__ = ["register_lowering_rule"]

# Platforms whose compiled programs can call back, to run kernels on simulated cores.
CALLBACK_PLATFORMS = ("cpu", "cuda")

# Lowering rules for third-party compilers, by platform and class of the compiler parameters.
_registered: dict[tuple[str, type], Callable[..., Any]] = {}


def register_lowering_rule(
    params_cls: type, rule: Callable[..., Any], platform: str | tuple[str, ...]
) -> None:
    """Registers the lowering rule of kernels with compiler parameters of a class.

    Args:
      params_cls: class of ``compiler_params``; kernels with such parameters use the rule.
      rule: `(context, *operands, **params) -> results`, a lowering rule as in olympus-xla. The
        parameters are those of ``pallas_call`` equations.
      platform: the platform, or several.

    Raises:
      ValueError: if the class has a rule for the platform already.
    """
    for name in (platform,) if isinstance(platform, str) else platform:
        if (name, params_cls) in _registered:
            raise ValueError(
                f"kernels with {params_cls.__name__} have a lowering rule for {name} already"
            )
        _registered[name, params_cls] = rule


def _interpreted(context: Any, *operands: Any, **params: Any) -> list[Any]:
    # The avals omit the mesh axes over which values vary. These axes are checked already, and the
    # memory of the kernel does not track them.
    avals = [ShapedArray(aval.shape, aval.dtype) for aval in context.avals_in]
    closed = trace_to_closed(lambda *args: interpret_call(*args, **params), avals)
    return context.lower(closed, operands)


def _settings(params: Any) -> Any:
    """Returns the `InterpretParams` that a kernel is simulated with.

    The result is None if the kernel is to be interpreted as an array program.
    """
    settings = params["interpret"] or interpret_modes.interpret_params()
    if settings is True:
        return InterpretParams() if needs_simulation(params["jaxpr"]) else None
    return settings


def _simulated(context: Any, operands: Any, settings: Any, params: Any) -> list[Any]:
    # With `interpret=True` kernels are array programs, which know one memory.
    if params["interpret"] is not True:
        near_memory.check_near_memory(params["jaxpr"])
    orders = machine_calls.parallel_orders(
        params["grid_mapping"], params["compiler_params"], settings.random_seed
    )
    run = functools.partial(machine_calls.run_call, settings=settings, orders=orders, **params)
    return machine_calls.emit_simulation(context, operands, run)


def _rule(platform: str, compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the lowering rule of a platform that compiles kernels by ``compiled``."""

    def rule(context: Any, *operands: Any, **params: Any) -> Any:
        if params["interpret"] or interpret_modes.interpret_params() is not None:
            settings = _settings(params)
            if settings is not None and platform in CALLBACK_PLATFORMS:
                return _simulated(context, operands, settings, params)
            return _interpreted(context, *operands, **params)
        chosen = _registered.get((platform, type(params["compiler_params"])), compiled)
        return chosen(context, *operands, **params)

    return rule


def _refused(context: Any, *operands: Any, **params: Any) -> Any:
    raise ValueError("Only interpret mode is supported on CPU backend.")


def _with_triton(context: Any, *operands: Any, **params: Any) -> Any:
    return triton_module.lower_call(context, *operands, **params)


def _with_mosaic(context: Any, *operands: Any, **params: Any) -> Any:
    return mosaic_module.lower_call(context, *operands, **params)


define_for_platform(pallas_call_p, "cpu", _rule("cpu", _refused))
define_for_platform(pallas_call_p, "cuda", _rule("cuda", _with_triton))
define_for_platform(pallas_call_p, "tpu", _rule("tpu", _with_mosaic))
