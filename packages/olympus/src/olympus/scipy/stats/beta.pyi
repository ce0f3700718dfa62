# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.beta import cdf as cdf
from olympus_scipy.stats.beta import logcdf as logcdf
from olympus_scipy.stats.beta import logpdf as logpdf
from olympus_scipy.stats.beta import logsf as logsf
from olympus_scipy.stats.beta import pdf as pdf
from olympus_scipy.stats.beta import sf as sf
