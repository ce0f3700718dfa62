# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.multinomial import logpmf as logpmf
from olympus_scipy.stats.multinomial import pmf as pmf
