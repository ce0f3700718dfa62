# SPDX-License-Identifier: Apache-2.0
"""`checkpoint`: saves few intermediate values and recomputes the others for gradients."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ConcretizationTypeError
from olympus_ir.diagnostics.name_stacks import NameStack
from olympus_ir.diagnostics.source_info import summarize
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.loading import deferred
from olympus_ir.programs.dead_code import dce_closed
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import (
    ClosedOlympuspr,
    Equation,
    Literal,
    Olympuspr,
    Var,
    constants_as_inputs,
    joined_effects,
)
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.programs.tracing import Tracer, current, evaluation_trace
from olympus_ir.settings import config
from olympus_ir.settings.config_flags import log_checkpoint_residuals
from olympus_ir.settings.naming import logger_name
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, debug_info_of_tree, function_name
from olympus_ir.trees.function_caches import FunctionCache
from olympus_ir.trees.operands import flatten_operands
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.trees.wrapping import wraps
from olympus_ir.types.references import check_aliases
from olympus_ir.types.typed_scalars import typed

from ..forward.linearized_programs import ResidualCollector, close_over_used, record_linearization
from ..forward.tangent_trace import lift_constants, live_equations
from ..memoization import memoized
from ..zeros import aval_of
from .bodies import eval_inlined
from .policies import checkpoint_name, checkpoint_policies
from .recomputation import recomputation

if TYPE_CHECKING:
    import logging
else:
    logging = deferred("logging", milliseconds=4.0)

__all__ = [
    "checkpoint",
    "checkpoint_linearization",
    "checkpoint_name",
    "checkpoint_policies",
    "remat",
]

P = ParamSpec("P")
R = TypeVar("R")


# ---- the transformation ----


@travels
def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: bool | None = None,
) -> Callable[P, R]:
    """Returns a function that recomputes its intermediate values in the backward pass.

    Reverse mode saves the intermediate values of a function until the backward pass. A checkpointed
    function saves only its arguments and the values that ``policy`` selects, and recomputes the
    others. This takes less memory and more time.

    Args:
      fun: the function.
      prevent_cse: whether to prevent the compiler from merging the recomputation with the first
        computation, which would undo the saving. This is not needed within `scan`, where it costs
        time. A tuple has one bool for each traced positional argument.
      policy: decides for each operation whether its results are saved; see `checkpoint_policies`.
        None saves nothing.
      static_argnums: positions of arguments that are not traced; the arguments must be hashable.
      static_argnames: the names of keyword arguments that are not traced.
      concrete: no longer supported; must be None.

    Returns:
      A function with the same results and derivatives.

    Raises:
      TypeError: on the call, ``fun`` depends on concrete values of traced arguments; see
        ``static_argnums``.
      ValueError: on the call, ``prevent_cse`` does not have as many entries as there are arguments.
      NotImplementedError: ``concrete`` is given.

    Example:
      >>> from olympus_ir import lax
      >>> f = checkpoint(lambda x: lax.sin(lax.sin(x)))
      >>> f(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}")
    if policy is not None and not callable(policy):
        raise TypeError(
            f"The policy of `olympus.checkpoint` must be a function, got {policy!r}; see "
            "olympus.checkpoint_policies."
        )
    if concrete is not None:
        raise NotImplementedError(
            "The 'concrete' option to checkpoint has been removed; use static_argnums, and "
            "ensure_compile_time_eval for computations on static values."
        )
    numbers = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
    if type(numbers) is not tuple or any(type(number) is not int for number in numbers):
        raise TypeError(
            "the `static_argnums` argument to `olympus.checkpoint` must be an int or a tuple of "
            f"ints, but got value {static_argnums!r}"
        )
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    prevent_cse = _checked_prevent_cse(prevent_cse)

    @api_boundary
    @wraps(fun)
    @api_boundary
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        function, statics, args, kwargs = _without_static(fun, numbers, names, args, kwargs)
        leaves, tree = flatten_operands((args, kwargs))
        if isinstance(prevent_cse, tuple) and len(prevent_cse) != len(args):
            raise ValueError(
                f"prevent_cse={prevent_cse} has {len(prevent_cse)} entries, but "
                f"{function_name(fun)} was called with {len(args)} traced positional arguments; "
                "give one bool for each of them, or one for all"
            )
        avals = tuple([aval_of(leaf) for leaf in leaves])
        olympuspr, consts, out_tree = _trace(fun, function, statics, tree, avals)
        if any(aval.is_ref for aval in avals):
            check_aliases(olympuspr.debug_info, consts, leaves)
        results = lax.checkpoint_p.bind(
            *consts,
            *leaves,
            jaxpr=olympuspr,
            prevent_cse=prevent_cse,
            differentiated=False,
            policy=policy,
        )
        if current.trace is evaluation_trace:
            results = _with_given(olympuspr, (*consts, *leaves), results)
        return pytrees.tree_unflatten(out_tree, results)

    return checkpointed


def _checked_prevent_cse(prevent_cse: Any) -> bool | tuple[bool, ...]:
    flags = prevent_cse if prevent_cse.__class__ in (tuple, list) else (prevent_cse,)
    if not all(isinstance(flag, bool) for flag in flags):
        raise TypeError(f"prevent_cse must be a bool or a tuple of bools, got {prevent_cse!r}")
    return tuple(prevent_cse) if prevent_cse.__class__ is list else prevent_cse


def _with_given(olympuspr: Olympuspr, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Returns results; a result that is an operand or constant is returned as it was given."""
    values = dict(zip(olympuspr.invars, operands, strict=True))
    return [
        typed(atom.val) if isinstance(atom, Literal) else typed(values.get(atom, result))
        for atom, result in zip(olympuspr.outvars, results, strict=True)
    ]


def remat(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: bool | None = None,
) -> Callable[..., Any]:
    """Calls `checkpoint` under an older name, without ``static_argnames``.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> olympus.grad(remat(lambda x: jnp.sin(jnp.cos(x))))(0.0)
      Array(-0., dtype=float32, weak_type=True)
    """
    return checkpoint(
        fun,
        prevent_cse=prevent_cse,
        policy=policy,
        static_argnums=static_argnums,
        concrete=concrete,
    )


def _without_static(
    fun: Callable[..., Any],
    numbers: Sequence[int],
    names: Sequence[str],
    args: tuple,
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], tuple | None, tuple, dict[str, Any]]:
    """Separates static arguments from traced arguments.

    Returns:
      The function of the traced arguments, a key for the static arguments, and the traced
      arguments. The key is None if static arguments are not hashable; the function's programs
      are then not memoized.
    """
    if not numbers and not names:
        return fun, (), args, kwargs
    count = len(args)
    if not all(-count <= number < count for number in numbers):
        raise ValueError(
            "the `static_argnums` argument to `olympus.checkpoint` can only take integer values "
            "greater than or equal to `-len(args)` and less than `len(args)`, but got "
            f"{tuple(numbers)}, while `len(args)` = {count}"
        )
    positions = sorted({number % count for number in numbers})
    static_args = tuple((position, args[position]) for position in positions)
    static_kwargs = tuple((name, kwargs[name]) for name in sorted(names) if name in kwargs)
    statics: tuple | None = (static_args, static_kwargs)
    try:
        hash(statics)
    except TypeError:
        statics = None  # unhashable static arguments cannot be compared between calls

    def function(*dynamic: Any, **keywords: Any) -> Any:
        full = list(dynamic)
        for position, value in static_args:
            full.insert(position, value)
        return fun(*full, **keywords, **dict(static_kwargs))

    dynamic_args = tuple(arg for position, arg in enumerate(args) if position not in positions)
    dynamic_kwargs = {name: value for name, value in kwargs.items() if name not in names}
    return function, statics, dynamic_args, dynamic_kwargs


_traced = FunctionCache()


def _trace(
    fun: Callable[..., Any],
    function: Callable[..., Any],
    statics: tuple | None,
    tree: Any,
    avals: tuple,
) -> tuple[Olympuspr, list[Any], Any]:
    """Returns the function's program, the values of its constants, and the result's structure."""
    known = _traced.of(fun)
    key = (statics, tree, avals, current.axes, config.trace_context())
    found = None if statics is None else known.get(key)
    if found is not None:
        return found
    flat = FlatFunction(function, tree)
    info = debug_info_of_tree("checkpoint / remat", fun, tree)
    try:
        olympuspr, consts = trace_to_olympuspr(flat, avals, info)
    except ConcretizationTypeError as error:
        error.add_note(
            "Consider the `static_argnums` parameter of `checkpoint` (or `remat`): arguments that "
            "the function's control flow depends on are then not traced."
        )
        raise
    result = (constants_as_inputs(olympuspr), consts, flat.out_tree)
    if statics is not None and not any(isinstance(value, Tracer) for value in consts):
        known[key] = result
    return result


# ---- linearization ----


class CheckpointPlan:
    """The forward program and the recomputing program of a linearized checkpoint.

    Attributes:
      forward: maps the inputs to the results and the saved values.
      linear: maps saved values, which may be inputs, and the inputs' tangents to the results'
        tangents. It recomputes the residuals and applies the linear program.
      nonzero_out: for each result, whether it has a tangent.
    """

    __slots__ = ("_positions", "forward", "linear", "nonzero_out")

    def __init__(
        self,
        forward: ClosedOlympuspr,
        linear: Olympuspr,
        nonzero_out: tuple[bool, ...],
        positions: Sequence[Any],
    ) -> None:
        self.forward = forward
        self.linear = linear
        self.nonzero_out = nonzero_out
        # The source of each operand of the linear program: a position among inputs and forward
        # results, or a constant.
        self._positions = positions

    def run_forward(self, primals: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Runs the forward program under the current trace.

        Returns the results and the saved values.
        """
        results = eval_olympuspr(self.forward.jaxpr, self.forward.consts, *primals)
        candidates = [*primals, *results]
        saved = [
            candidates[position] if position.__class__ is int else position.value
            for position in self._positions
        ]
        return results[: len(self.nonzero_out)], saved


class _Constant:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@memoized
def checkpoint_linearization(
    closed: ClosedOlympuspr, nonzero_in: tuple[bool, ...], policy: Any
) -> CheckpointPlan:
    """Splits a checkpointed program into a forward pass and a pass that uses saved values."""
    recording = record_linearization(
        closed, nonzero_in, (False,) * len(closed.out_avals), run=eval_inlined
    )
    staged, tangent_trace = recording.staged, recording.tangent_trace
    collector = ResidualCollector(staged)
    linear_equations, tangent_outvars = lift_constants(
        live_equations(tangent_trace.equations, recording.tangent_outvars),
        recording.tangent_outvars,
        collector.lift,
    )
    frontier, recomputed, forward_equations = recomputation(staged, collector.sources, policy)
    if log_checkpoint_residuals.value or "logging" in sys.modules:
        _log_residuals(staged, frontier)

    # The linear equations have variables of their own for residuals. Replace these by the variables
    # of the recomputed equations.
    renamed = dict(zip(collector.residual_vars, collector.sources, strict=True))

    def rename(atom: Any) -> Any:
        return renamed.get(atom, atom) if atom.__class__ is Var else atom

    equations = [
        *map(_as_recomputed, recomputed),
        *(equation.map_operands(rename) for equation in linear_equations),
    ]
    outvars = [rename(atom) for atom in tangent_outvars]
    inputs: dict[Var, int] = {var: position for position, var in enumerate(staged.invars)}
    constants = dict(zip(staged.constvars, staged.constant_values, strict=True))
    forward_outvars = list(recording.outvars)
    positions: list[Any] = []
    for var in frontier:
        if var in inputs:
            positions.append(inputs[var])
        elif var in constants:
            positions.append(_Constant(constants[var]))
        else:
            positions.append(len(staged.invars) + len(forward_outvars))
            forward_outvars.append(var)
    positions += [_Constant(value) for value in collector.values]
    linear = Olympuspr(
        [],
        [*frontier, *collector.constvars, *tangent_trace.invars],
        outvars,
        equations,
        joined_effects(equations),
        closed.debug_info,
    )
    forward = close_over_used(staged, forward_outvars, forward_equations)
    # Remove equations that compute residuals which are not saved.
    forward, _ = dce_closed(forward, [True] * len(forward_outvars), instantiate=True)
    return CheckpointPlan(forward, linear, recording.nonzero_out, positions)


def _as_recomputed(equation: Equation) -> Equation:
    """Returns an equation with a name in profiles that tells that it recomputes a value."""
    source = equation.source_info
    names = NameStack((_RECOMPUTED, *source.name_stack))
    return equation.replace(source_info=source._replace(name_stack=names))


_RECOMPUTED = "rematted_computation"


def _log_residuals(staged: Any, frontier: Sequence[Var]) -> None:
    """Logs the values that a checkpointed function saves for the backward pass."""
    level = logging.WARNING if log_checkpoint_residuals.value else logging.DEBUG
    logger = logging.getLogger(logger_name("ad_checkpoint"))
    if not logger.isEnabledFor(level):
        return
    made = {var: equation for equation in staged.equations for var in equation.outvars}
    inputs = [f"  {var.aval.str_short()}" for var in frontier if var not in made]
    computed = [
        f"  {var.aval.str_short()} from output of {made[var].primitive.name} from "
        f"{summarize(made[var].source_info)}"
        for var in frontier
        if var in made
    ]
    parts = []
    if inputs:
        parts.append("\n".join(["saving inputs with shapes:", *inputs]))
    if computed:
        parts.append("\n".join(["saving these intermediates:", *computed]))
    logger.log(level, "remat-decorated function %s", "\nand ".join(parts) or "saving nothing")
