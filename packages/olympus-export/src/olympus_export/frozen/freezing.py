# SPDX-License-Identifier: Apache-2.0
"""`freeze`, which turns a function into a program with weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir.diagnostics.source_info import signature_of
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_xla.calls import stages
from olympus_xla.calls.jit import jit
from olympus_xla.compiling.compile_options import compile_options

from ..functions.exporting import export
from ..functions.safety_checks import DisabledSafetyCheck
from .container import RESERVED, Parts
from .frozen import Frozen

__all__ = ["freeze"]


@api_boundary
def freeze(
    fun: Callable[..., Any],
    *args: Any,
    weights: int | Sequence[int] = (),
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
    **kwargs: Any,
) -> Frozen:
    """Turns a function into a program that runs without the user's Python code.

    The program's file stores the arrays that the function refers to, under names such as
    ``closure.0``. It also stores the arguments at the positions ``weights``, under names such as
    ``params.w``.

    Args:
      fun: the function, plain or returned by `jit`.
      *args: the arguments. In arguments other than weights, `ShapeDtypeStruct` may replace arrays.
      weights: the position or positions of the arguments whose arrays are stored.
      platforms: the platforms of the program; by default the platform of the default device.
      disabled_checks: safety checks to switch off; see `DisabledSafetyCheck`.
      **kwargs: keyword arguments of the function.

    Returns:
      The frozen function. Its method ``save`` writes it to a file.

    Raises:
      NotImplementedError: the function calls back into Python, or takes references.
      TypeError: ``fun`` is not callable.
      ValueError: ``weights`` names an argument that does not exist or has no values, or the program
        calls foreign functions without a guarantee of compatibility.

    Example:
      >>> import olympus.numpy as jnp
      >>> def model(params, x):
      ...     return jnp.tanh(x @ params["w"])
      >>> frozen = freeze(model, {"w": jnp.zeros((3, 2))}, jnp.ones((4, 3)), weights=0)
      >>> frozen
      Frozen(model, 1 inputs, 1 outputs, 1 weights of 24 bytes, for cpu)
      >>> frozen(jnp.ones((4, 3))).shape
      (4, 2)
    """
    if not callable(fun):
        raise TypeError(f"freeze takes a function and its arguments, got {fun!r}")
    jitted = fun if isinstance(fun, stages.Wrapped) else jit(fun)
    positions = _positions(weights, args)
    traced = jitted.trace(*args, **kwargs)
    operands = _operands(fun, traced, positions, args, kwargs)
    stored = {operand.name: _host_array(operand) for operand in operands if operand.is_weight}
    main = _main(traced, operands)
    specs = [ShapeDtypeStruct(array.shape, array.dtype) for array in stored.values()]
    exported = export(
        jit(main, keep_unused=True), platforms=platforms, disabled_checks=disabled_checks
    )(specs, *_inputs(traced, operands))
    names = (*stored, *(operand.name for operand in operands if not operand.is_weight))
    options = compile_options(None, partitions=exported.nr_devices).SerializeAsString()
    return Frozen(Parts(exported, names, stored, options))


class _Operand(NamedTuple):
    """Operand of the traced program: a constant, or a leaf of the arguments."""

    name: str
    value: Any
    is_weight: bool
    is_constant: bool


def _positions(weights: int | Sequence[int], args: Sequence[Any]) -> set[int]:
    positions = (weights,) if isinstance(weights, int) else tuple(weights)
    for position in positions:
        if not -len(args) <= position < len(args):
            raise ValueError(
                f"`weights` names the argument {position}, but freeze got {len(args)} arguments"
            )
    return {position % len(args) for position in positions}


def _operands(
    fun: Callable[..., Any],
    traced: stages.Traced,
    positions: set[int],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> list[_Operand]:
    """Returns the operands of the traced program in order: constants, then leaves."""
    found = []
    for index, value in enumerate([*traced.jaxpr.consts, *traced._program.hoisted]):
        found.append(_Operand(f"closure.{index}", value, np.ndim(value) > 0, True))
    first = _parameter_names(fun, len(args))
    leaves = pytrees.tree_flatten_with_path((args, kwargs))[0]
    if len(leaves) != traced.in_tree.num_leaves:  # there are static arguments
        leaves = [(path, None) for path in pytrees.Structure(traced.in_tree).paths()]
        if positions:
            raise ValueError("`weights` cannot be given with static arguments of jit; bind these")
    for path, value in leaves:
        is_positional, rest = path[0].idx == 0, path[1:]
        shown = pytrees.keystr(tuple(rest[1:]), simple=True, separator=".")
        start = first[rest[0].idx] if is_positional else str(rest[0].key)
        name = ".".join(filter(None, (start, shown)))
        is_weight = is_positional and rest[0].idx in positions
        if is_weight and isinstance(value, ShapeDtypeStruct):
            raise ValueError(
                f"weights in the argument {start} must be arrays, but {name} is a ShapeDtypeStruct"
            )
        found.append(_Operand(name, value, is_weight, False))
    return _with_unique_names(found)


def _parameter_names(fun: Callable[..., Any], count: int) -> list[str]:
    """Returns the name of each positional argument's parameter; ``arg0``, ... if it has none."""
    try:
        parameters = list(signature_of(fun).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [named[number] if number < len(named) else f"arg{number}" for number in range(count)]


def _with_unique_names(operands: list[_Operand]) -> list[_Operand]:
    seen: set[str] = set()
    found = []
    for operand in operands:
        name, number = operand.name, 1
        while name in seen or name.startswith(RESERVED):
            number += 1
            name = f"{operand.name.removeprefix(RESERVED)}.{number}"
        seen.add(name)
        found.append(operand._replace(name=name))
    return found


def _host_array(operand: _Operand) -> np.ndarray:
    """Returns the value of a weight in host memory."""
    if dtypes.is_extended(getattr(operand.value, "dtype", None)):
        raise ValueError(
            f"{operand.name} is an array of keys, which cannot be stored as a weight: store "
            "`random.key_data(keys)` and wrap them in the function"
        )
    array = np.asarray(operand.value)
    return array.astype(dtypes.canonicalize_dtype(array.dtype), copy=False)


def _inputs(traced: stages.Traced, operands: Sequence[_Operand]) -> tuple[Any, Any]:
    """Returns the types of the arguments and keyword arguments, except the weights."""
    avals = traced.jaxpr.in_avals[len(traced._program.hoisted) :]
    leaves = [operand for operand in operands if not operand.is_constant]
    types = [
        _Removed
        if operand.is_weight
        else ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
        for operand, aval in zip(leaves, avals, strict=True)
    ]
    args, kwargs = pytrees.tree_unflatten(traced.in_tree, types)
    kept = [arg for arg in args if not _is_removed(arg)]
    return tuple(kept), kwargs


class _Removed:
    """Marker in the place of a weight among the arguments."""


def _is_removed(argument: Any) -> bool:
    leaves = pytrees.tree_leaves(argument)
    return bool(leaves) and all(leaf is _Removed for leaf in leaves)


def _main(traced: stages.Traced, operands: Sequence[_Operand]) -> Callable[..., Any]:
    """Returns the program as a function of the weights, the arguments and the keyword arguments."""
    closed = traced.jaxpr
    constants = len(closed.consts)

    def main(weights: Any, args: Any, kwargs: Any) -> Any:
        stored, leaves = iter(weights), iter(pytrees.tree_leaves((args, kwargs)))
        values = []
        for operand in operands:
            if operand.is_weight:
                values.append(next(stored))
            else:
                values.append(operand.value if operand.is_constant else next(leaves))
        results = eval_olympuspr(closed.jaxpr, values[:constants], *values[constants:])
        return pytrees.tree_unflatten(traced.out_tree, results)

    main.__name__ = traced.fun_name
    return main
