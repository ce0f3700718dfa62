# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.logistic import cdf as cdf
from olympus_scipy.stats.logistic import isf as isf
from olympus_scipy.stats.logistic import logpdf as logpdf
from olympus_scipy.stats.logistic import pdf as pdf
from olympus_scipy.stats.logistic import ppf as ppf
from olympus_scipy.stats.logistic import sf as sf
