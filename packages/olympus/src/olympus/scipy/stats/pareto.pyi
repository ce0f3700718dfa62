# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.pareto import cdf as cdf
from olympus_scipy.stats.pareto import logcdf as logcdf
from olympus_scipy.stats.pareto import logpdf as logpdf
from olympus_scipy.stats.pareto import logsf as logsf
from olympus_scipy.stats.pareto import pdf as pdf
from olympus_scipy.stats.pareto import ppf as ppf
from olympus_scipy.stats.pareto import sf as sf
