# SPDX-License-Identifier: Apache-2.0
"""Layers of neural networks: activations, normalisation, attention, initialisers."""

from __future__ import annotations

from olympus_ir.diagnostics.source_info import register_library_folder

from . import activations, attention, initializers, normalization, scaled_products
from .__about__ import __version__ as __version__
from .activations import *  # noqa: F403
from .attention import *  # noqa: F403
from .normalization import *  # noqa: F403
from .scaled_products import *  # noqa: F403

__all__ = ["initializers"]
__all__ += activations.__all__
__all__ += attention.__all__
__all__ += normalization.__all__
__all__ += scaled_products.__all__

register_library_folder(__path__[0])  # noqa: F405 - Python sets __path__
