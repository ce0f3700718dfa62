# SPDX-License-Identifier: Apache-2.0
"""Operators that replace control flow and act according to their operands.

Python handles conditions that are known during tracing. The modules `branches` and `loops` handle
traced conditions.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..diagnostics.errors import TracerBoolConversionError
from ..lax.elementwise.conversion import convert_dtype
from ..lax.elementwise.logic import bitwise_and, bitwise_not, bitwise_or
from ..programs.tracing import Tracer
from ..trees import pytrees
from ..types import dtypes
from ..types.avals import get_aval
from .branches import traced_if
from .loops import traced_while
from .variables import NOT_RETURNED, Undefined, is_array


def known_truth(value: Any) -> bool | None:
    """Returns the truth value of ``value``; None if it is known only at run time."""
    if not isinstance(value, Tracer):
        return bool(value)
    try:
        return bool(value)
    except TracerBoolConversionError:
        if get_aval(value).shape:
            raise
        return None


# ---- statements ----


def if_(
    condition: Any,
    then: Callable[..., tuple],
    orelse: Callable[..., tuple],
    values: tuple,
    names: tuple[str, ...],
    line: int,
) -> Sequence[Any]:
    """Runs one of two blocks. A block takes and returns the variables that it assigns."""
    truth = known_truth(condition)
    if truth is None:
        return traced_if(_as_bool(condition), then, orelse, values, names, line)
    return then(*values) if truth else orelse(*values)


def while_(
    test: Callable[..., Any],
    body: Callable[..., tuple],
    values: Sequence[Any],
    names: tuple[str, ...],
    line: int,
) -> Sequence[Any]:
    """Repeats a block. Python runs the iterations whose conditions are known."""
    while (truth := known_truth(test(*values))) is not None:
        if not truth:
            return values
        values = body(*values)
    return traced_while(lambda *now: _as_bool(test(*now)), body, values, names, line)


def for_(
    items: Any,
    body: Callable[..., tuple],
    values: Sequence[Any],
    names: tuple[str, ...],
    line: int,
    targets: tuple[str, ...],
    exits: tuple[str, ...],
) -> Sequence[Any]:
    """Repeats a block for each item.

    A range with a traced bound becomes a traced loop. If a traced condition may leave the loop, the
    remaining range becomes a traced loop, too. Other iterables are unrolled.
    """
    if isinstance(items, TracedRange):
        return _traced_for(items, body, values, names, line, targets, exits)
    remaining = items if isinstance(items, range) else list(items) if exits else items
    positions = [names.index(flag) for flag in exits]
    for position, item in enumerate(remaining):
        gone = _any_of([values[index] for index in positions])
        truth = known_truth(gone)
        if truth:
            return values
        if truth is False:
            values = body(item, *values)
        elif isinstance(remaining, range):
            rest = remaining[position:]
            traced = TracedRange(rest.start, rest.stop, rest.step)
            return _traced_for(traced, body, values, names, line, targets, exits)
        else:
            values = if_(gone, _unchanged, _with_item(body, item), tuple(values), names, line)
    return values


def _unchanged(*values: Any) -> tuple:
    return values


def _with_item(body: Callable[..., tuple], item: Any) -> Callable[..., tuple]:
    return lambda *values: body(item, *values)


def _traced_for(
    items: TracedRange,
    body: Callable[..., tuple],
    values: Sequence[Any],
    names: tuple[str, ...],
    line: int,
    targets: tuple[str, ...],
    exits: tuple[str, ...],
) -> Sequence[Any]:
    positions = [names.index(flag) for flag in exits]

    def goes_on(index: Any, *values: Any) -> Any:
        gone = _any_of([values[position] for position in positions])
        return and_(not_(gone), lambda: items.has(index))

    def advance(index: Any, *values: Any) -> tuple:
        return (index + items.step, *body(index, *values))

    names = ("_olympus_index", *names)
    result = traced_while(goes_on, advance, (items.start, *values), names, line, targets)
    return result[1:]


def _any_of(flags: Sequence[Any]) -> Any:
    result: Any = False
    for flag in flags:
        result = or_(result, lambda flag=flag: flag)
    return result


# ---- expressions ----


def if_expression(
    condition: Any, then: Callable[[], Any], orelse: Callable[[], Any], line: int
) -> Any:
    """Returns the value of ``then() if condition else orelse()``."""
    truth = known_truth(condition)
    if truth is None:
        sides = (lambda: (then(),)), (lambda: (orelse(),))
        return traced_if(_as_bool(condition), *sides, (), ("_olympus_expression",), line)[0]
    return then() if truth else orelse()


def and_(value: Any, *others: Callable[[], Any]) -> Any:
    """Returns ``value and others[0]() and ...``."""
    for other in others:
        truth = known_truth(value)
        if truth is False:
            return value
        value = other() if truth else _both(value, other())
    return value


def or_(value: Any, *others: Callable[[], Any]) -> Any:
    """Returns ``value or others[0]() or ...``."""
    for other in others:
        truth = known_truth(value)
        if truth:
            return value
        value = other() if truth is False else _either(value, other())
    return value


def not_(value: Any) -> Any:
    """Returns ``not value``."""
    truth = known_truth(value)
    if truth is None:
        return bitwise_not(_as_bool(value))
    return not truth


def compare(value: Any, operations: tuple[str, ...], *operands: Callable[[], Any]) -> Any:
    """Returns the value of a chain of comparisons ``a < b < c``."""
    result: Any = True
    for operation, operand in zip(operations, operands, strict=True):
        if known_truth(result) is False:
            return result
        other = operand()
        holds = _COMPARISONS[operation](value, other)
        result, value = and_(result, lambda holds=holds: holds), other
    return result


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda item, container: item in container,
    "NotIn": lambda item, container: item not in container,
}


def _both(value: Any, other: Any) -> Any:
    if _is_bool(value) and _is_bool(other):
        return bitwise_and(value, other)
    return if_expression(value, lambda: other, lambda: value, 0)


def _either(value: Any, other: Any) -> Any:
    if _is_bool(value) and _is_bool(other):
        return bitwise_or(value, other)
    return if_expression(value, lambda: value, lambda: other, 0)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or (is_array(value) and get_aval(value).dtype == np.bool_)


def _as_bool(value: Any) -> Any:
    return value if _is_bool(value) else value != 0


def checked(result: Any) -> Any:
    """Returns the result of a function after a check for variables without a value.

    Raises:
      UnboundLocalError: the result holds a variable without a value.
    """
    for leaf in pytrees.tree_leaves(result):
        if isinstance(leaf, Undefined):
            leaf.refuse()
    return result


# ---- items ----


class _Index:
    """Builder of indices; ``index[a:b]`` is the index ``a:b``."""

    def __getitem__(self, key: Any) -> Any:
        return key


index = _Index()


def set_item(container: Any, key: Any, value: Any) -> Any:
    """Assigns ``container[key] = value``; returns a new array, or the changed container."""
    if isinstance(container, np.ndarray) and (_is_traced(key) or _is_traced(value)):
        raise TypeError(
            "A NumPy array cannot hold traced values. Make it an array of olympus.numpy before "
            "its items are assigned."
        )
    if is_array(container) and not isinstance(container, np.ndarray):
        return container.at[key].set(value)
    container[key] = value
    return container


def update_item(container: Any, key: Any, operation: str, value: Any) -> Any:
    """Returns the container after an augmented assignment such as ``container[key] += value``."""
    return set_item(container, key, _IN_PLACE[operation](container[key], value))


def _is_traced(value: Any) -> bool:
    return isinstance(value, Tracer)


_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "MatMult": operator.imatmul,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
}


# ---- built-in functions ----


class TracedRange(NamedTuple):
    """A range of integers with traced bounds."""

    start: Any
    stop: Any
    step: Any

    def has(self, position: Any) -> Any:
        """Returns whether a position, counted in steps from the start, is within the range."""
        upwards, downwards = position < self.stop, position > self.stop
        return if_expression(self.step > 0, lambda: upwards, lambda: downwards, 0)


def _range(*bounds: Any) -> Any:
    if not any(isinstance(bound, Tracer) for bound in bounds):
        return range(*bounds)
    for bound in bounds:
        aval = get_aval(bound)
        if aval.shape or not dtypes.issubdtype(aval.dtype, np.integer):
            raise TypeError(f"range() expects integers, got {aval.str_short()}.")
    slice_ = slice(*bounds)
    start = 0 if slice_.start is None else slice_.start
    return TracedRange(start, slice_.stop, 1 if slice_.step is None else slice_.step)


def _converter(kind: type) -> Callable[..., Any]:
    def convert(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Tracer) and not get_aval(args[0]).shape:
            if kind is bool:
                return _as_bool(args[0])
            return convert_dtype(args[0], dtypes.python_scalar_dtype(kind), True)
        return kind(*args, **kwargs)

    return convert


def _extreme(original: Callable[..., Any], better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def extreme(*args: Any, **kwargs: Any) -> Any:
        items: Sequence[Any] = args
        if len(args) == 1 and isinstance(args[0], Iterable):
            items = list(args[0])
        if kwargs or not any(isinstance(item, Tracer) for item in items):
            return original(*(args if len(args) != 1 or kwargs else (items,)), **kwargs)
        best = items[0]
        for item in items[1:]:
            best = if_expression(
                better(item, best), lambda item=item: item, lambda best=best: best, 0
            )
        return best

    return extreme


def _any(items: Iterable[Any]) -> Any:
    return _as_bool_of_python(or_(False, *[lambda item=item: item for item in items]))


def _all(items: Iterable[Any]) -> Any:
    return _as_bool_of_python(and_(True, *[lambda item=item: item for item in items]))


def _as_bool_of_python(value: Any) -> Any:
    truth = known_truth(value)
    return _as_bool(value) if truth is None else truth


#: Replacements of built-in functions, which accept traced values.
BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.range: _range,
    builtins.int: _converter(int),
    builtins.float: _converter(float),
    builtins.bool: _converter(bool),
    builtins.min: _extreme(builtins.min, operator.lt),
    builtins.max: _extreme(builtins.max, operator.gt),
    builtins.any: _any,
    builtins.all: _all,
}

# : Functions and values by the names that rewritten functions use.
OPERATORS: dict[str, Any] = {
    operator.__name__: operator
    for operator in (
        if_,
        while_,
        for_,
        if_expression,
        and_,
        or_,
        not_,
        compare,
        checked,
        set_item,
        update_item,
        Undefined,
    )
} | {"index": index, "NOT_RETURNED": NOT_RETURNED}
