# SPDX-License-Identifier: Apache-2.0
"""Cold evaluation: the first calls of an eager program run on the NumPy reference.

XLA takes about 20 ms to compile a single addition, which NumPy evaluates in microseconds. On CPUs,
the reference rules therefore evaluate the first `_CALLS` calls of an eager operation or of a
function of the library, directly on the arrays' memory. A call over many elements counts as several
calls. The next call compiles the operation, and later calls never reach this module.

The flag ``olympus_cold_evaluation`` selects the programs that are evaluated in this way: all
(``"close"``), none (``"off"``), or only programs whose results are bitwise equal to those of the
compiled program (``"exact"``). Exactness is decided while the equations run, by `exactness_rules`
and by the elements. If an equation is not exact, the evaluation stops and the program is compiled
at once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.lax import convert_element_type_p, div_p
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import Literal, Olympuspr, olympusprs_in_params
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import EvaluationTrace, Tracer, set_current_trace
from olympus_ir.reference import ReferenceArray, reference_evaluator, reference_rules
from olympus_ir.settings import config_states
from olympus_ir.settings.config_flags import cold_evaluation, dump_ir_to
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray, array_conversion, get_aval
from olympus_ir.types.extended_arrays import ExtendedArray
from olympus_ir.types.memory_spaces import on_host

from ..._jaxlib import ArrayImpl
from ...arrays.array import host_value, make_array
from ...arrays.layouts import layouts_in_use
from ...arrays.transfer_guards import guards_in_use
from ...compiling.placement.placements import Placement
from ...compiling.placement.resolution import committed_sharding, resolve_placement
from ...platforms import backends
from ..result_checks import checks_results
from .exactness import Exactness, exactness_rules, narrow_dtypes

__all__ = [
    "device_array",
    "evaluate",
    "is_common",
    "is_of_instruction_set",
    "placement_on_cpu",
    "plain_circumstances",
    "reference_array",
]

# An evaluation takes about a hundredth of the time of a compilation. So this many evaluations of a
# program take less time than one compilation.
_CALLS = 32
# With more elements, compiled code soon makes up for the time of its compilation. The first limit
# is for one array, the second for all operands and results of the equations of one call.
_MOST_ELEMENTS = 1 << 20
_MOST_WORK = 1 << 22
_MOST_ELEMENTS_IN_A_LOOP = 1 << 9
# A call over more elements than this counts as several calls.
_ELEMENTS_OF_A_CALL = 1 << 17
_MOST_EQUATIONS = 256
# Families whose reference rules loop over elements in Python.
_LOOPS = frozenset(
    ("contractions", "convolution", "fft", "indexing", "linalg", "ragged", "special", "windows")
)
# Packages whose expansion rules are also lowering rules and call no functions of the user.
# Evaluation of other rules could stop after it has called a function of the user, and the
# compilation would then call this function again.
_PACKAGES_OF_INSTRUCTIONS = ("olympus_ir.", "olympus_random.")


class ColdProgram:
    """State of cold evaluation for one traced program.

    Attributes:
      calls: the number of further calls that the reference evaluates.
      fits: whether the program has no effects, and no values that NumPy cannot represent.
      float_constants: whether the program has float constants; XLA reorders arithmetic with them.
      can_be_exact: False if the equations alone show that results may differ from XLA's.
    """

    __slots__ = ("calls", "can_be_exact", "fits", "float_constants")

    def __init__(self, program: TracedProgram) -> None:
        closed = program.closed
        avals = (*closed.in_avals, *closed.out_avals)
        self.calls = _CALLS
        self.fits = (
            type(program) is TracedProgram
            and not program.hoisted
            and not closed.effects
            and not any(program.params["donated_invars"])
            and all(map(_fits, avals))
            and not on_host(avals)
        )
        self.float_constants = any(map(_is_float, closed.consts)) or _has_floats(closed.jaxpr)
        self.can_be_exact = self.fits and _can_be_exact(closed.jaxpr, self.float_constants)


def _can_be_exact(olympuspr: Olympuspr, float_constants: bool) -> bool:
    """Returns False if the equations alone show that `_ExactTrace` will stop."""
    rounding = 0
    for equation in olympuspr.eqns:
        primitive = equation.primitive
        if not is_of_instruction_set(primitive):
            return False
        if _is_expanded(primitive) or primitive is convert_element_type_p:
            continue
        rule = exactness_rules.find(primitive)
        avals = [atom.aval for atom in equation.invars]
        exactness = None if rule is None else rule(avals, equation.params)
        if exactness is None:
            return False
        rounding += exactness is Exactness.ROUNDS
    return rounding == 0 or (rounding == 1 and not float_constants)


def _is_expanded(primitive: Primitive) -> bool:
    """Returns whether the reference evaluates the equations of a primitive's expansion."""
    return primitive in expansion_rules.rules and reference_rules.find(primitive) is None


def _fits(aval: Any) -> bool:
    """Returns whether NumPy can represent the arrays of a type, and they have few elements."""
    return (
        type(aval) is ShapedArray
        and not aval.vma
        and is_common(aval.dtype)
        and all(type(size) is int for size in aval.shape)
        and aval.size <= _MOST_ELEMENTS
    )


def is_of_instruction_set(primitive: Primitive) -> bool:
    """Returns whether the reference evaluates the same operations as the compiled program.

    The answer is False for kernels and sharded maps, whose expansions simulate other machines. It
    is False for custom rules, whose expansions call the user's functions, and for primitives of
    other libraries, which may be lowered in another way.
    """
    expansion = expansion_rules.rules.get(primitive)
    return expansion is None or expansion.__module__.startswith(_PACKAGES_OF_INSTRUCTIONS)


def is_common(dtype: Any) -> bool:
    """Returns whether both NumPy and XLA support a dtype."""
    if isinstance(dtype, np.dtype):
        return (dtype.isbuiltin == 1 and dtype != dtypes.float0) or dtype == dtypes.bfloat16
    return dtypes.is_extended(dtype)


def _is_float(value: Any) -> bool:
    return dtypes.issubdtype(get_aval(value).dtype, np.inexact)


def _has_floats(olympuspr: Olympuspr) -> bool:
    """Returns whether a program, or a program nested in it, has a float literal."""
    for equation in olympuspr.eqns:
        for atom in equation.invars:
            if atom.__class__ is Literal and _is_float(atom.val):
                return True
        if any(map(_has_floats, olympusprs_in_params(equation.params))):
            return True
    return False


def placement_on_cpu(
    program: TracedProgram, options: JitOptions, operands: Sequence[Any]
) -> Placement | None:
    """Returns the placement of a call that runs on one CPU device; None for any other call."""
    placement = resolve_placement(options, program, list(map(committed_sharding, operands)))
    device = placement.single_device
    if placement.mesh is not None or device is None or device.platform != "cpu":
        return None
    return placement


def evaluate(
    program: TracedProgram, options: JitOptions, operands: Sequence[Any]
) -> list[Any] | None:
    """Evaluates a program that is not compiled; returns None if it must be compiled.

    Args:
      program: the program.
      options: the options of the compilation.
      operands: the flat operands.
    """
    level = cold_evaluation.value
    if level == "off" or program.executables or options.compiler_options:
        return None
    if not plain_circumstances(options):
        return None
    if any(isinstance(operand, Tracer) for operand in operands):
        return None
    cold = program.uncompiled
    if cold is None:
        cold = program.uncompiled = ColdProgram(program)
    if not cold.fits or not cold.calls or (level == "exact" and not cold.can_be_exact):
        return None
    placement = placement_on_cpu(program, options, operands)
    if placement is None:
        return None
    cold.calls -= 1
    trace = _ExactTrace(cold.float_constants) if level == "exact" else _CloseTrace()
    closed = program.closed
    try:
        with set_current_trace(trace), np.errstate(all="ignore"):
            values = eval_olympuspr(
                closed.jaxpr, closed.consts, *map(reference_array, operands, closed.in_avals)
            )
    except (_AbandonedError, MissingRuleError, MemoryError, ValueError):
        # NumPy raises MemoryError or ValueError for arrays that are too large.
        cold.calls = 0
        return None
    cold.calls = max(0, cold.calls - trace.work // _ELEMENTS_OF_A_CALL)
    sharding, committed = placement.replicated, placement.committed
    return [
        device_array(value, aval, sharding, committed)
        for value, aval in zip(values, closed.out_avals, strict=True)
    ]


def plain_circumstances(options: JitOptions) -> bool:
    """Returns whether all options and flags that only compiled programs obey are unset."""
    return not (
        options.placement
        or checks_results()
        or layouts_in_use.in_use
        or backends.distributed_runtime is not None
        or guards_in_use()
        or dump_ir_to.value
        or config_states.enable_checks.value
        or config_states.no_execution.value
        or config_states.concrete_mesh.value
    )


# ---- arrays ----


def reference_array(operand: Any, aval: ShapedArray) -> Any:
    """Returns a read-only NumPy view of an operand's memory, for reference rules."""
    if isinstance(operand, ExtendedArray):
        physical = operand.physical
        return ExtendedArray(reference_array(physical, get_aval(physical)), aval)
    if type(operand) is ArrayImpl:
        return ReferenceArray(host_value(operand), aval)
    convert = array_conversion(operand)  # Some objects define their own conversion to arrays.
    value = operand if convert is None else convert()
    return ReferenceArray(np.array(value, dtype=aval.dtype), aval)


def device_array(value: Any, aval: ShapedArray, sharding: Any, committed: bool) -> Any:
    """Returns a result as a device array in new memory, as compiled programs do."""
    if isinstance(value, ExtendedArray):
        physical = value.physical
        return ExtendedArray(device_array(physical, physical.aval, sharding, committed), aval)
    return make_array(np.asarray(value, aval.dtype), aval, sharding, committed)


# ---- interpreters ----


def _aval_of(value: Any) -> Any:
    """Returns the type of a value; most values are arrays of the reference."""
    return value._aval if value.__class__ is ReferenceArray else get_aval(value)


class _AbandonedError(Exception):
    """Error that stops the evaluation because an equation must be compiled."""


class _CloseTrace(EvaluationTrace):
    """Interpreter that evaluates primitives by their reference rules, up to a limit of work.

    Attributes:
      work: the number of elements of all operands and results so far.
    """

    __slots__ = ("_equations_left", "work")

    def __init__(self) -> None:
        super().__init__()
        self._equations_left = _MOST_EQUATIONS
        self.work = 0

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        return self._evaluated(primitive, args, list(map(_aval_of, args)), params)[0]

    def _evaluated(
        self,
        primitive: Primitive,
        args: Sequence[Any],
        avals: Sequence[Any],
        params: dict[str, Any],
    ) -> tuple[Any, list[Any]]:
        """Returns the results of an equation, and their types.

        Args:
          primitive: the primitive.
          args: the operands.
          avals: the types of the operands.
          params: the parameters.
        """
        self._equations_left -= 1
        most = _MOST_ELEMENTS_IN_A_LOOP if primitive.family in _LOOPS else _MOST_ELEMENTS
        if primitive in expansion_rules.rules and not is_of_instruction_set(primitive):
            raise _AbandonedError
        sizes = [math.prod(aval.shape) for aval in avals]
        self.work += sum(sizes)
        if self._equations_left < 0 or self.work > _MOST_WORK or max(sizes, default=0) > most:
            raise _AbandonedError
        results = reference_evaluator.evaluate(primitive, args, params)
        new_avals = list(map(_aval_of, results if primitive.multiple_results else (results,)))
        for aval in new_avals:
            self.work += math.prod(aval.shape)
        return results, new_avals


class _ExactTrace(_CloseTrace):
    """Interpreter that continues as long as results equal those of the compiled program.

    Equations may be exact one by one but not together: XLA contracts products and sums,
    reorders arithmetic with constants, and keeps narrow floats in wider dtypes. Therefore at most
    one equation of a program may round, and in a program with narrow floats only one equation may
    compute. Divisions by repeated elements are not exact, because XLA multiplies by the inverses
    instead.
    """

    __slots__ = ("_computing", "_float_constants", "_narrow", "_rearranged", "_rounding")

    def __init__(self, float_constants: bool) -> None:
        super().__init__()
        self._float_constants = float_constants
        self._computing = self._rounding = 0
        self._narrow = self._rearranged = False

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        if primitive in expansion_rules.rules and _is_expanded(primitive):
            # This trace receives the equations of the expansion.
            return super().process_primitive(primitive, args, params)
        avals = list(map(_aval_of, args))
        rule = exactness_rules.rules.get(primitive) or exactness_rules.find(primitive)
        exactness = None if rule is None else rule(avals, params)
        if exactness is None:
            raise _AbandonedError
        if exactness is Exactness.ROUNDS and primitive is div_p and self._rearranged:
            raise _AbandonedError
        self._rearranged |= not primitive.elementwise
        results, new_avals = self._evaluated(primitive, args, avals, params)
        values = [*args, *(results if primitive.multiple_results else [results])]
        if exactness is Exactness.ROUNDS and primitive is convert_element_type_p:
            exactness = Exactness.COMPARES if _is_lossless(args[0], results) else exactness
        self._check(exactness, values, [*avals, *new_avals])
        return results

    def _check(self, exactness: Exactness, values: Sequence[Any], avals: Sequence[Any]) -> None:
        """Raises if the results of an equation may differ from those of the compiled program.

        Args:
          exactness: the exactness of the equation.
          values: the operands and the results.
          avals: their types.
        """
        narrow = [
            value for value, aval in zip(values, avals, strict=True) if aval.dtype in narrow_dtypes
        ]
        if exactness is Exactness.MOVES:
            # XLA moves some narrow floats in a wider dtype, which may change the bits of NaNs.
            if any(map(_has_nan, narrow)):
                raise _AbandonedError
            return
        self._computing += 1
        self._rounding += exactness is Exactness.ROUNDS
        self._narrow |= bool(narrow)
        if (
            self._rounding > 1
            or (self._rounding and self._float_constants)
            or (self._narrow and self._computing > 1)
            or any(map(_has_special_elements, values))
            or (exactness is Exactness.PICKS and any(map(_has_negative_zero, values)))
        ):
            raise _AbandonedError


def _is_lossless(before: Any, after: Any) -> bool:
    """Returns whether a conversion to a float dtype rounded no element."""
    old, new = np.asarray(before), np.asarray(after)
    if dtypes.issubdtype(old.dtype, np.inexact):
        wide = np.complex128 if new.dtype.kind == "c" else np.float64
        return bool((new.astype(wide) == old.astype(wide)).all())
    largest = 2 ** (dtypes.finfo(new.dtype).nmant + 1)
    return bool((np.abs(old.astype(np.float64)) < largest).all())


def _has_nan(value: Any) -> bool:
    array = np.asarray(value)
    return bool((array != array).any())


def _has_negative_zero(value: Any) -> bool:
    if not _is_float(value):
        return False
    array = np.asarray(value)
    return bool(((array == 0) & np.signbit(array)).any())


def _has_special_elements(value: Any) -> bool:
    """Returns whether elements are NaN, or so small that XLA flushes them to zero."""
    if not dtypes.issubdtype(_aval_of(value).dtype, np.inexact):
        return False
    array = np.asarray(value)
    if array.dtype.kind == "c":
        array = np.stack([np.real(array), np.imag(array)])
    unsigned, smallest, infinity = _doubled_limits(array.dtype)
    magnitude = array.view(unsigned) << unsigned.type(1)
    ordinary = (magnitude > smallest) & (magnitude <= infinity)
    return not bool((ordinary | (magnitude == 0)).all())


@functools.cache
def _doubled_limits(dtype: np.dtype) -> tuple[np.dtype, Any, Any]:
    """Returns an unsigned dtype for the bits of floats, and twice the bits of two floats.

    Without the sign, the bits of floats are ordered like their magnitudes, and NaN comes last. The
    first float is the smallest normal number, which counts as small: the processor flushes a
    smaller result to zero before it would round the result up to this number. The second float is
    infinity.
    """
    unsigned = np.dtype(f"u{dtype.itemsize}")
    limits = np.array([dtypes.finfo(dtype).tiny, np.inf], dtype)
    smallest, infinity = limits.view(unsigned) << unsigned.type(1)
    return unsigned, smallest, infinity
