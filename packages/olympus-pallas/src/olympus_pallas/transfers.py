# SPDX-License-Identifier: Apache-2.0
"""Semaphores, and copies between the memories of a TPU.

The primitives, with operands flattened as a parameter says:

- ``semaphore_signal(ref, transforms, inc, device_id, core_index)`` adds to a semaphore,
- ``semaphore_wait(ref, transforms, value, decrement)`` waits for a value, and subtracts it,
- ``semaphore_read(ref, transforms)`` gives its value,
- ``dma_start(source, its transforms, target, its transforms, semaphore, its transforms)`` begins a
  copy, ``dma_wait`` of the same waits until it is there.

The interpreter runs one program after the other: copies are made when they begin, and what is
waited for has happened.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax, pytrees
from olympus_ir.avals import ShapedArray
from olympus_ir.documents import Concatenation, Document, Text
from olympus_ir.effects import (
    Effect,
    control_flow_allowed_effects,
    lowerable_effects,
    read_effect,
    write_effect,
)
from olympus_ir.olympuspr import Equation
from olympus_ir.primitives import Primitive
from olympus_ir.refs.discharge import discharge_rules
from olympus_ir.refs.transforms import read_view, transformed_aval, written

from .memory import SemaphoreType
from .memory_access import ref_and_transforms, shown_view
from .scoped import run_scoped

__all__ = [
    "AsyncCopy",
    "DeviceIdType",
    "async_copy",
    "dma_start_p",
    "dma_wait_p",
    "make_async_copy",
    "semaphore_read",
    "semaphore_read_p",
    "semaphore_signal",
    "semaphore_signal_p",
    "semaphore_wait",
    "semaphore_wait_p",
    "sync_copy",
]


class DeviceIdType(enum.Enum):
    """How another device is named: by its place in the mesh, or by its number."""

    MESH = "mesh"
    LOGICAL = "logical"

    def __repr__(self) -> str:
        return f"DeviceIdType.{self.name}"


class _SemaphoreEffect(Effect):
    """Keeps what is done to semaphores where it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Semaphore"


lowerable_effects.add_type(_SemaphoreEffect)
control_flow_allowed_effects.add_type(_SemaphoreEffect)
_semaphore_effect = _SemaphoreEffect()

semaphore_signal_p = Primitive("semaphore_signal", multiple_results=True)
semaphore_wait_p = Primitive("semaphore_wait", multiple_results=True)
semaphore_read_p = Primitive("semaphore_read")
dma_start_p = Primitive("dma_start", multiple_results=True)
dma_wait_p = Primitive("dma_wait", multiple_results=True)
for _primitive in (semaphore_signal_p, semaphore_wait_p, semaphore_read_p, dma_start_p, dma_wait_p):
    _primitive.takes_refs = True
    _primitive.spreads_varying = False

_EFFECTS = frozenset({_semaphore_effect, read_effect, write_effect})


def _check_one(operation: str, ref: Any, transforms: Sequence[Any]) -> None:
    view = transformed_aval(ref.inner_aval, transforms)
    if view.shape:
        raise ValueError(
            f"`{operation}` works on one semaphore, got an array of shape {view.shape}; index it."
        )


@semaphore_signal_p.def_effectful_abstract_eval
def _signal_types(*flat: Any, args_tree: Any, device_id_type: Any) -> Any:
    ref, transforms, *_ = pytrees.tree_unflatten(args_tree, flat)
    _check_one("semaphore_signal", ref, transforms)
    return (), _EFFECTS


@semaphore_wait_p.def_effectful_abstract_eval
def _wait_types(*flat: Any, args_tree: Any) -> Any:
    ref, transforms, *_ = pytrees.tree_unflatten(args_tree, flat)
    _check_one("semaphore_wait", ref, transforms)
    return (), _EFFECTS


@semaphore_read_p.def_effectful_abstract_eval
def _read_types(*flat: Any, args_tree: Any) -> Any:
    ref, transforms = pytrees.tree_unflatten(args_tree, flat)
    _check_one("semaphore_read", ref, transforms)
    return ShapedArray((), np.dtype(np.int32)), _EFFECTS


def _dma_types(*flat: Any, tree: Any, **params: Any) -> Any:
    source, source_view, target, target_view, semaphore, place = pytrees.tree_unflatten(tree, flat)
    given = transformed_aval(source.inner_aval, source_view)
    wanted = transformed_aval(target.inner_aval, target_view)
    if given.shape != wanted.shape or given.dtype != wanted.dtype:
        raise ValueError(
            f"a copy is between references of one shape and dtype, got {given.str_short()} and "
            f"{wanted.str_short()}"
        )
    _check_one("make_async_copy", semaphore, place)
    return (), _EFFECTS


dma_start_p.def_effectful_abstract_eval(_dma_types)
dma_wait_p.def_effectful_abstract_eval(_dma_types)

# ---- functions ----


def _int32(value: Any) -> Any:
    return np.int32(value) if isinstance(value, int) else lax.convert_element_type(value, np.int32)


def semaphore_signal(
    sem_or_view: Any,
    inc: Any = 1,
    *,
    device_id: Any = None,
    device_id_type: DeviceIdType = DeviceIdType.MESH,
    core_index: Any = None,
) -> None:
    """Adds to a semaphore.

    Args:
      sem_or_view: the semaphore.
      inc: how much is added.
      device_id: the device whose semaphore it is, where that is another one.
      device_id_type: how the device is named.
      core_index: the core whose semaphore it is.
    """
    ref, transforms = ref_and_transforms("semaphore_signal", sem_or_view)
    flat, tree = pytrees.tree_flatten([ref, transforms, _int32(inc), device_id, core_index])
    semaphore_signal_p.bind(*flat, args_tree=tree, device_id_type=device_id_type)


def semaphore_wait(sem_or_view: Any, value: Any = 1, *, decrement: bool = True) -> None:
    """Waits until a semaphore has at least a value, and subtracts it.

    Args:
      sem_or_view: the semaphore.
      value: the value.
      decrement: whether it is subtracted.
    """
    ref, transforms = ref_and_transforms("semaphore_wait", sem_or_view)
    flat, tree = pytrees.tree_flatten([ref, transforms, _int32(value), np.bool_(decrement)])
    semaphore_wait_p.bind(*flat, args_tree=tree)


def semaphore_read(sem_or_view: Any) -> Any:
    """The value of a semaphore, a 32-bit integer.

    Args:
      sem_or_view: the semaphore.
    """
    ref, transforms = ref_and_transforms("semaphore_read", sem_or_view)
    flat, tree = pytrees.tree_flatten([ref, transforms])
    return semaphore_read_p.bind(*flat, args_tree=tree)


class AsyncCopy:
    """A copy from one reference to another that runs beside the program.

    Args:
      source: what is copied.
      target: where to.
      semaphore: counts what has arrived.
    """

    __slots__ = ("semaphore", "source", "target")

    def __init__(self, source: Any, target: Any, semaphore: Any) -> None:
        self.source = source
        self.target = target
        self.semaphore = semaphore

    def _operands(self) -> tuple[list[Any], Any]:
        parts: list[Any] = []
        for ref in (self.source, self.target, self.semaphore):
            parts += ref_and_transforms("make_async_copy", ref)
        return pytrees.tree_flatten(tuple(parts))

    def start(self, priority: int = 0, *, add: bool = False) -> None:
        """Begins the copy."""
        flat, tree = self._operands()
        dma_start_p.bind(
            *flat, tree=tree, device_id_type=DeviceIdType.MESH, priority=priority, add=add
        )

    def wait(self) -> None:
        """Waits until everything is there."""
        flat, tree = self._operands()
        dma_wait_p.bind(*flat, tree=tree, device_id_type=DeviceIdType.MESH)


def make_async_copy(src_ref: Any, dst_ref: Any, sem: Any) -> AsyncCopy:
    """A copy that is begun with ``start()`` and waited for with ``wait()``.

    Args:
      src_ref: what is copied.
      dst_ref: where to.
      sem: a semaphore for copies, ``tpu.SemaphoreType.DMA``.
    """
    return AsyncCopy(src_ref, dst_ref, sem)


def async_copy(
    src_ref: Any, dst_ref: Any, sem: Any, *, priority: int = 0, add: bool = False
) -> AsyncCopy:
    """Begins a copy; wait for it with ``wait()`` of what is returned.

    Args:
      src_ref: what is copied.
      dst_ref: where to.
      sem: a semaphore for copies.
      priority: the copy's priority.
      add: whether it adds to what is there.
    """
    copy = AsyncCopy(src_ref, dst_ref, sem)
    copy.start(priority, add=add)
    return copy


def sync_copy(src_ref: Any, dst_ref: Any, *, add: bool = False) -> None:
    """Copies from one reference to another, and waits until everything is there.

    Args:
      src_ref: what is copied.
      dst_ref: where to.
      add: whether it adds to what is there.
    """
    run_scoped(
        lambda semaphore: async_copy(src_ref, dst_ref, semaphore, add=add).wait(),
        SemaphoreType.DMA,
    )


# ---- in the interpreter ----


def _set_first(operands: Sequence[Any], value: Any) -> list[Any]:
    return [value, *[None] * (len(operands) - 1)]


@discharge_rules.define(semaphore_signal_p)
def _signal(equation: Any, operands: Sequence[Any]) -> Any:
    count, transforms, inc, device_id, _ = pytrees.tree_unflatten(
        equation.params["args_tree"], operands
    )
    if device_id is not None:
        raise ValueError(
            "semaphores of other devices cannot be signalled in interpret mode; compile the kernel "
            "for TPUs"
        )
    return _set_first(
        operands, written(count, transforms, lax.add(read_view(count, transforms), inc))
    ), []


@discharge_rules.define(semaphore_wait_p)
def _wait(equation: Any, operands: Sequence[Any]) -> Any:
    count, transforms, value, decrement = pytrees.tree_unflatten(
        equation.params["args_tree"], operands
    )
    now = read_view(count, transforms)
    after = lax.select_n(decrement, now, lax.sub(now, value))
    return _set_first(operands, written(count, transforms, after)), []


@discharge_rules.define(semaphore_read_p)
def _read(equation: Any, operands: Sequence[Any]) -> Any:
    count, transforms = pytrees.tree_unflatten(equation.params["args_tree"], operands)
    return [None] * len(operands), [read_view(count, transforms)]


@discharge_rules.define(dma_start_p)
def _start(equation: Any, operands: Sequence[Any]) -> Any:
    params = equation.params
    positions = pytrees.tree_unflatten(params["tree"], range(len(operands)))
    source, source_view, target, target_view, *_ = pytrees.tree_unflatten(params["tree"], operands)
    value = read_view(source, source_view)
    if params["add"]:
        value = lax.add(read_view(target, target_view), value)
    changes: list[Any] = [None] * len(operands)
    changes[positions[2]] = written(target, target_view, value)
    return changes, []


@discharge_rules.define(dma_wait_p)
def _arrived(equation: Any, operands: Sequence[Any]) -> Any:
    return [None] * len(operands), []


# ---- printing ----


def _print_semaphore(suffix: str = "") -> Any:
    def rule(equation: Equation, printer: Any) -> Document:
        ref, transforms, value, *_ = pytrees.tree_unflatten(
            equation.params["args_tree"], equation.invars
        )
        name = Text(
            f"{equation.primitive.name}{suffix} ", annotations=printer.annotations(equation)
        )
        return Concatenation(
            [name, shown_view(printer, ref, transforms), Text(" "), printer.atom(value)]
        )

    return rule


def _print_start(equation: Equation, printer: Any) -> Document:
    params = equation.params
    source, source_view, target, target_view, semaphore, place = pytrees.tree_unflatten(
        params["tree"], equation.invars
    )
    mark = " +=" if params["add"] else " ->"
    return Concatenation(
        [
            Text(f"dma_start(p{params['priority']}) ", annotations=printer.annotations(equation)),
            shown_view(printer, source, source_view),
            Text(f"{mark} "),
            shown_view(printer, target, target_view),
            Text(" "),
            shown_view(printer, semaphore, place),
        ]
    )


def _print_wait(equation: Equation, printer: Any) -> Document:
    _, _, target, target_view, semaphore, place = pytrees.tree_unflatten(
        equation.params["tree"], equation.invars
    )
    return Concatenation(
        [
            Text("dma_wait ", annotations=printer.annotations(equation)),
            shown_view(printer, target, target_view),
            Text(" "),
            shown_view(printer, semaphore, place),
        ]
    )


semaphore_signal_p.print_rule = _print_semaphore()
semaphore_wait_p.print_rule = _print_semaphore("[dec]")
dma_start_p.print_rule = _print_start
dma_wait_p.print_rule = _print_wait
