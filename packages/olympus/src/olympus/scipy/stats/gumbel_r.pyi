# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.gumbel_r import cdf as cdf
from olympus_scipy.stats.gumbel_r import logcdf as logcdf
from olympus_scipy.stats.gumbel_r import logpdf as logpdf
from olympus_scipy.stats.gumbel_r import logsf as logsf
from olympus_scipy.stats.gumbel_r import pdf as pdf
from olympus_scipy.stats.gumbel_r import ppf as ppf
from olympus_scipy.stats.gumbel_r import sf as sf
