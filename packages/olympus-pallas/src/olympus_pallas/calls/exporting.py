# SPDX-License-Identifier: Apache-2.0
"""`lower_as_mlir`, which lowers a function with kernels to StableHLO text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_export import export
from olympus_xla.calls.jit import jit

__all__ = ["lower_as_mlir"]


def lower_as_mlir(
    f: Callable[..., Any],
    *args: Any,
    dynamic_shapes: bool = False,
    device: Any = None,
    static_argnames: Sequence[str] = (),
    platforms: Sequence[str] | None = None,
    **kwargs: Any,
) -> str:
    """Returns the StableHLO program of a function with kernels, as text.

    Args:
      f: the function.
      *args: the arguments of the function, arrays or `ShapeDtypeStruct`s.
      dynamic_shapes: whether shapes may have symbolic dimensions. Kernels need known sizes, so
        lowering refuses such a program.
      device: the device that the program is for.
      static_argnames: the names of the static arguments.
      platforms: the platforms that the program is for, ``("tpu",)`` by default.
      **kwargs: the keyword arguments of the function.

    Returns:
      The text of the module.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import pallas_call
      >>> def double(x_ref, o_ref):
      ...     o_ref[...] = 2 * x_ref[...]
      >>> x = np.ones((8, 128), np.float32)
      >>> text = lower_as_mlir(pallas_call(double, ShapeDtypeStruct(x.shape, x.dtype)), x)
      >>> "@tpu_custom_call" in text
      True
    """
    jitted = jit(f, device=device, static_argnames=static_argnames)
    exported = export(jitted, platforms=tuple(platforms or ("tpu",)))
    return exported(*args, **kwargs).mlir_module()
