# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.expon import cdf as cdf
from olympus_scipy.stats.expon import logcdf as logcdf
from olympus_scipy.stats.expon import logpdf as logpdf
from olympus_scipy.stats.expon import logsf as logsf
from olympus_scipy.stats.expon import pdf as pdf
from olympus_scipy.stats.expon import ppf as ppf
from olympus_scipy.stats.expon import sf as sf
