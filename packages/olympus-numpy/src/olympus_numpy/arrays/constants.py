# SPDX-License-Identifier: Apache-2.0
"""Mathematical constants, and ``newaxis``."""

from __future__ import annotations

import numpy as np

__all__ = ["e", "euler_gamma", "inf", "nan", "newaxis", "pi"]

e = np.e
euler_gamma = np.euler_gamma
inf = np.inf
nan = np.nan
pi = np.pi
newaxis = None
