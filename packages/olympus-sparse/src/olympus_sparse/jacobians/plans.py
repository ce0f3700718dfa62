# SPDX-License-Identifier: Apache-2.0
"""Plans: the pattern and the coloring of a derivative, found once and used for every value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import get_aval

from .coloring import color_symmetric
from .formats import Block, blocks_of
from .functions import FunctionOfLeaves, forward_derivative, real_aval, reverse_pattern
from .parts import Parts, no_colors, parts_of
from .patterns import Pattern
from .products import Products
from .substitution import color_acyclic
from .term_programs import program_of_entries

__all__ = ["Plan", "hessian_plan", "jacobian_plan"]


class Plan:
    """Pattern and coloring of a Jacobian or Hessian, found once and used for every value.

    A plan holds for all arguments of the same shapes and dtypes. It is called with the arguments of
    the function, and returns the matrix. Calls work inside of compiled functions, under `vmap` and
    under derivatives.

    Attributes:
      pattern: the pattern, a `scipy.sparse.csr_array` of booleans. Its rows are the elements of the
        results and its columns the elements of the argument, each in row-major order.
      colors: the number of JVPs and VJPs that an evaluation by compressed products takes.
      jvps: the number of JVPs among them.
      vjps: the number of VJPs among them.
      column_colors: the color of each column, -1 for columns without a jvp.
      row_colors: the color of each row, -1 for rows without a vjp.
      evaluation: ``"terms"`` if a program computes each nonzero entry by itself; ``"products"`` if
        that program would be too long and compressed products are evaluated instead.

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
        flat: FunctionOfLeaves,
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
        self.pattern = pattern
        self.format = format
        self.column_colors, self.row_colors = parts.columns, parts.rows
        self.jvps, self.vjps = parts.jvps, parts.vjps
        self.colors = self.jvps + self.vjps
        self._blocks: list[list[Block]] = blocks_of(
            pattern, [aval.shape for aval in self._out_avals], [a.shape for a in flat.avals]
        )
        self._products = Products(flat, self._out_avals, pattern, parts, recovery)
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
        avals = [real_aval(leaf) for leaf in leaves]
        if tree != self._flat.in_tree or avals != self._flat.avals:
            expected = ", ".join(aval.str_short() for aval in self._flat.avals)
            types = ", ".join(aval.str_short() for aval in avals)
            raise ValueError(
                f"the plan was made for an argument with the arrays {expected}, got {types}; make "
                "another plan for them"
            )
        others = [arg for position, arg in enumerate(args) if position != self._flat.argnum]
        entries = self._entries(leaves, others)
        made = [
            pytrees.tree_unflatten(
                tree,
                [block.array(entries, aval.dtype, format or self.format) for block in row],
            )
            for row, aval in zip(self._blocks, self._out_avals, strict=True)
        ]
        return pytrees.tree_unflatten(self._flat.out_tree, made)

    def _compute_entries(self, leaves: Sequence[Any], others: Sequence[Any]) -> Any:
        program = self._by_terms
        if program is not None:
            operands = [*leaves, *pytrees.tree_leaves(others)]
            types = [(aval.shape, aval.dtype) for aval in map(get_aval, operands)]
            if types == [(aval.shape, aval.dtype) for aval in program.in_avals]:
                return eval_olympuspr(program.olympuspr, program.consts, *operands)[0]
        return self._products.entries(leaves, others)


# ---- plans of derivatives ----


def jacobian_plan(flat: FunctionOfLeaves, mode: str, format: str) -> Plan:
    """Returns the plan of a Jacobian.

    Args:
      flat: the function.
      mode: "forward", "reverse" or "auto", which takes the mode with the fewer products, or
        both: vjps for a few dense rows and jvps for the others, or the other way round.
      format: the format of the matrix.
    """
    program = None
    if mode == "reverse":
        pattern, out_avals = reverse_pattern(flat)
    else:
        push, pattern = forward_derivative(flat)
        out_avals, program = push.out_avals, program_of_entries(flat, push, pattern)
    shapes = [aval.shape for aval in flat.avals], [aval.shape for aval in out_avals]
    parts = parts_of(pattern, mode, *shapes)
    return Plan(flat, out_avals, pattern, parts, "direct", format, program)


def hessian_plan(flat: FunctionOfLeaves, coloring: str, format: str) -> Plan:
    """Returns the plan of a Hessian.

    Args:
      flat: the gradient of the function.
      coloring: "star" or "acyclic".
      format: the format of the matrix.
    """
    push, pattern = forward_derivative(flat)
    pattern = pattern.multiply(pattern.T).tocsr()  # the Hessian is symmetric
    pattern.sort_indices()
    colors = (color_acyclic if coloring == "acyclic" else color_symmetric)(pattern)
    parts = Parts(colors, no_colors(pattern.shape[0]), np.zeros(pattern.nnz, bool))
    program = program_of_entries(flat, push, pattern)
    return Plan(flat, push.out_avals, pattern, parts, coloring, format, program)
