# SPDX-License-Identifier: Apache-2.0
"""The operators of arrays: ``x + y``, ``-x``, ``x @ y``, ``x == y`` and so on.

Each operator removes the library's frames from the traceback of an error. A wrapper around the
operators could do this, too, but would add a call to each use. For operands that are neither arrays
nor scalars, an operator returns ``NotImplemented``. Operators of tracers run the Python function
directly; operators of arrays run the compiled function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir.diagnostics.traceback_filtering import api_boundary, filter_exception
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import array_conversion

from ..elementwise import arithmetic, floats, logic, powers
from ..elementwise.ufunc import ufunc
from ..products import contractions

__all__ = ["array_operators", "tracer_operators"]

# Cache: classes whose instances are known to be operands of array operators.
_operand_types: set[type] = {bool, int, float, complex, np.ndarray}


def _is_operand(value: Any) -> bool:
    kind = value.__class__
    if (
        isinstance(value, Array | np.ndarray | np.generic | int | float | complex)
        or array_conversion(value) is not None
    ):
        _operand_types.add(kind)
        return True
    return False


# Operators of arrays raise an error for these. Otherwise, the container's own operator might return
# a result, and ``==`` would return False.
_CONTAINERS = frozenset({dict, list, set, tuple})
_SYMBOLS = {"__eq__": "==", "__ne__": "!=", "__add__": "+", "__mul__": "*"}
_SYMBOLS |= {"__radd__": "+", "__rmul__": "*"}


def _refused(symbol: str | None, left: Any, right: Any, other: Any) -> Any:
    """Returns ``NotImplemented`` for an operand that is neither an array nor a scalar.

    Args:
      symbol: the operator, for the error message; None to raise no error for containers.
      left: the left operand.
      right: the right operand.
      other: the operand that is neither an array nor a scalar.

    Raises:
      TypeError: the operand is one of Python's containers.
    """
    if symbol is None or other.__class__ not in _CONTAINERS:
        return NotImplemented
    raise TypeError(
        f"unsupported operand type(s) for {symbol}: {type(left).__name__!r} and "
        f"{type(right).__name__!r}. Convert it to an array first, with olympus.numpy.asarray."
    )


def _binary(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    symbol = _SYMBOLS.get(name)

    def operator(self: Any, other: Any) -> Any:
        try:
            if other.__class__ in _operand_types or _is_operand(other):
                return function(self, other)
            return _refused(symbol, self, other, other)
        except Exception as error:
            filter_exception(error)
            raise

    operator.__name__ = operator.__qualname__ = name
    return operator


def _reflected(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    symbol = _SYMBOLS.get(name)

    def operator(self: Any, other: Any) -> Any:
        try:
            if other.__class__ in _operand_types or _is_operand(other):
                return function(other, self)
            return _refused(symbol, other, self, other)
        except Exception as error:
            filter_exception(error)
            raise

    operator.__name__ = operator.__qualname__ = name
    return operator


def _unary(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: Any) -> Any:
        try:
            return function(self)
        except Exception as error:
            filter_exception(error)
            raise

    operator.__name__ = operator.__qualname__ = name
    return operator


@api_boundary
def _round(self: Any, ndigits: int | None = None) -> Any:
    if ndigits is None:
        return floats.round(self).astype(int)
    return floats.round(self, ndigits)


_UNARY = {
    "__neg__": arithmetic.negative,
    "__pos__": arithmetic.positive,
    "__abs__": arithmetic.absolute,
    "__invert__": logic.bitwise_not,
}
_COMPARISONS = {
    "__eq__": logic.equal,
    "__ne__": logic.not_equal,
    "__lt__": logic.less,
    "__le__": logic.less_equal,
    "__gt__": logic.greater,
    "__ge__": logic.greater_equal,
}
# Operators that have a reflected counterpart, by their names without prefix and underscores.
_BINARY = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.true_divide,
    "floordiv": arithmetic.floor_divide,
    "divmod": arithmetic.divmod,
    "mod": arithmetic.remainder,
    "pow": powers.power,
    "matmul": contractions.matmul,
    "and": logic.bitwise_and,
    "or": logic.bitwise_or,
    "xor": logic.bitwise_xor,
    "lshift": logic.left_shift,
    "rshift": logic.right_shift,
}
# Operators with functions that are outlined, or consist of compiled parts. Tracers call the same
# function as arrays, not the function that it wraps.
_OUTLINED = frozenset({"floordiv", "divmod", "mod", "pow"})


def _for_arrays(function: Any) -> Any:
    return function._call if isinstance(function, ufunc) else function


def _for_tracers(function: Any) -> Any:
    return getattr(function, "__wrapped__", function)


def _operators(choose: Callable[[Any], Any]) -> dict[str, Any]:
    table: dict[str, Any] = {
        name: _unary(name, choose(function)) for name, function in _UNARY.items()
    }
    table |= {name: _binary(name, choose(function)) for name, function in _COMPARISONS.items()}
    for name, function in _BINARY.items():
        chosen = _for_arrays(function) if name in _OUTLINED else choose(function)
        table[f"__{name}__"] = _binary(f"__{name}__", chosen)
        table[f"__r{name}__"] = _reflected(f"__r{name}__", chosen)
    table["__round__"] = _round
    return table


def array_operators() -> dict[str, Any]:
    """Returns the operators of concrete arrays, by name."""
    return _operators(_for_arrays)


def tracer_operators() -> dict[str, Any]:
    """Returns the operators of tracers, by name."""
    return _operators(_for_tracers)
