# SPDX-License-Identifier: Apache-2.0
"""Spatial transformations of the SciPy interface."""

from . import transform as transform
