# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions of flat trees, as libraries written for JAX ask for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_autodiff.forward.jvp import JVPTrace
from olympus_autodiff.forward.linearize import linearize_at
from olympus_autodiff.zeros import Zero, aval_of
from olympus_ir.adapters.attaching import attach
from olympus_ir.adapters.flat_trees import FlatTree
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.olympuspr import Olympuspr, Var
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import set_current_trace
from olympus_ir.types.placement import BaseMesh, PartitionSpec
from olympus_sharding.manual.shard_map import apply_shard_map

__all__ = ["linearize"]


def linearize(
    traceable: Callable[..., Any], primals_ft: FlatTree, has_aux: bool = False, is_vjp: bool = False
) -> tuple[Any, ...]:
    """Evaluates a function at a point, and returns its derivative there as a program.

    Args:
      traceable: a function of arrays or pytrees of arrays.
      primals_ft: the tuple of its arguments, as a flat tree.
      has_aux: whether the function returns a pair of which only the first part is differentiated.
      is_vjp: whether the program will be transposed. The program is the same in both cases.

    Returns:
      The results as a flat tree; for each, whether its tangent is zero; the program, whose
      constants are the residuals, and which maps a tangent of each argument to the other tangents
      of results; the values of the residuals; and with ``has_aux`` the auxiliary data.

    Example:
      >>> from olympus import lax
      >>> results, _, program, _ = linearize(lax.sin, FlatTree.flatten((0.0,)))
      >>> results.unflatten()
      Array(0., dtype=float32, weak_type=True)
      >>> print(program)
      { lambda a:f32[]; b:f32[]. let c:f32[] = mul b a in (c,) }
    """
    point = linearize_at(traceable, primals_ft.unflatten(), has_aux)
    results, tangents, out_tree = point.outputs()
    is_zero = [tangent.__class__ is Zero for tangent in tangents]
    recorded = [tangent for tangent, zero in zip(tangents, is_zero, strict=True) if not zero]
    program, residuals = point.trace.tangent_trace.to_olympuspr(recorded)
    program = _with_tangents_of_all(
        program, point.inputs, list(map(point.has_tangent, point.inputs))
    )
    flat = FlatTree(results, out_tree)
    outputs = (flat, is_zero, program, residuals)
    return (*outputs, point.aux) if has_aux else outputs


def _with_tangents_of_all(
    program: Olympuspr, inputs: Sequence[Any], has_tangent: Sequence[bool]
) -> Olympuspr:
    """Returns the program with inputs for the tangents of arguments such as integers, too."""
    recorded = iter(program.invars)
    invars = [
        next(recorded) if moves else Var(aval_of(value).to_tangent_aval())
        for value, moves in zip(inputs, has_tangent, strict=True)
    ]
    return program.replace(invars=invars)


def _process_shard_map(
    self: JVPTrace,
    shard_map_p: Primitive,
    f: Callable[..., FlatTree],
    tracers: Sequence[Any],
    mesh: BaseMesh,
    in_specs: Sequence[PartitionSpec],
    check_vma: bool,
    newly_manual_axes: frozenset,
    debug_info: DebugInfo,
) -> FlatTree:
    """Applies `shard_map` under this trace to a function of flat operands.

    Args:
      self: the trace.
      shard_map_p: the primitive `shard_map`.
      f: a function of the parts of the operands. It returns the parts of the results as a flat tree
        with their specs as auxiliary data.
      tracers: the operands.
      mesh: the mesh.
      in_specs: the spec of each operand.
      check_vma: whether types track the axes over which values vary.
      newly_manual_axes: the axes that become manual.
      debug_info: the names of the function, for error messages.

    Returns:
      The results, which are tracers of this trace, as a flat tree.
    """
    parts: Any = None
    out_specs: Sequence[PartitionSpec] = ()

    def flat(*operands: Any) -> list[Any]:
        nonlocal parts, out_specs
        parts, out_specs = f(*operands).unpack_aux()
        return list(parts)

    flat.__name__ = debug_info.func_name
    with set_current_trace(self):
        results = apply_shard_map(
            flat,
            tuple(tracers),
            mesh,
            tuple(in_specs),
            lambda: out_specs,
            newly_manual_axes,
            check_vma,
        )
    return parts.update(results)


attach(JVPTrace, process_shard_map=_process_shard_map)
