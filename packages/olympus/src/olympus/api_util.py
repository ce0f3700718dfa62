# SPDX-License-Identifier: Apache-2.0
"""Preparation of arguments for transformations: argument positions, donation and flattening."""

from . import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from(
            "olympus_ir.adapters.construction",
            "argnums_partial",
            "donation_vector",
            "flatten_axes",
            "rebase_donate_argnums",
            "shaped_abstractify",
        ),
        **_lazy.names_from(
            "olympus_ir.trees.flattening",
            "debug_info",
        ),
        **_lazy.names_from(
            "olympus_ir._jaxlib",
            "safe_map",
        ),
        **_lazy.names_from(
            "olympus_ir.adapters.wrapped_functions",
            "flatten_fun",
            "flatten_fun_nokwargs",
        ),
    },
)
