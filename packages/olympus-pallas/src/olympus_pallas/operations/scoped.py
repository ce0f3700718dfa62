# SPDX-License-Identifier: Apache-2.0
"""Buffers that live as long as the call of a function in a kernel: `run_scoped`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import (
    ClosedOlympuspr,
    Olympuspr,
    close_olympuspr,
    constants_as_inputs,
    inputs_as_constants,
)
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed, trace_to_olympuspr
from olympus_ir.references.discharge import discharge_closed, discharge_rules
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import AxisName, PyTree
from olympus_ir.types.avals import get_aval

from ..grids.program_ids import define_place_rule, with_places_as_inputs
from ..memory.annotations import RefLike, ScratchShape
from ..memory.spaces import MemorySpace
from ..memory.uninitialized import empty_buffer, interpreted_aval, unset_value
from .debugging import enable_poison_buffers

__all__ = ["get_global", "get_global_p", "run_scoped", "run_scoped_p", "with_scoped"]

# The operands are the constants of the program: the values that the function closes over.
run_scoped_p = Primitive.declare("run_scoped", multiple_results=True, cache_inference=False)
run_scoped_p.takes_refs = True
get_global_p = Primitive("get_global")
run_scoped_p.spreads_varying = False


@run_scoped_p.def_effectful_abstract_eval
def _run_scoped_types(*avals: Any, jaxpr: Olympuspr, **params: Any) -> Any:
    return [atom.aval for atom in jaxpr.outvars], jaxpr.effects


def run_scoped(
    f: Callable[..., Any],
    *types: PyTree,
    collective_axes: AxisName | tuple[AxisName, ...] = (),
    **kw_types: PyTree,
) -> Any:
    """Calls a function with references to new buffers, which live until the function returns.

    Args:
      f: the function. It takes one reference for each type, and may return arrays.
      *types: the buffers, such as ``tpu.VMEM((8, 128), dtype)``, or pytrees of them.
      collective_axes: axes of a mesh along which cores share the buffers.
      **kw_types: buffers for keyword arguments.

    Returns:
      The result of the function.

    Example:
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import pallas_call
      >>> from olympus_pallas.tpu import VMEM
      >>> def kernel(o_ref):
      ...     def body(buffer):
      ...         buffer[...] = o_ref[...] * 0 + 3
      ...         o_ref[...] = buffer[...]
      ...     run_scoped(body, VMEM((2,), "int32"))
      >>> pallas_call(kernel, ShapeDtypeStruct((2,), "int32"), interpret=True)()
      Array([3, 3], dtype=int32)
    """
    leaves, tree = pytrees.tree_flatten((types, kw_types))
    avals = [leaf.get_ref_aval() for leaf in leaves]
    starts = [getattr(leaf, "initial_value", None) for leaf in leaves]
    if any(start is not None for start in starts):
        f = _initialized(f, starts)
    flat = FlatFunction(_poisoned(f) if enable_poison_buffers.value else f, tree)
    olympuspr, consts = trace_to_olympuspr(flat, avals, DebugInfo.of("run_scoped", f))
    if not isinstance(collective_axes, tuple):
        collective_axes = (collective_axes,)
    results = run_scoped_p.bind(
        *consts,
        jaxpr=olympuspr,
        collective_axes=collective_axes,
        ref_transforms=((),) * len(avals),
    )
    return pytrees.tree_unflatten(flat.out_tree, results)


def _initialized(f: Callable[..., Any], starts: Sequence[Any]) -> Callable[..., Any]:
    """Returns a function that initializes its buffers and then calls ``f``."""

    def wrapped(*refs: Any, **kw_refs: Any) -> Any:
        for ref, start in zip(pytrees.tree_leaves((refs, kw_refs)), starts, strict=True):
            if start is not None:
                ref[...] = start
        return f(*refs, **kw_refs)

    return wrapped


def _poisoned(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that fills its buffers with NaN or extreme integers, then calls ``f``."""

    def wrapped(*refs: Any, **kw_refs: Any) -> Any:
        for ref in pytrees.tree_leaves((refs, kw_refs)):
            space = getattr(get_aval(ref), "memory_space", None)
            if not dtypes.is_extended(ref.dtype) and space is not MemorySpace.ANY and ref.shape:
                ref[...] = lax.full(ref.shape, unset_value(ref.dtype), ref.dtype)
        return f(*refs, **kw_refs)

    return wrapped


@get_global_p.def_abstract_eval
def _get_global_type(*, what: Any) -> Any:
    return what


def get_global(what: ScratchShape) -> RefLike:
    """Returns a reference to a buffer that lives as long as the kernel.

    Args:
      what: the type of the buffer, such as ``tpu.SemaphoreType.REGULAR``. All programs share one
        buffer.

    Returns:
      The reference.
    """
    return get_global_p.bind(what=what.get_ref_aval())


def with_scoped(
    *types: PyTree, collective_axes: AxisName | tuple[AxisName, ...] = (), **kw_types: PyTree
) -> Any:
    """Returns a decorator that passes references to new buffers to a function; see `run_scoped`.

    The function takes the references after its other positional arguments.
    """

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            def body(*refs: Any, **kw_refs: Any) -> Any:
                return f(*args, *refs, **kwargs, **kw_refs)

            return run_scoped(body, *types, collective_axes=collective_axes, **kw_types)

        return wrapped

    return decorate


@discharge_rules.define(run_scoped_p)
def _discharge(equation: Any, operands: Sequence[Any]) -> Any:
    jaxpr = equation.params["jaxpr"]
    buffers = [empty_buffer(var.aval) for var in jaxpr.invars]
    whole = close_olympuspr(constants_as_inputs(jaxpr))
    avals = [interpreted_aval(var.aval) for var in whole.jaxpr.invars]

    def run(*refs: Any) -> list[Any]:
        return eval_olympuspr(whole.jaxpr, whole.consts, *refs)

    # From here on, semaphores are integers.
    program = trace_to_closed(run, avals, jaxpr.debug_info)
    flags = [
        var.aval.is_ref and (position >= len(operands) or not get_aval(operands[position]).is_ref)
        for position, var in enumerate(program.jaxpr.invars)
    ]
    discharged = discharge_closed(program, tuple(flags))
    closed = discharged.closed
    results = eval_olympuspr(closed.jaxpr, closed.consts, *operands, *buffers)
    changes: list[Any] = [None] * len(operands)
    for index, value in zip(discharged.refs, results[discharged.num_results :], strict=True):
        if index in discharged.written and index < len(operands):
            changes[index] = value
    return changes, results[: discharged.num_results]


def _placed(positions: Sequence[Any], operands: Sequence[Any], *, jaxpr: Any, **params: Any) -> Any:
    whole = close_olympuspr(constants_as_inputs(jaxpr))
    placed: ClosedOlympuspr = with_places_as_inputs(whole, len(positions) // 2)
    program = inputs_as_constants(placed.jaxpr, len(positions) + len(operands))
    return run_scoped_p.bind(*positions, *operands, jaxpr=program, **params)


define_place_rule(run_scoped_p, _placed)
