# SPDX-License-Identifier: Apache-2.0
"""Derivative rules for the user's functions."""

from . import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from(
            "olympus_autodiff",
            "CustomVJPPrimal",
            "SymbolicZero",
            "closure_convert",
            "custom_gradient",
            "custom_jvp",
            "custom_vjp",
            "custom_vjp_primal_tree_values",
            "zero_from_primal",
        ),
        **_lazy.names_from(
            "olympus_autodiff.custom.linear_call",
            "linear_call",
        ),
        **_lazy.names_from(
            "olympus_autodiff.custom.forward_calls",
            "remat_opt_p",
        ),
        **_lazy.names_from(
            "olympus_ir.lax",
            "custom_jvp_call_p",
            "custom_vjp_call_p",
        ),
    },
)
