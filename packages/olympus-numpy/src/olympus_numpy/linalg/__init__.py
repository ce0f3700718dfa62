# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: norms and products of matrices, factors, solutions and eigenvalues.

Importing this package loads none of its modules. The first use of a name imports its module.
"""

import typing as _typing

from olympus_ir.loading import lazy_exports as _lazy_exports

if _typing.TYPE_CHECKING:
    from .determinants import *  # noqa: F403
    from .factoring import *  # noqa: F403
    from .matrix_functions import *  # noqa: F403
    from .norms import *  # noqa: F403
    from .products import *  # noqa: F403
    from .solving import *  # noqa: F403

    __all__: list[str]

# The names that each module exports; a test compares them with its ``__all__``.
_MODULES = {
    "determinants": "det slogdet",
    "factoring": "cholesky eig eigh eigvals eigvalsh qr svd svdvals",
    "matrix_functions": "matrix_function",
    "norms": "matrix_norm norm vector_norm",
    "products": (
        "cross diagonal matmul matrix_power matrix_transpose multi_dot outer tensordot trace vecdot"
    ),
    "solving": "cond inv lstsq matrix_rank pinv solve tensorinv tensorsolve",
}

if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_exports(
        __name__, {name: module for module, names in _MODULES.items() for name in names.split()}
    )
