# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sparse.random import random_bcoo as random_bcoo
