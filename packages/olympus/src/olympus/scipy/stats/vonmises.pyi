# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.vonmises import logpdf as logpdf
from olympus_scipy.stats.vonmises import pdf as pdf
