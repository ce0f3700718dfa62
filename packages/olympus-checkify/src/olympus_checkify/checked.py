# SPDX-License-Identifier: Apache-2.0
"""`checked`: compiled functions that raise an error for the first operation that fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.name_stacks import no_names
from olympus_ir.diagnostics.source_info import SourceInfo, capture, summarize, user_frame
from olympus_ir.diagnostics.traced_lines import line_of
from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.jit import jit
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.tracing import Tracer
from olympus_ir.settings import config_states
from olympus_ir.trees import pytrees
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.trees.wrapping import wraps
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.layouts import replicated
from olympus_ir.types.resharding import bind_reshard

from .errors import (
    CheckError,
    Error,
    ErrorCategory,
    NaNOfInfinityError,
    NonFiniteError,
    OOBError,
    Site,
    ZeroDivisorError,
    as_varying,
)
from .locating import located
from .positions import IterationError
from .rules.checked_results import any_of, found, install_value_check
from .screens.facts import NotScreenedError
from .screens.screening import KeysFoundError, screened

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

    A first program detects at little cost whether an operation failed. If so, a second program,
    which checks each operation, finds the first failure. The message names the operation, the
    user's line, the iterations of the loops around it, and the element of the result. Under a
    `vmap` inside of ``f``, the element's coordinates include the index of the example.

    As in all compiled functions, operations whose results are not needed do not run. They cannot
    fail.

    Args:
      f: the function.
      nans: whether to look for NaNs and infinities that operations make from finite operands, for
        NaNs that infinities make, if the result has NaNs, and for integers divided by zero.
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
    # Both programs come from one trace: what the function does while it is traced, such as drawing
    # NumPy's random numbers, happens once.
    programs = _Programs(jit(f), frozenset(kinds), keys)

    # For a small function, each Python frame adds noticeably to the time of a call. So this wrapper
    # has few frames.
    @wraps(f)
    def checked_f(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        while True:
            try:
                failed, result = programs.screen(*args, **kwargs)
            except KeysFoundError:
                programs.follow_keys()
            except NotScreenedError:
                programs.screen = _always_failed
                programs.repeats = False
            else:
                return programs.locate(args, kwargs) if _is_set(failed) else result

    return checked_f


class _Programs:
    """The programs of a checked function.

    Args:
      f: the function.
      kinds: the kinds of errors to look for.
      keys: whether to look for random keys that are used twice.

    Attributes:
      screen: the first program, which returns whether an operation failed, and the result.
    """

    def __init__(self, f: Callable[..., Any], kinds: frozenset[ErrorCategory], keys: bool) -> None:
        self._f, self._kinds = f, kinds
        self.screen: Callable[..., tuple[Any, Any]] = jit(
            screened(f, kinds, stops_at_keys=keys), caller_waits=True
        )
        # The program that finds the first operation that failed. It is compiled when it is needed.
        self._located = jit(located(f, kinds))
        self._located_nans = jit(located(f, kinds | {NaNOfInfinityError}))
        self._follows_keys = False
        # Whether the function may run again on the same arguments.
        self.repeats = NonFiniteError in kinds

    def follow_keys(self) -> None:
        """Tracks the uses of keys in later calls, which makes calls slower."""
        tracked = jit(screened(self._f, self._kinds), caller_waits=True)

        def screen(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
            with config_states.debug_key_reuse(True):
                return tracked(*args, **kwargs)

        self.screen = screen
        self._follows_keys = True

    def locate(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the program that finds the first failure.

        Returns:
          The result of the function, if no operation failed. The screen then raised a false alarm,
          and is not used again.

        Raises:
          FloatingPointError, ZeroDivisionError, IndexError: an operation failed.
        """
        # If the screen has run, it has marked the keys as used.
        checks_keys = self._follows_keys and self.screen is _always_failed
        with config_states.debug_key_reuse(checks_keys):
            error, result = self._located(*args, **kwargs)
        exception = _exception(error)
        if exception is None and self.repeats and _has_nans(result):
            # Infinities of the arguments or constants made a NaN, or the arguments have NaNs.
            exception = _exception(self._located_nans(*args, **kwargs)[0])
        if exception is not None:
            raise exception
        self.screen = _always_failed
        return result


def _always_failed(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Placeholder for the screen of a function without a usable screen."""
    return np.True_, None


def _is_set(flag: Any) -> bool:
    """Returns the value of a flag of a program that has run."""
    try:
        return bool(memoryview(flag)[()])  # the fastest way to read an array in host memory
    except (BufferError, TypeError):
        return _concrete(flag)


def _concrete(flag: Any) -> bool:
    if isinstance(flag, Tracer):
        raise TypeError(
            "The function returned by `checked` was called with traced arguments. Its errors are "
            "raised when the program has run: apply `checked` outside of other transformations, "
            "as in checked(jit(f)), checked(vmap(f)) or checked(grad(f))."
        )
    return bool(np.asarray(flag))


def _has_nans(result: Any) -> bool:
    """Returns whether a pytree of arrays has a NaN."""
    floats = [
        leaf for leaf in pytrees.tree_leaves(result) if dtypes.issubdtype(leaf.dtype, np.inexact)
    ]
    return any(bool(np.asarray(any_of(lax.ne(leaf, leaf)))) for leaf in floats)


def _exception(error: Error) -> Exception | None:
    """Returns the exception of the first check that failed."""
    error = error.reduced()
    # Maps the codes of failed checks, which increase along the program, to their effects.
    failed = {
        int(np.asarray(error._code[effect])): effect
        for effect, pred in error._pred.items()
        if _is_set(pred)
    }
    code = min((code for code in failed if failed[code].error_type in _RAISED), default=None)
    if code is None:
        return None
    site, payload = error._metadata[code], error._payload[failed[code]]
    source = site.source if user_frame(site.source) else SourceInfo(capture(), no_names)
    words = [f"{site.kind.message(site, payload).rstrip('. ')}, at {summarize(source)}"]
    for loop_code in sorted(failed):
        if issubclass(failed[loop_code].error_type, IterationError):
            loop = error._metadata[loop_code]
            words.append(loop.kind.message(loop, error._payload[failed[loop_code]]))
    line = line_of(source)
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
            fine = _is_no_nan if NaNOfInfinityError in enabled else _is_finite
            error = _check_result(equation, fine, error, operands, result, aval, position)
    return error, results


def _check_result(
    equation: Equation,
    fine: Callable[[Any], Any],
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
    elementwise = equation.primitive.family in ("elementwise", "special") and all(
        _broadcasts(get_aval(x), aval) for x in floats
    )
    shows = elementwise or all(get_aval(x).shape == aval.shape for x in floats)
    shown = floats if shows else []
    wide = [np.dtype(np.complex64) if get_aval(x).dtype.kind == "c" else _FLOAT for x in shown]
    wide_result = np.dtype(np.complex64) if aval.dtype.kind == "c" else _FLOAT

    def details(result: Any, *values: Any) -> list[Any]:
        bad = lax.bitwise_not(fine(result))
        if elementwise:  # only the operands' elements at the same position matter
            values = tuple(_broadcast(x, aval.shape) for x in values)
            for operand in values:
                bad = lax.bitwise_and(bad, fine(operand))
            is_new = any_of(bad)
        else:
            is_new = _all_fine(fine, values)
        index = lax.argmax(lax.reshape(_replicated(bad), (aval.size,)), 0, np.dtype(np.int32))
        elements = [_element(x, index, dtype) for x, dtype in zip(values, wide, strict=False)]
        details_of = [is_new, index, _element(result, index, wide_result), *elements]
        return list(map(as_varying, details_of))

    def nothing(*values: Any) -> list[Any]:
        zeros = [np.zeros((), to) for to in (wide_result, *wide)]
        absent = [np.asarray(False), np.zeros((), np.int32), *zeros]
        return list(map(as_varying, absent))

    if not aval.size:
        return error
    failed = any_of(lax.bitwise_not(fine(result)))
    failed, *payload = lax.cond(failed, details, nothing, result, *floats)
    site = Site(NonFiniteError, (equation.primitive.name, aval.shape, shows), equation.source_info)
    return found(error, equation, site, failed, payload, ordinal=position)


_FLOAT = np.dtype(np.float32)


def _broadcasts(operand: Any, result: ShapedArray) -> bool:
    """Returns whether each element of a result depends on one element of an operand."""
    if operand.shape == result.shape:
        return True
    if operand.layout is not None or result.layout is not None:
        return False
    sizes = zip(operand.shape, result.shape, strict=False)
    return operand.ndim in (0, result.ndim) and all(size in (1, full) for size, full in sizes)


def _broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    if np.shape(x) == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(np.ndim(x))))


def _is_finite(x: Any) -> Any:
    if get_aval(x).dtype.kind == "c":
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.is_finite(x)


def _is_no_nan(x: Any) -> Any:
    return lax.eq(x, x)


def _all_fine(fine: Callable[[Any], Any], values: Sequence[Any]) -> Any:
    result = np.asarray(True)
    for value in values:
        flags = fine(value)
        result = lax.bitwise_and(result, lax.reduce_and(flags, tuple(range(np.ndim(flags)))))
    return result


def _replicated(x: Any) -> Any:
    """Returns an array without explicit sharding, so that single elements can be read."""
    layout = get_aval(x).layout
    return x if layout is None else bind_reshard(x, replicated(np.ndim(x), layout.mesh))


def _element(x: Any, index: Any, dtype: Any) -> Any:
    flat = lax.reshape(_replicated(x), (get_aval(x).size,))
    return lax.convert_element_type(lax.dynamic_index_in_dim(flat, index, keepdims=False), dtype)


install_value_check(NonFiniteError, _check_values)
