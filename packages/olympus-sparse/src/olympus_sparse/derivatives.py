# SPDX-License-Identifier: Apache-2.0
"""Derivatives with respect to sparse arrays, that is, to the values of their entries."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import olympus_autodiff as autodiff
import olympus_numpy as jnp
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytrees

from .bcoo.array import BCOO, make
from .bcsr.array import BCSR, make_rows
from .core.base import OLYMPUSSparse

__all__ = ["grad", "jacfwd", "jacobian", "jacrev", "value_and_grad"]


def _is_sparse(value: Any) -> bool:
    return isinstance(value, OLYMPUSSparse)


def _values(tree: Any) -> Any:
    """Returns a tree with sparse arrays replaced by the values of their entries."""
    return pytrees.tree_map(
        lambda leaf: leaf.data if _is_sparse(leaf) else leaf, tree, is_leaf=_is_sparse
    )


def _with_values(tree: Any, values: Any) -> Any:
    """Returns a tree with new values in its sparse arrays; the inverse of `_values`."""
    return pytrees.tree_map(
        lambda leaf, value: _replaced(leaf, value) if _is_sparse(leaf) else value,
        tree,
        values,
        is_leaf=_is_sparse,
    )


def _replaced(array: Any, data: Any) -> Any:
    """Returns a sparse array with other values at the same coordinates."""
    buffers, tree = pytrees.tree_flatten(array)
    return pytrees.tree_unflatten(tree, [data, *buffers[1:]])


def _selected(argnums: int | Sequence[int], args: Sequence[Any]) -> tuple[tuple[int, ...], bool]:
    single = isinstance(argnums, int)
    positions = (argnums,) if single else tuple(argnums)
    if any(not -len(args) <= position < len(args) for position in positions):
        raise ValueError(f"argnums {argnums} is out of range for {len(args)} positional arguments")
    return tuple(position % len(args) for position in positions), single


def _of_values(
    transformation: Callable[..., Any],
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    finish: Callable[[Any, Any, bool], Any],
    options: dict[str, Any],
) -> Callable[..., Any]:
    """Differentiates a function with respect to the values of its sparse arguments.

    Args:
      transformation: the transformation that differentiates with respect to dense arrays.
      fun: the function.
      argnums: the positions of the arguments.
      has_aux: whether the function returns auxiliary data too.
      finish: a function that makes the result. Its arguments are the transformation's result, the
        differentiated arguments, and whether there is a single argument.
      options: further arguments of the transformation.
    """

    @api_boundary
    @functools.wraps(fun)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        positions, single = _selected(argnums, args)

        def of_values(*values: Any) -> Any:
            full = list(args)
            for position, value in zip(positions, values, strict=True):
                full[position] = _with_values(args[position], value)
            return fun(*full, **kwargs)

        transformed = transformation(
            of_values,
            argnums=0 if single else tuple(range(len(positions))),
            has_aux=has_aux,
            **options,
        )
        differentiated = [args[position] for position in positions]
        out = transformed(*map(_values, differentiated))
        return finish(out, differentiated, single)

    return derivative


def _gradients(gradients: Any, arguments: Sequence[Any], single: bool) -> Any:
    if single:
        return _with_values(arguments[0], gradients)
    return tuple(map(_with_values, arguments, gradients))


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """Returns a function that computes the gradient of ``fun``; arguments may be sparse.

    The function works like `olympus.grad`. The gradient with respect to a sparse array is a sparse
    array with the same coordinates.

    Args:
      fun: a function of dense and sparse arrays with a scalar result.
      argnums: the positions of the arguments to differentiate.
      has_aux: whether ``fun`` returns a pair of the scalar and auxiliary data.
      **kwargs: further arguments of `olympus.grad`.

    Returns:
      A function with the arguments of ``fun``.

    Raises:
      ValueError: on the call, ``argnums`` is out of range.

    Example:
      >>> import numpy as np
      >>> mat = BCOO.fromdense(np.array([0.0, 3.0], np.float32))
      >>> np.asarray(grad(lambda x: (x @ np.ones(2, np.float32)) ** 2)(mat).todense()).tolist()
      [0.0, 6.0]
    """

    def finish(out: Any, arguments: Any, single: bool) -> Any:
        if has_aux:
            return _gradients(out[0], arguments, single), out[1]
        return _gradients(out, arguments, single)

    return _of_values(autodiff.grad, fun, argnums, has_aux, finish, kwargs)


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., tuple[Any, Any]]:
    """Returns a function for the value and the gradient of ``fun``; arguments may be sparse.

    Args:
      fun: a function of dense and sparse arrays with a scalar result.
      argnums: the positions of the arguments to differentiate.
      has_aux: whether ``fun`` returns a pair of the scalar and auxiliary data.
      **kwargs: further arguments of `olympus.value_and_grad`.

    Returns:
      A function with the arguments of ``fun``, which returns the value and the gradient.

    Raises:
      ValueError: on the call, ``argnums`` is out of range.

    Example:
      >>> import numpy as np
      >>> mat = BCOO.fromdense(np.array([0.0, 3.0], np.float32))
      >>> value, gradient = value_and_grad(lambda x: (x @ np.ones(2, np.float32)) ** 2)(mat)
      >>> float(value), np.asarray(gradient.data).tolist()
      (9.0, [6.0])
    """

    def finish(out: Any, arguments: Any, single: bool) -> Any:
        return out[0], _gradients(out[1], arguments, single)

    return _of_values(autodiff.value_and_grad, fun, argnums, has_aux, finish, kwargs)


# ---- Jacobians ----


def _jacobian(transformation: Callable[..., Any]) -> Any:
    def of_fun(
        fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, options: Any
    ) -> Callable[..., Any]:
        found: list[Any] = []

        @api_boundary
        @functools.wraps(fun)
        def watched(*args: Any, **kwargs: Any) -> Any:
            out = fun(*args, **kwargs)
            result = out[0] if has_aux else out
            leaves, tree = pytrees.tree_flatten(result, is_leaf=_is_sparse)
            if any(map(_is_sparse, leaves)):
                raise TypeError(
                    "Jacobians of functions with sparse results are not supported, got "
                    f"{result}; return sparse.todense of it"
                )
            found[:] = [tree, [jnp.shape(leaf) for leaf in leaves]]
            return out

        def finish(out: Any, arguments: Any, single: bool) -> Any:
            blocks, aux = out if has_aux else (out, None)
            tree, shapes = found
            results = []
            for block, out_shape in zip(tree.flatten_up_to(blocks), shapes, strict=True):
                parts = [
                    pytrees.tree_map(
                        functools.partial(_jacobian_block, out_shape=out_shape),
                        argument,
                        part,
                        is_leaf=_is_sparse,
                    )
                    for argument, part in zip(arguments, (block,) if single else block, strict=True)
                ]
                results.append(parts[0] if single else tuple(parts))
            jacobian = pytrees.tree_unflatten(tree, results)
            return (jacobian, aux) if has_aux else jacobian

        return _of_values(transformation, watched, argnums, has_aux, finish, options)

    return of_fun


def _jacobian_block(argument: Any, values: Any, out_shape: tuple[int, ...]) -> Any:
    """Returns the Jacobian of one argument.

    For a sparse argument, the Jacobian is a sparse array with the result's dimensions as batch
    dimensions.
    """
    if not _is_sparse(argument):
        return values
    shape = (*out_shape, *argument.shape)
    if not isinstance(argument, BCOO | BCSR):
        raise NotImplementedError(
            f"Jacobians with respect to {type(argument).__name__} are not supported, because it "
            "has no batch dimensions; use BCOO or BCSR"
        )
    _, *positions = argument._bufs
    positions = [
        jnp.broadcast_to(position, (*out_shape, *position.shape)) for position in positions
    ]
    maker = make if isinstance(argument, BCOO) else make_rows
    return maker((values, *positions), argument._info._replace(shape=shape))  # type: ignore[arg-type]


_jacfwd = _jacobian(autodiff.jacfwd)
_jacrev = _jacobian(autodiff.jacrev)


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """Returns a function for the Jacobian of ``fun`` in forward mode; arguments may be sparse.

    The Jacobian with respect to a sparse array is a sparse array. Its batch dimensions are the
    dimensions of the result.

    Args:
      fun: a function of dense and sparse arrays with dense results.
      argnums: the positions of the arguments to differentiate.
      has_aux: whether ``fun`` returns a pair of the result and auxiliary data.
      **kwargs: further arguments of `olympus.jacfwd`.

    Returns:
      A function with the arguments of ``fun``.

    Raises:
      TypeError: on the call, a result is sparse.
      NotImplementedError: on the call, an argument is of a format without batch dimensions.

    Example:
      >>> import numpy as np
      >>> mat = BCOO.fromdense(np.array([[0.0, 3.0]], np.float32))
      >>> jacfwd(lambda x: x @ np.ones(2, np.float32))(mat)
      BCOO(float32[1, 1, 2], nse=1, n_batch=1)
    """
    return _jacfwd(fun, argnums, has_aux, kwargs)


def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """Returns a function for the Jacobian of ``fun`` in reverse mode; arguments may be sparse.

    Args:
      fun: a function of dense and sparse arrays with dense results.
      argnums: the positions of the arguments to differentiate.
      has_aux: whether ``fun`` returns a pair of the result and auxiliary data.
      **kwargs: further arguments of `olympus.jacrev`.

    Returns:
      A function with the arguments of ``fun``.

    Raises:
      TypeError: on the call, a result is sparse.
      NotImplementedError: on the call, an argument is of a format without batch dimensions.

    Example:
      >>> import numpy as np
      >>> mat = BCOO.fromdense(np.array([[0.0, 3.0]], np.float32))
      >>> jacrev(lambda x: x @ np.ones(2, np.float32))(mat)
      BCOO(float32[1, 1, 2], nse=1, n_batch=1)
    """
    return _jacrev(fun, argnums, has_aux, kwargs)


jacobian = jacrev
