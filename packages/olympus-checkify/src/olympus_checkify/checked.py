# SPDX-License-Identifier: Apache-2.0
"""`checked`: compiled functions that raise an error for the first operation that fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.source_info import summarize
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.diagnostics.traced_lines import line_of
from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.jit import jit
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.tracing import Tracer
from olympus_ir.settings import config_states
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.trees.wrapping import wraps
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray, get_aval

from .errors import (
    CheckError,
    Error,
    ErrorCategory,
    NonFiniteError,
    OOBError,
    Site,
    ZeroDivisorError,
)
from .positions import IterationError
from .rules.checked_results import any_of, found, install_value_check
from .screens.facts import NotScreenedError
from .screens.screening import KeysFoundError, screened
from .transform import checkify

__all__ = ["NonFiniteError", "ZeroDivisorError", "checked"]

Params = ParamSpec("Params")
Result = TypeVar("Result")


_RAISED: dict[type, type[Exception]] = {
    NonFiniteError: FloatingPointError,
    OOBError: IndexError,
    ZeroDivisorError: ZeroDivisionError,
}


@travels
def checked(
    f: Callable[Params, Result], *, nans: bool = True, bounds: bool = True, keys: bool = True
) -> Callable[Params, Result]:
    """Returns a compiled function that raises an error for the first operation that fails.

    The program says at little cost whether an operation failed. If an operation failed, a second
    program with a check of each operation runs, and finds the first failure. The message names the
    operation, the user's line, the iterations of the loops around it, and the element of the
    result. Under a `vmap` inside of ``f``, the element's coordinates include the index of the
    example.

    Args:
      f: the function.
      nans: whether to look for NaNs and infinities that operations make from finite operands, and
        for integers divided by zero.
      bounds: whether to look for indices out of bounds, of reads and of updates.
      keys: whether to look for random keys that are used twice. The search reads the program's
        equations, not computed values.

    Returns:
      A function of the arguments of ``f``. Call it outside of other transformations.

    Raises:
      FloatingPointError: on the call, an operation made a NaN or an infinity.
      ZeroDivisionError: on the call, an integer was divided by zero.
      IndexError: on the call, an index was out of bounds.
      KeyReuseError: on the call, a key is used twice.
      TypeError: on the call, an argument is traced.

    Example:
      >>> from olympus_ir import lax
      >>> checked(lax.log)(-1.0)
      Traceback (most recent call last):
      ...
      FloatingPointError: `log` gave nan; its operands there are -1.0, ...
    """
    kinds: set[type[CheckError]] = {IterationError}
    if nans:
        kinds |= {NonFiniteError, ZeroDivisorError}
    if bounds:
        kinds.add(OOBError)
    run = _Runs(f, frozenset(kinds), keys)

    @api_boundary
    @wraps(f)
    def checked_f(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        exception, result = run(*args, **kwargs)
        if exception is not None:
            raise exception
        return result

    return checked_f


class _Runs:
    """The programs of a checked function.

    The first program only says whether an operation failed. The second program, which is compiled
    when it is needed, finds the first operation that failed. Calls track the uses of keys once the
    function has been found to use keys, because tracking makes calls slower.
    """

    def __init__(self, f: Callable[..., Any], kinds: frozenset[ErrorCategory], keys: bool) -> None:
        self._kinds = kinds
        self._f = f
        self._screened = jit(screened(f, kinds, stops_at_keys=keys))
        self._located = jit(checkify(f, errors=kinds))
        self._follows_keys = False
        # True once the first program could not be made, or has reported an error that the second
        # program did not find.
        self._always_locates = False

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Exception | None, Any]:
        if not self._follows_keys:
            try:
                return self._run(args, kwargs)
            except KeysFoundError:
                self._follows_keys = True
                self._screened = jit(screened(self._f, self._kinds))
        with config_states.debug_key_reuse(True):
            return self._run(args, kwargs)

    def _run(self, args: Any, kwargs: Any) -> tuple[Exception | None, Any]:
        if not self._always_locates:
            try:
                failed, result = self._screened(*args, **kwargs)
            except NotScreenedError:
                self._always_locates = True
            else:
                if not _concrete(failed):
                    return None, result
                # The first run has marked the keys as used, so the second run must not check them.
                with config_states.debug_key_reuse(False):
                    return self._locate(args, kwargs)
        return self._locate(args, kwargs)

    def _locate(self, args: Any, kwargs: Any) -> tuple[Exception | None, Any]:
        error, result = self._located(*args, **kwargs)
        exception = _exception(error)
        self._always_locates |= exception is None
        return exception, result


def _concrete(flag: Any) -> bool:
    """Returns the value of a flag of a program that has run."""
    if isinstance(flag, Tracer):
        raise TypeError(
            "The function returned by `checked` was called with traced arguments. Its errors are "
            "raised when the program has run: apply `checked` outside of other transformations, "
            "as in checked(jit(f)), checked(vmap(f)) or checked(grad(f))."
        )
    return bool(np.asarray(flag))


def _exception(error: Error) -> Exception | None:
    """Returns the exception of the first check that failed."""
    error = error.reduced()
    failed = {
        int(np.asarray(error._code[effect])): effect
        for effect, pred in error._pred.items()
        if _concrete(pred)
    }
    iterations = [each for each in sorted(failed) if failed[each].error_type in _RAISED]
    if not iterations:
        return None
    code = iterations[0]
    site, payload = error._metadata[code], error._payload[failed[code]]
    words = [f"{site.kind.message(site, payload).rstrip('. ')}, at {summarize(site.source)}"]
    for number in sorted(failed):
        loop = error._metadata[number]
        if issubclass(failed[number].error_type, IterationError):
            words.append(loop.kind.message(loop, error._payload[failed[number]]))
    line = line_of(site.source)
    return _RAISED[failed[code].error_type]("; ".join(words) + (f"\n    {line}" if line else ""))


# ---- the check of results ----


def _check_values(
    equation: Equation, enabled: Any, error: Error, operands: Sequence[Any]
) -> tuple[Error, Sequence[Any]]:
    """Applies an equation and looks for values that are not finite, and for zero divisors."""
    results = bind_equation(equation, operands)
    name = equation.primitive.name
    if name in ("div", "rem") and dtypes.issubdtype(get_aval(operands[1]).dtype, np.integer):
        divisor = operands[1]
        site = Site(ZeroDivisorError, (name,), equation.source_info)
        failed = any_of(lax.eq(divisor, lax.full_like(divisor, 0)))
        return found(error, equation, site, failed), results
    for position, result in enumerate(results):
        aval = get_aval(result)
        if isinstance(aval, ShapedArray) and dtypes.issubdtype(aval.dtype, np.inexact):
            error = _check_result(equation, error, operands, result, aval, position)
    return error, results


def _check_result(
    equation: Equation,
    error: Error,
    operands: Sequence[Any],
    result: Any,
    aval: ShapedArray,
    position: int,
) -> Error:
    floats = [
        x
        for x in operands
        if isinstance(get_aval(x), ShapedArray) and dtypes.issubdtype(get_aval(x).dtype, np.inexact)
    ]
    shown = [x for x in floats if get_aval(x).shape == aval.shape]
    shows = len(shown) == len(floats)
    if not shows:
        shown = []
    wide = [np.dtype(np.complex64) if get_aval(x).dtype.kind == "c" else _FLOAT for x in shown]
    wide_result = np.dtype(np.complex64) if aval.dtype.kind == "c" else _FLOAT

    elementwise = shows and equation.primitive.family in ("elementwise", "special")

    def details(result: Any, *values: Any) -> list[Any]:
        bad = lax.bitwise_not(_is_finite(result))
        if elementwise:  # only the operands' elements at the same position matter
            for operand in values[: len(floats)]:
                bad = lax.bitwise_and(bad, _is_finite(operand))
            is_new = any_of(bad)
        else:
            is_new = _all_finite(values[: len(floats)])
        index = lax.argmax(lax.reshape(bad, (aval.size,)), 0, np.dtype(np.int32))
        of_operands = zip(values[len(floats) :], wide, strict=True)
        elements = [_element(x, index, dtype) for x, dtype in of_operands]
        return [is_new, index, _element(result, index, wide_result), *elements]

    def nothing(*values: Any) -> list[Any]:
        zeros = [np.zeros((), to) for to in (wide_result, *wide)]
        return [np.asarray(False), np.zeros((), np.int32), *zeros]

    if not aval.size:
        return error
    failed = any_of(lax.bitwise_not(_is_finite(result)))
    failed, *payload = lax.cond(failed, details, nothing, result, *floats, *shown)
    site = Site(NonFiniteError, (equation.primitive.name, aval.shape, shows), equation.source_info)
    return found(error, equation, site, failed, payload, ordinal=position)


_FLOAT = np.dtype(np.float32)


def _is_finite(x: Any) -> Any:
    if get_aval(x).dtype.kind == "c":
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.is_finite(x)


def _all_finite(values: Sequence[Any]) -> Any:
    result = np.asarray(True)
    for value in values:
        flags = _is_finite(value)
        result = lax.bitwise_and(result, lax.reduce_and(flags, tuple(range(np.ndim(flags)))))
    return result


def _element(x: Any, index: Any, dtype: Any) -> Any:
    flat = lax.reshape(x, (get_aval(x).size,))
    return lax.convert_element_type(lax.dynamic_index_in_dim(flat, index, keepdims=False), dtype)


install_value_check(NonFiniteError, _check_values)
