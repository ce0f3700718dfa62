# SPDX-License-Identifier: Apache-2.0
"""Eager operations: compiled calls of a primitive, for given parameters and operand types.

A primitive gets one C++ function object, with its parameters as static keywords, on its first use.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.diagnostics.traceback_filtering import (
    api_boundary,
    filter_exception,
    filter_text,
)
from olympus_ir.lax import callbacks, convert_element_type, jit_p
from olympus_ir.loading import deferred
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.traced_programs import TracedProgram, traced_program
from olympus_ir.programs.jit import places_values
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import StagingTrace
from olympus_ir.programs.tracing import (
    Tracer,
    escaped_tracer_error,
    reject_tracers,
    set_current_trace,
)
from olympus_ir.programs.wide_constants import wide_constant, with_wide_constants
from olympus_ir.settings import config
from olympus_ir.trees.function_caches import keep
from olympus_ir.trees.pytrees import tree_structure
from olympus_ir.types.avals import operand_avals

from .._jaxlib import JaxRuntimeError
from ..arrays.array import make_array
from ..arrays.transfer import put_leaf
from ..platforms.backends import default_sharding
from .cpp_functions import make_cpp_function
from .program_executables import compiled_for
from .result_checks import check_results, checks_results

if TYPE_CHECKING:
    import traceback

    import numpy as np

    from ..compiling.lowering import tables
    from . import references
    from .on_reference import cold_evaluation
else:
    traceback = deferred("traceback", milliseconds=0.7)
    cold_evaluation = deferred(".on_reference.cold_evaluation", milliseconds=20.0)
    references = deferred(".references", milliseconds=50.0)
    tables = deferred("..compiling.lowering.tables", milliseconds=50.0)

_DEFAULT_OPTIONS = JitOptions()
_LEAF = tree_structure(0)
# The largest numbers of programs that are kept for a primitive. The second number is for primitives
# whose parameters are programs, such as loops, because their programs are larger.
_MOST_PROGRAMS = 4096
_MOST_WITH_FUNCTIONS = 256


def evaluate(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Applies a primitive to concrete operands."""
    eager = primitive.eager
    if eager is None:
        if primitive.family == "references":
            references.define_eager()
        eager = primitive.eager = primitive.eager or _make_eager(primitive, tuple(params))
    return eager(*args, **params)


# Compiled calls of primitives that also have another evaluation rule.
_compiled_calls: WeakKeyDictionary[Primitive, Any] = WeakKeyDictionary()


def compile_and_run(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Applies a primitive by its lowering rule, even if it has another evaluation rule.

    Implementations for `Primitive.def_impl` can call this function.
    """
    call = _compiled_calls.get(primitive)
    if call is None:
        call = _compiled_calls[primitive] = _make_eager(primitive, tuple(params))
    return call(*args, **params)


def _make_eager(primitive: Primitive, names: tuple[str, ...]) -> Any:
    """Returns the C++ function object of a primitive with these parameters."""
    programs = _EagerPrograms(primitive)
    known = frozenset(names)

    def evaluate_uncached(*args: Any, **params: Any) -> Any:
        return programs.run(args, params)[0]

    @api_boundary
    def cache_miss(*args: Any, **params: Any) -> tuple[Any, Any, bool]:
        result, called, is_cold = programs.run(args, params)
        if called is None:
            # C++ never requests a `Fastpath` again for an entry that had none at first.
            return result, None, is_cold
        program, compiled = called
        if known.issuperset(params) and not checks_results():
            fastpath = compiled.fastpath(program.out_tree, args)
        else:
            fastpath = None
        return result, fastpath, False

    return make_cpp_function(
        primitive.name,
        evaluate_uncached,
        cache_miss,
        static_argnames=names,
        own_capacity=programs.capacity,
    )


class _EagerPrograms:
    """The programs of one primitive, one for each combination of operand types and parameters."""

    __slots__ = ("_primitive", "_programs", "capacity")

    def __init__(self, primitive: Primitive) -> None:
        self._primitive = primitive
        self._programs: dict[Any, TracedProgram] = {}
        self.capacity = _MOST_WITH_FUNCTIONS if primitive.has_functions else _MOST_PROGRAMS

    def run(self, args: tuple, params: dict[str, Any]) -> tuple[Any, Any, bool]:
        """Applies the primitive.

        Returns:
          The result; the program and the executable that C++ can call for equal arguments, or None;
          and whether the program is cold.
        """
        primitive = self._primitive
        reject_tracers(primitive, args)
        operands = tuple(with_wide_constants(args, params))
        avals = operand_avals(primitive.name, operands)
        if any(aval.is_ref for aval in avals):
            return self._result(self._run_with_refs(operands, avals, params)), None, False
        program = self._program_for(avals, params)
        options = _options(primitive, params, program)
        try:
            results, compiled = program.run(_run_arrays, options, operands)
        except MissingRuleError as error:
            if primitive in _compiled_calls or primitive in tables.lowering_rules:
                raise
            raise _no_evaluation_rule(primitive) from error
        # The C++ function object would narrow wide constants to 32 bits.
        if compiled is None or any(map(operator.is_not, operands, args)):
            called = None
        else:
            called = program, compiled
        return self._result(results), called, program.is_cold

    def _result(self, results: Sequence[Any]) -> Any:
        return results if self._primitive.multiple_results else results[0]

    def _run_with_refs(
        self, args: Sequence[Any], avals: tuple, params: dict[str, Any]
    ) -> Sequence[Any]:
        """Applies the primitive to operands that include references, possibly repeated."""
        # The operands without repeated references, and each original operand's index among them.
        operands: list[Any] = []
        positions: list[int] = []
        for arg, aval in zip(args, avals, strict=True):
            found = [
                position
                for position, operand in enumerate(operands)
                if aval.is_ref and operand is arg
            ]
            positions.append(found[0] if found else len(operands))
            if not found:
                operands.append(arg)
        program = self._program_for(avals, params, tuple(positions))
        results, _ = program.run(_run_arrays, _DEFAULT_OPTIONS, operands)
        return results

    def _program_for(
        self, avals: tuple, params: dict[str, Any], positions: tuple[int, ...] | None = None
    ) -> TracedProgram:
        """Returns the program for operand types and parameters; see `_program`."""
        key = (avals, positions, tuple(params.items()), config.trace_context())
        program = self._programs.get(key)
        if program is None:
            program = _program(self._primitive, avals, params, positions)
            keep(self._programs, key, program, self.capacity)
        return program


def _no_evaluation_rule(primitive: Primitive) -> MissingRuleError:
    return MissingRuleError(
        f"Evaluation rule for '{primitive.name}' not implemented: it has neither an evaluation "
        f"rule (`{primitive.name}_p.def_impl`) nor rules for compilation."
    )


def _run_arrays(
    program: TracedProgram, options: JitOptions, operands: Sequence[Any]
) -> tuple[Sequence[Any], Any]:
    """Runs a program of arrays. Returns the flat results, and the executable if one was used."""
    cold_results = cold_evaluation.evaluate(program, options, operands)
    if cold_results is not None:
        return cold_results, None
    compiled = compiled_for(program, options, operands)
    results = compiled.call(operands)
    if checks_results():
        check_results(program, operands, results)
    return results, compiled


def _options(primitive: Primitive, params: dict[str, Any], program: TracedProgram) -> JitOptions:
    """Returns the options of a call, with the shardings of results if the primitive has any."""
    shardings_of = getattr(primitive, "result_shardings", None)
    shardings = None if shardings_of is None else shardings_of(params)
    if not shardings:
        return _DEFAULT_OPTIONS
    out_shardings = (program.out_tree, tuple(shardings))
    return JitOptions(placement=(("out_shardings", out_shardings),))


def _program(
    primitive: Primitive,
    avals: Sequence[Any],
    params: dict[str, Any],
    positions: Sequence[int] | None = None,
) -> TracedProgram:
    """Returns the program of one equation; for a call without shardings, the called program.

    Args:
      primitive: the equation's primitive.
      avals: the types of the operands.
      params: the parameters of the equation.
      positions: for each operand, the index of the program's input; by default in order.

    Raises:
      MissingRuleError: the primitive has no rules for compilation.
    """
    if primitive is jit_p and not places_values(params):
        out_tree = tree_structure([0] * len(params["jaxpr"].out_avals))
        return traced_program(params["jaxpr"], out_tree, params, [])
    if primitive._shape_rule is None:
        raise _no_evaluation_rule(primitive)
    trace = StagingTrace()
    if positions is None:
        positions = range(len(avals))
    inputs = [
        trace.new_input(avals[positions.index(position)]) for position in range(len({*positions}))
    ]
    with set_current_trace(trace):
        results = trace.record(primitive, [inputs[position] for position in positions], params)
    outputs = results if primitive.multiple_results else [results]
    closed = ClosedOlympuspr(*trace.to_olympuspr(outputs))
    trace.finish()
    out_tree = tree_structure([0] * len(outputs)) if primitive.multiple_results else _LEAF
    jit_parameters = {"name": primitive.name, "donated_invars": (False,) * len(inputs)}
    return traced_program(closed, out_tree, jit_parameters, [])


# ---- callbacks: called directly, without a program ----


def _call_at_once(run: Callable[..., Sequence[Any]]) -> Callable[..., list[Any]]:
    def call(*args: Any, **params: Any) -> list[Any]:
        for arg in args:
            if isinstance(arg, Tracer):
                raise escaped_tracer_error(arg, "was passed to a callback")
        return list(map(_put_result, run(*map(put_leaf, args), **params)))

    return call


def _put_result(result: np.ndarray) -> Any:
    """Puts a callback's result on the default device; the declared dtype is not narrowed."""
    aval = wide_constant(result)
    return put_leaf(result) if aval is None else make_array(result, aval, default_sharding())


def _like_compiled_callback(run: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """Makes a callback behave as in a compiled program.

    Its operands are strongly typed, and its exceptions are raised as `JaxRuntimeError`.
    """

    def reported(*args: Any, **params: Any) -> Sequence[Any]:
        try:
            return run(*map(_strongly_typed, args), **params)
        except Exception as error:
            filter_exception(error)
            trace = traceback.format_exc()
            raise JaxRuntimeError(
                f"INTERNAL: error calling callback: {filter_text(trace)}"
            ) from error

    return reported


def _strongly_typed(array: Any) -> Any:
    aval = array.aval
    return convert_element_type(array, aval.dtype) if aval.weak_type else array


callbacks.debug_print_p.eager = _call_at_once(callbacks.run_debug_print)
callbacks.debug_callback_p.eager = _call_at_once(callbacks.run_debug_callback)
callbacks.pure_callback_p.eager = _call_at_once(_like_compiled_callback(callbacks.run_callback))
callbacks.io_callback_p.eager = _call_at_once(_like_compiled_callback(callbacks.run_callback))
