# SPDX-License-Identifier: Apache-2.0
"""Layers of neural networks: activations, normalization, attention, initializers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olympus_ir.diagnostics.source_info import register_library_folder
from olympus_ir.loading import lazy_exports

from . import activations, normalization
from .__about__ import __version__ as __version__
from .activations import *  # noqa: F403
from .normalization import *  # noqa: F403

if TYPE_CHECKING:
    from . import initializers as initializers
    from .attention import *  # noqa: F403
    from .scaled_products import *  # noqa: F403

# Maps each name to the module that is loaded when the name is first used.
_MODULE_OF = {
    "dot_product_attention": "attention",
    "get_scaled_dot_general_config": "scaled_products",
    "scaled_dot_general": "scaled_products",
    "scaled_matmul": "scaled_products",
}

__all__ = ["initializers", *_MODULE_OF]
__all__ += activations.__all__
__all__ += normalization.__all__

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(__name__, _MODULE_OF, ("initializers",))

register_library_folder(__path__[0])  # noqa: F405 - Python sets __path__
