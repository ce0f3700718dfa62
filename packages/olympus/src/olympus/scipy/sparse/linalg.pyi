# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.sparse.linalg import bicgstab as bicgstab
from olympus_scipy.sparse.linalg import cg as cg
from olympus_scipy.sparse.linalg import gmres as gmres
