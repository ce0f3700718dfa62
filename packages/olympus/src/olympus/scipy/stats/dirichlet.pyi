# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.dirichlet import logpdf as logpdf
from olympus_scipy.stats.dirichlet import pdf as pdf
