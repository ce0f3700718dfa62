# SPDX-License-Identifier: Apache-2.0
"""Differentiable solvers: of linear systems, and of roots by the implicit function theorem.

A solver is an arbitrary function, such as an iteration or a factorization. Derivatives follow from
the equation that its result satisfies, not from its operations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_batching.batched_programs import batch_olympuspr
from olympus_batching.dimensions import BatchAxis, unbatched_aval
from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.control_flow.linear_solves import LinearSolveParts
from olympus_ir.lax.control_flow.subprograms import (
    Subprogram,
    control_flow_programs,
    trace_subprogram,
    tracing_key,
)
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import ArrayLike, PyTree
from olympus_ir.types.typed_scalars import typed

from ..forward.jvp import jvp_flat
from ..forward.linearize import linearize
from ..reverse.transpose import linear_transpose
from ..zeros import Zero, aval_of, instantiate
from .custom_jvp import custom_jvp

__all__ = ["FactoredSolve", "custom_linear_solve", "custom_root"]

Solver = Callable[[Callable[..., Any], Any], Any]


@api_boundary
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: ArrayLike,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> PyTree:
    """Solves ``matvec(x) = b`` by a given solver, with the derivatives of the solution.

    The solver is not differentiated. The derivatives follow from the equation, and each takes one
    more solve.

    Args:
      matvec: a linear function of arrays or a pytree of arrays. It may close over arrays with
        respect to which the solution is differentiated.
      b: the right-hand side, with the structure and types that ``matvec`` takes and returns.
      solve: ``solve(matvec, b)`` returns a solution. Values that ``solve`` closes over have no
        derivative.
      transpose_solve: ``transpose_solve(vecmat, x)`` solves with the transposed function; needed
        for reverse mode unless ``symmetric``.
      symmetric: whether ``matvec`` is its own transpose. Then ``solve`` also solves transposed
        systems.
      has_aux: whether the solvers return a pair of the solution and auxiliary results.

    Returns:
      The result of ``solve``.

    Raises:
      ValueError: a function's result does not have the structure or the shapes of ``b``.
      TypeError: in reverse mode, ``transpose_solve`` is missing.

    Example:
      >>> from olympus_ir import lax
      >>> def halve(matvec, b):
      ...     return lax.div(b, 2.0)
      >>> custom_linear_solve(lambda x: lax.mul(x, 2.0), 3.0, halve, symmetric=True)
      Array(1.5, dtype=float32, weak_type=True)
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, tree = pytrees.tree_flatten(b)
    avals = tuple([aval_of(leaf) for leaf in leaves])

    def traced(fun: Callable[..., Any], name: str, with_aux: bool = False) -> Subprogram:
        traced_for = "custom_linear_solve" if name == "matvec" else f"custom_linear_solve {name}"
        subprogram = trace_subprogram(fun, pytrees.treedef_tuple((tree,)), avals, traced_for)
        _check_shapes(name, subprogram, tree, avals, with_aux)
        return subprogram

    matvec_part = traced(matvec, "matvec")
    solve_part = traced(functools.partial(solve, matvec), "solve", has_aux)
    vecmat_part = transpose_solve_part = None
    if transpose_solve is not None:
        vecmat: Callable[[Any], Any] = matvec
        vecmat_part = matvec_part
        if not symmetric:
            vecmat = _transposed(matvec, b)
            vecmat_part = traced(vecmat, "vecmat")
        transpose_solve_part = traced(
            functools.partial(transpose_solve, vecmat), "transpose_solve", has_aux
        )
    parts = (matvec_part, vecmat_part, solve_part, transpose_solve_part)
    results = lax.linear_solve_p.bind(
        *(value for part in parts if part is not None for value in part.consts),
        *leaves,
        const_lengths=LinearSolveParts(
            *(0 if part is None else len(part.consts) for part in parts)
        ),
        jaxprs=LinearSolveParts(*(None if part is None else part.closed for part in parts)),
    )
    return pytrees.tree_unflatten(solve_part.out_tree, results)


def _transposed(matvec: Callable[[Any], Any], b: Any) -> Callable[[Any], Any]:
    def vecmat(x: Any) -> Any:
        (result,) = linear_transpose(matvec, b)(x)
        return result

    return vecmat


def _check_shapes(
    name: str, subprogram: Subprogram, tree: Any, avals: Sequence[Any], has_aux: bool
) -> None:
    """Raises if a result does not have the structure and shapes of the right-hand side."""
    out_tree, results = subprogram.out_tree, subprogram.closed.out_avals
    if has_aux:
        children = pytrees.treedef_children(out_tree)
        if len(children) != 2 or pytrees.treedef_is_leaf(out_tree):
            raise ValueError(
                f"{name}() must return a pair of a solution and auxiliary results, because "
                f"has_aux=True, but it returned {out_tree}"
            )
        out_tree = children[0]
        results = results[: out_tree.num_leaves]
    expected, actual = [aval.shape for aval in avals], [aval.shape for aval in results]
    if out_tree != tree:
        raise TypeError(f"{name}() output pytree structure must match b, got {out_tree} and {tree}")
    if expected != actual:
        raise ValueError(f"{name}() output shapes must match b, got {actual} and {expected}")


class FactoredSolve:
    """A linear solve whose matrix has been factored; the factors are operands.

    The functions close over no values, so one trace serves all matrices of a type.

    Args:
      matvec: ``matvec(matrix, x)``, linear in ``x``.
      solve: ``solve(*factors, b)`` returns the solution.
      transpose_solve: ``transpose_solve(*factors, x)`` solves with the transposed matrix.

    Example:
      >>> from olympus_ir import lax
      >>> diagonal = FactoredSolve(lax.mul, lambda d, b: lax.div(b, d), lambda d, b: lax.div(b, d))
      >>> diagonal(2.0, (2.0,), 3.0)
      Array(1.5, dtype=float32, weak_type=True)
    """

    def __init__(
        self,
        matvec: Callable[[Any, Any], Any],
        solve: Callable[..., Any],
        transpose_solve: Callable[..., Any],
    ) -> None:
        self._matvec = matvec
        self._solve = solve
        self._transpose_solve = transpose_solve

    def __call__(self, matrix: Any, factors: Sequence[Any], b: Any, batch_ndim: int = 0) -> Any:
        """Solves for one right-hand side, or for a batch of matrices with one right-hand side each.

        Args:
          matrix: the matrix.
          factors: the factors.
          b: the right-hand side.
          batch_ndim: the number of leading batch dimensions, the same for all operands.
        """
        avals = (aval_of(matrix), *map(aval_of, factors), aval_of(b))
        known = control_flow_programs.of(self)
        key = (avals, batch_ndim, tracing_key())
        params = known.get(key)
        if params is None:
            params = known[key] = self._params(avals, batch_ndim)
        (result,) = lax.linear_solve_p.bind(matrix, matrix, *factors, *factors, b, **params)
        return result

    def _params(self, avals: tuple[Any, ...], batch_ndim: int) -> dict[str, Any]:
        sizes = avals[0].shape[:batch_ndim]
        for _ in sizes:
            avals = tuple([unbatched_aval(aval, 0) for aval in avals])
        matrix, *factors, b = avals

        def vecmat(matrix: Any, x: Any) -> Any:
            return _transposed(functools.partial(self._matvec, matrix), x)(x)

        def traced(fun: Callable[..., Any], in_avals: tuple[Any, ...], name: str) -> Any:
            in_tree = pytrees.tree_structure(in_avals)
            program = trace_subprogram(fun, in_tree, in_avals, name).closed
            for size in reversed(sizes):
                program, _ = batch_olympuspr(program, BatchAxis(size), [True] * len(in_avals), True)
            return program

        count = len(factors)
        return {
            "const_lengths": LinearSolveParts(1, 1, count, count),
            "jaxprs": LinearSolveParts(
                traced(self._matvec, (matrix, b), "matvec"),
                traced(vecmat, (matrix, b), "vecmat"),
                traced(self._solve, (*factors, b), "solve"),
                traced(self._transpose_solve, (*factors, b), "transpose_solve"),
            ),
        }


# ---- roots ----


@api_boundary
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: ArrayLike,
    solve: Solver,
    tangent_solve: Solver,
    has_aux: bool = False,
) -> PyTree:
    """Finds a root of a function by a given solver, with the derivatives of the root.

    The solver is not differentiated. The derivative of the root with respect to closed-over values
    of ``f`` follows from the derivative of ``f`` at the root, by the implicit function theorem.

    Args:
      f: the function whose root is sought, of arrays or a pytree of arrays. ``f`` may close over
        arrays with respect to which the root is differentiated.
      initial_guess: the start of the search. The root has no derivative with respect to the start.
      solve: ``solve(f, initial_guess)`` returns a root.
      tangent_solve: ``tangent_solve(g, y)`` solves the linear equation ``g(x) = y``, where ``g`` is
        the derivative of ``f`` at the root. For reverse mode ``tangent_solve`` must be
        transposable, as `custom_linear_solve` is.
      has_aux: whether ``solve`` returns a pair of the root and auxiliary results.

    Returns:
      The result of ``solve``.

    Raises:
      TypeError: a function's result does not have the structure of ``initial_guess``.

    Example:
      >>> from olympus_ir import lax
      >>> def newton(f, x):
      ...     return lax.fori_loop(0, 9, lambda _, x: lax.sub(x, lax.div(f(x), lax.mul(2.0, x))), x)
      >>> custom_root(lambda x: lax.sub(lax.mul(x, x), 2.0), 1.0, newton, lambda g, y: y / g(1.0))
      Array(1.4142135, dtype=float32, weak_type=True)
    """
    leaves, tree = pytrees.tree_flatten(initial_guess)
    avals = tuple([aval_of(leaf) for leaf in leaves])
    in_tree = pytrees.treedef_tuple((tree,))
    function = trace_subprogram(f, in_tree, avals, "custom_root")
    _check_structure("f", function.out_tree, tree, "initial_guess")
    solver = trace_subprogram(functools.partial(solve, f), in_tree, avals, "solve")
    root_tree = solver.out_tree
    if has_aux:
        children = pytrees.treedef_children(root_tree)
        if len(children) != 2 or pytrees.treedef_is_leaf(root_tree):
            raise ValueError(
                "custom_root expected solve to return a pair of the root and auxiliary results, "
                f"because has_aux=True, but it returned {root_tree}"
            )
        root_tree = children[0]
    _check_structure("solve", root_tree, tree, "initial_guess")

    def linearize_and_solve(x: Any, y: Any) -> Any:
        _, derivative = linearize(f, x)
        return tangent_solve(derivative, y)

    linear = trace_subprogram(
        linearize_and_solve, pytrees.treedef_tuple((tree, tree)), avals * 2, "tangent_solve"
    )
    _check_structure("tangent_solve", linear.out_tree, tree, "x")
    programs = _RootPrograms(function, solver, linear)
    results = _custom_root(programs, *function.consts, *solver.consts, *linear.consts, *leaves)
    return pytrees.tree_unflatten(solver.out_tree, results)


def _check_structure(name: str, found: Any, expected: Any, like: str) -> None:
    if found != expected:
        raise TypeError(
            f"{name}() output pytree structure must match {like}, got {found} and {expected}."
        )


class _RootPrograms:
    """The programs of `custom_root`: the function, its solver, and the solver of its derivative."""

    __slots__ = ("function", "linear", "solver")

    def __init__(self, function: Subprogram, solver: Subprogram, linear: Subprogram) -> None:
        self.function = function
        self.solver = solver
        self.linear = linear

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Splits the operands into the constants of each program and the initial guess."""
        first = len(self.function.consts)
        second = first + len(self.solver.consts)
        third = second + len(self.linear.consts)
        return (
            list(operands[:first]),
            list(operands[first:second]),
            list(operands[second:third]),
            list(operands[third:]),
        )


def _run(part: Subprogram, *operands: Any) -> list[Any]:
    return eval_olympuspr(part.closed.jaxpr, part.closed.consts, *operands)


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _custom_root(programs: _RootPrograms, *operands: Any) -> list[Any]:
    _, consts, _, guess = programs.split(operands)
    return list(map(typed, _run(programs.solver, *consts, *guess)))


def _root_jvp(
    programs: _RootPrograms, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    results = _custom_root(programs, *primals)
    consts, _, linear_consts, guess = programs.split(primals)
    const_tangents, *_ = programs.split(tangents)
    root, aux = list(results[: len(guess)]), results[len(guess) :]
    # f(x, a) = 0 implies df/dx dx = - df/da da.
    _, pushed = jvp_flat(
        lambda *operands: _run(programs.function, *operands),
        [*consts, *root],
        [*const_tangents, *(Zero.of(x) for x in root)],
    )
    solved = _run(programs.linear, *linear_consts, *root, *map(instantiate, pushed))
    root_tangents = [lax.neg(value) for value in solved]
    return results, [*root_tangents, *(instantiate(Zero.of(value)) for value in aux)]


_custom_root.defjvp(_root_jvp)
