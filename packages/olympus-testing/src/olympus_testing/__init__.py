# SPDX-License-Identifier: Apache-2.0
"""Sample inputs and checkers for OLYMPUS primitives and transformations."""

from __future__ import annotations

from .__about__ import __version__
from .batching import check_vmap
from .completeness import assert_complete
from .complex_steps import check_complex_step
from .derivatives import check_grads, check_jvp, check_vjp
from .rules import check_rule
from .samples import Binary, Case, Operand, Operation, Unary, cases, sample, samples
from .shapes import check_shape_rule
from .tolerances import assert_close, tolerance

__all__ = [
    "Binary",
    "Case",
    "Operand",
    "Operation",
    "Unary",
    "__version__",
    "assert_close",
    "assert_complete",
    "cases",
    "check_complex_step",
    "check_grads",
    "check_jvp",
    "check_rule",
    "check_shape_rule",
    "check_vjp",
    "check_vmap",
    "sample",
    "samples",
    "tolerance",
]
