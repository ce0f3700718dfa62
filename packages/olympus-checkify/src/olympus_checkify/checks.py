# SPDX-License-Identifier: Apache-2.0
"""`check`: a predicate that must hold, and its primitive.

A failing check that is evaluated eagerly raises. A compiled program cannot raise. `checkify`
turns the checks of a program into a part of its results. The flag
``olympus_experimental_unsafe_xla_runtime_errors`` lets compiled programs call Python to raise.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_autodiff import jvp_rules
from olympus_batching import batching_rules
from olympus_batching.dimensions import materialize
from olympus_ir import lax
from olympus_ir.diagnostics.source_info import SourceInfo, capture
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import current, find_tracers
from olympus_ir.reference.tables import reference_rules
from olympus_ir.settings.config_flags import experimental_unsafe_xla_runtime_errors
from olympus_ir.trees import pytrees
from olympus_ir.types import effects
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import AbstractValue, get_aval

from .errors import Error, ErrorEffect, FailedCheckError, Site, new_code, type_of
from .tables import Enabled, Outcome, error_rules

__all__ = ["CheckEffect", "check", "check_error", "check_p", "debug_check", "not_functionalized"]


class CheckEffect(effects.Effect):
    """The effect of a check that `checkify` has not turned into a result."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "check"


for _allowed in (
    effects.control_flow_allowed_effects,
    effects.custom_derivatives_allowed_effects,
    effects.checkpoint_allowed_effects,
    effects.lowerable_effects,  # lowering raises the error of `not_functionalized`
):
    _allowed.add_type(CheckEffect)

_effect = CheckEffect()

# Operands: the failure flag, the code of the check, the values in its message. Parameters:
# ``effect``, the `ErrorEffect`; ``metadata``, pairs of a check's code and its `Site`, for each
# check that the operands may describe; ``debug``, whether the check is ignored without `checkify`.
check_p = Primitive.declare("check", multiple_results=True, cache_inference=False)


@check_p.def_effectful_abstract_eval
def _check_types(*avals: AbstractValue, debug: bool, **params: Any) -> Any:
    return [], {_effect}


def not_functionalized() -> ValueError:
    """Returns the error for a check in a compiled program without `checkify`."""
    return ValueError(
        "Cannot abstractly evaluate a checkify.check which was not functionalized. This probably "
        "means you tried to stage (jit/scan/pmap/...) a `check` without functionalizing it through "
        "`checkify.checkify`."
    )


# Eager evaluation knows the values of the operands. A compiled program does not.
@reference_rules.define(check_p)
@check_p.def_impl
def _check_now(
    failed: Any, code: Any, *payload: Any, effect: ErrorEffect, metadata: Any, debug: bool
) -> list[Any]:
    if not debug:
        Error({effect: failed}, {effect: code}, dict(metadata), {effect: payload}).throw()
    return []


@expansion_rules.define(check_p)
def _run_check(*operands: Any, debug: bool, **params: Any) -> list[Any]:
    """Refuses a check, or lets the compiled program call Python to raise its error."""
    if debug:
        return []
    if not experimental_unsafe_xla_runtime_errors.value:
        raise not_functionalized()
    raise_if_failed = functools.partial(_check_now, debug=debug, **params)
    lax.io_callback(raise_if_failed, (), *operands)
    return []


@jvp_rules.define(check_p)
def _check_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    check_p.bind(*primals, **params)
    return [], []


@error_rules.define(check_p)
def _check(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    effect, metadata = equation.params["effect"], dict(equation.params["metadata"])
    if effect.error_type in enabled:
        failed, code, *payload = operands
        error = error.merged(effect, failed, code, payload, metadata)
    return error, []


@batching_rules.define(check_p)
def _check_batching(
    axis_size: int, args: Sequence[Any], batch_dims: Sequence[Any], **params: Any
) -> Any:
    failed, *rest = [
        materialize(arg, axis_size, dim) for arg, dim in zip(args, batch_dims, strict=True)
    ]
    # The last example that failed is kept.
    last = lax.sub(np.int32(axis_size - 1), lax.argmax(lax.rev(failed, (0,)), 0, np.int32))
    picked = [lax.dynamic_index_in_dim(value, last, 0, keepdims=False) for value in rest]
    check_p.bind(lax.reduce_or(failed, (0,)), *picked, **params)
    return [], []


def check(
    pred: ArrayLike, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any
) -> None:
    """Checks that a predicate holds.

    Outside of compiled functions a false predicate raises immediately. A compiled function with
    checks must be transformed by `checkify`, which returns the error as a result.

    Args:
      pred: the predicate, a scalar of dtype bool.
      msg: the message, a template for `str.format`.
      *fmt_args: arrays, or pytrees of them, that the template shows.
      debug: whether the check is ignored without `checkify`.
      **fmt_kwargs: further arrays, or pytrees of them, that the template shows by name.

    Raises:
      OlympusRuntimeError: the predicate is false.
      TypeError: the predicate is not a scalar of dtype bool, or a formatting argument is not an
        array.

    Example:
      >>> check(True, "it must be true")
    """
    aval: Any = get_aval(pred)
    if aval.shape or aval.dtype != np.bool_:
        name = "debug_check" if debug else "check"
        raise TypeError(f"{name} takes a scalar pred as argument, got {pred}")
    leaves, tree = pytrees.tree_flatten((fmt_args, fmt_kwargs))
    for leaf in leaves:
        if not isinstance(leaf, Array | np.ndarray):
            raise TypeError(
                "Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                f"{leaf!r} of type {type(leaf)}. Pass `olympus.numpy.asarray(...)` of a number."
            )
    source = SourceInfo(capture(), current.name_stack)
    site = Site(FailedCheckError, (msg, tree), source)
    code = new_code()
    check_p.bind(
        lax.bitwise_not(lax.convert_element_type(pred, np.dtype(bool))),
        np.int32(code),
        *leaves,
        effect=ErrorEffect(FailedCheckError, tuple(map(type_of, leaves))),
        metadata=((code, site),),
        debug=debug,
    )


def debug_check(pred: ArrayLike, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Checks that a predicate holds under `checkify`, and does nothing elsewhere.

    Args:
      pred: the predicate, a scalar of dtype bool.
      msg: the message, a template for `str.format`.
      *fmt_args: arrays, or pytrees of them, that the template shows.
      **fmt_kwargs: further arrays, or pytrees of them, that the template shows by name.

    Example:
      >>> debug_check(False, "this goes unnoticed")
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Checks that an `Error` of `checkify` has not occurred.

    A concrete error is raised immediately. The surrounding `checkify` returns a traced error.

    Args:
      error: the error.

    Raises:
      OlympusRuntimeError: the error is concrete and has occurred.
      TypeError: the argument is not an error.

    Example:
      >>> from olympus_checkify import checkify
      >>> error, _ = checkify(lambda: None)()
      >>> check_error(error)
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error as argument, got type {type(error)} instead.")
    if not find_tracers(pytrees.tree_leaves(error)):
        error.throw()
        return
    error = error.reduced()
    metadata = tuple(sorted(error._metadata.items()))
    for effect in sorted(error.effects, key=lambda effect: effect.error_type.__name__):
        failed, code, *payload = error.leaves([effect])
        check_p.bind(failed, code, *payload, effect=effect, metadata=metadata, debug=False)
