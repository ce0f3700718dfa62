# SPDX-License-Identifier: Apache-2.0
"""Compiler passes written in Python, as functions of HLO modules."""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.settings.naming import logger_name

from .._jaxlib import clear_compiler_pass, register_compiler_pass
from ..platforms import backends

__all__ = [
    "PipelineStage",
    "clear_hlo_module_transformation",
    "register_hlo_module_transformation",
]


class PipelineStage(enum.Enum):
    """Position of a pass in the compiler's pipeline: before or after scheduling."""

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


# Passes for platforms that have no client yet, as tuples (platform, name, stage, callback).
_waiting: list[tuple[str, str, PipelineStage, Callable[[bytes], bytes | None]]] = []


def register_hlo_module_transformation(
    callback: Callable[[bytes], bytes | None],
    *,
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Adds a pass to XLA's compiler.

    Programs that are already compiled do not change.

    Args:
      callback: takes a module, a serialized ``HloModuleProto``, and returns the changed module, or
        None for no change.
      name: the pass's name.
      stage: the stage of the pipeline. Passes of one stage run in the order of registration.
      platforms: the platforms, or the one platform, whose compiler gets the pass; None for all.

    Raises:
      TypeError: ``stage`` is not a `PipelineStage`.

    Example:
      >>> register_hlo_module_transformation(lambda module: None, name="nothing")
      >>> clear_hlo_module_transformation("nothing")
      True
    """
    _check_stage(stage)
    for platform in _platforms(platforms):
        if platform == "cpu":
            register_compiler_pass(None, name, stage.value, callback)
        elif backends.are_backends_initialized():
            client = backends.backends().get(platform)
            if client is not None:
                register_compiler_pass(client, name, stage.value, callback)
        else:
            _waiting.append((platform, name, stage, callback))


def clear_hlo_module_transformation(
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> bool:
    """Removes a pass from XLA's compiler.

    Args:
      name: the pass's name.
      stage: the stage of the pipeline.
      platforms: the platforms, or the one platform, whose compiler has the pass; None for all.

    Returns:
      Whether the pass existed.

    Raises:
      TypeError: ``stage`` is not a `PipelineStage`.
    """
    _check_stage(stage)
    found = False
    for platform in _platforms(platforms):
        if platform == "cpu":
            found |= clear_compiler_pass(None, name, stage.value)
        elif backends.are_backends_initialized() and platform in backends.backends():
            client = backends.backends()[platform]
            found |= clear_compiler_pass(client, name, stage.value)
        kept = [entry for entry in _waiting if entry[:3] != (platform, name, stage)]
        found |= len(kept) < len(_waiting)
        _waiting[:] = kept
    return found


def _check_stage(stage: Any) -> None:
    if not isinstance(stage, PipelineStage):
        raise TypeError(f"stage must be a PipelineStage, got {type(stage).__name__}: {stage!r}")


def _platforms(requested: Sequence[str] | str | None) -> list[str]:
    known = backends.known_platforms()
    if requested is None:
        return known
    names = [requested] if isinstance(requested, str) else list(requested)
    found = [platform for name in names for platform in backends.ALIASES.get(name, (name,))]
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise ValueError(f"unknown platforms {unknown}; there are {known}")
    return list(dict.fromkeys(found))


def _register_waiting(clients: dict[str, Any]) -> None:
    """Registers passes that were added before their platform had a client."""
    for platform, name, stage, callback in _waiting:
        client = clients.get(platform)
        if client is not None:
            try:
                register_compiler_pass(client, name, stage.value, callback)
            except RuntimeError as error:  # the plugin does not support passes written in Python
                logger = logging.getLogger(logger_name("compiler"))
                logger.warning("the compiler of %s does not take %r: %s", platform, name, error)
    _waiting.clear()


backends.on_bring_up(_register_waiting)
