# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.stats.t import logpdf as logpdf
from olympus_scipy.stats.t import pdf as pdf
