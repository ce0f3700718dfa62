# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.poisson import cdf as cdf
from olympus_scipy.stats.poisson import entropy as entropy
from olympus_scipy.stats.poisson import logpmf as logpmf
from olympus_scipy.stats.poisson import pmf as pmf
