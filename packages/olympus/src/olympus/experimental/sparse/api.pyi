# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sparse import todense_p as todense_p
from olympus_sparse.creation import empty as empty
from olympus_sparse.creation import eye as eye
from olympus_sparse.creation import todense as todense
