# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.laplace import cdf as cdf
from olympus_scipy.stats.laplace import logpdf as logpdf
from olympus_scipy.stats.laplace import pdf as pdf
