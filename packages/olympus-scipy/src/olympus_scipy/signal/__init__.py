# SPDX-License-Identifier: Apache-2.0
"""Signal processing: convolutions, trends, spectra."""

from .convolutions import *  # noqa: F403
from .spectra import *  # noqa: F403
from .trends import *  # noqa: F403
