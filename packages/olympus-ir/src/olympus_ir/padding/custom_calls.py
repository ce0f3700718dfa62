# SPDX-License-Identifier: Apache-2.0
"""Functions with custom derivative rules on padded arrays.

The function, its derivative rule, its forward pass and its backward pass take flat values of
symbolic sizes. This module wraps each of them as a function of padded arrays. Another trace may
call a wrapper later, so a wrapper must not close over tracers. It takes the true sizes as its first
operands instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..programs.staging import trace_to_closed
from ..trees import pytrees
from .evaluation import evaluate_padded
from .lengths import Lengths

__all__ = ["PaddedBackward", "PaddedForward", "PaddedFunction", "PaddedJvp"]


class PaddedFunction:
    """Adapter from a function of arrays of symbolic sizes to a function of padded arrays.

    The adapter takes the true sizes, and then the padded arrays as a flat list.

    Args:
      names: the dimension variables, whose values are the first operands.
      fun: the function.
      avals: the types of the operands of ``fun``.
    """

    __slots__ = ("__name__", "avals", "fun", "names")

    def __init__(
        self, names: Sequence[str], fun: Callable[..., Sequence[Any]], avals: Sequence[Any]
    ) -> None:
        self.names = names
        self.fun = fun
        self.avals = avals
        self.__name__ = getattr(fun, "__name__", "function")

    def __call__(self, *operands: Any) -> list[Any]:
        sizes, values = self.split(operands)
        return self.run(sizes, self.avals, values)[0]

    def split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Splits operands into the sizes and the operands of the function."""
        return operands[: len(self.names)], operands[len(self.names) :]

    def run(
        self, sizes: Sequence[Any], avals: Sequence[Any], operands: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Calls the function; returns its padded results and their types.

        Symbolic zeros get the padded shapes. Flags and None pass through unchanged.
        """
        lengths = Lengths(dict(zip(self.names, sizes, strict=True)))
        arrays = [position for position, operand in enumerate(operands) if _is_array(operand)]
        fixed = [_with_aval(x, aval) for x, aval in zip(operands, avals, strict=True)]
        returned: list[Any] = []

        def flat(*arrays_given: Any) -> list[Any]:
            values = list(fixed)
            for position, value in zip(arrays, arrays_given, strict=True):
                values[position] = value
            returned[:] = self.fun(*values)
            return [result for result in returned if _is_array(result)]

        closed = trace_to_closed(flat, [avals[position] for position in arrays])
        padded = evaluate_padded(closed, lengths, [operands[position] for position in arrays])
        results = iter(zip(padded, closed.out_avals, strict=True))
        outs, out_avals = [], []
        for result in returned:
            if _is_array(result):
                out, aval = next(results)
            else:
                aval = getattr(result, "aval", None)
                shape = None if aval is None else lengths.shape(aval.shape)
                out = result if aval is None else _with_aval(result, aval.update(shape=shape))
            outs.append(out)
            out_avals.append(aval)
        return outs, out_avals


class PaddedJvp(PaddedFunction):
    """A custom JVP rule of flat primals and tangents, as a function of sizes and padded arrays."""

    __slots__ = ()

    def __call__(self, *operands: Any) -> list[Any]:
        half, count = len(operands) // 2, len(self.names)
        avals = [*self.avals, *(aval.to_tangent_aval() for aval in self.avals)]
        values = [*operands[count:half], *operands[half + count :]]
        return self.run(operands[:count], avals, values)[0]


class PaddedForward(PaddedFunction):
    """The forward pass of a custom VJP, which returns residuals and results.

    The first residuals are the sizes. If the rule handles symbolic zeros, a flag for each operand
    follows the operands.

    Attributes:
      out_avals: the types of residuals and results, known after the first call.
    """

    __slots__ = ("has_flags", "out_avals")

    def __init__(self, names: Any, fun: Any, avals: Any, has_flags: bool) -> None:
        super().__init__(names, fun, avals)
        self.has_flags = has_flags
        self.out_avals: Sequence[Any] = ()

    def __call__(self, *operands: Any) -> list[Any]:
        sizes, values = self.split(operands)
        flags = values[len(self.avals) + len(sizes) :] if self.has_flags else ()
        values = [*values[: len(self.avals)], *flags]
        avals = [*self.avals, *[None] * len(flags)]
        outs, self.out_avals = self.run(sizes, avals, values)
        return [*sizes, *outs]


class PaddedBackward(PaddedFunction):
    """The backward pass of a custom VJP, as a function of sizes, residuals and cotangents.

    Args:
      names: the dimension variables.
      bwd: the backward pass.
      forward: the matching forward pass, which runs before it.
      num_results: the number of results of the function.
    """

    __slots__ = ("forward", "num_results")

    def __init__(self, names: Any, bwd: Any, forward: PaddedForward, num_results: int) -> None:
        super().__init__(names, bwd, ())
        self.forward = forward
        self.num_results = num_results

    def __call__(self, *operands: Any) -> list[Any]:
        sizes, values = self.split(operands)
        found = self.forward.out_avals
        first = len(found) - self.num_results
        avals = [*found[:first], *(aval.to_tangent_aval() for aval in found[first:])]
        return [*[None] * len(sizes), *self.run(sizes, avals, values)[0]]


def _is_array(value: Any) -> bool:
    """Returns whether a value can be an operand of a program."""
    return hasattr(value, "dtype") and hasattr(value, "shape") and not _is_symbolic_zero(value)


def _is_symbolic_zero(value: Any) -> bool:
    return type(value).__name__ == "SymbolicZero"


def _with_aval(value: Any, aval: Any) -> Any:
    return type(value)(aval) if _is_symbolic_zero(value) else value


def with_sizes(out_trees: Callable[[], tuple[Any, Any]], count: int) -> Callable[[], tuple]:
    """Adds the sizes in front of the residuals of a custom VJP.

    Args:
      out_trees: a function that returns the structures of results and residuals.
      count: the number of sizes.

    Returns:
      A function like ``out_trees``. The residuals in its structure are a flat list.
    """

    def trees() -> tuple[Any, Any]:
        out_tree, residual_tree = out_trees()
        return out_tree, pytrees.tree_structure([0] * (count + residual_tree.num_leaves))

    return trees
