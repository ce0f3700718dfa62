# SPDX-License-Identifier: Apache-2.0
"""Wrapped functions, which libraries extend by transformations of their arguments and results."""

from .. import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from(
            "collections.abc",
            "Callable",
        ),
        **_lazy.names_from(
            "olympus_ir.adapters.wrapped_functions",
            "Store",
            "StoreException",
            "WrappedFun",
            "cache",
            "merge_linear_aux",
            "transformation",
            "transformation2",
            "transformation_with_aux",
            "transformation_with_aux2",
            "wrap_init",
        ),
    },
)
