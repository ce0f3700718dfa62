# SPDX-License-Identifier: Apache-2.0
"""Fusion of the operations around a kernel into the kernel.

A function marked as `fusible` takes functions (`Fusion`) as arguments: one for each input, which
computes the input, and one that is applied to the outputs. The marked function makes one kernel of
all these functions. `get_fusion_values` returns the arrays that the functions read.
`pull_block_spec` and `push_block_spec` relate the blocks of these arrays to the blocks of the
result. The folder may import `calls`, `grids` and the layers below them.
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
from .fusions import get_stateful_input_fusion_values as get_stateful_input_fusion_values
from .fusions import get_stateful_output_fusion_values as get_stateful_output_fusion_values

__all__ = [
    "BlockIndexTransform",
    "Fusion",
    "custom_fusion",
    "evaluate",
    "fuse",
    "fusible",
    "get_fusion_values",
    "get_stateful_input_fusion_values",
    "get_stateful_output_fusion_values",
    "make_scalar_prefetch_handler",
    "pull_block_spec",
    "push_block_spec",
]
