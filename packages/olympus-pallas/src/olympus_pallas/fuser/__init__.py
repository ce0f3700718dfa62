# SPDX-License-Identifier: Apache-2.0
"""Fusion of what surrounds a kernel into it: its inputs and outputs as functions of blocks.

A function marked as `fusible` is called with its inputs as functions (`Fusion`), which compute
them, and with a function of its outputs. It makes a kernel of all of them: `get_fusion_values`
tells which arrays they are computed from, `pull_block_spec` and `push_block_spec` which blocks of
these arrays belong to a block of the result.
"""

from .block_specs import BlockIndexTransform as BlockIndexTransform
from .block_specs import make_scalar_prefetch_handler as make_scalar_prefetch_handler
from .block_specs import pull_block_spec as pull_block_spec
from .block_specs import push_block_spec as push_block_spec
from .customized import custom_fusion as custom_fusion
from .fusions import Fusion as Fusion
from .fusions import evaluate as evaluate
from .fusions import fuse as fuse
from .fusions import fusible as fusible
from .fusions import get_fusion_values as get_fusion_values

__all__ = [
    "BlockIndexTransform",
    "Fusion",
    "custom_fusion",
    "evaluate",
    "fuse",
    "fusible",
    "get_fusion_values",
    "make_scalar_prefetch_handler",
    "pull_block_spec",
    "push_block_spec",
]
