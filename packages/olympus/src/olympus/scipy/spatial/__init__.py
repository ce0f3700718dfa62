# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: spatial transformations."""

from . import transform as transform
