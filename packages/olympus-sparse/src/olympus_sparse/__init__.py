# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays, and `sparsify`, which applies functions of dense arrays to sparse arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus_ir.diagnostics.source_info import register_library_folder
from olympus_ir.loading import deferred

from . import methods as _methods  # noqa: F401 - gives the classes their methods
from .__about__ import __version__
from .bcoo.arithmetic import bcoo_multiply_dense, bcoo_multiply_sparse, bcoo_reduce_sum
from .bcoo.array import BCOO
from .bcoo.conversion import (
    bcoo_extract,
    bcoo_extract_p,
    bcoo_fromdense,
    bcoo_fromdense_p,
    bcoo_todense,
    bcoo_todense_p,
)
from .bcoo.convolution import bcoo_conv_general_dilated
from .bcoo.indexing import bcoo_dynamic_slice, bcoo_gather, bcoo_slice
from .bcoo.layouts import bcoo_update_layout
from .bcoo.ordering import (
    bcoo_eliminate_zeros,
    bcoo_sort_indices,
    bcoo_sort_indices_p,
    bcoo_sum_duplicates,
    bcoo_sum_duplicates_p,
)
from .bcoo.products import (
    bcoo_dot_general_p,
    bcoo_dot_general_sampled,
    bcoo_dot_general_sampled_p,
)
from .bcoo.reshaping import bcoo_reshape
from .bcoo.shaping import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_rev,
    bcoo_squeeze,
    bcoo_transpose,
    bcoo_transpose_p,
)
from .bcoo.sparse_products import bcoo_dot_general, bcoo_spdot_general_p
from .bcsr.array import BCSR
from .bcsr.operations import (
    bcsr_broadcast_in_dim,
    bcsr_concatenate,
    bcsr_dot_general,
    bcsr_dot_general_p,
    bcsr_eliminate_zeros,
    bcsr_extract,
    bcsr_extract_p,
    bcsr_fromdense,
    bcsr_fromdense_p,
    bcsr_sum_duplicates,
    bcsr_todense,
    bcsr_todense_p,
)
from .coo import (
    COO,
    COOInfo,
    coo_fromdense,
    coo_fromdense_p,
    coo_matmat,
    coo_matmat_p,
    coo_matvec,
    coo_matvec_p,
    coo_todense,
    coo_todense_p,
)
from .core.base import OLYMPUSSparse, SparseInfo
from .core.efficiency import (
    CuSparseEfficiencyWarning,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
)
from .core.mapping import broadcasting_vmap, nfold_vmap
from .creation import empty, eye, todense, todense_p
from .csr import (
    CSC,
    CSR,
    csr_fromdense,
    csr_fromdense_p,
    csr_matmat,
    csr_matmat_p,
    csr_matvec,
    csr_matvec_p,
    csr_todense,
    csr_todense_p,
)
from .derivatives import grad, jacfwd, jacobian, jacrev, value_and_grad
from .random import random_bcoo
from .sparsification.interpreter import sparse_rules
from .sparsification.tracer import SparseTracer
from .sparsification.transform import sparsify

if TYPE_CHECKING:
    from .jacobians import transformation as _jacobians
    from .jacobians.transformation import Plan as Plan
    from .jacobians.transformation import plan as plan
    from .jacobians.transformation import sparse_hessian as sparse_hessian
    from .jacobians.transformation import sparse_jacobian as sparse_jacobian
else:
    _jacobians = deferred(".jacobians.transformation", milliseconds=60.0)

_LATER = ("Plan", "plan", "sparse_hessian", "sparse_jacobian")

__all__ = [
    "BCOO",
    "BCSR",
    "COO",
    "CSC",
    "CSR",
    "COOInfo",
    "CuSparseEfficiencyWarning",
    "OLYMPUSSparse",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "SparseInfo",
    "SparseTracer",
    "__version__",
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_conv_general_dilated",
    "bcoo_dot_general",
    "bcoo_dot_general_p",
    "bcoo_dot_general_sampled",
    "bcoo_dot_general_sampled_p",
    "bcoo_dynamic_slice",
    "bcoo_eliminate_zeros",
    "bcoo_extract",
    "bcoo_extract_p",
    "bcoo_fromdense",
    "bcoo_fromdense_p",
    "bcoo_gather",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_sort_indices",
    "bcoo_sort_indices_p",
    "bcoo_spdot_general_p",
    "bcoo_squeeze",
    "bcoo_sum_duplicates",
    "bcoo_sum_duplicates_p",
    "bcoo_todense",
    "bcoo_todense_p",
    "bcoo_transpose",
    "bcoo_transpose_p",
    "bcoo_update_layout",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_dot_general_p",
    "bcsr_eliminate_zeros",
    "bcsr_extract",
    "bcsr_extract_p",
    "bcsr_fromdense",
    "bcsr_fromdense_p",
    "bcsr_sum_duplicates",
    "bcsr_todense",
    "bcsr_todense_p",
    "broadcasting_vmap",
    "coo_fromdense",
    "coo_fromdense_p",
    "coo_matmat",
    "coo_matmat_p",
    "coo_matvec",
    "coo_matvec_p",
    "coo_todense",
    "coo_todense_p",
    "csr_fromdense",
    "csr_fromdense_p",
    "csr_matmat",
    "csr_matmat_p",
    "csr_matvec",
    "csr_matvec_p",
    "csr_todense",
    "csr_todense_p",
    "empty",
    "eye",
    "grad",
    "jacfwd",
    "jacobian",
    "jacrev",
    "nfold_vmap",
    "random_bcoo",
    "sparse_rules",
    "sparsify",
    "todense",
    "todense_p",
    "value_and_grad",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        globals()[name] = getattr(_jacobians, name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


register_library_folder(__path__[0])
