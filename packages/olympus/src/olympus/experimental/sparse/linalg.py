# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of sparse matrices: eigenvalues and linear systems."""

from olympus_sparse.linalg import lobpcg_standard, spsolve, spsolve_p

from ..._faces import present as _present

__all__ = ["lobpcg_standard", "spsolve", "spsolve_p"]

_present(__name__)
