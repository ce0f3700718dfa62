# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sparse.linalg import spsolve_p as spsolve_p
from olympus_sparse.linalg.eigenvalues import lobpcg_standard as lobpcg_standard
from olympus_sparse.linalg.solving import spsolve as spsolve
