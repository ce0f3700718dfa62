# SPDX-License-Identifier: Apache-2.0
"""Layers of neural networks: activations, normalisation, attention."""

from olympus_nn import *  # noqa: F403

from .._faces import present as _present
from . import initializers as initializers

_present(__name__)
