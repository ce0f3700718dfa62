# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sparse import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from olympus_sparse import SparseEfficiencyError as SparseEfficiencyError
from olympus_sparse import SparseEfficiencyWarning as SparseEfficiencyWarning
from olympus_sparse import SparseInfo as SparseInfo
from olympus_sparse.core.mapping import broadcasting_vmap as broadcasting_vmap
from olympus_sparse.core.mapping import nfold_vmap as nfold_vmap
