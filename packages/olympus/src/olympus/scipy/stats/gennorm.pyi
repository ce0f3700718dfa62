# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.gennorm import cdf as cdf
from olympus_scipy.stats.gennorm import logpdf as logpdf
from olympus_scipy.stats.gennorm import pdf as pdf
