# SPDX-License-Identifier: Apache-2.0
"""Automatic differentiation of OLYMPUS programs: jvp, linearize, vjp, grad and their rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olympus_ir.diagnostics.source_info import register_library_folder
from olympus_ir.loading import lazy_exports

from .__about__ import __version__
from .adapters import members as _members  # noqa: F401 - attached to the classes of the core
from .custom.custom_jvp import custom_jvp
from .custom.custom_vjp import (
    CustomVJPPrimal,
    custom_vjp,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from .forward.jvp import jvp, jvp_olympuspr
from .forward.linearize import linearize
from .forward.linearized_programs import linearize_olympuspr
from .reverse.grad import grad, value_and_grad
from .reverse.transpose import linear_transpose, transpose_olympuspr
from .reverse.vjp import VJP, fwd_and_bwd, vjp
from .tables import jvp_rules, linearize_rules, transpose_rules
from .zeros import SymbolicZero, UndefinedPrimal, Zero, is_undefined_primal

if TYPE_CHECKING:
    from .custom.closures import closure_convert, custom_gradient
    from .custom.solves import custom_linear_solve, custom_root
    from .rematerialization.checkpoint import checkpoint, remat
    from .rematerialization.policies import checkpoint_name, checkpoint_policies
    from .rematerialization.saved_residuals import print_saved_residuals, saved_residuals
    from .reverse.jacobian import hessian, jacfwd, jacobian, jacrev

__all__ = [
    "VJP",
    "CustomVJPPrimal",
    "SymbolicZero",
    "UndefinedPrimal",
    "Zero",
    "__version__",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "fwd_and_bwd",
    "grad",
    "hessian",
    "is_undefined_primal",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "jvp_olympuspr",
    "jvp_rules",
    "linear_transpose",
    "linearize",
    "linearize_olympuspr",
    "linearize_rules",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
    "transpose_olympuspr",
    "transpose_rules",
    "value_and_grad",
    "vjp",
    "zero_from_primal",
]

# Modules that a training step does not need, which are loaded when first used.
_MODULES = {
    "custom.closures": "closure_convert custom_gradient",
    "custom.solves": "custom_linear_solve custom_root",
    "rematerialization.checkpoint": "checkpoint remat",
    "rematerialization.policies": "checkpoint_name checkpoint_policies",
    "rematerialization.saved_residuals": "print_saved_residuals saved_residuals",
    "reverse.jacobian": "hessian jacfwd jacobian jacrev",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__, {name: module for module, names in _MODULES.items() for name in names.split()}
    )

register_library_folder(__path__[0])
