# SPDX-License-Identifier: Apache-2.0
"""Functions with custom derivatives in terms of cotangents: `custom_vjp`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.diagnostics.errors import UnexpectedTracerError
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.calls.primitives import custom_vjp_call_p
from olympus_ir.loading import deferred
from olympus_ir.programs.calls.user_rules import call_rule
from olympus_ir.programs.tracing import Tracer, current, evaluation_trace
from olympus_ir.settings.config_flags import disable_bwd_checks
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import debug_info_of_tree, result_paths
from olympus_ir.types import dtypes
from olympus_ir.types.references import check_aliases, referent
from olympus_ir.types.typed_scalars import typed

from ..forward.checks import tangent_aval_of
from ..zeros import SymbolicZero, Zero, as_result, aval_of
from .calling import (
    CustomRuleFunction,
    OutTree,
    P,
    R,
    call_unlifted,
    name_of,
)
from .custom_jvp import FlatCall, split_arguments
from .forward_calls import forward_call

if TYPE_CHECKING:
    from olympus_ir.references import values as references
else:
    references = deferred("olympus_ir.references.values", milliseconds=2.0)

__all__ = [
    "CustomVJPPrimal",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "zero_from_primal",
]

# No value is a reference before this module is loaded.
_REFERENCES = "olympus_ir.references.values"


class CustomVJPPrimal:
    """A leaf of the arguments that a forward pass takes under ``symbolic_zeros=True``.

    Attributes:
      value: the argument, an array.
      perturbed: whether the function is differentiated with respect to the argument.
    """

    __slots__ = ("perturbed", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CustomVJPPrimal):
            return NotImplemented
        return (self.value, self.perturbed) == (other.value, other.perturbed)

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed!r})"


def _has_reference(values: Sequence[Any]) -> bool:
    """Returns whether any of the values is a reference."""
    kind = references.Ref
    return any(value.__class__ is kind for value in values)


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Returns the values of the `CustomVJPPrimal` leaves of a pytree."""
    return pytrees.tree_map(
        lambda leaf: leaf.value, tree, is_leaf=lambda leaf: isinstance(leaf, CustomVJPPrimal)
    )


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Returns the zero tangents or cotangents of values.

    Args:
      val: an array or a pytree of arrays.
      symbolic_zeros: whether to return `SymbolicZero` rather than arrays.

    Example:
      >>> zero_from_primal({"a": 1.5})
      {'a': Array(0., dtype=float32, weak_type=True)}
    """

    def zero(leaf: Any) -> Any:
        aval = aval_of(leaf).to_tangent_aval()
        return SymbolicZero(aval) if symbolic_zeros else as_result(Zero(aval))

    return pytrees.tree_map(zero, val)


class custom_vjp(CustomRuleFunction[P, R]):
    """Wraps a function with a custom derivative rule for reverse mode.

    The rule that `defvjp` sets has two parts. The forward pass returns the result and residuals.
    The backward pass maps residuals and the result's cotangent to the arguments' cotangents.

    Args:
      fun: the function. Its arguments and its result are arrays or pytrees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated. These arguments may be
        any objects except traced values. The backward pass takes these arguments before all other
        arguments.
      nondiff_argnames: the names of further arguments that are not differentiated.

    Example:
      >>> from olympus_ir import lax
      >>> @custom_vjp
      ... def clip_gradient(x):
      ...     return x
      >>> clip_gradient.defvjp(
      ...     lambda x: (x, None), lambda residual, ct: (lax.clamp(-1.0, ct, 1.0),))
    """

    kind = "custom_vjp"
    # The derivative rule, None until `defvjp`, and the rule's options.
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    symbolic_zeros: bool = False
    optimize_remat: bool = False

    @api_boundary
    def defvjp(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Sets the derivative rule.

        Args:
          fwd: takes the arguments of the function and returns the pair of its result and the
            residuals, a pytree of arrays.
          bwd: takes the residuals and the result's cotangent, and returns a tuple with one
            cotangent for each argument. None stands for zero.
          symbolic_zeros: whether ``fwd`` gets its arguments as `CustomVJPPrimal`, and ``bwd`` gets
            zero cotangents as `SymbolicZero`.
          optimize_remat: whether to call the function instead of the forward pass if the residuals
            are not used, as in the first pass under `checkpoint`. This helps if ``fwd`` is a single
            operation, such as a kernel. Dead code in other forward passes is removed in any case.

        Raises:
          NotImplementedError: both options are set.
        """
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError(
                "remat optimization for custom_vjp does not support symbolic zeros: set one of "
                "symbolic_zeros and optimize_remat"
            )
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name_of(self)} using defvjp."
            )
        trace = current.trace
        if trace is evaluation_trace:
            result = call_unlifted(self, args, kwargs)
            # The full check is slow, and most processes and most calls have no references.
            if _REFERENCES in sys.modules and _has_reference((result, *args, *kwargs.values())):
                self._check_references(self.positional(args, kwargs), result)
            return result
        positional = self.positional(args, kwargs)
        fixed, differentiated = split_arguments(positional, self.nondiff_argnums)
        for position, value in fixed:
            self._check_not_traced(position, value)
        leaves, in_tree = pytrees.tree_flatten(differentiated)
        leaves = list(map(typed, leaves))
        in_avals = [aval_of(leaf) for leaf in leaves]
        if any(aval.is_ref for aval in in_avals):
            self._check_references(positional, None)
        out_tree, residual_tree = OutTree(), OutTree()
        flat_fun = FlatCall(self.fun, in_tree, out_tree, fixed, name_of(self.fun))
        flat_fwd = FlatForward(self, flat_fun, out_tree, residual_tree)
        flat_bwd = FlatBackward(
            self, in_tree, in_avals, out_tree, residual_tree, [value for _, value in fixed]
        )
        results = trace.process_custom_vjp_call(
            custom_vjp_call_p,
            flat_fun,
            flat_fwd,
            flat_bwd,
            leaves,
            out_trees=lambda: (out_tree.tree, residual_tree.tree),
            symbolic_zeros=self.symbolic_zeros,
        )
        return pytrees.tree_unflatten(out_tree.tree, results)

    def _check_references(self, positional: tuple[Any, ...], result: Any) -> None:
        """Raises ValueError if a reference is given twice, or is among the results."""
        leaves, tree = pytrees.tree_flatten((positional, {}))
        check_aliases(debug_info_of_tree("custom_vjp", self.fun, tree), (), leaves)
        for leaf in pytrees.tree_leaves(result):
            if isinstance(leaf, references.Ref):
                raise ValueError(
                    f"custom_vjp primal function {name_of(self)} returned a mutable array "
                    f"reference of type {aval_of(leaf).str_short()}, but mutable array references "
                    "cannot be returned: return its value, `ref[...]`."
                )

    def _check_not_traced(self, position: int, value: Any) -> None:
        for leaf in pytrees.tree_leaves(value):
            if isinstance(leaf, Tracer):
                raise UnexpectedTracerError(
                    f"Found an {naming.library} Tracer object passed as an argument to a "
                    "custom_vjp function in a position indicated by nondiff_argnums as "
                    "non-differentiable: "
                    f"argument {position} of {name_of(self)}. Such arguments must be known when "
                    "the backward pass runs; make it an ordinary argument whose cotangent is None."
                )


class FlatForward:
    """A forward pass as a function of flat arguments that returns residuals followed by results.

    With symbolic zeros, the arguments are followed by one flag for each argument. The flag says
    whether the argument is differentiated.
    """

    __slots__ = ("_flat_fun", "_function", "_out_tree", "_residual_tree")

    def __init__(
        self, function: custom_vjp, flat_fun: FlatCall, out_tree: OutTree, residual_tree: OutTree
    ) -> None:
        self._function = function
        self._flat_fun = flat_fun
        self._out_tree = out_tree
        self._residual_tree = residual_tree

    @property
    def __name__(self) -> str:
        return name_of(self._function.fwd)

    def __call__(self, *leaves: Any) -> list[Any]:
        if self._function.optimize_remat:
            return forward_call(
                self._flat_fun, self._run, lambda: self._residual_tree.tree.num_leaves, leaves
            )
        return self._run(*leaves)

    def _run(self, *leaves: Any) -> list[Any]:
        function = self._function
        arguments = leaves
        if function.symbolic_zeros:
            half = len(leaves) // 2
            leaves = tuple(map(CustomVJPPrimal, leaves[:half], leaves[half:]))
        pair = call_rule(function.fwd, *self._flat_fun.arguments(leaves))  # type: ignore[arg-type]
        decorated = f"custom_vjp-decorated function {name_of(function)}"
        instantiate = (
            f"Custom VJP fwd rule {self.__name__} for function {name_of(function)} must produce a "
            "pair (list or tuple of length two) where the first element represents the primal "
            f"output (equal to the output of the {decorated}) and the second element represents "
            "residuals (i.e. values stored from the forward pass for use on the backward pass), "
        )
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"{instantiate}but instead the fwd rule returned {pair!r}.")
        results, tree = pytrees.tree_flatten(pair[0])
        residuals, residual_tree = pytrees.tree_flatten(pair[1])
        for result in results:
            if (aval := aval_of(result)).is_ref:
                raise ValueError(
                    f"custom_vjp fwd function {self.__name__} returned a mutable array reference "
                    f"of type {aval.str_short()}, but mutable array references cannot be returned "
                    "as primal results. Return the value of the reference, `ref[...]`, or return "
                    "the reference among the residuals."
                )
        self._check_residuals(residuals, residual_tree, arguments)
        if (difference := self._out_tree.difference(tree, results, decorated)) is not None:
            raise TypeError(f"{instantiate}but instead the fwd rule {difference.found}")
        self._out_tree.set(tree)
        self._residual_tree.set(residual_tree)
        return [*map(typed, residuals), *results]

    def _check_residuals(self, residuals: list[Any], tree: Any, arguments: tuple[Any, ...]) -> None:
        """Raises ValueError if a residual is a reference that is not an argument."""
        for position, residual in enumerate(residuals):
            if not (aval := aval_of(residual)).is_ref:
                continue
            if not any(referent(residual) is referent(argument) for argument in arguments):
                path = result_paths(tree)[position].removeprefix("result")
                raise ValueError(
                    f"custom_vjp fwd function {self.__name__} returned a mutable array reference "
                    f"of type {aval.str_short()} at output tree path [1]{path} that was not an "
                    "argument. Pass the reference as an argument of the function, or return its "
                    "value, `ref[...]`."
                )


class FlatBackward:
    """A backward pass as a function of flat residuals and cotangents.

    A call checks the cotangents that the rule returns.

    The result has one cotangent for each flat argument: an array or a symbolic zero.
    """

    __slots__ = ("_fixed", "_function", "_in_avals", "_in_tree", "_out_tree", "_residual_tree")

    def __init__(
        self,
        function: custom_vjp,
        in_tree: Any,
        in_avals: Sequence[Any],
        out_tree: OutTree,
        residual_tree: OutTree,
        fixed: Sequence[Any],
    ) -> None:
        self._function = function
        self._in_tree = in_tree
        self._in_avals = in_avals
        self._out_tree = out_tree
        self._residual_tree = residual_tree
        self._fixed = fixed

    @property
    def __name__(self) -> str:
        return name_of(self._function.bwd)

    def __call__(self, *residuals_and_cotangents: Any) -> list[Any]:
        residual_tree = self._residual_tree.tree
        count = residual_tree.num_leaves
        residuals = pytrees.tree_unflatten(residual_tree, residuals_and_cotangents[:count])
        cotangent = pytrees.tree_unflatten(self._out_tree.tree, residuals_and_cotangents[count:])
        returned = call_rule(self._function.bwd, *self._fixed, residuals, cotangent)  # type: ignore[arg-type]
        leaves = self._leaves_of(returned)
        return list(map(self._checked, leaves, self._in_avals, range(len(leaves))))

    def _leaves_of(self, returned: Any) -> list[Any]:
        """Returns a cotangent for each flat argument.

        The rule may return a single leaf for a subtree of arguments. None stands for zero
        cotangents. An array is the cotangent of each leaf in the subtree.
        """
        if isinstance(returned, list):
            returned = tuple(returned)
        if not isinstance(returned, tuple):
            self._raise_structure(returned)
        leaves, tree = pytrees.tree_flatten(returned)
        if tree == self._in_tree:
            return leaves
        structure = pytrees.Structure(self._in_tree)
        try:
            return pytrees.spread_prefix(returned, structure, is_leaf=_is_none)
        except ValueError:
            self._raise_structure(returned)
            raise

    def _checked(self, cotangent: Any, aval: Any, position: int) -> Any:
        expected = aval.to_tangent_aval()
        if cotangent is None:
            return Zero(expected)
        if cotangent.__class__ is SymbolicZero:
            self._check_symbolic_zero(cotangent, expected, position)
            return Zero(expected)
        if expected.dtype == dtypes.float0:
            return Zero(expected)  # cotangents of integer arguments are ignored
        cotangent_aval = tangent_aval_of(cotangent)
        if cotangent_aval.dtype == dtypes.float0 and cotangent_aval.shape == expected.shape:
            return Zero(expected)
        if cotangent_aval.shape != expected.shape and not disable_bwd_checks.value:
            raise ValueError(
                "Custom VJP bwd rule must produce an output with the same type as "
                f"the args tuple of the primal function, but at {self._path(position)} the bwd "
                f"rule produced an output of type {cotangent_aval.str_short()} corresponding to an "
                f"input of type {aval.str_short()}, so the shapes do not match. It is the rule "
                f"{self.__name__}."
            )
        if cotangent_aval.vma != expected.vma and not disable_bwd_checks.value:
            self._raise_varying(cotangent_aval, expected, position)
        return cotangent

    def _raise_varying(self, cotangent: Any, expected: Any, position: int) -> None:
        extra, missing = cotangent.vma - expected.vma, expected.vma - cotangent.vma
        axes = tuple(sorted(map(str, extra or missing)))
        advice = (
            f"sum the cotangent over the axes of the mesh: lax.psum(cotangent, {axes})"
            if extra
            else f"let the cotangent vary: lax.pcast(cotangent, {axes}, to='varying')"
        )
        raise ValueError(
            "Custom VJP bwd rule must produce an output with the same type as the args tuple of "
            f"the primal function, but at {self._path(position)} the bwd rule produced an output "
            f"of type {cotangent.str_short()} corresponding to an input of type "
            f"{expected.str_short()}, so the manual axes that they vary over do not match. In the "
            f"rule {self.__name__}, {advice}."
        )

    def _check_symbolic_zero(self, zero: SymbolicZero, expected: Any, position: int) -> None:
        zero_aval = zero.aval
        if zero_aval.shape != expected.shape or zero_aval.dtype != expected.dtype:
            raise ValueError(
                "Custom VJP bwd rule produced a SymbolicZero with a shape/dtype that does not "
                "match the corresponding input tangent shape/dtype: at "
                f"{self._path(position)} the SymbolicZero had shape/dtype {zero_aval.str_short()} "
                f"while the corresponding input had shape/dtype {expected.str_short()}. Consider "
                "just returning a None here instead of a SymbolicZero object. It is the rule "
                f"{self.__name__}."
            )

    def _path(self, position: int) -> str:
        return "output" + pytrees.keystr(pytrees.Structure(self._in_tree).paths()[position])

    def _raise_structure(self, returned: Any) -> None:
        raise TypeError(
            "Custom VJP bwd rule must produce an output with the same container "
            "(pytree) structure as the args tuple of the primal function, and in particular must "
            "produce a tuple of length equal to the number of arguments to the primal function, "
            f"but got bwd output structure {pytrees.tree_structure(returned)} for primal input "
            f"structure {self._in_tree}. It is the rule {self.__name__}."
        )


def _is_none(value: Any) -> bool:
    return value is None
