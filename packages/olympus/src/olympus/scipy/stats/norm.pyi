# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.norm import cdf as cdf
from olympus_scipy.stats.norm import isf as isf
from olympus_scipy.stats.norm import logcdf as logcdf
from olympus_scipy.stats.norm import logpdf as logpdf
from olympus_scipy.stats.norm import logsf as logsf
from olympus_scipy.stats.norm import pdf as pdf
from olympus_scipy.stats.norm import ppf as ppf
from olympus_scipy.stats.norm import sf as sf
