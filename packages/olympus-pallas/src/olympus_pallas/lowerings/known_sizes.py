# SPDX-License-Identifier: Apache-2.0
"""Check that a kernel to be compiled has no blocks of symbolic sizes."""

from __future__ import annotations

from ..grids.block_mappings import BlockMapping
from ..grids.sizes import is_symbolic
from ..mlir.building import KernelLoweringError

__all__ = ["check_known_sizes"]


def check_known_sizes(block: BlockMapping, compiler: str) -> None:
    """Raises an error if a block has a symbolic size, which no compiler of kernels accepts.

    Raises:
      KernelLoweringError: a size of the block is symbolic.
    """
    if any(map(is_symbolic, block.sizes)):
        raise KernelLoweringError(
            f"the {compiler} lowering of kernels needs blocks of known sizes, got {block.sizes} "
            f"for {block.origin}; interpret=True takes blocks of symbolic sizes"
        )
