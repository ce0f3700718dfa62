# SPDX-License-Identifier: Apache-2.0
"""Tracing of the functions in control flow, and errors about their types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..._jaxlib import config_trace_context
from ...diagnostics.source_info import FunctionOrigin
from ...loading import deferred
from ...programs.olympuspr import (
    ClosedOlympuspr,
    Olympuspr,
    Var,
    close_olympuspr,
    constants_as_inputs,
)
from ...programs.staging import trace_to_olympuspr
from ...programs.tracing import Tracer, current
from ...trees import pytrees
from ...trees.flattening import FlatFunction, debug_info_of_tree
from ...trees.function_caches import FunctionCache
from ...types.avals import AbstractValue, ShapedArray, get_aval, typematch
from ...types.effects import control_flow_allowed_effects
from ...types.known_types import ClosedOverMutableError
from ...types.references import check_aliases

if TYPE_CHECKING:
    from ...programs import mutable_types
else:
    mutable_types = deferred("...programs.mutable_types", milliseconds=0.7)


class Subprogram:
    """A traced function.

    Attributes:
      closed: the program. It has no constants, and takes ``consts`` as its first inputs.
      consts: the values that the function closes over.
      out_tree: the structure of the result.
    """

    __slots__ = ("closed", "consts", "out_tree")

    def __init__(self, closed: ClosedOlympuspr, consts: list[Any], out_tree: Any) -> None:
        self.closed = closed
        self.consts = consts
        self.out_tree = out_tree

    @property
    def const_vars(self) -> list[Var]:
        return self.closed.jaxpr.invars[: len(self.consts)]

    @property
    def operand_vars(self) -> list[Var]:
        return self.closed.jaxpr.invars[len(self.consts) :]

    @property
    def is_reusable(self) -> bool:
        """Returns whether later calls may reuse the program: it closes over no tracers."""
        return not any(isinstance(value, Tracer) for value in self.consts)


_subprograms = FunctionCache()
# Programs of `cond`, `while_loop` and `scan` that combine subprograms.
control_flow_programs = FunctionCache()


def tracing_key() -> tuple:
    """Returns the context on which a traced program depends, apart from function and operands."""
    return (current.axes, config_trace_context())


def trace_subprogram(
    fun: Callable[..., Any],
    in_tree: Any,
    in_avals: tuple[AbstractValue, ...],
    traced_for: str,
    leaves: Sequence[Any] = (),
) -> Subprogram:
    """Traces a function of pytrees, or returns its cached program.

    Args:
      fun: the function.
      in_tree: the structure of the positional arguments, a tuple.
      in_avals: the types of the leaves.
      traced_for: the operation, for error messages.
      leaves: the leaves, among which a function that is traced may have no reference twice.

    Raises:
      ValueError: one of the leaves is a reference that is given twice, or closed over.
    """
    known = _subprograms.of(fun)
    key = (in_tree, in_avals, traced_for, *tracing_key())
    subprogram = known.get(key)
    if subprogram is not None:
        return subprogram
    in_tree = pytrees.treedef_tuple((in_tree, _no_keywords))
    flat = FlatFunction(fun, in_tree)
    info = debug_info_of_tree(traced_for, fun, in_tree)
    operands = leaves if any(aval.is_ref for aval in in_avals) else ()
    # References that are given twice explain other errors of the function, so they come first.
    check_aliases(info, (), operands)
    olympuspr, consts = trace_to_olympuspr(flat, in_avals, info)
    check_aliases(info, consts, operands)
    check_effects(traced_for, olympuspr.effects)
    closed = close_olympuspr(constants_as_inputs(olympuspr))
    subprogram = Subprogram(closed, consts, flat.out_tree)
    if subprogram.is_reusable:
        known[key] = subprogram
    return subprogram


_no_keywords = pytrees.tree_structure({})


def check_references(
    traced_for: str, fun: Callable[..., Any], in_tree: Any, consts: Sequence[Any], leaves: Sequence
) -> None:
    """Raises if a function would receive the same reference twice."""
    if not any(get_aval(leaf).is_ref for leaf in leaves):
        return
    tree = pytrees.treedef_tuple((in_tree, _no_keywords))
    check_aliases(debug_info_of_tree(traced_for, fun, tree), consts, leaves)


def check_returned_references(olympuspr: Olympuspr) -> None:
    """Raises if a loop would carry a reference. References are allowed as constants."""
    if any(atom.aval.is_ref for atom in olympuspr.outvars):
        info = olympuspr.debug_info
        raise ValueError(
            f"function {info.func_src_info} traced for {info.traced_for} returned a mutable array "
            "reference that differs from the one at the same position of its input carry, but "
            "other mutable array references cannot be returned. Return each reference of the carry "
            "unchanged, at its own position. To use several references, carry an index that "
            "selects one of them."
        )


def check_effects(operation: str, effects: frozenset) -> None:
    """Raises if a program has effects that loops and branches do not allow."""
    disallowed = control_flow_allowed_effects.filter_not_in(effects)
    if disallowed:
        raise NotImplementedError(f"Effects not supported in `{operation}`: {disallowed}")


def run_with_mutables(
    error: ClosedOverMutableError, run: Callable[[Any, Callable[..., Any]], Any]
) -> Any:
    """Runs control flow whose functions use mutable objects. The objects' states become operands.

    Args:
      error: the error that names the first mutable object.
      run: ``run(states, wrap)`` returns the result and the new states. ``wrap(function)`` is the
        function with the states as additional first argument and the new states as additional
        second result.
    """
    return mutable_types.threading(error, run)


# ---- messages ----


def type_difference(first: AbstractValue, second: AbstractValue) -> str:
    """Describes how two types differ; returns an empty string if only weak types differ."""
    if typematch(first, second):
        return ""
    if not isinstance(first, ShapedArray) or not isinstance(second, ShapedArray):
        return "the types do not match"
    differences = []
    if first.dtype != second.dtype:
        differences.append("the dtypes do not match")
    if first.shape != second.shape:
        differences.append("the shapes do not match")
    if first.vma != second.vma:
        differences.append("the manual axis types do not match")
    if first.layout is not second.layout:
        differences.append("the shardings do not match")
    if first.memory_space != second.memory_space:
        differences.append("the memory spaces do not match")
    return ", and ".join(differences)


def listed(differences: Sequence[str]) -> str:
    """Formats one difference as a sentence, and several differences as a list."""
    if len(differences) == 1:
        first = differences[0]
        return f"{first[0].upper()}{first[1:]}."
    return ";\n".join(f"  * {difference}" for difference in differences) + "."


def check_carry_structure(operation: str, body: Subprogram, in_tree: Any, out_tree: Any) -> None:
    """Raises if the carry that a loop's body returns differs in structure from its input.

    Raises:
      TypeError: if the structures differ.
    """
    if in_tree == out_tree:
        return
    name = _carry_name(body)
    differences = []
    for path, expected, returned, difference in pytrees.equality_errors_of_structures(
        in_tree, out_tree
    ):
        component = f"carry component {name}{pytrees.keystr(path)}" if path else f"carry {name}"
        differences.append(
            f"the input {component} is a {expected} but the corresponding component of the carry "
            f"output is a {returned}, so {difference}"
        )
    if not differences:
        differences = [f"the input carry is {in_tree} but the carry output is {out_tree}"]
    raise TypeError(
        f"{operation} function carry input and carry output must have the same pytree structure, "
        f"but they differ:\n\n{listed(differences)}\n\nRevise the function so that the carry "
        "output has the same pytree structure as the carry input."
    )


def check_carry_types(
    operation: str,
    body: Subprogram,
    tree: Any,
    in_avals: Sequence[AbstractValue],
    out_avals: Sequence[AbstractValue],
) -> None:
    """Raises if a loop's body returns a carry whose types differ from those of its input.

    Raises:
      TypeError: if a type differs.
    """
    if all(map(typematch, in_avals, out_avals)):
        return
    name = _carry_name(body)
    paths = pytrees.Structure(tree).paths()
    differences, casts = [], []
    for path, before, returned in zip(paths, in_avals, out_avals, strict=True):
        difference = type_difference(before, returned)
        if difference:
            component = f"carry component {name}{pytrees.keystr(path)}" if path else f"carry {name}"
            differences.append(
                f"the input {component} has type {before.str_short()} but the corresponding output "
                f"carry component has type {returned.str_short()}, so {difference}"
            )
            start = f"the initial carry value corresponding to the input {component}"
            casts += cast_to_vary(f", to {start}", before, returned)
    raise TypeError(
        f"{operation} function carry input and carry output must have equal types, but they "
        f"differ:\n\n{listed(differences)}{mended_by(casts)}\n\nRevise the function so that all "
        "output types match the corresponding input types."
    )


def cast_to_vary(ending: str, aval: AbstractValue, expected: AbstractValue) -> list[str]:
    """Returns advice to cast a value that varies over too few mesh axes; empty if no cast helps.

    Args:
      ending: the end of the sentence, which names the value.
      aval: the type of the value.
      expected: the type that it should have.
    """
    axes = getattr(expected, "vma", frozenset()) - getattr(aval, "vma", frozenset())
    if not axes:
        return []
    return [f"applying `olympus.lax.pcast(..., {tuple(sorted(axes))}, to='varying')`{ending}"]


def mended_by(advice: Sequence[str]) -> str:
    """Formats advice as a paragraph of an error message; returns an empty text if there is none."""
    if not advice:
        return ""
    if len(advice) == 1:
        return f"\n\nThis might be fixed by {advice[0]}."
    return "\n\nThis might be fixed by:\n" + listed(advice)


def _carry_name(body: Subprogram) -> str:
    """Returns the name of the parameter that receives the carry."""
    info = body.closed.debug_info
    if info.traced_for == "fori_loop":
        return "loop_carry"  # the user's function has several parameters for it
    origin = info.origin
    return origin.positional_name(0) if isinstance(origin, FunctionOrigin) else "carry"
