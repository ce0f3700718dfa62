# SPDX-License-Identifier: Apache-2.0
"""Kernels on simulated cores: the loop over the grid, and the call from a compiled program."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import olympus_random as random
from olympus_ir.diagnostics.errors import ConcretizationTypeError, OlympusTypeError
from olympus_ir.programs.olympuspr import Olympuspr
from olympus_ir.programs.tracing import ensure_compile_time_eval
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray
from olympus_xla.compiling.lowering.rules.callbacks import emit_callback
from olympus_xla.compiling.lowering.rules.collectives import axis_index

from ..grids.block_dims import Blocked, BoundedSlice, Element, Indirect
from ..grids.block_mappings import BlockMapping
from ..grids.grid_mappings import GridMapping, dynamic_grid_dim
from ..memory.spaces import MemorySpace, TpuMemorySpace
from ..operations.transfers import communicates
from . import communication as communication  # The import defines rules.
from . import matrix_unit as matrix_unit
from . import operations as operations
from . import random_keys as random_keys
from . import subcores as subcores
from .evaluation import Core
from .runs import Meeting, Run, Site

__all__ = ["emit_simulation", "parallel_orders", "run_call", "run_cores"]

_WHOLE = (MemorySpace.ANY, MemorySpace.HOST, TpuMemorySpace.HBM)


# ---- the call from a compiled program ----


def emit_simulation(context: Any, operands: Sequence[Any], run: Callable[..., Any]) -> list[Any]:
    """Builds the operation by which a compiled program calls a Python function.

    Args:
      context: the lowering context of the equation.
      operands: the arrays.
      run: `(key, device, mesh_axes, *arrays) -> arrays`. Devices that run the same kernel find each
        other by ``key``. ``device`` is the device's id in the mesh. ``mesh_axes`` has the names and
        sizes of the mesh's axes.
    """
    axes = context.module.axis_context
    names = () if axes is None else axes.axis_names
    mesh_axes = () if axes is None else tuple(zip(names, axes.axis_sizes, strict=True))
    positions = [axis_index(context, name) for name in names]
    key = Meeting()

    def call(*views: Any) -> tuple[np.ndarray, ...]:
        views = tuple(np.asarray(view) for view in views if view is not None)
        device = 0
        for position, (_, size) in zip(views, mesh_axes, strict=False):
            device = device * size + int(position)
        results = run(key, device, mesh_axes, *views[len(mesh_axes) :])
        return tuple(
            np.ascontiguousarray(result, aval.dtype).reshape(aval.shape)
            for result, aval in zip(results, avals_out, strict=True)
        )

    avals_out = context.avals_out
    index = np.dtype(np.int32)
    index_avals = [ShapedArray((), index)] * len(positions)
    return emit_callback(
        context,
        call,
        [*positions, *operands],
        [*index_avals, *context.avals_in],
        avals_out,
        has_side_effect=True,
    )


def shared_run(
    key: Any, device: int, mesh_axes: Sequence[tuple[Any, int]], settings: Any, communicating: bool
) -> Run:
    """Returns the run of a kernel. Devices that communicate share a run."""
    count = 1
    for _, size in mesh_axes:
        count *= size

    def make(devices: int = count) -> Run:
        eager = settings.dma_execution_mode == "eager"
        return Run(devices, 1, eager, settings.detect_races)

    if not communicating or count == 1:
        run = make(count)
        run.begin_cores(1 - count)
        return run
    return key.join(device, count, make)


def run_synchronized(core: Core, communicating: bool, body: Callable[[], Any]) -> Any:
    """Runs a kernel's body on one device; devices that communicate start and end together."""
    run = core.run
    try:
        if communicating:
            run.rendezvous(core, "start", run.num_devices)
        body()
        if communicating:
            run.rendezvous(core, "end", run.num_devices)
        run.finish_transfers()
    except BaseException as error:
        with run.changed:
            run.fail(error)
        raise
    finally:
        run.finish_core()


@contextlib.contextmanager
def _ordered_within(core: Core, parts: Sequence[Core]) -> Iterator[None]:
    """Orders the accesses of ``parts`` between past and later accesses of ``core``."""
    races = core.run.races
    if races is None:
        yield
        return
    for part in parts:
        races.begin(part, core)
    yield
    for part in parts:
        races.end(part, core)


def run_cores(core: Core, bodies: Sequence[tuple[Core, Callable[[Core], Any]]]) -> None:
    """Runs functions, each on a core, and waits for all.

    Raises:
      BaseException: the first error of a function.
    """
    run = core.run
    if len(bodies) == 1:
        only, body = bodies[0]
        with _ordered_within(core, [only]):
            body(only)
        return
    run.begin_cores(len(bodies) - 1)
    errors: list[BaseException] = []

    def work(part: Core, body: Callable[[Core], Any]) -> None:
        try:
            body(part)
        except BaseException as error:
            errors.append(error)
            with run.changed:
                run.fail(error)
        finally:
            run.finish_core()

    with _ordered_within(core, [part for part, _ in bodies]):
        threads = [
            threading.Thread(target=work, args=args, name=f"olympus {args[0]}") for args in bodies
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        run.begin_cores(1)
    if errors:
        raise errors[0]


# ---- pallas_call ----


def parallel_orders(
    grid_mapping: GridMapping, compiler_params: Any, seed: int | None
) -> list[list[int]]:
    """Returns a random order of the programs for each parallel axis of the grid.

    Raises:
      ValueError: if another axis comes before a parallel axis, or if not every axis has a kind.
      ConcretizationTypeError: if the size of a parallel axis is unknown while tracing.
    """
    kinds = getattr(compiler_params, "dimension_semantics", None) or ()
    if kinds:
        grid_mapping.check_semantics(kinds)
    parallel = [str(getattr(kind, "value", kind)).lower() == "parallel" for kind in kinds]
    if sorted(parallel, reverse=True) != parallel:
        raise ValueError(
            "Dimensions with parallel semantics must form a prefix of the grid, got "
            f"dimension_semantics={tuple(kinds)}."
        )
    sizes = [grid_mapping.grid[dim] for dim in grid_mapping.own_dims]
    sizes = [size for size, free in zip(sizes, parallel, strict=False) if free]
    if dynamic_grid_dim in sizes:
        raise DynamicParallelAxisError(
            "The programs of parallel axes are shuffled and divided among simulated cores, so "
            f"their numbers must be known while tracing; the grid is {grid_mapping.grid}."
        )
    orders = []
    with ensure_compile_time_eval():
        key = random.key(seed or 0)
        for size in sizes:
            key, order_key = random.split(key)
            orders.append(np.asarray(random.permutation(order_key, size)).tolist())
    return orders


class DynamicParallelAxisError(ConcretizationTypeError):
    """Error for a parallel axis whose number of programs is unknown while tracing."""

    def __init__(self, message: str) -> None:
        OlympusTypeError.__init__(self, message)


def run_call(
    key: Any,
    device: int,
    mesh_axes: Sequence[tuple[Any, int]],
    *operands: np.ndarray,
    jaxpr: Olympuspr,
    grid_mapping: GridMapping,
    input_output_aliases: Sequence[tuple[int, int]],
    out_avals: Sequence[Any],
    settings: Any,
    orders: Sequence[Sequence[int]] = (),
    interpret: Any = None,
    **params: Any,
) -> list[np.ndarray]:
    """Returns the outputs of a `pallas_call` on one device."""
    communicating = communicates(jaxpr)
    run = shared_run(key, device, mesh_axes, settings, communicating)
    core = Core(run, device, 0, settings, mesh_axes)
    bounds = iter(operands)
    grid = tuple(
        int(next(bounds)) if size is dynamic_grid_dim else size for size in grid_mapping.grid
    )
    arrays = list(operands[grid_mapping.num_dynamic_grid_bounds :])
    outputs = [
        np.full(aval.shape, core.fill_value(aval.dtype), np.dtype(aval.dtype)) for aval in out_avals
    ]
    for source, target in input_output_aliases:
        outputs[target] = np.array(arrays[source])
    arrays = [*map(np.array, arrays), *outputs]
    sites = [core.allocate(array, ("operand", n), None) for n, array in enumerate(arrays)]
    for source, target in input_output_aliases:
        sites[source] = sites[len(sites) - len(outputs) + target]
    kernel = _Kernel(jaxpr, grid_mapping, grid, sites, orders)
    run_synchronized(core, communicating, lambda: kernel.run_all(core))
    return [site.buffer.array for site in sites[len(sites) - len(outputs) :]]


class _Kernel:
    """A kernel and its operands on one device."""

    def __init__(
        self,
        jaxpr: Olympuspr,
        mapping: GridMapping,
        grid: tuple[int, ...],
        sites: Sequence[Site],
        orders: Sequence[Sequence[int]],
    ) -> None:
        self.jaxpr = jaxpr
        self.mapping = mapping
        self.grid = grid
        self.prefetched = list(sites[: mapping.num_index_operands])
        self.operands = list(sites[mapping.num_index_operands :])
        self.orders = orders

    def run_all(self, core: Core) -> None:
        """Runs the programs of the grid, on several cores if the device has them."""
        own_dims = self.mapping.own_dims
        shared, rest = own_dims[: len(self.orders)], own_dims[len(self.orders) :]
        # The loops over axes that `vmap` has added are outermost. The parallel axes, whose order is
        # free, come next.
        added = [dim for dim in range(len(self.grid)) if dim not in own_dims]
        free = list(itertools.product(*self.orders))
        share = max(-(-len(free) // core.settings.num_cores_or_threads), 1)
        bodies = []
        for index, start in enumerate(range(0, len(free), share)):
            positions = []
            for outer in itertools.product(*(range(self.grid[dim]) for dim in added)):
                for chosen in free[start : start + share]:
                    for inner in itertools.product(*(range(self.grid[dim]) for dim in rest)):
                        position = dict(zip([*added, *shared, *rest], [*outer, *chosen, *inner]))
                        positions.append(tuple(position[dim] for dim in range(len(self.grid))))
            part = core.split(index) if share < len(free) else core
            bodies.append(
                (part, lambda part, positions=positions: self.run_places(part, positions))
            )
        if len(bodies) == 1:
            ((part, body),) = bodies
            body(part)
        else:
            run_cores(core, bodies)

    def run_places(self, core: Core, places: Sequence[tuple[int, ...]]) -> None:
        """Runs the programs at some indices of the grid, one after another."""
        mapping = self.mapping
        own_dims = mapping.own_dims
        core.grid = tuple(self.grid[dim] for dim in own_dims)
        blocks = [
            _Block(core, block, site, number, number >= mapping.num_inputs)
            for number, (block, site) in enumerate(
                zip(mapping.block_mappings, self.operands, strict=True)
            )
        ]
        scratch = [
            core.new_buffer(aval, ("scratch", number))
            for number, aval in enumerate(mapping.scratch_avals)
        ]
        names = mapping.grid_names or ()
        recorder = core.settings.grid_point_recorder
        for position in places:
            core.place = tuple(position[dim] for dim in own_dims)
            for name, index, size in zip(names, core.place, core.grid, strict=False):
                core.places[name], core.sizes[name] = index, size
            if recorder is not None:
                recorder(core, tuple(map(np.int32, position)), np.int32(core.number))
            for block in blocks:
                block.enter(core, position, self.prefetched)
            seen = [block.seen for block in blocks]
            core.evaluate_with(self.jaxpr, [*self.prefetched, *seen, *scratch], {})
        for block in blocks:
            block.leave(core)


class _Block:
    """An operand of a kernel: the array, and the block that the core sees."""

    def __init__(
        self, core: Core, mapping: BlockMapping, operand: Site, number: int, is_output: bool
    ) -> None:
        self.mapping = mapping
        self.operand = operand
        self.is_output = is_output
        self.index: tuple[int, ...] | None = None
        # Random keys can only be read. They are passed as arrays of key data.
        is_key = dtypes.is_extended(mapping.array_aval.dtype)
        self.is_direct = mapping.is_whole and (is_key or mapping.block_aval.memory_space in _WHOLE)
        if self.is_direct:
            self.seen = operand
            return
        if is_key:
            raise ValueError(
                f"{mapping.origin} is an array of random keys, which cannot be split into blocks; "
                "pass it whole (a BlockSpec without block_shape)"
            )
        shape = mapping.block_aval.shape
        dtype = np.dtype(mapping.array_aval.dtype)
        array = np.full(shape, core.fill_value(dtype), dtype)
        if mapping.block_aval.memory_space in _WHOLE:
            raise ValueError(
                f"{mapping.origin} lies in memory whose arrays cannot be split into blocks; omit "
                "the block shape"
            )
        self.seen = core.allocate(array, ("block", number))

    def enter(self, core: Core, place: Sequence[int], prefetched: Sequence[Site]) -> None:
        """Loads a program's block, after the previous block has been written back."""
        if self.is_direct:
            return
        index_map = self.mapping.index_map_jaxpr
        numbers = [np.asarray(index, np.int32) for index in place]
        results = core.evaluate(index_map, [*numbers, *prefetched])
        index = tuple(map(int, results[: len(self.mapping.block_shape)]))
        if index == self.index:
            return
        self.leave(core)
        self.index = index
        array = core.read(self.operand)
        block = self.seen.buffer.array
        inside, within = self._part(array.shape, block)
        block[...] = core.fill_value(block.dtype)
        self._expanded(block)[within] = array[inside]

    def leave(self, core: Core) -> None:
        """Writes the block back if it belongs to an output."""
        if self.is_direct or self.index is None or not self.is_output:
            return
        with core.run.changed:
            array = self.operand.buffer.array
            block = self.seen.buffer.array
            inside, within = self._part(array.shape, block)
            array[inside] = self._expanded(block)[within]

    def _expanded(self, block: np.ndarray) -> np.ndarray:
        return block.reshape(self.mapping.sizes)

    def _part(self, shape: tuple[int, ...], block: np.ndarray) -> tuple[Any, Any]:
        """Returns the slices of the array that a block covers, and the slices of the block."""
        inside, within = [], []
        assert self.index is not None
        for dim, number, size, whole in zip(
            self.mapping.block_shape, self.index, self.mapping.sizes, shape, strict=True
        ):
            if isinstance(dim, BoundedSlice | Indirect):
                raise ValueError(
                    f"Unsupported block dimension {dim} for {self.mapping.origin}: simulated cores "
                    "see blocks whose sizes are known; use Blocked, Element or Squeezed."
                )
            start = number * size if isinstance(dim, Blocked) else number
            if isinstance(dim, Element):
                start -= dim.padding[0]
            first, last = max(start, 0), min(start + size, whole)
            inside.append(slice(first, max(last, first)))
            within.append(slice(first - start, max(last, first) - start))
        return tuple(inside), tuple(within)
