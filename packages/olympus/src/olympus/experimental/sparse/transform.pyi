# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sparse import SparseTracer as SparseTracer
from olympus_sparse.sparsification.transform import sparsify as sparsify
