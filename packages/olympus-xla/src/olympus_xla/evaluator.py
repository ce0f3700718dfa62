# SPDX-License-Identifier: Apache-2.0
"""The evaluator that olympus-xla installs in olympus-ir.

This module also sets the copy functions in `arrays`, which may not import the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_ir.lax.callbacks import register_effects_barrier
from olympus_ir.programs.calls.options import jit_options
from olympus_ir.programs.evaluation import install_evaluator

from .arrays import dlpack
from .arrays.compiled_copies import compiled_copies
from .arrays.transfer import array_from_host
from .calls import copies, eager, effect_tokens
from .calls.jit import make_jitted
from .platforms.backends import devices


class XlaEvaluator:
    """Evaluator that runs primitives as programs compiled by XLA.

    The programs run on the default device, or on the devices of their operands.
    """

    name = "xla"
    evaluate: Any = staticmethod(eager.evaluate)
    array: Any = staticmethod(array_from_host)

    def jit(self, fun: Callable[..., Any], **options: Any) -> Any:
        """Returns the compiled form of a function."""
        return make_jitted(fun, jit_options(fun, **options), eager=True)

    def devices(self) -> list[Any]:
        """Returns the devices of the default backend."""
        return devices()

    def from_dlpack(self, external_array: Any, **options: Any) -> Any:
        """Returns an array that shares another library's memory; see `arrays.dlpack`."""
        return dlpack.from_dlpack(external_array, **options)

    def __repr__(self) -> str:
        return "XlaEvaluator()"


evaluator = XlaEvaluator()
install_evaluator(evaluator)
register_effects_barrier(effect_tokens.barrier)
compiled_copies.between_devices = copies.copy_between_devices
compiled_copies.with_layout = copies.copy_with_layout
compiled_copies.with_sharding = copies.copy_with_sharding
