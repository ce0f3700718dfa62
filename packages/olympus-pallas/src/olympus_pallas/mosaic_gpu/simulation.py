# SPDX-License-Identifier: Apache-2.0
"""Evaluation rules of operations on simulated threads of a GPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.primitives import Primitive
from olympus_ir.trees import pytrees

from ..machine.communication import remote
from ..machine.evaluation import Core, machine_rules
from ..machine.operations import viewed
from ..machine.runs import Site, Transfer
from ..machine.views import OutOfBounds, read, room_for, with_shape, write
from . import factors, inlining, products, scheduling
from . import primitives as gpu
from .transforms import Everywhere
from .types import OOBFillMode

_COMBINATIONS: dict[Any, Callable[[Any, Any], Any]] = {
    None: lambda old, new: new,
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def simulated(primitive: Primitive) -> Callable[[Any], Any]:
    """Defines the evaluation rule of an operation.

    The rule is `(core, params, *operands) -> results`. Operands are sites or arrays.
    """

    def decorate(rule: Callable[..., Any]) -> Callable[..., Any]:
        def apply(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
            parts = pytrees.tree_unflatten(equation.params["tree"], operands)
            values = [
                viewed(core, value, transforms) if isinstance(value, Site) else value
                for value, transforms in zip(parts[::2], parts[1::2], strict=True)
            ]
            return rule(core, equation.params, *values) or []

        machine_rules.define(primitive, apply)
        return rule

    return decorate


# ---- barriers ----


def _needed(barrier: Site) -> int:
    """Returns the number of arrivals that a barrier expects."""
    return barrier.buffer.needed


def _seen(core: Core, barrier: Site) -> tuple[Any, int]:
    key = ("barrier", id(barrier.buffer), barrier._number())
    return key, core.state.get(key, 0)


@simulated(gpu.barrier_arrive_p)
def _arrive(core: Core, params: Any, barrier: Site) -> None:
    with core.run.changed:
        core.run.arrive(core, barrier, _needed(barrier))


@simulated(gpu.barrier_wait_p)
def _wait(core: Core, params: Any, barrier: Site) -> None:
    key, seen = _seen(core, barrier)
    core.run.pass_barrier(core, barrier, seen)
    core.state[key] = seen + 1


@simulated(gpu.barrier_test_p)
def _test(core: Core, params: Any, barrier: Site) -> list[Any]:
    _, seen = _seen(core, barrier)
    return [np.asarray(core.run.is_open(barrier, seen))]


# ---- copies ----


def _with_zeros(core: Core, source: Site) -> Site:
    """Returns the source of a copy, with zeros for elements outside of the array."""
    array = source.buffer.array
    try:
        read(array, source.transforms)
        return source
    except OutOfBounds:
        roomy = room_for(array, source.transforms, 0)
        value = read(roomy, with_shape(source.transforms, roomy.shape))
        return core.allocate(value, ("zeros", id(source)))


@simulated(gpu.copy_gmem_to_smem_p)
def _copy_in(core: Core, params: Any, source: Site, target: Site, barrier: Site) -> None:
    run = core.run
    if params["oob_mode"] is OOBFillMode.ZEROS:
        source = _with_zeros(core, source)
    transfer = Transfer(source, target, barrier, None, False)
    transfer.notify = lambda: run.arrive(transfer, barrier, _needed(barrier))
    run.start(core, transfer)


@simulated(gpu.copy_smem_to_gmem_p)
def _copy_out(core: Core, params: Any, source: Site, target: Site, predicate: Any) -> None:
    if predicate is None or predicate:
        combine = _COMBINATIONS[params["reduction_op"]]
        targets = [target]
        if isinstance(target, Everywhere):
            plain = Site(target.buffer, target.transforms)
            targets = [remote(core, plain, device) for device in _devices(core, target.axes)]

        def copy() -> None:
            value = core.read(source)
            for target in targets:
                with core.run.access(core, Site(target.buffer)) as array:
                    _combine(array, target.transforms, value, combine)

        core.state.setdefault("open group", []).append(copy)
    if params["commit_group"]:
        _commit(core, params)


def _combine(array: np.ndarray, transforms: Sequence[Any], value: Any, combine: Any) -> None:
    """Updates a part of an array. Elements outside of the array are dropped."""
    try:
        write(array, transforms, combine(read(array, transforms), value))
    except OutOfBounds:
        roomy = room_for(array, transforms, 0)
        transforms = with_shape(transforms, roomy.shape)
        write(roomy, transforms, combine(read(roomy, transforms), value))
        array[...] = roomy[tuple(map(slice, array.shape))]


@simulated(gpu.commit_group_p)
def _commit(core: Core, params: Any) -> None:
    copies = core.state.pop("open group", [])
    if core.settings.dma_execution_mode == "eager":
        for copy in copies:
            copy()
        copies = []
    core.state.setdefault("groups", []).append(copies)
    core.state["at end"] = finish


@simulated(gpu.wait_smem_to_gmem_p)
def _wait_copies(core: Core, params: Any, count: Any) -> None:
    groups = core.state.setdefault("groups", [])
    while len(groups) > int(count):
        for copy in groups.pop(0):
            copy()


def finish(core: Core) -> None:
    """Executes the pending copies of the thread that ``core`` simulates."""
    for group in [*core.state.pop("groups", []), core.state.pop("open group", [])]:
        for copy in group:
            copy()


@simulated(gpu.async_store_smem_p)
def _store_elsewhere(
    core: Core, params: Any, value: Any, target: Site, barrier: Site, index: Any
) -> None:
    place = {params["axis"]: int(index)}
    remote_target = core.mesh.in_block(core, target, place)
    needed = _needed(barrier)
    remote_barrier = core.mesh.in_block(core, barrier, place)
    with core.run.access(core, remote_target) as array:
        _combine(array, remote_target.transforms, value, _COMBINATIONS[params["atomic"]])
        core.run.arrive(core, remote_barrier, needed)


@simulated(gpu.fence_p)
def _fence(core: Core, params: Any) -> None:
    return None


@simulated(gpu.copy_to_tmem_p)
def _copy_to_tmem(core: Core, params: Any, source: Site, target: Site) -> None:
    core.write(target, core.read(source))


@simulated(factors.copy_scales_p)
def _copy_scales(core: Core, params: Any, source: Site, target: Site) -> None:
    core.write(target, factors.scales_from_tiles(core.read(source)))


@simulated(factors.copy_metadata_p)
def _copy_metadata(core: Core, params: Any, source: Site, target: Site) -> None:
    core.write(target, factors.metadata_from_tiles(core.read(source)))


# ---- products ----


def _product(left: np.ndarray, right: np.ndarray, dtype: Any) -> np.ndarray:
    wide = np.dtype(np.int32 if left.dtype.kind in "iu" else np.float32)
    return (left.astype(wide) @ right.astype(wide)).astype(dtype)


def _value(core: Core, operand: Any) -> np.ndarray:
    return core.read(operand) if isinstance(operand, Site) else operand


@simulated(products.wgmma_p)
def _wgmma(core: Core, params: Any, total: Site, left: Any, right: Any) -> None:
    now = core.read(total)
    product = _product(_value(core, left), _value(core, right), now.dtype)
    core.write(total, now + product)


@simulated(products.wgmma_wait_p)
def _wgmma_wait(core: Core, params: Any, count: Any) -> None:
    return None


@simulated(products.wgmma_load_p)
def _wgmma_load(core: Core, params: Any, total: Site) -> list[Any]:
    return [core.read(total)]


@simulated(products.tcgen05_mma_p)
def _tcgen05_mma(
    core: Core,
    params: Any,
    total: Site,
    left: Site,
    right: Site,
    barrier: Any,
    accumulate: Any,
    left_scales: Any,
    right_scales: Any,
    metadata: Any,
) -> None:
    now = core.read(total)
    a, b = core.read(left), core.read(right)
    if metadata is not None:
        a = factors.dense(a, core.read(metadata))
    if left_scales is not None:
        a = factors.scaled(a, core.read(left_scales))
        b = factors.scaled(b.T, core.read(right_scales)).T
    product = _product(a, b, now.dtype)
    core.write(total, now + product if accumulate else product)
    if barrier is not None:
        _arrive(core, params, barrier)


@simulated(products.tcgen05_commit_p)
def _tcgen05_commit(core: Core, params: Any, barrier: Site) -> None:
    _arrive(core, params, barrier)


# ---- several devices ----


def _devices(core: Core, axes: Sequence[Any]) -> list[int]:
    """Returns the ids of the devices with the same indices along all but the given axes."""
    ranges = [
        range(size) if name in axes else (core.places[name],) for name, size in core.mesh_axes
    ]
    numbers = []
    for place in itertools.product(*ranges):
        number = 0
        for index, (_, size) in zip(place, core.mesh_axes, strict=True):
            number = number * size + index
        numbers.append(number)
    return numbers


@simulated(gpu.semaphore_multicast_p)
def _signal_all(core: Core, params: Any, semaphore: Site, value: Any) -> None:
    for device in _devices(core, params["axes"]):
        core.run.signal(core, remote(core, semaphore, device), int(value))


@simulated(gpu.multimem_store_p)
def _store_all(core: Core, params: Any, value: Any, target: Site) -> None:
    for device in _devices(core, params["axes"]):
        core.write(remote(core, target, device), value)


@simulated(gpu.multimem_load_reduce_p)
def _load_all(core: Core, params: Any, source: Site) -> list[Any]:
    combine = _COMBINATIONS[params["reduction_op"]]
    values = [core.read(remote(core, source, device)) for device in _devices(core, params["axes"])]
    total = values[0]
    for value in values[1:]:
        total = combine(total, value)
    return [total]


# ---- clusters that have not started ----


@simulated(scheduling.try_cluster_cancel_p)
def _try_cancel(core: Core, params: Any, answer: Site, barrier: Site) -> None:
    # All simulated clusters have started, so no cluster can be canceled: the answer is zeros. Only
    # the first thread of a block writes it.
    name = getattr(core.mesh, "thread_name", None)
    if name is None or core.places[name] == 0:
        core.write(answer, np.zeros(16, np.int8))
        _arrive(core, params, barrier)


@simulated(scheduling.query_cluster_cancel_p)
def _query_cancel(core: Core, params: Any, answer: Site) -> list[Any]:
    places = [np.zeros((), np.int32) for _ in params["grid_names"]]
    return [*places, np.asarray(bool(core.read(answer).any()))]


# ---- functions of NumPy arrays ----


class SimulatedRef:
    """A reference as an inlined function sees it: NumPy arrays are read from it and written to it.

    Attributes:
      shape: the shape of the elements.
      dtype: the dtype of the elements.
    """

    __slots__ = ("_core", "_site", "dtype", "shape")

    def __init__(self, core: Core, site: Site, aval: Any) -> None:
        self._core = core
        self._site = site
        self.shape = aval.shape
        self.dtype = aval.dtype

    def __getitem__(self, index: Any) -> np.ndarray:
        return self._core.read(self._site)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        array = self._core.read(self._site)
        array[index] = value
        self._core.write(self._site, array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._core.read(self._site), dtype)


@simulated(inlining.inline_p)
def _inline(core: Core, params: Any, *operands: Any) -> list[Any]:
    values = [
        SimulatedRef(core, operand, aval) if isinstance(operand, Site) else np.asarray(operand)
        for operand, aval in zip(operands, params["in_avals"], strict=True)
    ]
    function, args = params["function"], pytrees.tree_unflatten(params["in_tree"], values)
    leaves, tree = pytrees.tree_flatten(function(core, *args))
    if tree != params["result_tree"]:
        raise ValueError(
            f"the inlined function {function.__name__} returns {tree}, but its return_type is "
            f"{params['result_tree']}"
        )
    results = [np.asarray(leaf) for leaf in leaves]
    for result, aval in zip(results, params["out_avals"], strict=True):
        if result.shape != aval.shape or result.dtype != aval.dtype:
            raise ValueError(
                f"the inlined function {function.__name__} returns an array of shape "
                f"{result.shape} and dtype {result.dtype}, but its return_type says "
                f"{aval.str_short()}"
            )
    return results
