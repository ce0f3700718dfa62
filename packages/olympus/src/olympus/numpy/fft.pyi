# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_numpy.fft import fft as fft
from olympus_numpy.fft import fft2 as fft2
from olympus_numpy.fft import fftfreq as fftfreq
from olympus_numpy.fft import fftn as fftn
from olympus_numpy.fft import fftshift as fftshift
from olympus_numpy.fft import hfft as hfft
from olympus_numpy.fft import ifft as ifft
from olympus_numpy.fft import ifft2 as ifft2
from olympus_numpy.fft import ifftn as ifftn
from olympus_numpy.fft import ifftshift as ifftshift
from olympus_numpy.fft import ihfft as ihfft
from olympus_numpy.fft import irfft as irfft
from olympus_numpy.fft import irfft2 as irfft2
from olympus_numpy.fft import irfftn as irfftn
from olympus_numpy.fft import rfft as rfft
from olympus_numpy.fft import rfft2 as rfft2
from olympus_numpy.fft import rfftfreq as rfftfreq
from olympus_numpy.fft import rfftn as rfftn
