# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.chi2 import cdf as cdf
from olympus_scipy.stats.chi2 import logcdf as logcdf
from olympus_scipy.stats.chi2 import logpdf as logpdf
from olympus_scipy.stats.chi2 import logsf as logsf
from olympus_scipy.stats.chi2 import pdf as pdf
from olympus_scipy.stats.chi2 import sf as sf
