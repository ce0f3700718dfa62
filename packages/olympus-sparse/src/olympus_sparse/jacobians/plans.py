# SPDX-License-Identifier: Apache-2.0
"""Plans: the pattern of a derivative, its coloring, and its compressed evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import olympus_autodiff as autodiff
import olympus_numpy as jnp
from olympus_batching import vmap
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr, olympusprs_in_params
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray, get_aval

from .coloring import color_columns, color_symmetric, recovery_of_symmetric
from .elimination import eliminate
from .formats import Block, blocks_of
from .patterns import Flow, Pattern, identity, relation, stacked_rows
from .propagation import propagate
from .recovery import entries_of
from .substitution import Substitution, color_acyclic, substitution_of
from .terms import Linear, Term, Unsupported

__all__ = ["FlatFunction", "Parts", "Plan", "hessian_plan", "jacobian_plan"]


class FlatFunction:
    """Function of the leaves of one argument; a call takes the values of the other arguments, too.

    Args:
      fun: a function.
      argnum: the position of the differentiated argument.
      args: the arguments, or their types.
    """

    def __init__(self, fun: Callable[..., Any], argnum: int, args: Sequence[Any]) -> None:
        self.fun = fun
        self.argnum = argnum
        leaves, self.in_tree = pytrees.tree_flatten(args[argnum])
        self.avals = [_real_aval(leaf) for leaf in leaves]
        self.others = [arg for place, arg in enumerate(args) if place != argnum]
        self.out_tree: Any = None

    def __call__(self, leaves: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        args = list(others)
        args.insert(self.argnum, pytrees.tree_unflatten(self.in_tree, leaves))
        out, self.out_tree = pytrees.tree_flatten(self.fun(*args))
        return out


def _real_aval(leaf: Any) -> ShapedArray:
    aval = get_aval(leaf) if not hasattr(leaf, "aval") else leaf.aval
    if not dtypes.issubdtype(aval.dtype, np.floating):
        raise TypeError(
            "sparse derivatives are with respect to arrays of real floating-point numbers, got an "
            f"argument of type {aval.str_short()}; convert it, or choose another argument by "
            "`argnums`"
        )
    return ShapedArray(aval.shape, aval.dtype)


class Parts(NamedTuple):
    """Compressed products: the colors of columns for jvps and of rows for vjps.

    Attributes:
      columns: the color of each column, -1 for columns without a jvp.
      rows: the color of each row, -1 for rows without a vjp.
      by_row: for each entry, whether it is read from a vjp.
    """

    columns: np.ndarray
    rows: np.ndarray
    by_row: np.ndarray

    @property
    def jvps(self) -> int:
        return int(self.columns.max(initial=-1)) + 1

    @property
    def vjps(self) -> int:
        return int(self.rows.max(initial=-1)) + 1

    @property
    def cost(self) -> tuple[int, int]:
        """The number of products, and the number of vjps, which breaks ties."""
        return self.jvps + self.vjps, self.vjps


class Plan:
    """Pattern and coloring of a Jacobian or Hessian, found once and used for every value.

    A plan holds for all arguments of the same shapes and dtypes. It is called with the arguments of
    the function, and returns the matrix. Calls work inside of compiled functions, under `vmap` and
    under derivatives.

    Attributes:
      pattern: the pattern, a `scipy.sparse.csr_array` of booleans. Its rows are the elements of the
        results and its columns the elements of the argument, each in row-major order.
      colors: the number of derivatives that an evaluation by compressed products takes.
      jvps: the number of derivatives in forward mode.
      vjps: the number of derivatives in reverse mode.
      column_colors: the color of each column, -1 for columns without a jvp.
      row_colors: the color of each row, -1 for rows without a vjp.
      evaluation: "terms" if each entry is computed by itself, in a program that computes no zeros;
        "products" for compressed products, where that program would be long.

    Example:
      >>> import numpy as np
      >>> import olympus_numpy as jnp
      >>> from olympus_sparse import plan
      >>> x = np.arange(5.0, dtype=np.float32)
      >>> differences = plan(lambda x: jnp.diff(x) ** 2, x)
      >>> differences.colors, differences.pattern.nnz
      (2, 8)
      >>> np.asarray(differences(x).todense())[0].tolist()
      [-2.0, 2.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        flat: FlatFunction,
        out_avals: Sequence[Any],
        pattern: Pattern,
        parts: Parts,
        recovery: str,
        format: str,
        by_terms: ClosedOlympuspr | None = None,
    ) -> None:
        self._flat = flat
        self._by_terms = by_terms
        self.evaluation = "products" if by_terms is None else "terms"
        self._out_avals = list(out_avals)
        self._parts = parts
        self.pattern = pattern
        self.format = format
        self.column_colors, self.row_colors = parts.columns, parts.rows
        self.jvps, self.vjps = parts.jvps, parts.vjps
        self.colors = self.jvps + self.vjps
        self._recovery = recovery
        self._substitution: Substitution | None = None
        self._blocks: list[list[Block]] = blocks_of(
            pattern, [aval.shape for aval in self._out_avals], [a.shape for a in flat.avals]
        )
        self._places = self._places_in_products()
        self._entries = jit(self._compute_entries)

    def __repr__(self) -> str:
        rows, columns = self.pattern.shape
        return (
            f"Plan({rows} x {columns}, {self.pattern.nnz} entries, {self.jvps} jvps, "
            f"{self.vjps} vjps)"
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.pattern.shape

    def __call__(self, *args: Any, format: str | None = None) -> Any:
        """Returns the matrix at the given arguments.

        Args:
          *args: the arguments of the function.
          format: the format of the result, as in `sparse_jacobian`; by default that of the plan.
        """
        argument = args[self._flat.argnum]
        leaves, tree = pytrees.tree_flatten(argument)
        avals = [_real_aval(leaf) for leaf in leaves]
        if tree != self._flat.in_tree or avals != self._flat.avals:
            expected = ", ".join(aval.str_short() for aval in self._flat.avals)
            given = ", ".join(aval.str_short() for aval in avals)
            raise ValueError(
                f"the plan was made for an argument with the arrays {expected}, got {given}; make "
                "another plan for them"
            )
        others = [arg for place, arg in enumerate(args) if place != self._flat.argnum]
        entries = self._entries(leaves, others)
        made = [
            pytrees.tree_unflatten(
                tree,
                [block.array(entries, aval.dtype, format or self.format) for block in row],
            )
            for row, aval in zip(self._blocks, self._out_avals, strict=True)
        ]
        return pytrees.tree_unflatten(self._flat.out_tree, made)

    # ---- evaluation ----

    def _places_in_products(self) -> np.ndarray:
        """Returns the position of each entry in the flat array of all products, jvps first."""
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.pattern.indptr))
        columns = self.pattern.indices.astype(np.int64)
        if self._recovery == "acyclic":
            return self._places_in_sums(rows, columns)
        if self._recovery == "star":
            color, row, known = recovery_of_symmetric(self.pattern, self.column_colors)
            assert known.all()
            return color * self.shape[0] + row
        from_jvps = self.column_colors[columns] * self.shape[0] + rows
        from_vjps = self.row_colors[rows] * self.shape[1] + columns
        return np.where(self._parts.by_row, self.jvps * self.shape[0] + from_vjps, from_jvps)

    def _places_in_sums(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Returns each entry's position in the result of `_with_sums`."""
        found = self._substitution = substitution_of(self.pattern, self.column_colors)
        on_diagonal = self.column_colors[columns] * self.shape[0] + rows
        of_sums = self.jvps * self.shape[0] + found.sum_of_entry
        return np.where(found.sum_of_entry < 0, on_diagonal, of_sums)

    def _with_sums(self, products: Any, substitution: Substitution) -> Any:
        """Returns the products, followed by the alternating sums over subtrees."""
        vertices, colors, signs, ends, _ = substitution
        signs = signs.astype(products.dtype)
        read = products.at[colors * self.shape[0] + vertices].get(mode="promise_in_bounds")
        totals = jnp.concatenate([jnp.zeros((1,), products.dtype), jnp.cumsum(signs * read)])
        sums = signs * (totals.at[ends].get(mode="promise_in_bounds") - totals[:-1])
        return jnp.concatenate([products, sums])

    def _compute_entries(self, leaves: Sequence[Any], others: Sequence[Any]) -> Any:
        program = self._by_terms
        if program is not None:
            operands = [*leaves, *pytrees.tree_leaves(others)]
            types = [(aval.shape, aval.dtype) for aval in map(get_aval, operands)]
            if types == [(aval.shape, aval.dtype) for aval in program.in_avals]:
                return eval_olympuspr(program.olympuspr, program.consts, *operands)[0]
        return self._entries_from_products(leaves, others)

    def _entries_from_products(self, leaves: Sequence[Any], others: Sequence[Any]) -> Any:
        """Computes all products of one mode at once, and reads the entries from them."""
        products = []

        def of_leaves(*values: Any) -> list[Any]:
            return self._flat(values, others)

        if self.jvps:
            _, push = autodiff.linearize(of_leaves, *leaves)
            seeds = _seeds(self.column_colors, self.jvps, self._flat.avals)
            products.append(_joined(vmap(push)(*seeds)))
        if self.vjps:
            _, pull = autodiff.vjp(of_leaves, *leaves)
            seeds = _seeds(self.row_colors, self.vjps, self._out_avals)
            products.append(_joined(vmap(lambda *cts: pull(list(cts)))(*seeds)))
        if not products:
            return jnp.zeros((0,), self._flat.avals[0].dtype)
        flat = jnp.concatenate(products) if len(products) > 1 else products[0]
        if self._substitution is not None:
            flat = self._with_sums(flat, self._substitution)
        return flat.at[self._places].get(mode="promise_in_bounds")


# Seeds up to this many bytes are constants of the program. Larger seeds are computed in every call.
_LARGEST_CONSTANT_SEEDS = 1 << 24


def _seeds(colors: np.ndarray, count: int, avals: Sequence[Any]) -> list[Any]:
    """Returns for each array a batch of directions, one for each color."""
    numbers = np.arange(count, dtype=np.int32)[:, None]
    seeds, start = [], 0
    for aval in avals:
        size = math.prod(aval.shape)
        own = colors[start : start + size].astype(np.int32)
        is_constant = count * size * aval.dtype.itemsize <= _LARGEST_CONSTANT_SEEDS
        selected = (own if is_constant else jnp.asarray(own)) == numbers
        seeds.append(selected.astype(aval.dtype).reshape((count, *aval.shape)))
        start += size
    return seeds


def _joined(products: Sequence[Any]) -> Any:
    """Returns products with several arrays as one flat array, product after product."""
    flat = [each.reshape(each.shape[0], -1) for each in products]
    return (flat[0] if len(flat) == 1 else jnp.concatenate(flat, axis=1)).ravel()


# ---- programs and patterns of functions ----


class _Derivative(NamedTuple):
    """Program that is linear in its first operands, and its pattern.

    Attributes:
      program: the program.
      pattern: the pattern, with a row for each element of the results.
    """

    program: ClosedOlympuspr
    pattern: Pattern


def _derivative_of(
    function: Callable[..., Any], linear: Sequence[ShapedArray], around: Sequence[Any]
) -> _Derivative:
    """Returns the program and pattern of a function that is linear in its first argument.

    Args:
      function: the function.
      linear: the types of the elements of the first argument, a list.
      around: the other arguments, or their types.
    """
    closed = make_olympuspr(function)(list(linear), *around)
    width = sum(math.prod(aval.shape) for aval in linear)
    inputs, start = [], 0
    for place, aval in enumerate(closed.in_avals):
        flow = Flow(aval)
        if place < len(linear):
            flow = flow._replace(pattern=identity(flow.size, width, start))
            start += flow.size
        inputs.append(flow)
    pattern = stacked_rows(propagate(closed, inputs), width)
    pattern.sort_indices()
    return _Derivative(closed, pattern)


def _forward_derivative(flat: FlatFunction) -> _Derivative:
    def push(tangents: Any, leaves: Any, others: Any) -> Any:
        return autodiff.jvp(lambda values: flat(values, others), (leaves,), (tangents,))[1]

    return _derivative_of(push, flat.avals, (list(flat.avals), flat.others))


def _reverse_pattern(flat: FlatFunction) -> tuple[Pattern, list[Any]]:
    out_avals = make_olympuspr(flat)(list(flat.avals), flat.others).out_avals

    def pull(cotangents: Any, leaves: Any, others: Any) -> Any:
        return autodiff.vjp(lambda values: flat(values, others), leaves)[1](cotangents)[0]

    mirrored = _derivative_of(pull, out_avals, (list(flat.avals), flat.others)).pattern
    pattern = mirrored.T.tocsr()
    pattern.sort_indices()
    return pattern, out_avals


# Programs of terms have at most about this many operations, so that they compile fast.
_MOST_OPERATIONS = 2000


def _equation_count(program: Olympuspr) -> int:
    inner = (sub for equation in program.eqns for sub in olympusprs_in_params(equation.params))
    return len(program.eqns) + sum(map(_equation_count, inner))


def _by_terms(
    flat: FlatFunction, push: ClosedOlympuspr, pattern: Pattern
) -> ClosedOlympuspr | None:
    """Returns a program that computes the entries term by term; None if no short one exists.

    Args:
      flat: the function.
      push: the program of the jvp of ``flat``. Its operands are the tangents, the leaves and the
        other arguments.
      pattern: the pattern of the entries.
    """
    degree = pattern.nnz / max(pattern.shape[0], 1)
    if degree * _equation_count(push.olympuspr) > _MOST_OPERATIONS:
        return None
    tangents, start = [], 0
    for aval in flat.avals:
        columns = np.arange(start, start + math.prod(aval.shape)).reshape(aval.shape)
        tangents.append(Linear(aval, (Term(columns, np.ones((), aval.dtype)),)))
        start += columns.size
    dtype = np.result_type(*(aval.dtype for aval in push.out_avals))

    def entries(leaves: Any, others: Any) -> Any:
        operands = [*tangents, *leaves, *pytrees.tree_leaves(others)]
        return entries_of(eliminate(push, operands), pattern, dtype)

    try:
        return make_olympuspr(entries)(list(flat.avals), flat.others)
    except Unsupported:
        return None


# ---- plans of derivatives ----


def jacobian_plan(flat: FlatFunction, mode: str, format: str) -> Plan:
    """Returns the plan of a Jacobian.

    Args:
      flat: the function.
      mode: "forward", "reverse" or "auto", which takes the mode with the fewer products, or
        both: vjps for a few dense rows and jvps for the others, or the other way round.
      format: the format of the matrix.
    """
    program = None
    if mode == "reverse":
        pattern, out_avals = _reverse_pattern(flat)
    else:
        push, pattern = _forward_derivative(flat)
        out_avals, program = push.out_avals, _by_terms(flat, push, pattern)
    shapes = [aval.shape for aval in flat.avals], [aval.shape for aval in out_avals]
    parts = _parts(pattern, mode, *shapes)
    return Plan(flat, out_avals, pattern, parts, "direct", format, program)


def hessian_plan(flat: FlatFunction, coloring: str, format: str) -> Plan:
    """Returns the plan of a Hessian.

    Args:
      flat: the gradient of the function.
      coloring: "star" or "acyclic".
      format: the format of the matrix.
    """
    push, pattern = _forward_derivative(flat)
    pattern = pattern.multiply(pattern.T).tocsr()  # the Hessian is symmetric
    pattern.sort_indices()
    colors = (color_acyclic if coloring == "acyclic" else color_symmetric)(pattern)
    parts = Parts(colors, _none(pattern.shape[0]), np.zeros(pattern.nnz, bool))
    program = _by_terms(flat, push, pattern)
    return Plan(flat, push.out_avals, pattern, parts, coloring, format, program)


def _none(count: int) -> np.ndarray:
    return np.full(count, -1, np.int32)


_Shapes: TypeAlias = Sequence[tuple[int, ...]]


def _parts(pattern: Pattern, mode: str, in_shapes: _Shapes, out_shapes: _Shapes) -> Parts:
    """Returns the coloring with the fewest products."""
    rows, columns = pattern.shape
    candidates = []
    if mode != "reverse":
        by_row = np.zeros(pattern.nnz, bool)
        candidates.append(Parts(color_columns(pattern, in_shapes), _none(rows), by_row))
    if mode != "forward":
        by_row = np.ones(pattern.nnz, bool)
        of_rows = color_columns(pattern.T.tocsr(), out_shapes)
        candidates.append(Parts(_none(columns), of_rows, by_row))
    if mode == "auto":
        fewest = min(candidates, key=lambda each: each.cost).cost[0]
        candidates += _split(pattern, fewest)
    return min(candidates, key=lambda each: each.cost)


def _split(pattern: Pattern, fewest: int) -> Iterator[Parts]:
    """Yields colorings in which the densest rows, or the densest columns, use the other mode.

    This is a heuristic: a sparse matrix with one dense row and one dense column, for example, then
    takes three products.

    Args:
      pattern: the pattern.
      fewest: the number of products of the best coloring so far.
    """
    entry_rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    for axis, numbers in enumerate((entry_rows, pattern.indices)):
        counts = np.bincount(numbers, minlength=pattern.shape[axis])
        order = np.argsort(-counts, kind="stable")
        estimates = np.arange(counts.size) + counts[order]
        dense = order[: int(np.argmin(estimates))] if counts.size else order
        if not dense.size or estimates.min() >= fewest:
            continue
        is_dense = np.isin(numbers, dense)
        by_row = is_dense if axis == 0 else ~is_dense
        columns = color_columns(_entries_of(pattern, entry_rows, ~by_row))
        rows = color_columns(_entries_of(pattern, entry_rows, by_row).T.tocsr())
        columns[np.bincount(pattern.indices[~by_row], minlength=columns.size) == 0] = -1
        rows[np.bincount(entry_rows[by_row], minlength=rows.size) == 0] = -1
        yield Parts(columns, rows, by_row)


def _entries_of(pattern: Pattern, rows: np.ndarray, kept: np.ndarray) -> Pattern:
    """Returns the pattern with the entries for which ``kept`` is true."""
    return relation(rows[kept], pattern.indices[kept], pattern.shape)
