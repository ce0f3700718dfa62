# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.wrapcauchy import logpdf as logpdf
from olympus_scipy.stats.wrapcauchy import pdf as pdf
