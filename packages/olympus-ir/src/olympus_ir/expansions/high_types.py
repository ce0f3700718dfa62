# SPDX-License-Identifier: Apache-2.0
"""Replacement of values of high types, which consist of several arrays, by these arrays.

A high type defines how to convert a value to arrays (``lower_val``) and back (``raise_val``), and
the types of the arrays (``lo_ty``). Programs are traced and differentiated with high types. Before
a program runs, each high value is replaced by its arrays, and each primitive with high operands or
results is replaced by an equivalent function of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import lax
from ..lax.control_flow.operands import ScanLayout, WhileLayout
from ..programs.calls.options import JitOptions
from ..programs.calls.traced_programs import RunArrays, TracedProgram, add_kind_of_program
from ..programs.evaluation import bind_equation, run_equations
from ..programs.expansion import expansion_rules
from ..programs.jit import jit
from ..programs.olympuspr import ClosedOlympuspr, Equation, Olympuspr, close_olympuspr
from ..programs.primitives import Primitive
from ..programs.staging import trace_to_closed
from ..programs.tracing import escaped_tracer_error
from ..trees.pytrees import tree_structure
from ..types import known_types
from ..types.avals import AbstractValue, get_aval

__all__ = ["HighProgram", "has_high_types", "in_use", "is_high"]

in_use = False  # whether a high type has been registered


def is_high(aval: AbstractValue) -> bool:
    """Returns whether a type is high, so that its values consist of several arrays."""
    return getattr(aval, "is_high", False) is True


def use_high_types() -> None:
    """Enables the search for high types in programs.

    The registration of the first high type calls this function.
    """
    global in_use
    if not in_use:
        in_use = True
        known_types.use_high_types()
        add_kind_of_program(has_high_types, HighProgram)


def has_high_types(closed: ClosedOlympuspr) -> bool:
    """Returns whether a program, or a program nested in it, has values of high types."""
    found = closed.memo.get(has_high_types)
    if found is None:
        found = closed.memo[has_high_types] = _has_high_types(closed.jaxpr)
    return found


def _has_high_types(olympuspr: Olympuspr) -> bool:
    variables = [*olympuspr.invars, *olympuspr.constvars]
    if any(is_high(var.aval) for var in variables):
        return True
    for equation in olympuspr.eqns:
        if any(is_high(var.aval) for var in equation.outvars):
            return True
        if _nests_high_types(equation.params):
            return True
    return False


def _nests_high_types(params: dict[str, Any]) -> bool:
    """Returns whether a program among an equation's parameters has values of high types."""
    for value in params.values():
        for param in value if isinstance(value, tuple) else (value,):
            if isinstance(param, ClosedOlympuspr):
                found = has_high_types(param)
            elif isinstance(param, Olympuspr):
                # A kernel's constants are references, which are operands of its equation.
                is_closed = not param.constvars
                found = (
                    has_high_types(close_olympuspr(param)) if is_closed else _has_high_types(param)
                )
            else:
                continue
            if found:
                return True
    return False


# ---- values and arrays ----


def lowered(values: Sequence[Any]) -> list[Any]:
    """Returns the arrays of all values, in order."""
    arrays: list[Any] = []
    for value in values:
        aval = get_aval(value)
        if is_high(aval):
            arrays += aval.lower_val(value)  # type: ignore[attr-defined]
        else:
            arrays.append(value)
    return arrays


def raised(avals: Sequence[AbstractValue], arrays: Sequence[Any]) -> list[Any]:
    """Returns values of the given types, made from arrays."""
    remaining = iter(arrays)
    return [
        aval.raise_val(*(next(remaining) for _ in aval.lo_ty()))  # type: ignore[attr-defined]
        if is_high(aval)
        else next(remaining)
        for aval in avals
    ]


def of_arrays(closed: ClosedOlympuspr) -> Callable[..., list[Any]]:
    """Returns a function of arrays that evaluates a program with high types."""

    def function(*arrays: Any) -> list[Any]:
        return lowered(evaluate_high(closed, raised(closed.in_avals, arrays)))

    return function


# ---- programs ----


class HighProgram(TracedProgram):
    """Program with values of high types, which runs as a program of arrays."""

    __slots__ = ()

    kind = "high types"

    def run(
        self, run_arrays: RunArrays, options: JitOptions, operands: Sequence[Any]
    ) -> tuple[list[Any], None]:
        """Runs the program as a compiled function of arrays.

        Placement and donation options are ignored, because they refer to values and not to arrays.
        """
        for value in self.hoisted:
            raise escaped_tracer_error(value, f"was used by `{self.params['name']}` under jit")
        compiled = self.executables.get(HighProgram)
        if compiled is None:
            compiled = self.executables[HighProgram] = jit(
                of_arrays(self.closed),
                name=self.params["name"],
                compiler_options=dict(options.compiler_options) or None,
            )
        return raised(self.closed.out_avals, compiled(*lowered(operands))), None

    def array_program(self) -> TracedProgram:
        """Returns the program of arrays, for ahead-of-time compilation."""
        found = self.executables.get(of_arrays)
        if found is None:
            in_avals = [type_ for aval in self.closed.in_avals for type_ in arrays_of_type(aval)]
            closed = trace_to_closed(of_arrays(self.closed), in_avals)
            donated = (False,) * len(in_avals)
            params = {**self.params, "jaxpr": closed, "donated_invars": donated}
            out_tree = tree_structure([0] * len(closed.out_avals))
            found = TracedProgram(closed, out_tree, params, [], self.in_tree)
            self.executables[of_arrays] = found
        return found

    def array_operands(self, operands: Sequence[Any]) -> list[Any]:
        """Returns the arrays of the operands."""
        return lowered(operands)

    placed_operands = array_operands

    def results_of_arrays(self, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Returns the high results, made from the arrays that the program returned."""
        return raised(self.closed.out_avals, results)


def arrays_of_type(aval: AbstractValue) -> list[AbstractValue]:
    """Returns the types of the arrays that make up a value of a type."""
    return aval.lo_ty() if is_high(aval) else [aval]  # type: ignore[attr-defined]


def evaluate_high(closed: ClosedOlympuspr, values: Sequence[Any]) -> list[Any]:
    """Evaluates a program on values, some of high types."""
    return run_equations(closed.jaxpr, closed.consts, values, _apply)


def _apply(equation: Equation, operands: list[Any]) -> Sequence[Any]:
    rule = _rules.get(equation.primitive)
    if rule is not None and _nests_high_types(equation.params):
        return rule(operands, **equation.params)
    if any(is_high(atom.aval) for atom in (*equation.invars, *equation.outvars)):
        return _expanded(equation.primitive, operands, equation.params)
    return bind_equation(equation, operands)


def _expanded(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    expansion = expansion_rules.rules.get(primitive)
    if expansion is None:
        raise TypeError(
            f"`{primitive.name}` was applied to values of high types, but has no rule for them. "
            "Define it as a HiPrimitive, with `to_lojax`."
        )
    results = expansion(*operands, **params)
    return list(results) if primitive.multiple_results else [results]


# ---- primitives with programs inside ----


def _inline(operands: list[Any], program: ClosedOlympuspr) -> list[Any]:
    return evaluate_high(program, operands)


def _jit(operands: list[Any], *, jaxpr: ClosedOlympuspr, name: str, **params: Any) -> list[Any]:
    results = jit(of_arrays(jaxpr), name=name)(*lowered(operands))
    return raised(jaxpr.out_avals, results)


def _cond(
    operands: list[Any], *, branches: tuple[ClosedOlympuspr, ...], **params: Any
) -> list[Any]:
    index, *values = operands
    results = lax.switch(
        lax.convert_element_type(index, "int32"), list(map(of_arrays, branches)), *lowered(values)
    )
    return raised(branches[0].out_avals, results)


def _scan(
    operands: list[Any],
    *,
    jaxpr: ClosedOlympuspr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    unroll: Any,
    **params: Any,
) -> list[Any]:
    consts, carry, xs = map(lowered, ScanLayout(num_consts, num_carry).operands(operands))
    run = of_arrays(jaxpr)
    # `num_consts` and `num_carry` count values of high types. The new loop counts arrays, because a
    # value may have several.
    layout = ScanLayout(len(consts), len(carry))

    def body(carry: list[Any], slices: list[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        last, ys = layout.results(run(*consts, *carry, *slices))
        return last, ys

    carry, stacked = lax.scan(
        body,
        carry,
        xs,
        length=length,
        reverse=reverse,
        unroll=unroll,
        checkpoints=params.get("checkpoints"),
    )
    return raised(jaxpr.out_avals, [*carry, *stacked])


def _while(
    operands: list[Any],
    *,
    cond_nconsts: int,
    cond_jaxpr: ClosedOlympuspr,
    body_nconsts: int,
    body_jaxpr: ClosedOlympuspr,
    checkpoints: Any = None,
    batch: Any = None,
) -> list[Any]:
    layout = WhileLayout(cond_nconsts, body_nconsts)
    cond_consts, body_consts, init = map(lowered, layout.operands(operands))
    condition, body = of_arrays(cond_jaxpr), of_arrays(body_jaxpr)
    carry = lax.while_loop(
        lambda carry: condition(*cond_consts, *carry)[0],
        lambda carry: body(*body_consts, *carry),
        init,
        checkpoints=checkpoints,
        batch=batch,
    )
    return raised(body_jaxpr.out_avals, carry)


_rules: dict[Primitive, Callable[..., list[Any]]] = {
    lax.jit_p: _jit,
    lax.cond_p: _cond,
    lax.scan_p: _scan,
    lax.while_p: _while,
    lax.closed_call_p: lambda operands, *, call_jaxpr: _inline(operands, call_jaxpr),
    lax.custom_jvp_call_p: lambda operands, *, call_jaxpr, **_: _inline(operands, call_jaxpr),
    lax.custom_vjp_call_p: lambda operands, *, call_jaxpr, **_: _inline(operands, call_jaxpr),
    lax.checkpoint_p: lambda operands, *, jaxpr, **_: _inline(operands, close_olympuspr(jaxpr)),
}
