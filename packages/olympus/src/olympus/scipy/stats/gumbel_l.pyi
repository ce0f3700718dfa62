# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.gumbel_l import cdf as cdf
from olympus_scipy.stats.gumbel_l import logcdf as logcdf
from olympus_scipy.stats.gumbel_l import logpdf as logpdf
from olympus_scipy.stats.gumbel_l import logsf as logsf
from olympus_scipy.stats.gumbel_l import pdf as pdf
from olympus_scipy.stats.gumbel_l import ppf as ppf
from olympus_scipy.stats.gumbel_l import sf as sf
