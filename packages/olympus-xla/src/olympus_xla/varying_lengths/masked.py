# SPDX-License-Identifier: Apache-2.0
"""`masked`: compiled functions whose arrays have data-dependent sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.padding import Lengths, evaluate_padded
from olympus_ir.padding.counting import MappedMaskError, counted_sizes
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.symbolic.expressions import SymbolicDim
from olympus_ir.symbolic.scopes import SymbolicScope
from olympus_ir.symbolic.specifications import symbolic_shape
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, function_name
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.trees.wrapping import update_wrapper
from olympus_ir.types.avals import argument_aval, get_aval

from ..calls.jit import jit
from .arrays import VaryingArray

__all__ = ["masked"]

F = TypeVar("F", bound=Callable[..., Any])


@travels
def masked(fun: F) -> F:
    """Returns the compiled form of a function whose arrays have data-dependent sizes.

    ``x[mask]``, `nonzero`, `unique`, `compress`, `extract`, `argwhere`, `flatnonzero` and `where`
    of one argument need no ``size=``. Operations on their results ignore the padding, as with
    `bucketed`: a mean divides by the number of selected elements. The function is compiled once for
    all masks. `jit`, `grad` and `vmap` can be applied to the function and inside the function. If
    `vmap` is applied inside the function, and the mapped function selects elements by a batched
    mask, the mapped function must return arrays of fixed sizes.

    Args:
      fun: the function of arrays, of `VaryingArray`, or of pytrees of them.

    Returns:
      A function with the results of ``fun``. A result of a data-dependent size is a
      `VaryingArray`. `np.asarray` returns its valid part, and `masked` functions accept it.

    Raises:
      NotImplementedError: padding would change the result of an operation in the call.
      InconclusiveDimensionOperation: the called function needs to know a data-dependent size, as in
        ``range(x.shape[0])``.

    Example::

      mean_of_positive = olympus.masked(lambda x: jnp.mean(x[x > 0]))
      mean_of_positive(jnp.array([3.0, -1.0, 5.0]))  # 4.0
    """
    if not callable(fun):
        raise TypeError(f"masked takes a function, got {fun!r}")

    def run(*args: Any, **kwargs: Any) -> Any:
        return _run(fun, args, kwargs)

    run.__name__ = run.__qualname__ = f"masked_{function_name(fun)}"
    compiled = jit(run)

    @api_boundary
    def called(*args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    update_wrapper(called, fun)
    return called  # type: ignore[return-value]


class _Operands(NamedTuple):
    """The arguments of a masked function as operands of a symbolic program.

    Attributes:
      values: the padded arrays.
      avals: their types, with symbolic shapes.
      lengths: the values of the dimension variables.
    """

    values: list[Any]
    avals: list[Any]
    lengths: dict[str, Any]


def _run(
    fun: Callable[..., Any], args: tuple, kwargs: dict[str, Any], is_example: bool = False
) -> Any:
    scope = SymbolicScope()
    leaves, in_tree = pytrees.tree_flatten((args, kwargs), is_leaf=_is_varying)
    operands = _operands(leaves, scope)
    flat = FlatFunction(fun, in_tree)
    with counted_sizes(scope, _by_example):
        closed = trace_to_closed(flat, operands.avals)
    if is_example:
        _check_sizes([*operands.avals, *map(get_aval, closed.consts)])
    lengths = Lengths(operands.lengths)
    results = evaluate_padded(closed, lengths, operands.values)
    outs = [
        _result(lengths, result, aval.shape)
        for result, aval in zip(results, closed.out_avals, strict=True)
    ]
    return pytrees.tree_unflatten(flat.out_tree, outs)


def _by_example(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the masked form of ``fun`` for one example of a batch, which `vmap` can map."""

    def run(*args: Any, **kwargs: Any) -> Any:
        result = _run(fun, args, kwargs, is_example=True)
        for leaf in pytrees.tree_leaves(result, is_leaf=_is_varying):
            if _is_varying(leaf):
                raise MappedMaskError(None)
        return result

    return update_wrapper(run, fun)


def _check_sizes(avals: Sequence[Any]) -> None:
    """Raises NotImplementedError if an input of a mapped function has a data-dependent size."""
    for aval in avals:
        if any(isinstance(size, SymbolicDim) for size in getattr(aval, "shape", ())):
            raise NotImplementedError(
                f"inside vmap over masks, the mapped function uses {aval.str_short()}, whose size "
                "is the number of elements that a mask outside of the function selects; this is "
                "not supported. Reduce the array before vmap, or select by the outer mask inside "
                "of the mapped function"
            )


def _is_varying(value: Any) -> bool:
    return isinstance(value, VaryingArray)


def _operands(leaves: Sequence[Any], scope: SymbolicScope) -> _Operands:
    values, avals, lengths = [], [], {}
    for position, leaf in enumerate(leaves):
        if not _is_varying(leaf):
            values.append(leaf)
            avals.append(argument_aval(leaf))
            continue
        aval = argument_aval(leaf.values)
        shape = list(aval.shape)
        for axis, length in leaf.lengths.items():
            name = f"length{position}_{axis}"
            scope.assume(f"{name} <= {shape[axis]}")
            (shape[axis],) = symbolic_shape(name, scope=scope)
            lengths[name] = lax.convert_element_type(length, np.int32)
        values.append(leaf.values)
        avals.append(aval.update(shape=tuple(shape)))
    return _Operands(values, avals, lengths)


def _result(lengths: Lengths, value: Any, shape: Sequence[Any]) -> Any:
    varying = {
        axis: lax.max(lengths.value(size), np.int32(0))
        for axis, size in enumerate(shape)
        if isinstance(size, SymbolicDim)
    }
    return VaryingArray(value, varying) if varying else value
