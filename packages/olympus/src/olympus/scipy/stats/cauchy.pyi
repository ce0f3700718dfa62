# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.cauchy import cdf as cdf
from olympus_scipy.stats.cauchy import isf as isf
from olympus_scipy.stats.cauchy import logcdf as logcdf
from olympus_scipy.stats.cauchy import logpdf as logpdf
from olympus_scipy.stats.cauchy import logsf as logsf
from olympus_scipy.stats.cauchy import pdf as pdf
from olympus_scipy.stats.cauchy import ppf as ppf
from olympus_scipy.stats.cauchy import sf as sf
