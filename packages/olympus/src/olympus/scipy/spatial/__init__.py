# SPDX-License-Identifier: Apache-2.0
"""Space, in the SciPy interface."""

from . import transform as transform
