# SPDX-License-Identifier: Apache-2.0
"""Lowering of `pallas_call`, by platform: interpreted, or handed to the compiler of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_xla.lowering.tables import define_for_platform

from . import config
from .calls import pallas_call_p
from .interpret import interpret_call


def _interpreted(*operands: Any, **params: Any) -> list[Any]:
    return interpret_call(*operands, **params)


def _rule(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a platform whose compiler of kernels is ``compiled``."""

    def rule(context: Any, *operands: Any, **params: Any) -> Any:
        if params["interpret"] or config.interpret_params() is not None:
            return context.inline_function(_interpreted, operands, params)
        return compiled(context, *operands, **params)

    return rule


def _refused(context: Any, *operands: Any, **params: Any) -> Any:
    raise ValueError("Only interpret mode is supported on CPU backend.")


def _with_triton(context: Any, *operands: Any, **params: Any) -> Any:
    # Kernels for GPUs are few programs' concern.
    from .triton_lowering.module import lower_call

    return lower_call(context, *operands, **params)


def _with_mosaic(context: Any, *operands: Any, **params: Any) -> Any:
    # Kernels for TPUs are few programs' concern.
    from .mosaic_lowering.module import lower_call

    return lower_call(context, *operands, **params)


define_for_platform(pallas_call_p, "cpu", _rule(_refused))
define_for_platform(pallas_call_p, "cuda", _rule(_with_triton))
define_for_platform(pallas_call_p, "tpu", _rule(_with_mosaic))
