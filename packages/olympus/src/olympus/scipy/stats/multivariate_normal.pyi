# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.multivariate_normal import logpdf as logpdf
from olympus_scipy.stats.multivariate_normal import pdf as pdf
