# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.uniform import cdf as cdf
from olympus_scipy.stats.uniform import logpdf as logpdf
from olympus_scipy.stats.uniform import pdf as pdf
from olympus_scipy.stats.uniform import ppf as ppf
