# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.signal.convolutions import convolve as convolve
from olympus_scipy.signal.convolutions import convolve2d as convolve2d
from olympus_scipy.signal.convolutions import correlate as correlate
from olympus_scipy.signal.convolutions import correlate2d as correlate2d
from olympus_scipy.signal.convolutions import fftconvolve as fftconvolve
from olympus_scipy.signal.spectra import csd as csd
from olympus_scipy.signal.spectra import istft as istft
from olympus_scipy.signal.spectra import stft as stft
from olympus_scipy.signal.spectra import welch as welch
from olympus_scipy.signal.trends import detrend as detrend
import olympus_scipy.signal.convolutions as convolutions
import olympus_scipy.signal.spectra as spectra
import olympus_scipy.signal.trends as trends
import olympus_scipy.signal.windows as windows
