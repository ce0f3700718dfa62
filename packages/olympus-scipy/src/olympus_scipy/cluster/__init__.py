# SPDX-License-Identifier: Apache-2.0
"""Clustering."""

from . import vq as vq
