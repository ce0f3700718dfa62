# SPDX-License-Identifier: Apache-2.0
"""Simulated cores, which are threads that run programs with references on NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.source_info import summarize
from olympus_ir.lax.control_flow.operands import ScanLayout, WhileLayout
from olympus_ir.lax.control_flow.predicates import with_scalar_condition
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Literal, Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.reference.tables import array_rules, reference_rules
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray

from ..memory.spaces import SemaphoreDType
from .runs import Buffer, Run, Site

__all__ = ["Core", "machine_rules"]

# Evaluation rules of equations on a core: `rule(core, equation, operands) -> results`. Operands are
# NumPy arrays, or `Site` objects for references. A primitive without a rule is evaluated by its
# reference rule, or by its expansion.
machine_rules: RuleTable[Callable[..., Sequence[Any]]] = RuleTable(
    "machine", package="olympus_pallas", folder=None
)


# Default of ``owner``: the core itself.
_own: Any = object()


class Core:
    """A core of a device that runs a program.

    Attributes:
      run: the run of the program.
      device: the id of the core's device in the run.
      number: the index of the core among the device's cores.
      settings: the parameters of interpretation: an `InterpretParams`, or anything with its fields.
      mesh_axes: names and sizes of the axes of the devices' mesh.
      places: the core's index along each named axis of the meshes of devices and of cores.
      grid: the sizes of the grid that `program_id` refers to.
      place: the program's index in the grid.
      mesh: the mesh of cores that the core belongs to, if any.
      state: state that operations of one platform share, such as random generators.
    """

    def __init__(
        self,
        run: Run,
        device: int,
        number: Any,
        settings: Any,
        mesh_axes: Sequence[tuple[Any, int]],
    ) -> None:
        self.run = run
        self.device = device
        self.number = number
        self.settings = settings
        self.mesh_axes = tuple(mesh_axes)
        self.places: dict[Any, int] = {}
        self.sizes: dict[Any, int] = {}
        self.grid: tuple[int, ...] = ()
        self.place: tuple[int, ...] = ()
        self.state: dict[Any, Any] = {}
        self.mesh: Any = None
        self._allocated: dict[Any, int] = {}
        rest = device
        for name, size in reversed(self.mesh_axes):
            self.places[name] = rest % size
            self.sizes[name] = size
            rest //= size

    def __repr__(self) -> str:
        return f"core {self.number} of device {self.device}"

    def split(self, number: Any, axes: dict[Any, tuple[int, int]] | None = None) -> Core:
        """Returns one of the cores that this core splits into; ``axes`` gives indices and sizes."""
        core = type(self)(self.run, self.device, number, self.settings, self.mesh_axes)
        core.places.update(self.places)
        core.sizes.update(self.sizes)
        for name, (position, size) in (axes or {}).items():
            core.places[name], core.sizes[name] = position, size
        core.grid, core.place = self.grid, self.place
        return core

    # ---- memories ----

    def allocate(self, array: np.ndarray, name: Any, owner: Any = _own) -> Site:
        """Allocates a buffer, under a name by which other cores find it.

        By default, this core owns the buffer. If several cores pass a common owner, the first core
        creates the buffer, and the other cores share it.
        """
        count = self._allocated[name] = self._allocated.get(name, 0) + 1
        label = name if count == 1 else (name, count)
        if owner is _own:
            return Site(self.run.register(Buffer(array, label, self.device, self.number)))
        with self.run.changed:
            known = self.run.buffers.get((self.device, owner, label))
            return Site(known or self.run.register(Buffer(array, label, self.device, owner)))

    def new_buffer(self, aval: Any, name: Any, owner: Any = _own) -> Site:
        """Allocates a buffer of a type with uninitialized contents; semaphores start at 0."""
        if isinstance(aval.dtype, SemaphoreDType):
            site = self.allocate(np.zeros(aval.shape, np.int32), name, owner)
            axes = getattr(aval.dtype, "collective_axes", ())
            arrivals = getattr(aval.dtype, "num_arrivals", 1)
            site.buffer.needed = arrivals * math.prod(self.sizes[axis] for axis in axes)
            return site
        # Accumulators are zero at first.
        fill = 0 if aval.kind == "accumulator" else self.fill_value(aval.dtype)
        return self.allocate(np.full(aval.shape, fill, np.dtype(aval.dtype)), name, owner)

    def fill_value(self, dtype: Any) -> Any:
        """Returns the value of uninitialized elements."""
        if self.settings.uninitialized_memory == "zero":
            return 0
        if dtypes.issubdtype(dtype, np.inexact):
            return np.nan
        # An uninitialized element that is used as an index is then out of bounds.
        return True if dtypes.issubdtype(dtype, np.bool_) else dtypes.iinfo(dtype).max

    def owner_over(self, axes: Sequence[Any]) -> Any:
        """Returns the owner of buffers that the cores along some axes share."""
        if not axes:
            return _own
        rest = [item for item in self.places.items() if item[0] not in axes]
        return ("shared", tuple(rest))

    def read(self, site: Site) -> np.ndarray:
        return self.run.read(self, site)

    def write(self, site: Site, value: Any) -> None:
        self.run.write(self, site, value)

    # ---- programs ----

    def evaluate(self, program: Olympuspr | ClosedOlympuspr, operands: Sequence[Any]) -> list[Any]:
        """Runs a program; returns its results."""
        values: dict[Any, Any] = {}
        if isinstance(program, ClosedOlympuspr):
            for var, constant in zip(program.jaxpr.constvars, program.consts, strict=True):
                values[var] = constant if isinstance(constant, Site) else np.asarray(constant)
            program = program.jaxpr
        return self.evaluate_with(program, operands, values)

    def evaluate_with(
        self, program: Olympuspr, operands: Sequence[Any], values: dict[Any, Any]
    ) -> list[Any]:
        """Runs a program whose constants are in ``values``."""
        values.update(zip(program.invars, operands, strict=True))

        def value_of(atom: Any) -> Any:
            if atom.__class__ is Literal:
                return np.asarray(atom.val, atom.aval.dtype)
            return values[atom]

        for equation in program.eqns:
            operand_values = [value_of(atom) for atom in equation.invars]
            results = self.apply(equation, operand_values)
            if equation.primitive.multiple_results:
                values.update(zip(equation.outvars, results, strict=True))
            else:
                values[equation.outvars[0]] = results
        return [value_of(atom) for atom in program.outvars]

    def apply(self, equation: Equation, operands: Sequence[Any]) -> Any:
        """Runs one equation."""
        primitive = equation.primitive
        rule = machine_rules.rules.get(primitive)
        if rule is not None:
            return rule(self, equation, operands)
        rule = reference_rules.find(primitive)
        if rule is None or rule in array_rules:
            return self._expand(equation, operands)
        if self.settings.skip_floating_point_ops and _is_floating(equation):
            results = [np.full(var.aval.shape, np.inf, var.aval.dtype) for var in equation.outvars]
            return results if primitive.multiple_results else results[0]
        with np.errstate(all="ignore"):
            results = rule(*operands, **equation.params)
        if primitive.multiple_results:
            return [np.asarray(result) for result in results]
        return np.asarray(results)

    def _expand(self, equation: Equation, operands: Sequence[Any]) -> Any:
        primitive = equation.primitive
        expansion = expansion_rules.rules.get(primitive)
        if expansion is None:
            raise ValueError(
                f"`{primitive.name}` is not known on simulated cores (used at "
                f"{summarize(equation.source_info)})"
            )
        # A loop runs an equation several times, so its expansion is cached. The equation lives as
        # long as the run, so its id is a unique key.
        closed = self.run.expanded.get(id(equation))
        if closed is None:
            avals = [ShapedArray(atom.aval.shape, atom.aval.dtype) for atom in equation.invars]
            closed = self.run.expanded[id(equation)] = trace_to_closed(
                lambda *args: pytrees.tree_leaves(expansion(*args, **equation.params)), avals
            )
        results = self.evaluate(closed, operands)
        return results if primitive.multiple_results else results[0]


def _is_floating(equation: Equation) -> bool:
    return all(
        isinstance(var.aval, ShapedArray) and var.aval.dtype.kind in "fV"
        for var in equation.outvars
    )


# ---- control flow ----


@machine_rules.define(lax.cond_p)
def _cond(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    index, *rest = operands
    branches = equation.params["branches"]
    return core.evaluate(branches[min(max(int(index), 0), len(branches) - 1)], rest)


@machine_rules.define(lax.while_p)
def _while(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    values, params = with_scalar_condition(operands, equation.params)
    cond_consts, body_consts, carry = WhileLayout.of(params).operands(values)
    while core.evaluate(params["cond_jaxpr"], [*cond_consts, *carry])[0]:
        carry = core.evaluate(params["body_jaxpr"], [*body_consts, *carry])
    return list(carry)


@machine_rules.define(lax.scan_p)
def _scan(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    params = equation.params
    length, layout = params["length"], ScanLayout.of(params)
    consts, carry, xs = layout.operands(operands)
    stacks = layout.results(equation.outvars).ys
    ys = [np.empty(var.aval.shape, var.aval.dtype) for var in stacks]
    for position in reversed(range(length)) if params["reverse"] else range(length):
        results = core.evaluate(params["jaxpr"], [*consts, *carry, *(x[position] for x in xs)])
        carry, slices = layout.results(results)
        for stack, result in zip(ys, slices, strict=True):
            stack[position] = result
    return [*carry, *ys]


def _call(parameter: str) -> Callable[..., Any]:
    def rule(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
        return core.evaluate(equation.params[parameter], operands)

    return rule


_CALLS: tuple[tuple[Primitive, str], ...] = (
    (lax.jit_p, "jaxpr"),
    (lax.closed_call_p, "call_jaxpr"),
    (lax.custom_jvp_call_p, "call_jaxpr"),
    (lax.custom_vjp_call_p, "call_jaxpr"),
    (lax.checkpoint_p, "jaxpr"),
)
for _primitive, _parameter in _CALLS:
    machine_rules.define(_primitive, _call(_parameter))
