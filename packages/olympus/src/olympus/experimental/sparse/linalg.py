# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of sparse matrices: eigenvalues and linear systems."""

from olympus_sparse.linalg import lobpcg_standard, spsolve, spsolve_p

__all__ = ["lobpcg_standard", "spsolve", "spsolve_p"]
