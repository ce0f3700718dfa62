# SPDX-License-Identifier: Apache-2.0
"""Conditionals: `cond` selects one of two functions, and `switch` one of several."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...diagnostics.traceback_filtering import api_boundary
from ...programs.olympuspr import ClosedOlympuspr, Var, close_olympuspr
from ...programs.tracing import Tracer
from ...settings import config_states
from ...trees import pytrees
from ...trees.operands import flatten_operands
from ...types import known_types
from ...types.annotations import ArrayLike, PyTree
from ...types.avals import AbstractValue, get_aval, typematch
from ...types.known_types import ClosedOverMutableError
from ..core.values import as_array
from ..elementwise.conversion import convert_element_type
from ..elementwise.logic import clamp, ne
from .primitives import cond_p
from .subprograms import (
    Subprogram,
    cast_to_vary,
    check_references,
    control_flow_programs,
    listed,
    mended_by,
    run_with_mutables,
    trace_subprogram,
    tracing_key,
    type_difference,
)

_not_given = object()


@api_boundary
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: PyTree,
    operand: Any = _not_given,
    batch: str | None = None,
) -> PyTree:
    """Applies one of two functions, chosen by a scalar that may be traced.

    Both functions are traced, and one of them runs. Under `vmap` over ``pred`` both run, and their
    results are selected.

    Args:
      pred: a boolean scalar; numbers are compared with zero.
      true_fun: the function applied if ``pred`` is true.
      false_fun: the function applied otherwise; its results must have the same structure and types.
      *operands: the arguments of both functions, arrays or pytrees of arrays.
      operand: the only argument, as an alternative to ``*operands``.
      batch: the behavior under `vmap` over ``pred``. With ``"select"`` or None, both functions run
        on all examples. With ``"split"``, each function runs only on the examples that select it,
        several at a time; this is cheaper if an expensive function is rarely selected. Functions
        with effects, or with collectives over the examples, run on all examples.

    Returns:
      The result of the selected function.

    Raises:
      ValueError: if ``batch`` is unknown.
      TypeError: if ``pred`` is not a scalar, or the results differ in structure or types.

    Example:
      >>> from olympus_ir import lax
      >>> cond(True, lax.neg, lax.sin, 2.0)
      Array(-2., dtype=float32, weak_type=True)
    """
    if len(operands) == 2 and not callable(true_fun) and callable(operands[1]):
        # This is the older form cond(pred, true_operand, true_fun, false_operand, false_fun), in
        # which operands may be callable.
        return _cond_of_two_operands(pred, true_fun, false_fun, operands[0], operands[1])
    if not callable(true_fun) or not callable(false_fun):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    operands = _joined_operands(operands, operand)
    if batch is not None and not (isinstance(batch, str) and batch in ("select", "split")):
        raise ValueError(f"cond got batch={batch!r}; it must be 'select' or 'split'.")
    predicate = _predicate(pred)
    if config_states.disable_jit.value and not isinstance(predicate, Tracer):
        return true_fun(*operands) if predicate else false_fun(*operands)
    index = convert_element_type(predicate, np.int32)
    return choose(
        "cond",
        index,
        (false_fun, true_fun),
        (1, 0),
        ("true_fun", "false_fun"),
        operands,
        **({"batch": batch} if batch == "split" else {}),
    )


def _cond_of_two_operands(
    pred: Any, true_operand: Any, true_fun: Any, false_operand: Any, false_fun: Any
) -> Any:
    def on_first(first: Any, second: Any) -> Any:
        return true_fun(first)

    def on_second(first: Any, second: Any) -> Any:
        return false_fun(second)

    return cond(pred, on_first, on_second, true_operand, false_operand)


def _joined_operands(operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """Returns the operands, which are either positional or the one of the keyword ``operand``."""
    if operand is _not_given:
        return operands
    if operands:
        raise TypeError(
            f"if 'operand' keyword is passed then no positional operands can be passed, got "
            f"operand={operand} and positional operands {operands}"
        )
    return (operand,)


def _predicate(pred: Any) -> Any:
    """Converts the predicate to a boolean scalar.

    Raises:
      TypeError: if the predicate is not a scalar boolean or number.
    """
    if pred is None:
        raise TypeError("cond predicate is None")
    try:
        aval = get_aval(pred)
    except TypeError:
        if callable(pred):
            raise TypeError(f"Pred type must be either boolean or number, got {pred}.") from None
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}") from None
    if aval.shape:
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {aval.shape}.")
    dtype = aval.dtype
    if dtype == np.bool_:
        return pred
    is_real = np.issubdtype(dtype, np.number) and dtype.kind != "c"
    if not is_real and dtype.kind != "V":
        raise TypeError(f"Pred type must be either boolean or number, got {dtype}")
    if isinstance(pred, bool | int | float | complex | np.generic | np.ndarray):
        return bool(pred)
    return ne(pred, np.zeros((), dtype))


@api_boundary
def switch(
    index: ArrayLike,
    branches: Sequence[Callable[..., Any]],
    *operands: PyTree,
    operand: Any = _not_given,
) -> PyTree:
    """Applies one of several functions, chosen by an integer that may be traced.

    Args:
      index: an integer scalar, the position in ``branches``; it is clamped to the valid range.
      branches: the functions; their results must have the same structure and types.
      *operands: the arguments of all functions, arrays or pytrees of arrays.
      operand: the only argument, as an alternative to ``*operands``.

    Returns:
      The result of the selected function.

    Raises:
      TypeError: if ``index`` is not an integer scalar, or the results differ in structure or types.
      ValueError: if there are no branches.

    Example:
      >>> from olympus_ir import lax
      >>> switch(1, [lax.neg, lax.sin, lax.cos], 0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    branches = tuple(branches)
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = _joined_operands(operands, operand)
    try:
        aval = get_aval(index)
    except TypeError:
        if isinstance(index, tuple | list):
            raise TypeError(
                f"Branch index must be scalar, got {index} of shape {np.shape(index)}."
            ) from None
        raise TypeError(f"Index type must be an integer, got {index}.") from None
    if aval.shape:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")
    dtype = aval.dtype
    if not np.issubdtype(dtype, np.integer):
        raise TypeError(f"Index type must be an integer, got {index} as {dtype}")
    if not branches:
        raise ValueError("Empty branch sequence")
    if len(branches) == 1:
        return branches[0](*operands)
    last = len(branches) - 1
    if config_states.disable_jit.value and not isinstance(index, Tracer):
        chosen: Any = index
        return branches[min(max(int(chosen), 0), last)](*operands)
    index = clamp(np.int32(0), convert_element_type(index, np.int32), np.int32(last))
    order = tuple(range(len(branches)))
    names = (
        "branch 0",
        *(f"branch{position}" for position in order[1:]),
    )  # the wording of JAX's message
    return choose("switch", index, branches, order, names, operands)


# ---- from functions to one equation ----


class _Choice:
    """The traced branches of a conditional, with common operands.

    A result that is the same operand in all branches is not returned by the programs.

    Attributes:
      branches: the programs, for the parameter of the same name.
      consts: the values that the functions close over. They are the first operands of the programs.
      out_tree: the structure of the result.
      forwarded: for each result, the operand that every branch returns for it, or None.
    """

    __slots__ = ("branches", "consts", "forwarded", "out_tree")

    def __init__(
        self, branches: tuple, consts: list[Any], out_tree: Any, forwarded: list[int | None]
    ) -> None:
        self.branches = branches
        self.consts = consts
        self.out_tree = out_tree
        self.forwarded = forwarded


def choose(
    operation: str,
    index: Any,
    functions: tuple[Callable[..., Any], ...],
    order: tuple[int, ...],
    names: tuple[str, ...],
    operands: tuple,
    **params: Any,
) -> Any:
    """Traces the functions and applies `cond_p`.

    Args:
      operation: the operation, for error messages.
      index: the position of the function to apply.
      functions: the functions, in the order of the index.
      order: the order in which they are traced.
      names: the functions' names, in the order of tracing, for error messages.
      operands: the arguments of the functions.
      **params: further parameters of the equation.
    """
    leaves, in_tree = flatten_operands(operands)
    avals = tuple([get_aval(leaf) for leaf in leaves])
    if known_types.mutable and any(getattr(aval, "has_qdd", False) is True for aval in avals):
        functions = tuple(functools.partial(function, *operands) for function in functions)
        return choose(operation, index, functions, order, names, (), **params)
    try:
        subprograms = [
            trace_subprogram(functions[position], in_tree, avals, operation, leaves)
            for position in order
        ]
    except ClosedOverMutableError as error:
        return _choose_with_mutables(
            error, operation, index, functions, order, names, operands, params
        )
    for position, subprogram in zip(order, subprograms, strict=True):
        if subprogram.closed.effects:  # only programs with effects use references
            check_references(operation, functions[position], in_tree, subprogram.consts, leaves)
    choice = _join(operation, functions[order[0]], subprograms, order, names)
    inputs = [*choice.consts, *leaves]
    results = cond_p.bind(index, *inputs, branches=choice.branches, **params)
    if len(results) < len(choice.forwarded):
        computed = iter(results)
        results = [
            next(computed) if operand is None else as_array(inputs[operand])
            for operand in choice.forwarded
        ]
    return pytrees.tree_unflatten(choice.out_tree, results)


def _choose_with_mutables(
    error: Any,
    operation: str,
    index: Any,
    functions: tuple[Callable[..., Any], ...],
    order: tuple[int, ...],
    names: tuple[str, ...],
    operands: tuple,
    params: dict[str, Any],
) -> Any:
    """Applies `choose` to functions that use mutable objects.

    The states of the objects become operands and results of the conditional. ``error`` is the error
    that names the first mutable object.
    """

    def run(states: Any, wrap: Any) -> Any:
        wrapped = tuple(wrap(function, may_change=True) for function in functions)
        return choose(operation, index, wrapped, order, names, (states, *operands), **params)

    return run_with_mutables(error, run)


def _join(
    operation: str,
    function: Callable[..., Any],
    subprograms: list[Subprogram],
    order: tuple[int, ...],
    names: tuple[str, ...],
) -> _Choice:
    # Each function has a cache. The cache of the first function holds the joined programs, with
    # the programs of all functions in the key.
    known = control_flow_programs.of(function)
    key = (operation, *(subprogram.closed for subprogram in subprograms), *tracing_key())
    choice = known.get(key)
    if choice is None:
        for name, subprogram in zip(names[1:], subprograms[1:], strict=True):
            _check_same_results(operation, names[0], subprograms[0], name, subprogram)
        choice = _joined(subprograms, order)
        if all(subprogram.is_reusable for subprogram in subprograms):
            known[key] = choice
    return choice


def _joined(subprograms: list[Subprogram], order: tuple[int, ...]) -> _Choice:
    consts: list[Any] = []
    positions: dict[int, int] = {}  # maps the identity of a closed-over value to its position
    const_avals: list[AbstractValue] = []
    for subprogram in subprograms:
        for value, var in zip(subprogram.consts, subprogram.const_vars, strict=True):
            if id(value) not in positions:
                positions[id(value)] = len(consts)
                consts.append(value)
                const_avals.append(var.aval)
    inputs_of = []
    for subprogram in subprograms:
        const_vars: list[Var | None] = [None] * len(consts)
        for value, var in zip(subprogram.consts, subprogram.const_vars, strict=True):
            const_vars[positions[id(value)]] = var
        inputs = [var or Var(aval) for var, aval in zip(const_vars, const_avals, strict=True)]
        inputs_of.append([*inputs, *subprogram.operand_vars])
    forwarded = _forwarded_in_all(subprograms, inputs_of)
    computed = [position for position, operand in enumerate(forwarded) if operand is None]
    branches: list[ClosedOlympuspr | None] = [None] * len(order)
    for branch, subprogram, inputs in zip(order, subprograms, inputs_of, strict=True):
        olympuspr = subprogram.closed.jaxpr
        outputs = [olympuspr.outvars[i] for i in computed]
        if inputs != olympuspr.invars or outputs != olympuspr.outvars:
            olympuspr = olympuspr.replace(invars=inputs, outvars=outputs)
        branches[branch] = close_olympuspr(olympuspr)
    return _Choice(tuple(branches), consts, subprograms[0].out_tree, forwarded)


def _forwarded_in_all(
    subprograms: list[Subprogram], inputs_of: list[list[Var]]
) -> list[int | None]:
    """Returns for each result the position of the input that every program returns, or None."""
    common: list[int | None] | None = None
    for subprogram, inputs in zip(subprograms, inputs_of, strict=True):
        positions = {var: position for position, var in enumerate(inputs)}
        found = [
            positions.get(atom) if isinstance(atom, Var) else None
            for atom in subprogram.closed.jaxpr.outvars
        ]
        if common is None:
            common = found
        else:
            common = [a if a == b else None for a, b in zip(common, found, strict=True)]
    assert common is not None
    return common


# ---- messages ----


def _check_same_results(
    operation: str, name: str, subprogram: Subprogram, other_name: str, other: Subprogram
) -> None:
    """Raises TypeError if two branches return results of different structures or types."""
    tree, other_tree = subprogram.out_tree, other.out_tree
    avals, other_avals = subprogram.closed.out_avals, other.closed.out_avals
    if tree == other_tree and all(map(typematch, avals, other_avals)):
        return
    described = (
        f"{name} is {subprogram.closed.debug_info.func_src_info}\n"
        f"{other_name} is {other.closed.debug_info.func_src_info}\n"
    )
    if tree != other_tree:
        differences = []
        for path, first, second, difference in pytrees.equality_errors_of_structures(
            tree, other_tree
        ):
            where = f" at path {pytrees.keystr(path)}" if path else ""
            differences.append(
                f"{name} output{where} is a {first} but {other_name} output{where} is a {second}, "
                f"so {difference}"
            )
        raise TypeError(
            f"{operation} branch outputs must have the same pytree structure, but they differ:\n\n"
            f"{described}\n{_sentences(differences)}\n\nRevise {name} and/or {other_name} so that "
            "they have the same pytree structure."
        )
    paths = pytrees.Structure(tree).paths()
    differences, casts = [], []
    for path, first, second in zip(paths, avals, other_avals, strict=True):
        difference = type_difference(first, second)
        if difference:
            where = f" at path {pytrees.keystr(path)}" if path else ""
            differences.append(
                f"the output of {name}{where} has type {first.str_short()} but the corresponding "
                f"output of {other_name} has type {second.str_short()}, so {difference}"
            )
            casts += cast_to_vary(f" to the output of {name}{where}", first, second)
            casts += cast_to_vary(f" to the output of {other_name}{where}", second, first)
    raise TypeError(
        f"{operation} branches must have equal output types but they differ.\n\n{described}\n"
        f"{listed(differences)}{mended_by(casts)}\n\nRevise {name} and/or {other_name} so that all "
        "output types match."
    )


def _sentences(differences: list[str]) -> str:
    return "\n".join(f"{difference}." for difference in differences)
