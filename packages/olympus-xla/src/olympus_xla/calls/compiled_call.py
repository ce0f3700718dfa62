# SPDX-License-Identifier: Apache-2.0
"""Calls of ahead-of-time compiled functions.

A call goes through jaxlib's C++ call path. If the arguments' types or shardings are new, the call
enters Python, which compares them with the compiled types and shardings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.tracing import Tracer
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.trees.operands import flatten_operands
from olympus_ir.types.avals import get_aval

from ..arrays.layouts import layouts_in_use
from ..compiling.placement.resolution import committed_sharding
from .compiled import Compiled
from .cpp_functions import make_cpp_function
from .operand_layouts import check_layouts_compiled_for
from .result_checks import check_results, checks_results

# The number of entries in the C++ cache of one executable. Arguments of one type may be NumPy
# arrays, committed device arrays or uncommitted device arrays, and each kind takes an entry.
_MOST_KINDS_OF_ARGUMENTS = 16


def run_flat(program: TracedProgram, compiled: Compiled, leaves: Sequence[Any]) -> Sequence[Any]:
    """Runs an executable on flat operands, and returns the flat results."""
    array_program = program.array_program()
    operands = [*program.hoisted, *leaves]
    arrays = program.array_operands(operands)
    results = compiled.call(arrays)
    if checks_results():
        check_results(array_program, arrays, results)
    return program.results_of_arrays(operands, results)


def make_compiled_call(
    program: TracedProgram,
    compiled: Compiled,
    in_tree: Any,
    out_tree: Any,
    const_args: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Returns the C++ function object that runs an executable.

    Args:
      program: the traced program.
      compiled: the executable.
      in_tree: the structure of ``(args, kwargs)``.
      out_tree: the structure of the result.
      const_args: operands that come before those of the call.
    """
    is_array_program = program.array_program() is program
    held = [*program.hoisted, *const_args]

    @api_boundary
    def run(*args: Any, **kwargs: Any) -> Any:
        leaves, given_tree = flatten_operands((args, kwargs))
        if const_args:
            leaves = [*const_args, *leaves]
        check_operands(program, compiled, leaves, in_tree, given_tree)
        return pytrees.tree_unflatten(out_tree, run_flat(program, compiled, leaves))

    @api_boundary
    def cache_miss(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        result = run(*args, **kwargs)
        fastpath = None
        if is_array_program and not held and not checks_results():
            fastpath = compiled.fastpath(out_tree, pytrees.tree_leaves((args, kwargs)))
        return result, fastpath, False

    return make_cpp_function(
        program.params["name"], run, cache_miss, own_capacity=_MOST_KINDS_OF_ARGUMENTS
    )


def check_operands(
    program: TracedProgram,
    compiled: Compiled,
    leaves: Sequence[Any],
    in_tree: Any = None,
    given_tree: Any = None,
) -> None:
    """Checks operands against those for which a program was compiled.

    Args:
      program: the traced program.
      compiled: the executable.
      leaves: the flat operands.
      in_tree: the structure of the arguments for which the program was compiled.
      given_tree: the structure of the arguments of the call.

    Raises:
      TypeError: the structures, or the types of operands, differ.
      ValueError: the shardings of operands differ.
    """
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            raise TypeError(
                f"Cannot apply {naming.library} transformations to a function lowered and compiled "
                f"for a particular signature. Detected argument of Tracer type, {leaf!r}. "
                "Transform the function before lowering it."
            )
    if given_tree != in_tree:
        _raise_tree_mismatch(in_tree, given_tree)
    count = len(program.closed.in_avals) - len(program.hoisted)
    if len(leaves) != count:
        raise TypeError(
            f"{program.params['name']} was compiled for {count} operands, got {len(leaves)}"
        )
    _CHECKS[program.kind](program, compiled, leaves)


def _check_high_arguments(
    program: TracedProgram, compiled: Compiled, leaves: Sequence[Any]
) -> None:
    avals, expected = list(map(get_aval, leaves)), program.closed.in_avals
    if avals != list(expected):
        raise TypeError(
            "Argument types differ from the types for which this computation was compiled: it "
            f"takes {expected}, got {avals}"
        )


def _check_array_arguments(
    program: TracedProgram, compiled: Compiled, leaves: Sequence[Any]
) -> None:
    _check_arguments(program, compiled, leaves)
    names = _argument_names(program, len(leaves))
    _check_shardings(program, compiled, leaves, names)
    if layouts_in_use.in_use:
        held = program.hoisted
        check_layouts_compiled_for(
            compiled, [*held, *leaves], [*map(str, range(len(held))), *names]
        )


def _check_arguments(program: TracedProgram, compiled: Compiled, leaves: Sequence[Any]) -> None:
    names = _argument_names(program, len(leaves))
    mismatches = []
    in_avals = program.closed.in_avals[len(program.hoisted) :]
    for name, leaf, aval in zip(names, leaves, in_avals, strict=True):
        actual = get_aval(leaf)
        if actual.shape != aval.shape or actual.dtype != aval.dtype or actual.is_ref != aval.is_ref:
            mismatches.append(
                f"Argument '{name}' compiled with {aval.str_short()} and called with "
                f"{actual.str_short()}"
            )
    if mismatches:
        raise TypeError(
            "Argument types differ from the types for which this computation was compiled. Perhaps "
            "you are calling the compiled executable with a different enable_x64 mode than when it "
            "was AOT compiled? The mismatches are:\n" + "\n".join(mismatches)
        )


# The check of arguments for each kind of program. The kind is known at compilation.
_CHECKS = {
    "arrays": _check_array_arguments,
    "references": _check_arguments,
    "high types": _check_high_arguments,
}


def _raise_tree_mismatch(compiled_for: Any, actual_tree: Any) -> None:
    errors = []
    for path, before, now, explanation in pytrees.equality_errors_of_structures(
        compiled_for, actual_tree
    ):
        where = ("args", "kwargs")[path[0].idx] + pytrees.keystr(path[1:]) if path else ""
        errors.append(f"    * at {where}, seen {before} but now given {now}, so {explanation}")
    raise TypeError(
        "Function compiled with input pytree does not match the input pytree it was called with. "
        f"There are {len(errors)} mismatches, including:\n" + "\n".join(errors)
    )


def _argument_names(program: TracedProgram, count: int) -> Sequence[str]:
    info = program.closed.jaxpr.debug_info
    names = info.arg_names if info is not None else None
    return names if names and len(names) == count else [str(position) for position in range(count)]


def _check_shardings(
    program: TracedProgram, compiled: Compiled, leaves: Sequence[Any], names: Sequence[str]
) -> None:
    first = len(program.hoisted)
    all_kept = compiled.lowered.kept
    skipped = len(compiled.constants) + sum(all_kept[:first])
    required = iter(compiled.executable.in_shardings[skipped:])
    in_avals = program.closed.in_avals[first:]
    mismatches = []
    for name, leaf, aval, kept in zip(names, leaves, in_avals, all_kept[first:], strict=True):
        if not kept:
            continue
        sharding, committed = next(required), committed_sharding(leaf)
        if committed is None or committed is sharding:
            continue
        if not committed.is_equivalent_to(sharding, aval.ndim):
            mismatches.append(
                f"Argument {name} with shape {aval.str_short()}:\n"
                f"  Passed sharding: {committed}\n"
                f"  Required sharding: {sharding}"
            )
    if mismatches:
        raise ValueError(
            "Computation was compiled for input shardings that disagree with the shardings of "
            f"arguments passed to it. Here are the {len(mismatches)} mismatches:\n"
            + "\n".join(mismatches)
        )
