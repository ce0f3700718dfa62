# SPDX-License-Identifier: Apache-2.0
"""Permission of symbolic block sizes while functions with kernels are exported."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

__all__ = ["are_dynamic_shapes_allowed", "pallas_export_experimental"]

_allowed = contextvars.ContextVar("dynamic_shapes", default=False)


def are_dynamic_shapes_allowed() -> bool:
    """Returns whether blocks may have symbolic sizes."""
    return _allowed.get()


@contextlib.contextmanager
def pallas_export_experimental(dynamic_shapes: bool) -> Iterator[None]:
    """Allows kernels with blocks of symbolic sizes while functions are exported.

    Such kernels run by interpretation (``interpret=True``). Compiled kernels need blocks of known
    sizes; their grids and arrays may have symbolic sizes without this context manager.

    Args:
      dynamic_shapes: whether blocks may have symbolic sizes.

    Example:
      >>> import numpy as np
      >>> from olympus_export import export, symbolic_shape
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import pallas_call
      >>> from olympus_xla import jit
      >>> def double(x_ref, o_ref):
      ...     o_ref[...] = 2 * x_ref[...]
      >>> def call(x):
      ...     return pallas_call(double, ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)
      >>> argument = ShapeDtypeStruct(symbolic_shape("n"), np.float32)
      >>> with pallas_export_experimental(dynamic_shapes=True):
      ...     exported = export(jit(call))(argument)
      >>> exported.call(np.ones(3, np.float32))
      Array([2., 2., 2.], dtype=float32)
    """
    token = _allowed.set(dynamic_shapes)
    try:
        yield
    finally:
        _allowed.reset(token)
