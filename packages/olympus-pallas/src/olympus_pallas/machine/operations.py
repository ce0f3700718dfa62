# SPDX-License-Identifier: Apache-2.0
"""Evaluation rules of references, grid indices, mesh axes and scoped buffers on simulated cores."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax import callbacks
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.references import primitives as references
from olympus_ir.trees import pytrees

from ..grids.program_ids import num_programs_p, program_id_p
from ..memory.access import AtomicOpType, atomic_cas_p, atomic_rmw_p, load_p, swap_p
from ..operations.debugging import debug_check_p
from ..operations.scoped import get_global_p, run_scoped_p
from ..tpu.vector_unit import prng_random_bits_p, prng_seed_p, touch_p
from .evaluation import Core, machine_rules
from .runs import Site
from .views import OutOfBounds, read, room_for, with_shape, write

__all__ = ["viewed"]


def viewed(core: Core, site: Site, transforms: Sequence[Any]) -> Site:
    """Returns the part of a buffer that transforms select; it may be another core's buffer."""
    for transform in transforms:
        if hasattr(transform, "locate"):
            site = transform.locate(core, site)
        else:
            site = dataclasses.replace(site, transforms=(*site.transforms, transform))
    return site


# ---- references ----


def _read(core: Core, site: Site) -> np.ndarray:
    try:
        return core.read(site)
    except OutOfBounds:
        if core.settings.out_of_bounds_reads == "raise":
            raise
    first, *rest = site.transforms
    array = site.buffer.array
    roomy = room_for(array, site.transforms, core.fill_value(array.dtype))
    return read(roomy, with_shape((first, *rest), roomy.shape))


@machine_rules.define(references.get_p)
def _get(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    site, *leaves = operands
    return _read(
        core, viewed(core, site, references.transforms_of(leaves, equation.params["tree"]))
    )


@machine_rules.define(references.swap_p)
def _swap(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    site, value, *leaves = operands
    view = viewed(core, site, references.transforms_of(leaves, equation.params["tree"]))
    (previous,) = equation.outvars
    before = core.read(view) if type(previous).__name__ != "DropVar" else None
    core.write(view, value)
    return before


@machine_rules.define(references.addupdate_p)
def _addupdate(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    site, value, *leaves = operands
    view = viewed(core, site, references.transforms_of(leaves, equation.params["tree"]))
    core.write(view, core.read(view) + value)
    return []


@machine_rules.define(references.new_ref_p)
def _new_ref(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    return core.allocate(np.array(operands[0]), id(equation))


@machine_rules.define(references.freeze_p)
def _freeze(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    return core.read(operands[0])


@machine_rules.define(load_p)
def _load(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    site, transforms, mask, other = pytrees.tree_unflatten(equation.params["args_tree"], operands)
    view = viewed(core, site, transforms)
    if mask is None:
        return _read(core, view)
    array = view.buffer.array
    unset = core.fill_value(array.dtype)
    with core.run.access(core, Site(view.buffer)) as array:
        roomy = room_for(array, view.transforms, unset)
        value = read(roomy, with_shape(view.transforms, roomy.shape) if view.transforms else ())
    return np.where(mask, value, np.asarray(unset if other is None else other, value.dtype))


def _masked_change(
    core: Core, view: Site, mask: Any, change: Any, is_added: bool = False
) -> np.ndarray:
    """Replaces the selected elements by ``change(old)``; returns the old elements.

    With ``is_added``, ``change`` is an array that is added to the elements.
    """
    with core.run.access(core, view if mask is None else Site(view.buffer)) as array:
        transforms = view.transforms
        roomy = array
        if mask is not None and transforms:
            roomy = room_for(array, transforms, 0)
            transforms = with_shape(transforms, roomy.shape)
        previous = read(roomy, transforms)
        if is_added:
            # An element that several indices select gets one addition for each index.
            numbers = read(np.arange(roomy.size).reshape(roomy.shape), transforms)
            amount = change if mask is None else np.where(mask, change, 0)
            flat = roomy.reshape(-1)
            np.add.at(flat, numbers, np.broadcast_to(amount, numbers.shape).astype(roomy.dtype))
            roomy = flat.reshape(roomy.shape)
        else:
            value = change(previous)
            write(roomy, transforms, value if mask is None else np.where(mask, value, previous))
        if roomy is not array:
            array[...] = roomy[tuple(map(slice, array.shape))]
        core.run.touch()
    return previous


@machine_rules.define(swap_p)
def _masked_swap(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    site, transforms, value, mask = pytrees.tree_unflatten(equation.params["args_tree"], operands)
    return _masked_change(core, viewed(core, site, transforms), mask, lambda previous: value)


_COMBINATIONS: dict[AtomicOpType, Any] = {
    AtomicOpType.XCHG: lambda previous, value: value,
    AtomicOpType.MAX: np.maximum,
    AtomicOpType.MIN: np.minimum,
    AtomicOpType.AND: np.bitwise_and,
    AtomicOpType.OR: np.bitwise_or,
    AtomicOpType.XOR: np.bitwise_xor,
}


@machine_rules.define(atomic_rmw_p)
def _atomic_rmw(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    site, transforms, value, mask = pytrees.tree_unflatten(equation.params["args_tree"], operands)
    view = viewed(core, site, transforms)
    kind = equation.params["atomic_type"]
    if kind is AtomicOpType.ADD:
        return _masked_change(core, view, mask, value, is_added=True)
    combine = _COMBINATIONS[kind]
    return _masked_change(core, view, mask, lambda previous: combine(previous, value))


@machine_rules.define(atomic_cas_p)
def _atomic_cas(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    site, transforms, compared, value = pytrees.tree_unflatten(
        equation.params["args_tree"], operands
    )
    return _masked_change(
        core,
        viewed(core, site, transforms),
        None,
        lambda previous: np.where(previous == compared, value, previous),
    )


@machine_rules.define(touch_p)
def _touch(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    return []


@machine_rules.define(run_scoped_p)
def _run_scoped(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    jaxpr = equation.params["jaxpr"]
    owner = core.owner_over(equation.params["collective_axes"])
    # Cores that run the same program share one olympuspr object. Its address names the buffers that
    # the program allocates.
    sites = [
        core.new_buffer(var.aval, ("scoped", id(jaxpr), index), owner)
        for index, var in enumerate(jaxpr.invars)
    ]
    values = dict(zip(jaxpr.constvars, operands, strict=True))
    results = core.evaluate_with(jaxpr, sites, values)
    for site in sites:
        core.run.forget(site.buffer)
    return results


@machine_rules.define(get_global_p)
def _get_global(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    aval = equation.params["what"]
    key = ("global", id(equation))
    if key not in core.state:
        owner = core.number if core.mesh is None else core.mesh.owner_of_globals(core)
        core.state[key] = core.new_buffer(aval, key, owner)
    return core.state[key]


# ---- positions in grids and meshes ----


@machine_rules.define(program_id_p)
def _program_id(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    return np.asarray(core.place[equation.params["axis"]], np.int32)


@machine_rules.define(num_programs_p)
def _num_programs(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    return np.asarray(core.grid[equation.params["axis"]], np.int32)


@machine_rules.define(lax.axis_index_p)
def _axis_index(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    names = equation.params["axis_name"]
    index = 0
    for name in names if isinstance(names, tuple | list) else (names,):
        if name not in core.places:
            raise NameError(
                f"unbound axis name: {name} (known axes: {', '.join(map(repr, core.places))})"
            )
        index = index * core.sizes[name] + core.places[name]
    return np.asarray(index, np.int32)


# ---- random bits ----


@machine_rules.define(prng_seed_p)
def _prng_seed(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    seeds = [int(seed) & 0xFFFFFFFF for seed in operands]
    core.state["random"] = np.random.Generator(np.random.Philox(np.random.SeedSequence(seeds)))
    return []


@machine_rules.define(prng_random_bits_p)
def _prng_random_bits(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    generator = core.state.get("random")
    if generator is None:
        raise ValueError("tpu.prng_random_bits needs a seed: call tpu.prng_seed first")
    shape = equation.params["shape"]
    return generator.integers(0, 2**32, shape, np.uint32).view(np.int32)


# ---- printing and checks ----


def _printed(run: Any) -> Any:
    def rule(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
        run(*operands, **equation.params)
        return []

    return rule


machine_rules.define(lax.debug_print_p, _printed(callbacks.run_debug_print))
machine_rules.define(lax.debug_callback_p, _printed(callbacks.run_debug_callback))


@machine_rules.define(debug_check_p)
def _debug_check(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    if not operands[0]:
        raise AssertionError(f"a check in a kernel failed: {equation.params['message']}")
    return []
