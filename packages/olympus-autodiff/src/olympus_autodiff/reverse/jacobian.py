# SPDX-License-Identifier: Apache-2.0
"""Jacobians and Hessians: derivatives along all basis vectors at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import function_name
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.trees.wrapping import wraps
from olympus_ir.types import dtypes

from ..forward.jvp import jvp
from ..zeros import aval_of, float0_zeros
from .arguments import (
    Inputs,
    argument_numbers,
    check_complex,
    check_function,
    check_input,
    check_output,
    function_of_chosen,
)
from .vjp import vjp

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]

P = ParamSpec("P")


@travels
def jacfwd(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | str | None = None,
) -> Callable[P, Any]:
    """Returns a function that computes the Jacobian of ``fun``, column by column in forward mode.

    Use it for functions with more outputs than inputs.

    Args:
      fun: a function of arrays or pytrees of arrays that returns an array or a pytree of arrays.
      argnums: the positions of the arguments to differentiate with respect to.
      has_aux: whether ``fun`` returns a pair; only the first part is differentiated.
      holomorphic: whether ``fun`` is promised to be holomorphic; then arguments must be complex.
      chunk_size: the number of columns that are computed at once; all if None. With ``"auto"``, a
        heuristic chooses the number, as in `vmap`.

    Returns:
      A function with the arguments of ``fun``. It returns the Jacobian, which has the structure of
      the result of ``fun``. Each leaf of the result is replaced by a tree with the structure of the
      chosen argument (a tuple of such trees if ``argnums`` is a sequence). The arrays have shape
      ``result.shape + argument.shape``. With ``has_aux``, returns a pair of the Jacobian and the
      second part of the result.

    Raises:
      TypeError: on the call, an argument to differentiate does not have a float dtype (complex with
        ``holomorphic``).

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> jacfwd(lambda x: lax.mul(x, x))(np.arange(2.0))
      Array([[0., 0.],
             [0., 2.]], dtype=float32)
    """
    check_function(fun)

    @api_boundary
    @wraps(fun)
    @api_boundary
    def jacobian_f(*args: Any, **kwargs: Any) -> Any:
        numbers = argument_numbers(argnums, len(args))
        chosen = tuple([args[number] for number in numbers])
        inputs = Inputs("jacfwd", fun, numbers, args)
        for leaf in pytrees.tree_leaves(chosen):
            _check_forward_input(leaf, holomorphic, inputs)
        function = function_of_chosen(fun, numbers, args, kwargs)

        def push(basis_vector: Any) -> Any:
            # The primal result is not returned: it is the same for all basis vectors, but rules of
            # loops may batch it beside its tangent.
            result, *rest = jvp(function, chosen, basis_vector, has_aux=has_aux)
            pytrees.tree_map(check, result)
            results.append(pytrees.tree_map(aval_of, result))
            return rest

        results: list[Any] = []
        check = functools.partial(_check_forward_output, holomorphic=holomorphic)
        in_axes = (pytrees.tree_map(lambda leaf: 0, chosen),)
        columns, *aux = vmap(
            push,
            in_axes=in_axes,
            out_axes=[-1, None] if has_aux else [-1],
            chunk_size=chunk_size,
        )(_standard_basis(chosen))
        example = _single(argnums, chosen)
        rows = pytrees.tree_map(
            lambda column, aval: _split_axis(example, column, -1, aval.dtype), columns, results[-1]
        )
        return (rows, *aux) if has_aux else rows

    _describe(jacobian_f, fun, argnums)
    return jacobian_f


@travels
def jacrev(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    chunk_size: int | str | None = None,
) -> Callable[P, Any]:
    """Returns a function that computes the Jacobian of ``fun``, row by row in reverse mode.

    Use it for functions with more inputs than outputs.

    Args:
      fun: a function of arrays or pytrees of arrays that returns an array or a pytree of arrays.
      argnums: the positions of the arguments to differentiate with respect to.
      has_aux: whether ``fun`` returns a pair; only the first part is differentiated.
      holomorphic: whether ``fun`` is promised to be holomorphic; then arguments and results must
        be complex.
      allow_int: whether to allow integer arguments, whose derivatives are zeros of their dtype.
      chunk_size: the number of rows that are computed at once; all if None. With ``"auto"``, a
        heuristic chooses the number, as in `vmap`.

    Returns:
      A function of the form that `jacfwd` returns.

    Raises:
      TypeError: on the call, an argument to differentiate or a result does not have a float dtype
        (complex with ``holomorphic``).

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> jacrev(lambda x: lax.mul(x, x))(np.arange(2.0))
      Array([[0., 0.],
             [0., 2.]], dtype=float32)
    """
    check_function(fun)

    @api_boundary
    @wraps(fun)
    @api_boundary
    def jacobian_f(*args: Any, **kwargs: Any) -> Any:
        numbers = argument_numbers(argnums, len(args))
        chosen = tuple([args[number] for number in numbers])
        inputs = Inputs("jacrev", fun, numbers, args)
        for leaf in pytrees.tree_leaves(chosen):
            check_input(leaf, holomorphic, allow_int, inputs)
        function = function_of_chosen(fun, numbers, args, kwargs)
        result, pull, *aux = vjp(function, *chosen, has_aux=has_aux)
        for leaf in pytrees.tree_leaves(result):
            check_output(aval_of(leaf).dtype, holomorphic, "jacrev")
        rows = vmap(pull, chunk_size=chunk_size)(_standard_basis(result))
        example = _single(argnums, chosen)
        rows = rows[0] if not isinstance(argnums, tuple | list) else rows
        by_argument = pytrees.tree_map(
            lambda row, leaf: _split_axis(result, row, 0, aval_of(leaf).dtype), rows, example
        )
        jacobian = pytrees.tree_transpose(
            pytrees.tree_structure(example), pytrees.tree_structure(result), by_argument
        )
        return (jacobian, *aux) if has_aux else jacobian

    _describe(jacobian_f, fun, argnums)
    return jacobian_f


def jacobian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    chunk_size: int | str | None = None,
) -> Callable[P, Any]:
    """Returns a function that computes the Jacobian of ``fun``: another name of `jacrev`.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> jacobian(lambda x: lax.mul(x, x))(np.arange(2.0))
      Array([[0., 0.],
             [0., 2.]], dtype=float32)
    """
    return jacrev(fun, argnums, has_aux, holomorphic, allow_int, chunk_size=chunk_size)


@travels
def hessian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | str | None = None,
) -> Callable[P, Any]:
    """Returns a function that computes the second derivatives of ``fun``.

    The Hessian is computed by forward mode over reverse mode, which is efficient for functions with
    a scalar result.

    Args:
      fun: a function, usually with a scalar result.
      argnums: the positions of the arguments to differentiate with respect to.
      has_aux: whether ``fun`` returns a pair; only the first part is differentiated.
      holomorphic: whether ``fun`` is promised to be holomorphic.
      chunk_size: the number of columns of second derivatives that are computed at once; all if
        None. With ``"auto"``, a heuristic chooses the number, as in `vmap`.

    Returns:
      A function with the arguments of ``fun`` that returns the Hessian. The trees are nested: the
      structure of the result contains the structure of the chosen argument, twice. The arrays have
      shape ``result.shape + argument.shape + argument.shape``.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> hessian(lambda x: lax.reduce_sum(lax.mul(x, x), (0,)))(np.arange(2.0))
      Array([[2., 0.],
             [0., 2.]], dtype=float32)
    """
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
        chunk_size=chunk_size,
    )


def _single(argnums: Any, chosen: tuple[Any, ...]) -> Any:
    """Returns the chosen argument, or a tuple if ``argnums`` is a sequence."""
    return chosen if isinstance(argnums, tuple | list) else chosen[0]


def _describe(wrapper: Any, fun: Callable[..., Any], argnums: Any) -> None:
    name = function_name(fun)
    wrapper.__doc__ = (
        f"Jacobian of {name} with respect to positional argument(s) {argnums}. Takes the same "
        f"arguments as {name} but returns the jacobian of the output with respect to the arguments "
        f"at positions {argnums}."
    )


def _check_forward_input(leaf: Any, holomorphic: bool, inputs: Inputs) -> None:
    dtype = inputs.aval(leaf).dtype
    if holomorphic:
        check_complex(leaf, dtype, inputs)
    elif not dtypes.issubdtype(dtype, np.floating):
        raise inputs.wrong_dtype(
            leaf,
            "real-valued inputs (input dtype that is a sub-dtype of np.floating)",
            "For holomorphic differentiation, pass holomorphic=True. For differentiation of "
            "non-holomorphic functions involving complex inputs or integer inputs, use "
            f"{naming.module}.jvp directly.",
        )


def _check_forward_output(leaf: Any, holomorphic: bool) -> None:
    dtype = aval_of(leaf).dtype
    if holomorphic and not dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(
            "jacfwd with holomorphic=True requires outputs with complex dtype, but got "
            f"{dtypes.name_of(dtype)}."
        )


def _standard_basis(tree: Any) -> Any:
    """Returns the standard basis of the space of a pytree, stacked along axis 0 of each leaf."""
    leaves, structure = pytrees.tree_flatten(tree)
    avals = [aval_of(leaf) for leaf in leaves]
    total = sum(aval.size for aval in avals)
    basis, start = [], 0
    for aval in avals:
        size, shape = aval.size, aval.shape
        dtype = aval.to_tangent_aval().dtype
        if dtype == dtypes.float0:
            basis.append(float0_zeros((total, *shape)))
        else:
            ones = lax.eq(
                lax.broadcasted_iota(np.int32, (total, size), 0),
                lax.add(lax.broadcasted_iota(np.int32, (total, size), 1), np.int32(start)),
            )
            vectors = lax.reshape(lax.convert_element_type(ones, dtype), (total, *shape))
            basis.append(lax.convert_dtype(vectors, dtype, aval.weak_type))
        start += size
    return pytrees.tree_unflatten(structure, basis)


def _split_axis(tree: Any, array: Any, axis: int, dtype: Any) -> Any:
    """Splits an axis over the elements of all leaves of ``tree``; returns one array for each leaf.

    The returned arrays have the structure of ``tree``. Derivatives of dtype ``float0`` become zeros
    of ``dtype``, that of the integers they belong to.
    """
    leaves, structure = pytrees.tree_flatten(tree)
    shape = array.shape
    axis %= len(shape)
    parts, start = [], 0
    for leaf in leaves:
        aval = aval_of(leaf)
        size = aval.size
        new_shape = (*shape[:axis], *aval.shape, *shape[axis + 1 :])
        if array.dtype == dtypes.float0:
            parts.append(lax.full(new_shape, 0, dtype))
        else:
            part = lax.slice_in_dim(array, start, start + size, axis=axis)
            parts.append(lax.reshape(part, new_shape))
        start += size
    return pytrees.tree_unflatten(structure, parts)
