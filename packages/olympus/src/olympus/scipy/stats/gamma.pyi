# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.gamma import cdf as cdf
from olympus_scipy.stats.gamma import logcdf as logcdf
from olympus_scipy.stats.gamma import logpdf as logpdf
from olympus_scipy.stats.gamma import logsf as logsf
from olympus_scipy.stats.gamma import pdf as pdf
from olympus_scipy.stats.gamma import sf as sf
