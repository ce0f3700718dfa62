# SPDX-License-Identifier: Apache-2.0
"""Grid specifications, as the user writes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.types.annotations import AxisName, PyTree

from ..memory.annotations import IntLike
from .block_specs import no_block_spec
from .sizes import is_symbolic

__all__ = ["Grid", "GridSpec", "PrefetchScalarGridSpec"]

# The numbers of programs along each dimension, or pairs of the names and the numbers.
Grid: TypeAlias = IntLike | Sequence[IntLike] | Sequence[tuple[AxisName, int]]


@dataclasses.dataclass(init=False)
class GridSpec:
    """The number of programs, and the blocks of inputs and outputs that each program sees.

    Args:
      grid: the numbers of programs along each dimension, integers or scalar arrays.
      in_specs: one `BlockSpec` for each input, in the structure of the inputs.
      out_specs: one `BlockSpec` for each output.
      scratch_shapes: the buffers that each program works with.

    Example:
      >>> GridSpec(grid=(4,)).grid
      (4,)
    """

    grid: tuple[Any, ...]
    grid_names: tuple[Any, ...] | None
    in_specs: PyTree
    out_specs: PyTree
    scratch_shapes: PyTree = ()

    # The number of leading inputs that are read before the programs run and not cut into blocks.
    num_scalar_prefetch = 0

    @api_boundary
    def __init__(
        self,
        grid: Grid = (),
        in_specs: PyTree = no_block_spec,
        out_specs: PyTree = no_block_spec,
        scratch_shapes: PyTree = (),
    ) -> None:
        self.grid, self.grid_names = _grid_and_names(grid)
        self.in_specs = tuple(in_specs) if isinstance(in_specs, list | tuple) else in_specs
        self.out_specs = tuple(out_specs) if isinstance(out_specs, list | tuple) else out_specs
        if isinstance(scratch_shapes, list):
            scratch_shapes = tuple(scratch_shapes)
        self.scratch_shapes = scratch_shapes


@dataclasses.dataclass(init=False)
class PrefetchScalarGridSpec(GridSpec):
    """A grid whose index maps may read the first inputs, which are integers in scalar memory.

    Args:
      num_scalar_prefetch: the number of these inputs. Index maps take references to these inputs
        after the indices of the grid. Kernels take these references before all others.
      grid: the numbers of programs along each dimension.
      in_specs: one `BlockSpec` for each input that is not prefetched.
      out_specs: one `BlockSpec` for each output.
      scratch_shapes: the buffers that each program works with.

    Example:
      >>> PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,)).num_scalar_prefetch
      1
    """

    def __init__(
        self,
        num_scalar_prefetch: int,
        grid: Grid = (),
        in_specs: PyTree = no_block_spec,
        out_specs: PyTree = no_block_spec,
        scratch_shapes: PyTree = (),
    ) -> None:
        super().__init__(grid, in_specs, out_specs, scratch_shapes)
        self.num_scalar_prefetch = num_scalar_prefetch


def _grid_and_names(grid: Any) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    if isinstance(grid, int | np.integer):
        return (int(grid),), None
    if not isinstance(grid, tuple | list):
        grid = (grid,)
    if grid and all(isinstance(size, tuple) for size in grid):
        return tuple(size for _, size in grid), tuple(name for name, _ in grid)
    for size in grid:
        if not (isinstance(size, int | np.integer) or hasattr(size, "dtype") or is_symbolic(size)):
            raise ValueError(
                f"Grid must be a tuple of integers or olympus.Array, got {tuple(grid)!r}"
            )
    return tuple(int(s) if isinstance(s, int | np.integer) else s for s in grid), None
