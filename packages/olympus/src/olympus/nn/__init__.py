# SPDX-License-Identifier: Apache-2.0
"""Layers of neural networks: activations, normalisation, attention."""

from olympus_nn import *  # noqa: F403

from . import initializers as initializers
