# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.truncnorm import cdf as cdf
from olympus_scipy.stats.truncnorm import logcdf as logcdf
from olympus_scipy.stats.truncnorm import logpdf as logpdf
from olympus_scipy.stats.truncnorm import logsf as logsf
from olympus_scipy.stats.truncnorm import pdf as pdf
from olympus_scipy.stats.truncnorm import sf as sf
