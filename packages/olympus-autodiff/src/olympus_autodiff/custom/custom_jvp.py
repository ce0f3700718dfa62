# SPDX-License-Identifier: Apache-2.0
"""Functions with custom derivatives in terms of tangents: `custom_jvp`.

See `custom_vjp` for rules in terms of cotangents.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.calls.primitives import custom_jvp_call_p
from olympus_ir.programs.calls.user_rules import call_rule
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.programs.wide_constants import with_wide_constants
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import debug_info_of_tree
from olympus_ir.types import dtypes
from olympus_ir.types.typed_scalars import typed

from ..forward.checks import tangent_aval_of
from ..zeros import SymbolicZero, Zero, aval_of, instantiate
from .calling import (
    CustomRuleFunction,
    OutTree,
    P,
    R,
    call_unlifted,
    name_of,
)

__all__ = ["custom_jvp"]


class custom_jvp(CustomRuleFunction[P, R]):
    """Wraps a function with a custom derivative rule for forward and reverse mode.

    Evaluation, batching and compilation do not change. Differentiation uses the rule set by
    `defjvp` instead of the derivatives of the function's operations.

    Args:
      fun: the function. Its arguments and its result are arrays or pytrees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated. These arguments may be
        any objects, such as functions. The rule takes these arguments before all other arguments.
      nondiff_argnames: the names of further arguments that are not differentiated.

    Example:
      >>> from olympus_ir import lax
      >>> @custom_jvp
      ... def log1pexp(x):
      ...     return lax.log(lax.add(1.0, lax.exp(x)))
      >>> @log1pexp.defjvp
      ... def log1pexp_jvp(primals, tangents):
      ...     (x,), (t,) = primals, tangents
      ...     return log1pexp(x), lax.mul(t, lax.logistic(x))
    """

    kind = "custom_jvp"
    # The derivative rule, None until `defjvp`, and whether the rule receives symbolic zeros.
    jvp: Callable[..., Any] | None = None
    symbolic_zeros: bool = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Sets the derivative rule; can be used as a decorator.

        Args:
          jvp: takes a tuple of primal arguments and a tuple of their tangents, and returns the
            pair of the result and its tangent. The result's tangent must be linear in the
            tangents. Arguments that are not differentiated come first.
          symbolic_zeros: whether the rule gets tangents that are known to be zero as `SymbolicZero`
            rather than as arrays.

        Returns:
          ``jvp``.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets the derivative rule as a sum of one term for each argument.

        Args:
          *jvps: for each argument a function ``(tangent, result, *primals)`` that returns the
            argument's contribution to the result's tangent, or None for no contribution.
        """
        if self.nondiff_argnums:
            raise TypeError(
                "defjvps cannot be used with nondiff_argnums: the functions do not receive the "
                "arguments that are not differentiated. Use defjvp."
            )

        def sum_of_terms(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            function: Any = self
            result = function(*primals)
            terms = [
                jvp(tangent, result, *primals)
                for jvp, tangent in zip(jvps, tangents, strict=True)
                if jvp is not None
            ]
            if not terms:
                return result, pytrees.tree_map(lambda y: instantiate(Zero.of(y)), result)
            return result, functools.reduce(
                lambda total, term: pytrees.tree_map(lax.add_any_p.bind, total, term), terms
            )

        sum_of_terms.__name__ = "jvp"  # Printed programs show this name.
        self.defjvp(sum_of_terms)

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {name_of(self)} using defjvp."
            )
        trace = current.trace
        if trace is evaluation_trace:
            return call_unlifted(self, args, kwargs)
        positional = self.positional(args, kwargs)
        fixed, differentiated = split_arguments(positional, self.nondiff_argnums)
        leaves, in_tree = pytrees.tree_flatten(differentiated)
        leaves = list(map(typed, with_wide_constants(leaves, {})))
        for leaf in leaves:
            aval_of(leaf)
        out_tree = OutTree()
        flat_fun = FlatCall(self.fun, in_tree, out_tree, fixed, name_of(self.fun))
        flat_jvp = FlatJvp(self, in_tree, out_tree, [value for _, value in fixed])
        results = trace.process_custom_jvp_call(
            custom_jvp_call_p, flat_fun, flat_jvp, leaves, symbolic_zeros=self.symbolic_zeros
        )
        return pytrees.tree_unflatten(out_tree.tree, results)


_NO_KEYWORDS = pytrees.tree_structure({})


def split_arguments(
    args: Sequence[Any], nondiff_argnums: Sequence[int]
) -> tuple[list[tuple[int, Any]], tuple]:
    """Returns the non-differentiated arguments with their positions, and the other arguments."""
    if not nondiff_argnums:
        return [], tuple(args)
    count = len(args)
    positions = {number % count for number in nondiff_argnums if -count <= number < count}
    fixed = [(position, args[position]) for position in sorted(positions)]
    return fixed, tuple(arg for position, arg in enumerate(args) if position not in positions)


class FlatCall:
    """A function of flat operands, made from a call with a custom rule."""

    __slots__ = ("__name__", "_fixed", "_fun", "_in_tree", "_out_tree")

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: Any,
        out_tree: OutTree,
        fixed: Sequence[tuple[int, Any]],
        name: str,
    ) -> None:
        self._fun = fun
        self._in_tree = in_tree
        self._out_tree = out_tree
        self._fixed = fixed
        self.__name__ = name

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self._fun

    def __call__(self, *leaves: Any) -> list[Any]:
        args = self.arguments(leaves)
        results, tree = pytrees.tree_flatten(self._fun(*args))
        self._out_tree.set(tree)
        self._out_tree.avals = list(map(aval_of, results))
        return results

    def described_for(self, transformation: str) -> DebugInfo:
        """Returns the names of the function and of its differentiated arguments."""
        fixed = {position for position, _ in self._fixed}
        count = len(self._in_tree.children()) + len(fixed)
        positions = [position for position in range(count) if position not in fixed]
        tree = pytrees.treedef_tuple((self._in_tree, _NO_KEYWORDS))
        return debug_info_of_tree(transformation, self._fun, tree, positions)

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """Returns all arguments of the function, including the non-differentiated arguments."""
        args = list(pytrees.tree_unflatten(self._in_tree, leaves))
        for position, value in self._fixed:
            args.insert(position, value)
        return args


class FlatJvp:
    """A derivative rule as a function of flat primals and tangents; a call checks the results."""

    __slots__ = ("_fixed", "_function", "_in_tree", "_out_tree")

    def __init__(
        self, function: custom_jvp, in_tree: Any, out_tree: OutTree, fixed: Sequence[Any]
    ) -> None:
        self._function = function
        self._in_tree = in_tree
        self._out_tree = out_tree
        self._fixed = fixed

    @property
    def __name__(self) -> str:
        return name_of(self._function.jvp)

    def __call__(self, *primals_and_tangents: Any) -> list[Any]:
        half = len(primals_and_tangents) // 2
        primals = pytrees.tree_unflatten(self._in_tree, primals_and_tangents[:half])
        tangents = pytrees.tree_unflatten(self._in_tree, primals_and_tangents[half:])
        pair = call_rule(self._function.jvp, *self._fixed, primals, tangents)  # type: ignore[arg-type]
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"{self._described()} must produce a pair (list or tuple of length two) "
                f"representing primal and tangent outputs, but got {pair!r}."
            )
        results, tree = pytrees.tree_flatten(pair[0])
        result_tangents, tangent_tree = pytrees.tree_flatten(pair[1])
        name = name_of(self._function)
        function = f"custom_jvp-decorated function {name}"
        if (difference := self._out_tree.difference(tree, results, function)) is not None:
            raise TypeError(
                f"{self._described()} must produce a pair (list or tuple of length two) where the "
                "first element represents the primal output (equal in value to the output of the "
                f"{function}, and in particular {difference.same}), but instead the JVP rule "
                f"{difference.found}"
            )
        if tree != tangent_tree:
            raise TypeError(
                f"{self._described()} must produce primal and tangent outputs with equal container "
                f"(pytree) structures, but got {tree} and {tangent_tree} respectively."
            )
        self._out_tree.set(tree)
        for result, tangent in zip(results, result_tangents, strict=True):
            self._check_types(result, tangent)
        return [*results, *result_tangents]

    def _check_types(self, result: Any, tangent: Any) -> None:
        expected = aval_of(result).to_tangent_aval()
        tangent_aval = (
            tangent.aval if tangent.__class__ is SymbolicZero else tangent_aval_of(tangent)
        )
        if tangent_aval.shape != expected.shape or tangent_aval.dtype != expected.dtype:
            raise TypeError(
                "Custom JVP rule must produce primal and tangent outputs with corresponding "
                f"shapes and dtypes. Expected {expected.str_short()} (tangent type of "
                f"{aval_of(result).str_short()}) but got {tangent_aval.str_short()}."
                f"{_dtype_hint(tangent_aval, expected)} It is the rule {self.__name__} of "
                f"{name_of(self._function)}."
            )

    def _described(self) -> str:
        return f"Custom JVP rule {self.__name__} for function {name_of(self._function)}"


def _dtype_hint(aval: Any, expected: Any) -> str:
    if expected.dtype == dtypes.float0 and aval.shape == expected.shape:
        return " The tangent of an integer is `np.zeros(shape, dtypes.float0)`, or a SymbolicZero."
    return ""
