# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sparse import CSC as CSC
from olympus_sparse import CSR as CSR
from olympus_sparse import csr_fromdense_p as csr_fromdense_p
from olympus_sparse import csr_matmat_p as csr_matmat_p
from olympus_sparse import csr_matvec_p as csr_matvec_p
from olympus_sparse import csr_todense_p as csr_todense_p
from olympus_sparse.csr import csr_fromdense as csr_fromdense
from olympus_sparse.csr import csr_matmat as csr_matmat
from olympus_sparse.csr import csr_matvec as csr_matvec
from olympus_sparse.csr import csr_todense as csr_todense
