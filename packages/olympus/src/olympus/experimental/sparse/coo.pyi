# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sparse import COO as COO
from olympus_sparse import COOInfo as COOInfo
from olympus_sparse import coo_fromdense_p as coo_fromdense_p
from olympus_sparse import coo_matmat_p as coo_matmat_p
from olympus_sparse import coo_matvec_p as coo_matvec_p
from olympus_sparse import coo_todense_p as coo_todense_p
from olympus_sparse.coo import coo_fromdense as coo_fromdense
from olympus_sparse.coo import coo_matmat as coo_matmat
from olympus_sparse.coo import coo_matvec as coo_matvec
from olympus_sparse.coo import coo_todense as coo_todense
