# SPDX-License-Identifier: Apache-2.0
"""Clustering of the SciPy interface."""

from . import vq as vq
