# SPDX-License-Identifier: Apache-2.0
"""Solutions of equations and minimizers, differentiated by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax import linalg
from olympus_ir.lax.core.variation import varying_like
from olympus_ir.lax.linalg.matrices import permute_rows
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import current
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import PyTree

from ..custom.custom_jvp import custom_jvp
from ..custom.solves import custom_linear_solve
from ..forward.jvp import jvp
from ..forward.linearize import linearize
from ..reverse.grad import grad
from ..reverse.jacobian import jacfwd
from ..zeros import aval_of

__all__ = ["argmin", "fixed_point", "root"]

_CHOICES = ("implicit", "unrolled", "truncated")

Solver = Callable[..., Any]
LinearSolver = Callable[[Callable[[Any], Any], Any], Any]


@api_boundary
def root(
    f: Callable[..., Any],
    start: PyTree,
    *args: PyTree,
    solver: Solver | None = None,
    differentiate: str = "implicit",
    linear_solve: LinearSolver | None = None,
    steps: int = 20,
    truncated_steps: int = 1,
) -> PyTree:
    """Finds a root ``x`` of ``f(x, *args)``, differentiable with respect to ``args``.

    Args:
      f: a function whose result has the structure and shapes of ``start``.
      start: the start of the search, an array or a pytree of arrays of floats. It has no derivative
        unless the steps are differentiated.
      *args: further arguments of ``f``, pytrees of arrays. Values that ``f`` closes over have no
        implicit derivative.
      solver: ``solver(f, start)`` returns a root of a function of ``x``; by default Newton's method
        with ``steps`` steps.
      differentiate: the kind of derivative. "implicit" uses the equation at the root, independently
        of the solver; "unrolled" differentiates the solver; "truncated" differentiates
        ``truncated_steps`` Newton steps from the root.
      linear_solve: ``linear_solve(apply, b)`` solves the linear equation of implicit derivatives,
        for instance ``lambda apply, b: scipy.sparse.linalg.gmres(apply, b)[0]``. By default the
        Jacobian is computed and factored.
      steps: the number of steps of Newton's method.
      truncated_steps: the number of steps that are differentiated.

    Returns:
      The root, in the structure of ``start``.

    Raises:
      ValueError: ``differentiate`` is none of these kinds.

    Example:
      >>> from olympus_autodiff import grad
      >>> square_root = lambda a: root(lambda x, a: x * x - a, 1.0, a)
      >>> float(square_root(4.0)), float(grad(square_root)(4.0))
      (2.0, 0.25)
    """

    def solve(f: Callable[[Any], Any], start: Any) -> Any:
        return _newton(f, start, steps) if solver is None else solver(f, start)

    def refine(x: Any, *args: Any) -> Any:
        return _newton(lambda x: f(x, *args), x, truncated_steps)

    def search(start: Any, *args: Any) -> Any:
        return solve(lambda x: f(x, *args), start)

    start = _varying_like_result(f, start, args)
    return _differentiated(f, search, refine, start, args, differentiate, linear_solve)


@api_boundary
def fixed_point(
    f: Callable[..., Any],
    start: PyTree,
    *args: PyTree,
    solver: Solver | None = None,
    differentiate: str = "implicit",
    linear_solve: LinearSolver | None = None,
    steps: int = 100,
    truncated_steps: int = 1,
) -> PyTree:
    """Finds a fixed point ``x = f(x, *args)``, differentiable with respect to ``args``.

    Args:
      f: a function whose result has the structure and shapes of ``start``.
      start: the start of the iteration.
      *args: further arguments of ``f``.
      solver: ``solver(f, start)`` returns a fixed point of a function of ``x``; by default ``f`` is
        applied ``steps`` times.
      differentiate: as for `root`; "truncated" differentiates ``truncated_steps`` applications.
      linear_solve: as for `root`.
      steps: the number of applications.
      truncated_steps: the number of applications that are differentiated.

    Returns:
      The fixed point, in the structure of ``start``.

    Raises:
      ValueError: ``differentiate`` is unknown.

    Example:
      >>> from olympus_autodiff import grad
      >>> from olympus_ir import lax
      >>> f = lambda a: fixed_point(lambda x, a: lax.cos(lax.mul(a, x)), 0.5, a)
      >>> round(float(f(1.0)), 4), round(float(grad(f)(1.0)), 4)
      (0.7391, -0.2975)
    """

    def search(start: Any, *args: Any) -> Any:
        applied = lambda x: f(x, *args)  # noqa: E731
        return _repeated(applied, start, steps) if solver is None else solver(applied, start)

    def refine(x: Any, *args: Any) -> Any:
        return _repeated(lambda x: f(x, *args), x, truncated_steps)

    def residual(x: Any, *args: Any) -> Any:
        return pytrees.tree_map(lax.sub, f(x, *args), x)

    start = _varying_like_result(f, start, args)
    return _differentiated(residual, search, refine, start, args, differentiate, linear_solve)


@api_boundary
def argmin(
    f: Callable[..., Any],
    start: PyTree,
    *args: PyTree,
    solver: Solver | None = None,
    differentiate: str = "implicit",
    linear_solve: LinearSolver | None = None,
    steps: int = 20,
    truncated_steps: int = 1,
) -> PyTree:
    """Finds a minimizer ``x`` of ``f(x, *args)``, differentiable with respect to ``args``.

    Args:
      f: a function with a scalar result.
      start: the start of the search.
      *args: further arguments of ``f``.
      solver: ``solver(f, start)`` returns a minimizer of a function of ``x``; by default Newton's
        method is applied to the gradient.
      differentiate: as for `root`.
      linear_solve: as for `root`; the linear map is the Hessian, which is symmetric.
      steps: the number of steps of Newton's method.
      truncated_steps: the number of steps that are differentiated.

    Returns:
      The minimizer, in the structure of ``start``.

    Raises:
      ValueError: ``differentiate`` is unknown.

    Example:
      >>> from olympus_autodiff import grad
      >>> mean = lambda a: argmin(lambda x, a: (x - a) ** 2 + (x - 3.0) ** 2, 0.0, a)
      >>> float(mean(1.0)), float(grad(mean)(1.0))
      (2.0, 0.5)
    """
    slope = grad(f)

    def search(start: Any, *args: Any) -> Any:
        if solver is None:
            return _newton(lambda x: slope(x, *args), start, steps)
        return solver(lambda x: f(x, *args), start)

    def refine(x: Any, *args: Any) -> Any:
        return _newton(lambda x: slope(x, *args), x, truncated_steps)

    start = _varying_like_result(f, start, args)
    return _differentiated(slope, search, refine, start, args, differentiate, linear_solve)


def _varying_like_result(f: Callable[..., Any], start: Any, args: tuple) -> Any:
    """Casts ``start`` to vary over each mesh axis over which the result of ``f`` varies.

    Inside of `shard_map`, ``f`` may close over varying values, and its solution then varies, too.
    """
    if not current.axes.varying:
        return start
    start = pytrees.tree_map(lambda leaf: varying_like(leaf, *pytrees.tree_leaves(args)), start)
    leaves, tree = pytrees.tree_flatten((start, args))

    def flat(*leaves: Any) -> list[Any]:
        start, args = pytrees.tree_unflatten(tree, leaves)
        return pytrees.tree_leaves(f(start, *args))

    results = trace_to_closed(flat, [aval_of(leaf) for leaf in leaves]).jaxpr.outvars
    return pytrees.tree_map(lambda leaf: varying_like(leaf, *results), start)


# ---- derivatives ----


def _differentiated(
    residual: Callable[..., Any],
    search: Callable[..., Any],
    refine: Callable[..., Any],
    start: Any,
    args: tuple,
    differentiate: str,
    linear_solve: LinearSolver | None,
) -> Any:
    """Returns the solution of a search, with the requested kind of derivative.

    Args:
      residual: a function of ``x`` and the arguments that is zero at the solution.
      search: maps the start and the arguments to the solution.
      refine: takes a solution and the arguments, and applies a few differentiable steps to the
        solution.
      start: the start of the search.
      args: the arguments.
      differentiate: the kind of derivative.
      linear_solve: the solver of linear equations; None for a factored Jacobian.
    """
    if differentiate not in _CHOICES:
        names = ", ".join(map(repr, _CHOICES))
        raise ValueError(f"`differentiate` must be one of {names}, got {differentiate!r}")
    if differentiate == "unrolled":
        return search(start, *args)
    if differentiate == "truncated":
        found = pytrees.tree_map(lax.stop_gradient, (start, args))
        solution = search(found[0], *found[1])
        return refine(pytrees.tree_map(lax.stop_gradient, solution), *args)
    solution_of = _implicit(residual, search, linear_solve)
    return solution_of(pytrees.tree_map(_as_array, start), *args)


def _implicit(
    residual: Callable[..., Any], search: Callable[..., Any], linear_solve: LinearSolver | None
) -> Callable[..., Any]:
    """Returns the search with derivatives by the implicit function theorem."""

    @custom_jvp
    def solution_of(start: Any, *args: Any) -> Any:
        return search(start, *args)

    @solution_of.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        start, *args = primals
        # The rule wraps the search again, because a reference to `solution_of` would make a cycle.
        x = _implicit(residual, search, linear_solve)(start, *args)
        _, change = jvp(lambda *args: residual(x, *args), tuple(args), tuple(tangents[1:]))

        def apply(direction: Any) -> Any:
            return jvp(lambda x: residual(x, *args), (x,), (direction,))[1]

        solve = _factored if linear_solve is None else linear_solve
        # Where the residual does not depend on the arguments, its change does not vary over the
        # axes of a mesh, but the solution does.
        b = pytrees.tree_map(lambda leaf, like: varying_like(lax.neg(leaf), like), change, x)
        moved = custom_linear_solve(apply, b, solve, solve)
        return x, moved

    return solution_of


def _as_array(leaf: Any) -> Any:
    aval = aval_of(leaf)
    return lax.convert_element_type(leaf, aval.dtype)


# ---- solvers ----


def _newton(f: Callable[[Any], Any], start: Any, steps: int) -> Any:
    """Applies steps of Newton's method in a loop that both derivative modes can differentiate."""

    def step(x: Any, _: Any) -> tuple[Any, None]:
        value, push = linearize(f, x)
        change = _factored(push, value)
        return pytrees.tree_map(lax.sub, x, change), None

    return lax.scan(step, pytrees.tree_map(_as_array, start), None, length=steps)[0]


def _repeated(f: Callable[[Any], Any], start: Any, steps: int) -> Any:
    start = pytrees.tree_map(_as_array, start)
    return lax.scan(lambda x, _: (f(x), None), start, None, length=steps)[0]


def _factored(apply: Callable[[Any], Any], b: Any) -> Any:
    """Solves a linear equation between pytrees by an LU factorization of the map's matrix."""
    leaves, tree = pytrees.tree_flatten(b)
    shapes = [aval_of(leaf).shape for leaf in leaves]
    sizes = [int(np.prod(shape)) for shape in shapes]
    dtypes_of_leaves = [aval_of(leaf).dtype for leaf in leaves]
    ends = np.cumsum([0, *sizes]).tolist()

    def split(flat: Any) -> Any:
        parts = [
            lax.convert_element_type(lax.reshape(flat[low:high], shape), dtype)
            for low, high, shape, dtype in zip(
                ends, ends[1:], shapes, dtypes_of_leaves, strict=False
            )
        ]
        return pytrees.tree_unflatten(tree, parts)

    def joined(value: Any) -> Any:
        parts = [
            lax.convert_element_type(lax.reshape(leaf, (size,)), common)
            for leaf, size in zip(pytrees.tree_leaves(value), sizes, strict=True)
        ]
        return lax.concatenate(parts, 0) if len(parts) > 1 else parts[0]

    common = np.result_type(*dtypes_of_leaves)
    flat = joined(b)
    matrix = jacfwd(lambda v: joined(apply(split(v))))(lax.full_like(flat, 0))
    packed, _, permutation = linalg.lu(matrix)
    column = lax.reshape(flat, (*aval_of(flat).shape, 1))
    solved = linalg.triangular_solve(
        packed, permute_rows(column, permutation), left_side=True, lower=True, unit_diagonal=True
    )
    solved = linalg.triangular_solve(packed, solved, left_side=True, lower=False)
    return split(lax.reshape(solved, aval_of(flat).shape))
