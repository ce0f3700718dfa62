# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sparse import BCSR as BCSR
from olympus_sparse import bcsr_dot_general_p as bcsr_dot_general_p
from olympus_sparse import bcsr_extract_p as bcsr_extract_p
from olympus_sparse import bcsr_fromdense_p as bcsr_fromdense_p
from olympus_sparse import bcsr_todense_p as bcsr_todense_p
from olympus_sparse.bcsr.operations import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from olympus_sparse.bcsr.operations import bcsr_concatenate as bcsr_concatenate
from olympus_sparse.bcsr.operations import bcsr_dot_general as bcsr_dot_general
from olympus_sparse.bcsr.operations import bcsr_eliminate_zeros as bcsr_eliminate_zeros
from olympus_sparse.bcsr.operations import bcsr_extract as bcsr_extract
from olympus_sparse.bcsr.operations import bcsr_fromdense as bcsr_fromdense
from olympus_sparse.bcsr.operations import bcsr_sum_duplicates as bcsr_sum_duplicates
from olympus_sparse.bcsr.operations import bcsr_todense as bcsr_todense
