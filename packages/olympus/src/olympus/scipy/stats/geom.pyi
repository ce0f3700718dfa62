# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.geom import logpmf as logpmf
from olympus_scipy.stats.geom import pmf as pmf
