# SPDX-License-Identifier: Apache-2.0
"""Registry of the process's evaluator, and evaluation of programs equation by equation.

A process has one evaluator: olympus-xla if it is installed, otherwise the NumPy reference. The
evaluator is chosen at its first use, through the entry-point group ``olympus.evaluators``. A
package may also install its evaluator earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from ..diagnostics.traced_lines import add_line
from ..loading import deferred
from ..types.avals import AbstractValue
from .olympuspr import ClosedOlympuspr, Equation, Literal, Olympuspr, Var
from .primitives import Primitive
from .tracing import current, evaluation_trace

if TYPE_CHECKING:
    from importlib import metadata
else:
    metadata = deferred("importlib.metadata", milliseconds=8.0)

ENTRY_POINT_GROUP = "olympus.evaluators"


class Evaluator(Protocol):
    """Protocol of evaluators, which apply primitives to concrete values."""

    name: str

    def evaluate(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Applies a primitive to concrete operands immediately."""
        ...

    def array(self, value: Any, aval: AbstractValue) -> Any:
        """Returns a concrete array of the given type, with the values of a NumPy array or scalar.

        The result never shares memory that the caller could write to.
        """
        ...

    def jit(self, fun: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        """Returns a function's compiled form; see `olympus_ir.programs.jit.jit` for options."""
        ...


_installed: Evaluator | None = None


def _no_default() -> NoReturn:
    raise RuntimeError("no evaluator is installed: import olympus_ir")


# Returns the evaluator if no package provides one. `olympus_ir` sets this function.
_default: Callable[[], Evaluator] = _no_default


def set_default_evaluator(load: Callable[[], Evaluator]) -> None:
    """Sets the function that returns the evaluator if no package installs one."""
    global _default
    _default = load


def install_evaluator(evaluator: Evaluator) -> None:
    """Sets the evaluator for all primitives from now on.

    Raises:
      RuntimeError: if another evaluator has already run computations.
    """
    global _installed
    if _installed is evaluator:
        return
    if _installed is not None and _installed.name != "reference":
        raise RuntimeError(
            f"the evaluator {_installed.name!r} is installed already; {evaluator.name!r} cannot "
            "replace it in this process"
        )
    _installed = evaluator
    evaluation_trace.process_primitive = evaluator.evaluate


def evaluator() -> Evaluator:
    """Returns the current evaluator, which is chosen on the first call."""
    if _installed is None:
        _choose_evaluator()
    assert _installed is not None
    return _installed


def _choose_evaluator() -> None:
    evaluators = sorted(
        metadata.entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name
    )
    if evaluators:
        chosen = evaluators[0].load()
        if _installed is None:  # the import of the package may have installed its evaluator
            install_evaluator(chosen)
    else:
        install_evaluator(_default())


def _evaluate_first(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    return evaluator().evaluate(primitive, args, params)


if _installed is None:
    evaluation_trace.process_primitive = _evaluate_first


# ---- running programs ----


def eval_olympuspr(
    olympuspr: Olympuspr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True
) -> list[Any]:
    """Runs a program by binding its primitives in the current trace.

    Args:
      olympuspr: the program.
      consts: a value for each constant.
      *args: a value for each input.
      propagate_source_info: whether equations that are recorded during the run get the source
          positions and name stacks of the program's equations.

    Returns:
      A value for each result.

    Example:
      >>> import olympus
      >>> closed = olympus.make_olympuspr(lambda x: 2 * x)(1.0)
      >>> eval_olympuspr(closed.olympuspr, closed.consts, 3.0)
      [Array(6., dtype=float32, weak_type=True)]
    """
    return run_equations(
        olympuspr, consts, args, bind_equation, propagate_source_info=propagate_source_info
    )


def run_equations(
    olympuspr: Olympuspr,
    consts: Sequence[Any],
    operands: Sequence[Any],
    apply: Callable[[Equation, list[Any]], Sequence[Any]],
    *,
    propagate_source_info: bool = True,
) -> list[Any]:
    """Runs a program in which ``apply`` computes the results of each equation.

    Args:
      olympuspr: the program.
      consts: a value for each constant.
      operands: a value for each input.
      apply: maps an equation and the values of its operands to the values of its results.
      propagate_source_info: whether equations that are recorded during the run get the source
          positions and name stacks of the program's equations.

    Returns:
      A value for each result.
    """
    environment: dict[Var, Any] = dict(zip(olympuspr.constvars, consts, strict=True))
    environment.update(zip(olympuspr.invars, operands, strict=True))
    last_use = last_uses(olympuspr)
    saved_source, outer_names = current.source, current.name_stack
    equation: Any = None
    try:
        for position, equation in enumerate(olympuspr.eqns):
            values = [
                atom.val if isinstance(atom, Literal) else environment[atom]
                for atom in equation.invars
            ]
            if propagate_source_info:
                source = equation.source_info
                if outer_names:
                    source = source._replace(name_stack=outer_names + source.name_stack)
                current.source, current.name_stack = source, source.name_stack
            results = apply(equation, values)
            environment.update(zip(equation.outvars, results, strict=True))
            for var in last_use.get(position, ()):
                environment.pop(var, None)
    except Exception as error:
        if equation is not None:
            add_line(error, equation.primitive.name, equation.source_info)
        raise
    finally:
        current.source, current.name_stack = saved_source, outer_names
    return [
        atom.val if isinstance(atom, Literal) else environment[atom] for atom in olympuspr.outvars
    ]


def bind_equation(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
    """Applies an equation's primitive to operands; returns the list of results."""
    primitive = equation.primitive
    if primitive.bind_equation is not None:
        return primitive.bind_equation(operands, equation.params)
    results = current.trace.process_primitive(primitive, operands, equation.params)
    return results if primitive.multiple_results else [results]


def last_uses(olympuspr: Olympuspr) -> dict[int, list[Var]]:
    """Maps the position of each equation to the variables that are last used there.

    The results of the program are left out.
    """
    results = set(olympuspr.outvars)  # literals among them do no harm
    last: dict[Any, int] = {}
    for position, equation in enumerate(olympuspr.eqns):
        for atom in equation.invars:
            if atom.__class__ is not Literal:
                last[atom] = position
        for var in equation.outvars:
            last[var] = position
    ends: dict[int, list[Var]] = {}
    for var, position in last.items():
        if var not in results:
            ends.setdefault(position, []).append(var)
    return ends


def olympuspr_as_fun(closed: ClosedOlympuspr) -> Callable[..., list[Any]]:
    """Returns a closed program as a function of flat operands."""
    return lambda *args: eval_olympuspr(closed.jaxpr, closed.consts, *args)
