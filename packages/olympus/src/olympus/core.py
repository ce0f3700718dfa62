# SPDX-License-Identifier: Apache-2.0
"""Types and traces, for libraries that build on them."""

from olympus_ir.avals import AbstractValue, ShapedArray
from olympus_ir.evaluation import eval_olympuspr
from olympus_ir.evaluation import eval_olympuspr as eval_jaxpr
from olympus_ir.olympuspr import Atom
from olympus_ir.tracing import Trace, Tracer, ensure_compile_time_eval

__all__ = [
    "AbstractValue",
    "Atom",
    "ShapedArray",
    "Trace",
    "Tracer",
    "ensure_compile_time_eval",
    "eval_jaxpr",
    "eval_olympuspr",
]
