# SPDX-License-Identifier: Apache-2.0
"""Parameters of interpretation on simulated cores."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

__all__ = ["InterpretParams"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class InterpretParams:
    """Parameters of simulated cores, given as ``interpret=InterpretParams()``.

    Each core runs its programs equation by equation, on its own memories and on shared memories.
    Copies and semaphores work between cores, and between the devices of a `shard_map`. A kernel in
    deadlock is stopped.

    Args:
      detect_races: whether to raise an error for a race: two cores, or a core and a copy, use an
        element at the same time, and one of them writes it.
      out_of_bounds_reads: treatment of reads outside of arrays: ``"raise"``, or
        ``"uninitialized"`` for uninitialized elements.
      skip_floating_point_ops: whether to skip floating-point operations, whose results are then
        infinite. This suffices for checks of synchronization.
      uninitialized_memory: contents of uninitialized memory: ``"nan"`` (for integers, the largest
        integer) or ``"zero"``.
      num_cores_or_threads: the number of cores of a device. The cores share the programs along the
        grid's parallel axes, which must be the first axes.
      vector_clock_size: the number of cores for which vector clocks have room. The clocks grow when
        necessary.
      logging_mode: must be None.
      dma_execution_mode: whether copies run when they start (``"eager"``), or when a core waits for
        them (``"on_wait"``), which reveals a missing wait.
      random_seed: the seed for the random order of the programs along parallel axes; 0 if None.
      grid_point_recorder: function called before each program, with a token, the index in the grid
        and the index of the core. The function must return the token.
      allow_hbm_allocation_in_run_scoped: ignored, since scoped buffers may always be in any memory.
      buffer_bounds: the size of buffers; must be ``"logical"``, the size that follows from their
        shapes.

    Raises:
      ValueError: a setting is not supported by the interpreter.

    Example:
      >>> InterpretParams(dma_execution_mode="eager").detect_races
      False
    """

    detect_races: bool = False
    out_of_bounds_reads: Literal["raise", "uninitialized"] = "raise"
    skip_floating_point_ops: bool = False
    uninitialized_memory: Literal["nan", "zero"] = "nan"
    num_cores_or_threads: int = 1
    vector_clock_size: int | None = None
    logging_mode: None = None
    dma_execution_mode: Literal["eager", "on_wait"] = "on_wait"
    random_seed: int | None = None
    grid_point_recorder: Callable[..., Any] | None = None
    allow_hbm_allocation_in_run_scoped: bool = False
    buffer_bounds: Literal["logical", "padded"] = "logical"

    def __post_init__(self) -> None:
        for name, choices in (
            ("out_of_bounds_reads", ("raise", "uninitialized")),
            ("uninitialized_memory", ("nan", "zero")),
            ("dma_execution_mode", ("eager", "on_wait")),
            ("logging_mode", (None,)),
            ("buffer_bounds", ("logical",)),
        ):
            value = getattr(self, name)
            if value not in choices:
                allowed = " or ".join(map(repr, choices))
                raise ValueError(f"`{name}` must be {allowed}, got {value!r}")
        if self.num_cores_or_threads < 1:
            raise ValueError(
                f"num_cores_or_threads must be positive, got {self.num_cores_or_threads}"
            )

    @property
    def num_cores_per_device(self) -> int:
        """The number of cores of a simulated device."""
        return self.num_cores_or_threads

    def get_vector_clock_size(self, num_devices: int) -> int:
        """Returns the number of cores that vector clocks have room for.

        Raises:
          ValueError: ``vector_clock_size`` is too small for the cores.
        """
        cores = num_devices * self.num_cores_or_threads
        if self.vector_clock_size is None:
            return 2 * cores
        if self.vector_clock_size < cores:
            raise ValueError(
                f"vector_clock_size={self.vector_clock_size} is less than the {cores} cores of "
                f"{num_devices} devices"
            )
        return self.vector_clock_size
