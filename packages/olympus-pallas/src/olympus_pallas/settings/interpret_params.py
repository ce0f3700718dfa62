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

    Each core runs its programs equation by equation, on its own memories and those that it
    shares. Copies and semaphores work between cores, and between the devices of a `shard_map`.
    A kernel whose cores all wait for one another is stopped.

    Args:
      detect_races: whether to raise where two cores, or a core and a copy, use an element at the
        same time and one of them writes it.
      out_of_bounds_reads: treatment of reads outside of arrays: ``"raise"``, or
        ``"uninitialized"`` for uninitialized elements.
      skip_floating_point_ops: whether results of floating-point operations are infinite, where
        only the order of things is of interest.
      uninitialized_memory: contents of uninitialized memory: ``"nan"`` (integers: the largest) or
        ``"zero"``.
      num_cores_or_threads: how many cores a device has. The programs of the grid's parallel axes,
        which come first, are divided among them.
      vector_clock_size: how many cores clocks have room for; they grow as they must in any case.
      logging_mode: must be None.
      dma_execution_mode: whether copies are made when they begin (``"eager"``), or when they are
        waited for (``"on_wait"``), so that a missing wait is seen.
      random_seed: for the order of the programs of parallel axes, which are shuffled; 0 where not
        given.
      grid_point_recorder: called before each program with a token, which it is to return, the
        place in the grid and the core's number.
      allow_hbm_allocation_in_run_scoped: scoped buffers may be in any memory in any case.
      buffer_bounds: how large buffers are: ``"logical"``, as large as their shapes say.

    Raises:
      ValueError: for what the interpreter does not do.

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
    logging_mode: Any = None
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
                wanted = " or ".join(map(repr, choices))
                raise ValueError(f"`{name}` must be {wanted}, got {value!r}")
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
          ValueError: ``vector_clock_size`` is too small for them.
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
