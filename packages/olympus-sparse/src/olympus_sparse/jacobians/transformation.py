# SPDX-License-Identifier: Apache-2.0
"""`sparse_jacobian`, `sparse_hessian` and `plan`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

import olympus_autodiff as autodiff
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.tracing import typeof
from olympus_ir.trees import pytrees
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from .formats import check_format
from .functions import FunctionOfLeaves
from .plans import Plan, hessian_plan, jacobian_plan

__all__ = ["Plan", "plan", "sparse_hessian", "sparse_jacobian"]

_MODES = ("auto", "forward", "reverse")
_COLORINGS = ("star", "acyclic")


@functools.lru_cache(maxsize=32)
def _plans_of(fun: Callable[..., Any]) -> dict[Any, Plan]:
    """Returns the plans of a recently used function, by options and types of arguments."""
    return {}


@travels
def sparse_jacobian(
    fun: Callable[..., Any],
    argnums: int = 0,
    *,
    format: str = "bcoo",
    mode: str = "auto",
    plan: Plan | None = None,
) -> Callable[..., Any]:
    """Returns a function that computes the Jacobian of ``fun`` as a sparse matrix.

    The first call with arguments of some shapes finds the elements that can differ from zero, from
    the program of the derivative alone. The call colors the columns such that columns of one color
    have no row in common, and one jvp gives all columns of a color (Curtis, Powell and Reid 1974).
    Later calls only compute the entries. Values of the arguments have no influence on the pattern;
    constants of the function do, such as matrices and indices that it closes over.

    Args:
      fun: a function of arrays and pytrees of them. The results are arrays of real numbers.
      argnums: the position of the argument by which to differentiate.
      format: "bcoo" for a `BCOO`, whose dimensions are those of the result and those of the
        argument; "csr" or "bcsr" for a `CSR` or `BCSR` matrix, with a row for each element of the
        result and a column for each element of the argument; "scipy" for a
        `scipy.sparse.csr_array`; "dense" for an array as from `olympus.jacfwd`.
      mode: "forward" for jvps, "reverse" for vjps, "auto" for the mode with fewer products, or both
        where some rows or columns are dense.
      plan: a plan made before, for arguments of the same shapes.

    Returns:
      A function of the arguments of ``fun``. For pytrees it returns a matrix for each pair of a
      result and an array of the argument, in the structure that `olympus.jacfwd` has.

    Raises:
      ValueError: an option has none of the values above.
      TypeError: on the call, the argument has arrays that are not of real floating-point numbers.

    Example:
      >>> import numpy as np
      >>> import olympus_numpy as jnp
      >>> x = np.array([1.0, 2.0, 4.0], np.float32)
      >>> sparse_jacobian(lambda x: jnp.diff(x) * x[:-1], format="scipy")(x).toarray().tolist()
      [[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]
    """
    check_format(format)
    if mode not in _MODES:
        raise ValueError(f"`mode` must be one of {', '.join(map(repr, _MODES))}, got {mode!r}")

    def make(args: tuple) -> Plan:
        return jacobian_plan(FunctionOfLeaves(fun, argnums, args), mode, "bcoo")

    return _planned(fun, plan, format, ("jacobian", argnums, mode), make)


@travels
def sparse_hessian(
    fun: Callable[..., Any],
    argnums: int = 0,
    *,
    format: str = "bcoo",
    coloring: str = "star",
    plan: Plan | None = None,
) -> Callable[..., Any]:
    """Returns a function that computes the Hessian of a scalar function as a sparse matrix.

    The function works like `sparse_jacobian` of the gradient. A star coloring uses the symmetry of
    the matrix: a matrix with one dense row and one dense column takes two products.

    Args:
      fun: a function of arrays and pytrees of them, with a scalar result.
      argnums: the position of the argument by which to differentiate.
      format: the format of the matrix, as for `sparse_jacobian`.
      coloring: "star", where each entry is read from one product, or "acyclic", which takes fewer
        products. Entries are then alternating sums over many elements of products (Coleman and Cai
        1986), which lose digits: use double precision.
      plan: a plan made before, for arguments of the same shapes.

    Returns:
      A function of the arguments of ``fun``.

    Raises:
      ValueError: the format or the coloring is unknown.
      TypeError: on the call, the result is not a scalar, or the argument has arrays that are not of
        real floating-point numbers.

    Example:
      >>> import numpy as np
      >>> import olympus_numpy as jnp
      >>> x = np.array([1.0, 2.0, 4.0], np.float32)
      >>> sparse_hessian(lambda x: jnp.prod(x[:2]) + x[2] ** 3)(x).todense().tolist()
      [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 24.0]]
    """
    check_format(format)
    _check_coloring(coloring)

    def make(args: tuple) -> Plan:
        gradient = FunctionOfLeaves(autodiff.grad(fun, argnums), argnums, args)
        return hessian_plan(gradient, coloring, "bcoo")

    return _planned(fun, plan, format, ("hessian", argnums, coloring), make)


def _check_coloring(coloring: str) -> None:
    if coloring not in _COLORINGS:
        names = ", ".join(map(repr, _COLORINGS))
        raise ValueError(f"`coloring` must be one of {names}, got {coloring!r}")


def plan(
    fun: Callable[..., Any],
    *args: Any,
    argnums: int = 0,
    kind: str = "jacobian",
    mode: str = "auto",
    coloring: str = "star",
    format: str = "bcoo",
) -> Plan:
    """Returns the pattern and the coloring of a sparse derivative.

    Args:
      fun: the function.
      *args: the arguments of the function, or their types as `olympus.ShapeDtypeStruct`.
      argnums: the position of the argument by which to differentiate.
      kind: "jacobian" or "hessian".
      mode: the mode of a Jacobian, as for `sparse_jacobian`.
      coloring: the coloring of a Hessian, as for `sparse_hessian`.
      format: the format of the matrices that the plan computes.

    Returns:
      A `Plan`, which is called with the arguments of ``fun``. `sparse_jacobian` and
      `sparse_hessian` take the plan, too.

    Raises:
      ValueError: an option is unknown.

    Example:
      >>> import numpy as np
      >>> x = np.ones(1000, np.float32)
      >>> plan(lambda x: x[1:] * x[:-1], x)
      Plan(999 x 1000, 1998 entries, 2 jvps, 0 vjps)
    """
    if kind not in ("jacobian", "hessian"):
        raise ValueError(f'`kind` must be "jacobian" or "hessian", got {kind!r}')
    if mode not in _MODES:
        raise ValueError(f"`mode` must be one of {', '.join(map(repr, _MODES))}, got {mode!r}")
    check_format(format)
    _check_coloring(coloring)
    types = _types(args)
    if kind == "hessian":
        gradient = FunctionOfLeaves(autodiff.grad(fun, argnums), argnums, types)
        return hessian_plan(gradient, coloring, format)
    return jacobian_plan(FunctionOfLeaves(fun, argnums, types), mode, format)


def _types(args: tuple) -> tuple:
    """Returns the arguments with types in place of arrays."""

    def type_of(leaf: Any) -> Any:
        aval: Any = leaf if isinstance(leaf, ShapeDtypeStruct) else typeof(leaf)
        return ShapeDtypeStruct(aval.shape, aval.dtype)

    return pytrees.tree_map(type_of, args)


def _planned(
    fun: Callable[..., Any],
    plan: Plan | None,
    format: str,
    options: tuple,
    make: Callable[[tuple], Plan],
) -> Callable[..., Any]:
    """Returns a function that looks up or makes the plan for its arguments, and calls it."""

    plans = _plans_of(fun) if isinstance(fun, Hashable) else {}

    @api_boundary
    @functools.wraps(fun)
    def derivative(*args: Any) -> Any:
        if plan is not None:
            return plan(*args, format=format)
        types = _types(args)
        leaves, tree = pytrees.tree_flatten(types)
        key = (options, tree, tuple((leaf.shape, leaf.dtype) for leaf in leaves))
        if key not in plans:
            plans[key] = make(types)
        return plans[key](*args, format=format)

    return derivative
