# SPDX-License-Identifier: Apache-2.0
"""Solving ordinary differential equations."""

from olympus_scipy.ode import odeint

__all__ = ["odeint"]
