# SPDX-License-Identifier: Apache-2.0
"""Evaluation by XLA."""

from __future__ import annotations

from typing import Any

from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.avals import aval_getters as canonicalize_dtype_handlers
from olympus_xla._jaxlib import Client as Backend
from olympus_xla.calls.eager import compile_and_run

from .. import _lazy

__all__ = ["Backend", "apply_primitive", "canonicalize_dtype_handlers"]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Evaluates a primitive: compiles it for the types of its operands, and runs it.

    Libraries pass this function to `Primitive.def_impl` to evaluate a primitive by its lowering
    rule.

    Returns:
      The results of the primitive.
    """
    return compile_and_run(prim, args, params)
