# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.bernoulli import cdf as cdf
from olympus_scipy.stats.bernoulli import logpmf as logpmf
from olympus_scipy.stats.bernoulli import pmf as pmf
from olympus_scipy.stats.bernoulli import ppf as ppf
