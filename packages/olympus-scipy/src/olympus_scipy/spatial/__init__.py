# SPDX-License-Identifier: Apache-2.0
"""Spatial transformations: rotations."""

from . import transform as transform
