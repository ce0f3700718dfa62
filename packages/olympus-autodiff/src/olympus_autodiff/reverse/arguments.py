# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of `grad` and Jacobians: functions, positions, dtypes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.source_info import FunctionOrigin
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import function_name
from olympus_ir.types import dtypes

from ..forward.checks import reference_error
from ..zeros import aval_of

__all__ = [
    "Inputs",
    "argument_numbers",
    "check_complex",
    "check_enough",
    "check_function",
    "check_input",
    "check_output",
    "check_reduce_axes",
    "check_scalar",
    "function_of_chosen",
    "listed_positions",
]


def check_function(fun: Any) -> None:
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}")


def check_reduce_axes(name: str, reduce_axes: Any) -> None:
    if reduce_axes:
        raise NotImplementedError(
            f"{name}(..., reduce_axes={reduce_axes!r}): reduce_axes is not supported any more; "
            "apply psum inside the function."
        )


def listed_positions(argnums: Any) -> tuple[int, ...]:
    """Returns one position or a sequence of positions as a tuple.

    Raises:
      TypeError: a position is not an integer.
    """
    listed = argnums if isinstance(argnums, tuple | list) else (argnums,)
    try:
        return tuple(map(operator.index, listed))
    except TypeError:
        raise TypeError(
            f"argnums must be an integer or a tuple of integers, got {argnums!r}: arguments are "
            "chosen by position, counted from 0."
        ) from None


def argument_numbers(argnums: Any, count: int) -> tuple[int, ...]:
    """Returns the positions of arguments as non-negative integers.

    Raises:
      TypeError: a number is not an integer.
      ValueError: a number is out of range, or two numbers name the same argument.
    """
    numbers = listed_positions(argnums)
    if not numbers:
        raise ValueError(f"argnums={argnums} names no argument: give the position of at least one")
    for number in numbers:
        if not -count <= number < count:
            raise ValueError(
                "Positional argument indices, e.g. for `argnums`, must have value greater than or "
                f"equal to -len(args) and less than len(args), but got value {number} for "
                f"len(args) == {count}."
            )
    positions = tuple([number % count for number in numbers])
    if len({*positions}) < len(positions):
        raise ValueError(
            f"argnums={argnums} names an argument twice: the positions are {positions}. Name each "
            "argument once."
        )
    return positions


def check_enough(argnums: Any, count: int) -> None:
    """Raises TypeError if a position is not smaller than the number of arguments."""
    last = max(argnums, default=0) if isinstance(argnums, tuple) else argnums
    if last >= count:
        raise TypeError(
            f"differentiating with respect to argnums={argnums} requires at least {last + 1} "
            f"positional arguments to be passed by the caller, but got only {count} positional "
            "arguments."
        )


def function_of_chosen(
    fun: Callable[..., Any], numbers: Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    """Returns the function of the chosen positional arguments, with the other arguments fixed."""

    def of_chosen(*chosen: Any) -> Any:
        full = list(args)
        for number, value in zip(numbers, chosen, strict=True):
            full[number] = value
        return fun(*full, **kwargs)

    of_chosen.__name__ = function_name(fun)
    return of_chosen


_REAL_DTYPES = frozenset(dtypes.floats)
_DIFFERENTIABLE_DTYPES = frozenset((*dtypes.floats, *dtypes.complexes))


class Inputs:
    """The arguments of a differentiating transformation, as error messages describe them.

    Attributes:
      transformation: the name of the transformation, such as ``"grad"``.
      fun: the function.
      numbers: the positions of the arguments to differentiate with respect to.
      args: all positional arguments.
    """

    __slots__ = ("args", "fun", "numbers", "transformation")

    def __init__(
        self,
        transformation: str,
        fun: Callable[..., Any],
        numbers: Sequence[int],
        args: Sequence[Any],
    ) -> None:
        self.transformation = transformation
        self.fun = fun
        self.numbers = numbers
        self.args = args

    def path(self, leaf: Any) -> str:
        """Returns the parameter name and key path of a leaf, such as ``params['w']``."""
        origin = FunctionOrigin(self.fun)
        for number in self.numbers:
            for keys, argument_leaf in pytrees.tree_leaves_with_path(self.args[number]):
                if argument_leaf is leaf:
                    return f"{origin.positional_name(number)}{pytrees.keystr(keys)}"
        return "the argument"

    def aval(self, leaf: Any) -> Any:
        """Returns the type of a leaf.

        Raises:
          TypeError: the leaf is not an array or a number.
        """
        try:
            return aval_of(leaf)
        except TypeError:
            path = self.path(leaf)
            raise TypeError(
                f"Argument {leaf!r} of type {type(leaf)} is not a valid {naming.library} type. "
                f"{path} is a {type(leaf).__name__}, but {self.transformation} differentiates with "
                f"respect to arrays and numbers only. Remove {path} from the argument: pass it as "
                "an argument that argnums does not select, or close over it."
            ) from None

    def wrong_dtype(self, leaf: Any, requirement: str, advice: str = "") -> TypeError:
        """Returns the error for a leaf whose dtype cannot be differentiated.

        Args:
          leaf: the leaf.
          requirement: the requirement that the leaf does not meet.
          advice: a suggestion for the caller.
        """
        aval, path = aval_of(leaf), self.path(leaf)
        text = (
            f"{self.transformation} requires {requirement}, but got {dtypes.name_of(aval.dtype)}: "
            f"{path} is {aval.str_short()}."
        )
        if not dtypes.is_extended(aval.dtype) and not dtypes.issubdtype(aval.dtype, np.inexact):
            is_number = isinstance(leaf, int)
            number = f"float({path})" if is_number else f"{path}.astype('float32')"
            text += f" To differentiate with respect to it, pass `{number}`."
        return TypeError(f"{text} {advice}".rstrip())


def check_input(leaf: Any, holomorphic: bool, allow_int: bool, inputs: Inputs) -> None:
    """Raises TypeError if a leaf is of a type that cannot be differentiated."""
    aval = inputs.aval(leaf)
    if getattr(aval, "is_high", False):
        return  # a user-defined type defines its own tangents
    dtype = aval.dtype
    if aval.is_ref:
        raise reference_error(aval)
    if not holomorphic and dtype in _DIFFERENTIABLE_DTYPES:
        return
    if holomorphic:
        check_complex(leaf, dtype, inputs)
    elif (dtypes.is_extended(dtype) or not dtypes.issubdtype(dtype, np.inexact)) and not allow_int:
        raise inputs.wrong_dtype(
            leaf,
            "real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact)",
            f"If you want to use Boolean- or integer-valued inputs, use {naming.module}.vjp or set "
            "allow_int to True.",
        )


def check_complex(leaf: Any, dtype: Any, inputs: Inputs) -> None:
    """Raises TypeError if an argument of a holomorphic function is not complex."""
    if not dtypes.issubdtype(dtype, np.complexfloating):
        aval = aval_of(leaf)
        raise TypeError(
            f"{inputs.transformation} with holomorphic=True requires inputs with complex dtype, "
            f"but got {dtypes.name_of(dtype)}: {inputs.path(leaf)} is {aval.str_short()}."
        )


def check_output(dtype: Any, holomorphic: bool, name: str) -> None:
    """Raises TypeError if a result of this dtype cannot be differentiated."""
    if not holomorphic and dtype in _REAL_DTYPES:
        return
    if holomorphic:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(
                f"{name} with holomorphic=True requires outputs with complex dtype, but got "
                f"{dtypes.name_of(dtype)}."
            )
    elif dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtypes.name_of(dtype)}. For holomorphic differentiation, pass "
            "holomorphic=True. For differentiation of non-holomorphic functions involving complex "
            f"outputs, use {naming.module}.vjp directly."
        )
    else:
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtypes.name_of(dtype)}. For differentiation of functions with "
            f"integer outputs, use {naming.module}.vjp directly."
        )


def check_scalar(result: Any) -> None:
    """Raises TypeError if the result is not a scalar."""
    try:
        aval = aval_of(result)
    except TypeError:
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output was {result!r}. Return a "
            "scalar array; to return other values beside it, pass has_aux=True and return a pair."
        ) from None
    if aval.is_ref:
        raise TypeError(
            "Gradient only defined for scalar-output functions. Output was a reference, of type "
            f"{aval.str_short()}; return its value, `ref[...]`."
        )
    if aval.shape != ():
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output had shape: {aval.shape}. "
            f"Reduce it to a scalar, with {naming.module}.numpy.sum or mean; for the derivative of "
            f"each element use {naming.module}.jacrev or jacfwd. Results beside the scalar are "
            "returned with has_aux=True."
        )
