# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sparse.derivatives import grad as grad
from olympus_sparse.derivatives import jacfwd as jacfwd
from olympus_sparse.derivatives import jacrev as _jacrev
from olympus_sparse.derivatives import jacrev as jacrev
from olympus_sparse.derivatives import value_and_grad as value_and_grad
jacobian = _jacrev
