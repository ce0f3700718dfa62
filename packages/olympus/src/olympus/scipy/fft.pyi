# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.fft import dct as dct
from olympus_scipy.fft import dctn as dctn
from olympus_scipy.fft import idct as idct
from olympus_scipy.fft import idctn as idctn
