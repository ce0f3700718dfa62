# SPDX-License-Identifier: Apache-2.0
"""Space: rotations."""

from . import transform as transform
