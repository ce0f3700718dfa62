# SPDX-License-Identifier: Apache-2.0
"""Transposition: runs linear programs backward, from cotangents of results to those of inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.diagnostics.name_stacks import NameStack, TransformationName
from olympus_ir.diagnostics.source_info import SourceInfo
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.diagnostics.traced_lines import add_line
from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import Atom, ClosedOlympuspr, Equation, Literal, Olympuspr, Var
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed, trace_to_olympuspr
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.settings.config_states import abstract_mesh
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, debug_info_of_tree
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import AxisName, PyTree
from olympus_ir.types.avals import ShapedArray

from ..forward.checks import check_no_tracers
from ..forward.custom_linear import custom_lin_p
from ..forward.tangent_trace import live_equations
from ..memoization import memoized
from ..tables import transpose_rules
from ..zeros import (
    UndefinedPrimal,
    Zero,
    add_tangents,
    as_result,
    aval_of,
    instantiate,
    is_undefined_primal,
    laid_out_as,
)

__all__ = ["backward_pass", "linear_transpose", "transpose_olympuspr"]


def _zero_cotangent(aval: Any) -> Zero:
    """Returns the zero cotangent of a value. It is unreduced over the value's reduced axes."""
    return Zero(aval if getattr(aval, "layout", None) is None else aval.to_ct_aval())


def backward_pass(
    equations: Iterable[Equation],
    invars: Sequence[Var],
    outvars: Sequence[Atom],
    cotangents: Sequence[Any],
    *,
    named: bool = False,
) -> list[Any]:
    """Pulls cotangents back through linear equations.

    Args:
      equations: the equations in reverse order. The variables among their operands are linear;
        other operands are literals that hold values.
      invars: the linear inputs.
      outvars: the results.
      cotangents: one for each result; may be `Zero`.
      named: whether to add "transpose" to the name stacks of recorded equations.

    Returns:
      One cotangent for each input; `Zero` for inputs that received no cotangent.
    """
    named = named and current.trace is not evaluation_trace
    laid_out = abstract_mesh.value is not None or any(
        atom.aval.layout is not None for atom in (*invars, *outvars)
    )
    pending = _PendingCotangents(outvars, cotangents, laid_out)
    saved_source = current.source
    try:
        for equation in equations:
            cotangent = pending.take(equation)
            if cotangent is None:
                continue
            source = equation.source_info
            if source.traceback is not None:
                current.source = _as_transposed(source) if named else source
            pending.add(equation.invars, _transposed(equation, cotangent))
    finally:
        current.source = saved_source
    return [pending.of_input(var) for var in invars]


def _transposed(equation: Equation, cotangent: Any) -> Sequence[Any]:
    """Returns the operands' cotangents by the equation's transpose rule."""
    primitive = equation.primitive
    rule = transpose_rules.rules.get(primitive) or transpose_rules.find(primitive)
    if rule is None:
        raise _missing_rule(primitive)
    operands = [
        atom.val if isinstance(atom, Literal) else UndefinedPrimal(atom.aval)
        for atom in equation.invars
    ]
    try:
        return rule(cotangent, *operands, **equation.params)
    except Exception as error:
        add_line(error, primitive.name, equation.source_info)
        raise


class _PendingCotangents:
    """The cotangents of variables whose equations the backward pass has not reached yet.

    Attributes:
      received: the sum of the cotangents that each variable has received.
      dropped: the variables for which a rule has returned no cotangent.
      laid_out: whether to convert cotangents to the layout of their variable.
    """

    __slots__ = ("dropped", "laid_out", "received")

    def __init__(self, outvars: Sequence[Atom], cotangents: Sequence[Any], laid_out: bool) -> None:
        """Begins with the nonzero cotangents of results, summed if results share a variable."""
        self.received: dict[Any, Any] = {}
        self.dropped: set[Any] = set()
        self.laid_out = laid_out
        for atom, cotangent in zip(outvars, cotangents, strict=True):
            if atom.__class__ is not Literal and cotangent.__class__ is not Zero:
                self._accumulate(atom, cotangent)

    def add(self, atoms: Sequence[Atom], cotangents: Sequence[Any]) -> None:
        """Adds a cotangent to the sum of each variable; `None` and `Zero` mean no cotangent."""
        for atom, cotangent in zip(atoms, cotangents, strict=True):
            if atom.__class__ is Literal:
                continue
            if cotangent is None or cotangent.__class__ is Zero:
                self.dropped.add(atom)
                continue
            if self.laid_out:
                cotangent = laid_out_as(cotangent, atom.aval.to_ct_aval())
            self._accumulate(atom, cotangent)

    def _accumulate(self, atom: Atom, cotangent: Any) -> None:
        present = self.received.get(atom)
        self.received[atom] = cotangent if present is None else add_tangents(present, cotangent)

    def take(self, equation: Equation) -> Any:
        """Removes and returns the cotangents of an equation's results.

        Returns:
          One cotangent, or a list if the primitive has several results. None if the equation need
          not be transposed.
        """
        outs = equation.outvars
        if not equation.primitive.multiple_results:
            cotangent = self.received.pop(outs[0], None)
            if cotangent is None:
                self._skip(equation)
            return cotangent
        cotangents = [self.received.pop(var, None) for var in outs]
        if all(ct is None for ct in cotangents) and not self._is_run_on_zeros(equation):
            self._skip(equation)
            return None
        return [
            _zero_cotangent(var.aval) if ct is None else ct
            for var, ct in zip(outs, cotangents, strict=True)
        ]

    def of_input(self, var: Var) -> Any:
        """Returns the cotangent of a linear input."""
        cotangent = self.received.get(var)
        return _zero_cotangent(var.aval) if cotangent is None else cotangent

    def _is_run_on_zeros(self, equation: Equation) -> bool:
        """Returns whether to transpose an equation although its results have no cotangents.

        The results of a `custom_vjp` function may be used only by operations whose rules return no
        cotangents. The backward rule of the function is still called, with zeros, because a rule
        may return cotangents that do not depend on the given cotangents. Rules of quantized
        operations are an example.
        """
        if equation.primitive is not custom_lin_p:
            return False
        return not self.dropped.isdisjoint(equation.outvars)

    def _skip(self, equation: Equation) -> None:
        """Marks the operands of an equation as dropped if one of its results is dropped."""
        if not self.dropped.isdisjoint(equation.outvars):
            self.dropped.update(atom for atom in equation.invars if atom.__class__ is not Literal)


_TRANSPOSE = TransformationName("transpose")


def _as_transposed(source: SourceInfo) -> SourceInfo:
    """Returns an equation's source with "transpose" added to its name stack."""
    outer, names = current.name_stack, source.name_stack
    inner = names[len(outer) :] if names[: len(outer)] == outer else names
    return source._replace(name_stack=NameStack((*outer, _TRANSPOSE, *inner)))


def _missing_rule(primitive: Primitive) -> MissingRuleError:
    if primitive.linear_in:
        return transpose_rules.missing(primitive)
    return MissingRuleError(
        "Transpose rule (for reverse-mode differentiation) for "
        f"'{primitive.name}' not implemented, because it is not linear. A function that is "
        "transposed, and the tangent that a custom_jvp rule returns, must be linear; here "
        f"`{primitive.name}` is applied to a value that depends on the input or the tangent."
    )


# ---- programs ----


def transpose_olympuspr(
    closed: ClosedOlympuspr,
    linear_in: Sequence[bool],
    nonzero_cotangents: Sequence[bool],
    instantiate_out: Sequence[bool] = (),
) -> tuple[ClosedOlympuspr, tuple[bool, ...]]:
    """Returns the transpose of a program with respect to some of its inputs.

    Args:
      closed: the program; linear in the chosen inputs.
      linear_in: for each input, whether to transpose with respect to it.
      nonzero_cotangents: for each result, whether it has a cotangent.
      instantiate_out: for each chosen input, whether to return its cotangent even if it is zero.

    Returns:
      The program, and for each chosen input, whether its cotangent is nonzero. The program maps the
      other inputs and the nonzero cotangents of results to the nonzero cotangents of the chosen
      inputs.
    """
    instantiate = tuple(instantiate_out) or (False,) * sum(linear_in)
    return _transpose_olympuspr(closed, tuple(linear_in), tuple(nonzero_cotangents), instantiate)


@memoized
def _transpose_olympuspr(
    closed: ClosedOlympuspr,
    linear_in: tuple[bool, ...],
    nonzero_cotangents: tuple[bool, ...],
    instantiate_out: tuple[bool, ...],
) -> tuple[ClosedOlympuspr, tuple[bool, ...]]:
    nonzero_out: tuple[bool, ...] = ()
    count = linear_in.count(False)

    def pulled_back(*operands: Any) -> list[Any]:
        nonlocal nonzero_out
        remaining = iter(operands[count:])
        cotangents = [
            next(remaining) if nonzero else Zero(aval)
            for nonzero, aval in zip(nonzero_cotangents, closed.out_avals, strict=True)
        ]
        results = transpose_program(
            closed.jaxpr, closed.consts, linear_in, operands[:count], cotangents
        )
        results = [
            instantiate(result) if want else result
            for result, want in zip(results, instantiate_out, strict=True)
        ]
        nonzero_out = tuple(result.__class__ is not Zero for result in results)
        return [result for result in results if result.__class__ is not Zero]

    avals = [
        *(aval for aval, linear in zip(closed.in_avals, linear_in, strict=True) if not linear),
        *(
            aval if aval.layout is None else aval.to_ct_aval()
            for aval, nonzero in zip(closed.out_avals, nonzero_cotangents, strict=True)
            if nonzero
        ),
    ]
    olympuspr, consts = trace_to_olympuspr(pulled_back, avals, closed.debug_info)
    check_no_tracers(consts)
    return ClosedOlympuspr(olympuspr, consts), nonzero_out


def transpose_program(
    olympuspr: Olympuspr,
    consts: Sequence[Any],
    linear_in: Sequence[bool],
    known: Sequence[Any],
    cotangents: Sequence[Any],
) -> list[Any]:
    """Runs a program backward under the current trace.

    Equations that do not depend on linear inputs are run forward first.

    Args:
      olympuspr: the program.
      consts: the values of its constants.
      linear_in: for each input, whether it is linear.
      known: the values of the inputs that are not linear.
      cotangents: one for each result; may be `Zero`.

    Returns:
      One cotangent for each linear input; may be `Zero`.
    """
    values = iter(known)
    environment: dict[Any, Any] = dict(zip(olympuspr.constvars, consts, strict=True))
    linear_vars = []
    for var, linear in zip(olympuspr.invars, linear_in, strict=True):
        if linear:
            linear_vars.append(var)
        else:
            environment[var] = next(values)

    needed = [
        atom
        for atom, cotangent in zip(olympuspr.outvars, cotangents, strict=True)
        if cotangent.__class__ is not Zero
    ]
    equations = _split(live_equations(olympuspr.eqns, needed), environment, set(linear_vars))
    # Cotangents of results that do not depend on linear inputs are ignored.
    return backward_pass(reversed(equations), linear_vars, olympuspr.outvars, cotangents)


@transpose_rules.derive("its expansion")
def _of_expansion(primitive: Primitive) -> Callable[..., Any] | None:
    if primitive not in expansion_rules:
        return None

    def rule(cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        def expanded(*values: Any) -> list[Any]:
            return pytrees.tree_leaves(expansion_rules[primitive](*values, **params))

        linear = [is_undefined_primal(operand) for operand in operands]
        avals = [x.aval if is_undefined_primal(x) else aval_of(x) for x in operands]
        closed = trace_to_closed(expanded, avals)
        known = [x for x, is_linear in zip(operands, linear, strict=True) if not is_linear]
        cotangents = cotangent if primitive.multiple_results else [cotangent]
        results = iter(transpose_program(closed.jaxpr, closed.consts, linear, known, cotangents))
        return [next(results) if is_linear else None for is_linear in linear]

    return rule


def _split(
    equations: Sequence[Equation], environment: dict[Any, Any], linear_vars: set[Var]
) -> list[Equation]:
    """Runs the equations without linear operands.

    Returns the other equations, with known operands filled in.
    """
    linear_equations: list[Equation] = []
    dependent = set(linear_vars)
    for equation in equations:
        if not dependent.isdisjoint(
            [atom for atom in equation.invars if atom.__class__ is not Literal]
        ):
            dependent.update(equation.outvars)
            linear_equations.append(equation)
    # Only the forward equations that linear equations depend on are needed.
    needed = [
        atom
        for equation in linear_equations
        for atom in equation.invars
        if atom.__class__ is not Literal and atom not in dependent
    ]
    forward = live_equations(
        [equation for equation in equations if dependent.isdisjoint(equation.outvars)], needed
    )
    saved_source = current.source
    try:
        for equation in forward:
            operands = [
                atom.val if isinstance(atom, Literal) else environment[atom]
                for atom in equation.invars
            ]
            current.source = equation.source_info
            results = bind_equation(equation, operands)
            environment.update(zip(equation.outvars, results, strict=True))
    finally:
        current.source = saved_source

    def filled_in(atom: Any) -> Atom:
        if atom.__class__ is Literal or atom in dependent:
            return atom
        return Literal(environment[atom], atom.aval)

    return [equation.map_operands(filled_in) for equation in linear_equations]


# ---- the transformation ----


@api_boundary
def linear_transpose(
    fun: Callable[..., Any], *primals: PyTree, reduce_axes: Sequence[AxisName] = ()
) -> Any:
    """Transposes a function that is linear in its arguments.

    This is cheaper than `vjp`, because it uses only the shapes and dtypes of the primal arguments
    and evaluates nothing.

    Args:
      fun: a linear function of arrays or pytrees of arrays.
      *primals: example arguments, or objects with a shape and a dtype.
      reduce_axes: deprecated; must be empty.

    Returns:
      A function that takes a cotangent with the structure of the result of ``fun``. It returns a
      tuple of cotangents, one for each primal argument.

    Raises:
      TypeError: ``fun`` maps between vector spaces of different kinds, such as real numbers and
        integers; or, on the call of the transpose, the cotangent does not have the result's type.
      NotImplementedError: on the call of the transpose, ``fun`` is not linear.

    See Also:
      vjp: for functions that are not linear.

    Example:
      >>> from olympus_ir import lax
      >>> transposed = linear_transpose(lambda x, y: lax.sub(x, y), 1.0, 1.0)
      >>> transposed(2.0)
      (2.0, Array(-2., dtype=float32, weak_type=True))
    """
    if reduce_axes:
        raise NotImplementedError(
            f"linear_transpose(..., reduce_axes={reduce_axes!r}): reduce_axes is not supported any "
            "more; apply psum inside the function."
        )
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r} of type {type(fun).__name__}")
    leaves, tree = pytrees.tree_flatten((primals, {}))
    in_avals = [_abstract(leaf) for leaf in leaves]
    flat = FlatFunction(fun, tree)
    olympuspr, consts = trace_to_olympuspr(
        flat, in_avals, debug_info_of_tree("linear_transpose", fun, tree)
    )
    out_tree, args_tree = flat.out_tree, pytrees.treedef_children(tree)[0]
    kinds = {_vector_space(aval) for aval in (*in_avals, *olympuspr.out_avals)}
    if len(kinds) > 1 or "none" in kinds:
        raise TypeError(
            "linear_transpose only supports [float or complex] -> [float or complex], and integer "
            f"-> integer functions, but got {_dtypes(in_avals)} -> {_dtypes(olympuspr.out_avals)}."
        )
    return pytrees.Partial(_Transposed(olympuspr, out_tree, args_tree), consts)


class _Transposed:
    """The transpose of a program: a function of its constants and the cotangent of its result."""

    __slots__ = ("args_tree", "olympuspr", "out_tree")

    def __init__(self, olympuspr: Olympuspr, out_tree: Any, args_tree: Any) -> None:
        self.olympuspr = olympuspr
        self.out_tree = out_tree
        self.args_tree = args_tree

    @api_boundary
    def __call__(self, consts: Sequence[Any], cotangent: Any) -> Any:
        cotangents, given_tree = pytrees.tree_flatten(cotangent)
        if given_tree != self.out_tree:
            raise TypeError(
                "cotangent tree does not match function output, expected "
                f"{self.out_tree} but got {given_tree}"
            )
        for value, expected in zip(cotangents, self.olympuspr.out_avals, strict=True):
            actual, aval = aval_of(value), cast(ShapedArray, expected)
            if actual.shape != aval.shape or actual.dtype != aval.dtype:
                raise TypeError(
                    "cotangent type does not match function output, expected "
                    f"{aval.str_short()} but got {actual.str_short()}"
                )
        linear = [True] * len(self.olympuspr.invars)
        results = transpose_program(self.olympuspr, consts, linear, (), cotangents)
        return pytrees.tree_unflatten(
            self.args_tree, [as_result(result, cotangents) for result in results]
        )


def _vector_space(aval: Any) -> str:
    if aval.to_tangent_aval().dtype == aval.dtype:
        return "inexact"
    return "integer" if dtypes.issubdtype(aval.dtype, np.integer) else "none"


def _dtypes(avals: Sequence[Any]) -> list[Any]:
    return [getattr(aval, "dtype", aval) for aval in avals]


def _abstract(value: Any) -> Any:
    """Returns the type of a value or of an object with a shape and a dtype."""
    try:
        return aval_of(value)
    except TypeError:
        if not hasattr(value, "shape") or not hasattr(value, "dtype"):
            raise
        return ShapedArray(value.shape, value.dtype, getattr(value, "weak_type", False))
