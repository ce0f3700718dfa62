# SPDX-License-Identifier: Apache-2.0
"""NumPy's implicit promotion of operands to a common dtype and to compatible shapes.

The conversion of operands depends on their abstract values alone. The conversion is computed once
for each combination, as a *plan*: for each operand a function, or None to keep it. The hot path is
one look-up.

Shapes are only brought to equal rank, since the elementwise primitives broadcast scalars and
dimensions of size one themselves. Python and NumPy scalars are converted on the host, so they
become literals of a traced program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.lax.core.values import recording_trace, typed_scalar
from olympus_ir.programs.evaluation import evaluator
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.programs.wide_constants import wide_constant
from olympus_ir.settings.config import config_states
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import (
    ShapedArray,
    array_conversion,
    aval_getters,
    canonicalize_shape,
    get_aval,
    is_valid_value,
)
from olympus_ir.types.promotion import lattice_result_type

__all__ = [
    "as_integer",
    "broadcast_shapes",
    "broadcasted",
    "check_arraylike",
    "promote_args",
    "promote_args_inexact",
    "promote_args_numeric",
    "promote_dtypes",
    "promote_dtypes_inexact",
    "promote_shapes",
    "to_array",
]

Step = Callable[[Any], Any] | None
Plan = tuple[tuple[Step, ...], Any]  # one step for each operand, and the common dtype

_PLAN_LIMIT = 4096
_python_scalar_types = frozenset({bool, int, float, complex})
_enable_x64 = config_states.enable_x64


# ---- legal operands ----

_array_types: set[type] = set()  # a cache of the classes of legal operands


def check_arraylike(function: str, *args: Any) -> None:
    """Raises TypeError if an argument is neither an array nor a scalar."""
    for position, arg in enumerate(args):
        if arg.__class__ not in _array_types:
            _check_type(function, arg, position)


def _check_type(function: str, arg: Any, position: int) -> None:
    kind = arg.__class__
    if array_conversion(arg) is not None:
        return
    if not any(base in aval_getters for base in kind.__mro__):
        raise TypeError(
            f"{function} requires ndarray or scalar arguments, got {kind} at position {position}. "
            "Convert sequences with olympus.numpy.asarray."
            if isinstance(arg, list | tuple)
            else f"{function} requires ndarray or scalar arguments, got {kind} at position "
            f"{position}."
        )
    _array_types.add(kind)


def to_array(value: Any) -> Array:
    """Converts an object with ``__olympus_array__`` or ``__jax_array__``; keeps other values."""
    if value.__class__ in _array_types:
        return value
    convert_itself = array_conversion(value)
    return value if convert_itself is None else convert_itself()


# ---- descriptions of operands, the keys of plans ----

# Whether some thread may have set a promotion mode other than the default. In that case each call
# makes a new plan, since the keys of stored plans do not contain the modes.
_modes = {"special": False}


def _watch_modes() -> None:
    for state in (config_states.numpy_dtype_promotion, config_states.numpy_rank_promotion):

        def note(value: Any, default: Any = state.default) -> None:
            if value is not None and value != default:
                _modes["special"] = True

        state.add_global_hook(note)
        state.add_local_hook(note)


_watch_modes()


def _type_of(value: Any) -> Any:
    """Returns a hashable description of the properties of an operand that a plan depends on."""
    kind = value.__class__
    if kind in _python_scalar_types:
        if kind is int:
            return int if -0x80000000 <= value <= 0x7FFFFFFF else (int, "wide")
        return kind
    if kind not in _array_types:
        # Convert first: the object may mimic attributes of an array, such as ``aval``.
        converted = to_array(value)
        if converted is not value:
            return ("own", _type_of(converted))
    try:
        return value.aval
    except AttributeError:
        # `check_arraylike`, which runs for every new plan, rejects values that are not arrays.
        return ("host", get_aval(value)) if is_valid_value(value) else ("none", kind)


def _aval_of_type(description: Any) -> ShapedArray:
    if description.__class__ is type:
        return get_aval(description())
    if description.__class__ is tuple:
        if description[0] == "own":
            return _aval_of_type(description[1])
        return get_aval(0) if description[0] is int else description[1]
    return description


# ---- plans ----


class Promotion:
    """Converts operands to a common dtype, and with ``shapes`` to a common rank or shape.

    Args:
      adjust: a function from the operands' common dtype to the dtype to convert the operands to.
      shapes: whether to broadcast shapes too.
    """

    __slots__ = ("_adjust", "_plans", "_shapes")

    def __init__(self, adjust: Callable[[Any], Any] | None, shapes: bool) -> None:
        self._adjust = adjust
        self._shapes = shapes
        self._plans: dict[Any, Plan] = {}

    def pair(self, function: str, x: Any, y: Any) -> tuple[Any, Any, Any]:
        """Promotes two operands; returns them and their common dtype."""
        key = (_type_of(x), _type_of(y), _enable_x64.value)
        plan = self._plans.get(key)
        if plan is None or _modes["special"]:
            check_arraylike(function, x, y)
            plan = self._make_plan(function, key)
        (first, second), dtype = plan
        return (
            x if first is None else first(x),
            y if second is None else second(y),
            dtype,
        )

    def single(self, function: str, x: Any) -> tuple[Array, Any]:
        """Promotes one operand; returns it and its dtype."""
        key = (_type_of(x), _enable_x64.value)
        plan = self._plans.get(key)
        if plan is None:
            check_arraylike(function, x)
            plan = self._make_plan(function, key)
        (step,), dtype = plan
        return (x if step is None else step(x)), dtype

    def __call__(self, function: str, *args: Any) -> list[Array]:
        """Promotes any number of operands."""
        check_arraylike(function, *args)
        key = (*map(_type_of, args), _enable_x64.value)
        plan = self._plans.get(key)
        if plan is None or _modes["special"]:
            plan = self._make_plan(function, key)
        return [arg if step is None else step(arg) for arg, step in zip(args, plan[0], strict=True)]

    def _make_plan(self, function: str, key: Any) -> Plan:
        descriptions = key[:-1]
        avals = [_aval_of_type(description) for description in descriptions]
        _check_extended(function, avals)
        dtype, weak_type = lattice_result_type(*avals)
        if self._adjust is not None and not dtypes.is_extended(dtype):
            dtype = self._adjust(dtype)
        rank = 0
        if self._shapes and len(avals) > 1:
            rank = len(_common_shape(function, [aval.shape for aval in avals]))
        steps = tuple(
            _step(description, aval, dtype, weak_type, rank)
            for description, aval in zip(descriptions, avals, strict=True)
        )
        if len(self._plans) >= _PLAN_LIMIT:
            self._plans.clear()
        self._plans[key] = (steps, dtype)
        return steps, dtype


def _check_extended(function: str, avals: Sequence[ShapedArray]) -> None:
    """Raises TypeError if operands mix an extended dtype with another dtype."""
    operand_dtypes = {aval.dtype for aval in avals}
    if dtypes.float0 in operand_dtypes and function != "promote_dtypes":
        dtypes.refuse_float0(function)
    if (
        function != "promote_dtypes"
        and len(operand_dtypes) > 1
        and any(map(dtypes.is_extended, operand_dtypes))
    ):
        shown = ", ".join(dtypes.name_of(aval.dtype) for aval in avals)
        raise TypeError(f"{function} does not accept dtypes {shown}.")


def _step(description: Any, aval: ShapedArray, dtype: Any, weak_type: bool, rank: int) -> Step:
    """Returns the conversion of one operand, or None if it stays unchanged."""
    if description.__class__ is tuple and description[0] == "own":
        step = _step(description[1], aval, dtype, weak_type, rank)
        return to_array if step is None else lambda value: step(to_array(value))
    is_python_scalar = description.__class__ is type or (
        description.__class__ is tuple and description[0] is int
    )
    if is_python_scalar:
        return _python_scalar_step(description, aval, dtype, weak_type)
    is_host_value = description.__class__ is tuple
    missing = rank - aval.ndim
    shape = (1,) * missing + aval.shape if missing > 0 and aval.ndim else None
    same_type = aval.dtype == dtype and aval.weak_type == weak_type
    if is_host_value and not aval.shape:
        if weak_type:
            return dtypes.scalar_type_of(dtype)
        return lambda value: np.asarray(value, dtype)
    if is_host_value:
        canonical = aval.dtype

        def from_host(value: Any) -> Any:
            array = np.asarray(value)
            if array.dtype != canonical:
                array = array.astype(canonical)
            return array if after is None else after(array)

        after = _array_step(aval, dtype, weak_type, shape, same_type)
        return from_host
    return _array_step(aval, dtype, weak_type, shape, same_type)


def _python_scalar_step(description: Any, aval: ShapedArray, dtype: Any, weak_type: bool) -> Step:
    if dtypes.is_extended(dtype):
        return None
    if not weak_type or description.__class__ is tuple:
        if dtypes.issubdtype(dtype, np.inexact):
            # Numbers beyond the range of the dtype become infinite, without a warning.
            return lambda value: _inexact_scalar(value, dtype)
        own_dtype = aval.dtype
        return lambda value: _integer_scalar(value, own_dtype, dtype)
    if aval.dtype == dtype and aval.weak_type:
        return None
    return dtypes.scalar_type_of(dtype)


def _integer_scalar(value: Any, own_dtype: Any, dtype: Any) -> np.ndarray:
    """Returns a Python scalar in an integer or boolean dtype; integers out of range wrap around."""
    try:
        return np.array(value, dtype)
    except OverflowError:
        return np.array(value, own_dtype).astype(dtype)


def _inexact_scalar(value: Any, dtype: Any) -> Any:
    # `errstate` costs several times as much as the conversion, and small numbers do not overflow
    # (benchmark "trace 500 numpy operations").
    if value.__class__ is float and -1e4 <= value <= 1e4 and dtype.itemsize > 1:
        return np.array(value, dtype)
    with np.errstate(over="ignore"):
        return np.array(value, dtype)


def _array_step(
    aval: ShapedArray, dtype: Any, weak_type: bool, shape: tuple | None, same_type: bool
) -> Step:
    if same_type:
        if shape is None:
            return None
        return lambda value: spread(value, shape)
    if shape is None:
        return lambda value: lax.convert_dtype(value, dtype, weak_type)
    return lambda value: spread(lax.convert_dtype(value, dtype, weak_type), shape)


def spread(x: Any, shape: tuple) -> Array:
    """Broadcasts an array to a compatible shape by NumPy's rules."""
    old_shape = np.shape(x) if not hasattr(x, "shape") else x.shape
    if old_shape == shape:
        return x
    offset = len(shape) - len(old_shape)
    return lax.broadcast_in_dim(x, shape, tuple(range(offset, len(shape))))


def _common_shape(function: str, shapes: Sequence[tuple]) -> tuple:
    """Returns the broadcast shape of the operands after the checks of ``numpy_rank_promotion``."""
    full = [shape for shape in shapes if shape]
    if not full:
        return ()
    check_ranks(function, full)
    return _broadcast(function, full)


def check_ranks(
    function: str, shapes: Sequence[tuple], compared: Sequence[tuple] | None = None
) -> None:
    """Warns or raises if shapes are of unequal ranks, as ``numpy_rank_promotion`` says.

    Args:
      function: the name of the function, for the message.
      shapes: the shapes of the operands.
      compared: the shapes whose ranks must be equal; by default all of ``shapes`` except scalars.
    """
    if not _modes["special"]:
        return
    compared = [shape for shape in shapes if shape] if compared is None else compared
    if len(set(map(len, compared))) < 2:
        return
    mode = config_states.numpy_rank_promotion.value
    if mode == "allow":
        return
    message = (
        f"Operands could not be broadcast together for {function} on shapes "
        f"{' '.join(map(str, shapes))}"
    )
    if mode == "warn":
        warn_user(
            f"Following NumPy automatic rank promotion for {function} on shapes "
            f"{' '.join(map(str, shapes))}. Set the {naming.module}_numpy_rank_promotion config "
            "option to 'allow' to disable this warning; for more information, see "
            "docs/rank-promotion.md."
        )
    else:
        raise ValueError(
            f"{message} and with the config option {naming.module}_numpy_rank_promotion='raise'. "
            "Give them the same number of dimensions, as x[None, :] does."
        )


def _broadcast(function: str, shapes: Sequence[tuple]) -> tuple:
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for axis, size in enumerate(shape, offset):
            known = result[axis]
            if known == 1:
                result[axis] = size
            elif size != 1 and size != known:
                _raise_incompatible(function, shapes)
    return tuple(result)


def _raise_incompatible(function: str, shapes: Sequence[tuple]) -> NoReturn:
    if len({len(shape) for shape in shapes if shape}) > 1:
        problem = f"Incompatible shapes for broadcasting: shapes={list(shapes)} in {function}."
    else:
        shapes_text = ", ".join(map(str, shapes))
        problem = f"{function} got incompatible shapes for broadcasting: {shapes_text}."
    longest = max(shapes, key=len)
    leading = any(
        0 < len(shape) < len(longest) == len(shape) + 1 and shape == longest[:-1]
        for shape in shapes
    )
    repair = " To align the first dimensions, write `y[..., None]`." if leading else ""
    raise ShapeError(
        f"{problem} Sizes must be equal, counted from the last dimension, or 1.{repair}"
    )


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """Returns the shape that arrays of the given shapes broadcast to.

    Args:
      *shapes: shapes, or integers for shapes of one dimension.

    Returns:
      A tuple of integers.

    Raises:
      ValueError: if the shapes cannot be broadcast together.

    Example:
      >>> broadcast_shapes((3, 1), (4,))
      (3, 4)
    """
    normal = []
    for shape in shapes:
        if isinstance(shape, int | np.integer) or getattr(shape, "shape", None) == ():
            normal.append(canonicalize_shape((shape,)))
        elif hasattr(shape, "__iter__"):
            normal.append(canonicalize_shape(shape))
        else:
            raise TypeError(
                "broadcast_shapes takes shapes, which are integers or sequences of integers, got "
                f"{shape!r} of type {type(shape).__name__}"
            )
    try:
        return _broadcast("broadcast_shapes", normal) if normal else ()
    except TypeError:
        raise ValueError(
            f"Incompatible shapes for broadcasting: shapes={[tuple(shape) for shape in normal]}"
        ) from None


# ---- the promotions of this package ----

promote_args = Promotion(None, shapes=True)
promote_args_numeric = Promotion(dtypes.to_numeric_dtype, shapes=True)
promote_args_inexact = Promotion(dtypes.to_inexact_dtype, shapes=True)
promote_types_of = Promotion(None, shapes=False)
promote_types_of_numeric = Promotion(dtypes.to_numeric_dtype, shapes=False)
promote_types_of_inexact = Promotion(dtypes.to_inexact_dtype, shapes=False)


def promote_dtypes(*args: Any) -> list[Array]:
    """Converts operands to their common dtype, without changing shapes."""
    return promote_types_of("promote_dtypes", *args)


def promote_dtypes_inexact(*args: Any) -> list[Array]:
    """Converts operands to their common floating or complex dtype, without changing shapes."""
    return promote_types_of_inexact("promote_dtypes", *args)


def promote_shapes(function: str, *args: Any) -> list[Array]:
    """Brings operands to equal rank; dtypes and scalars do not change."""
    shapes = [np.shape(arg) for arg in args]
    rank = len(_common_shape(function, shapes))
    return [
        spread(arg, (1,) * (rank - len(own)) + own) if own else arg
        for arg, own in zip(args, shapes, strict=True)
    ]


def broadcasted(function: str, *args: Any) -> list[Array]:
    """Broadcasts operands to their common shape, scalars included."""
    shapes = [np.shape(arg) for arg in args]
    shape = _common_shape(function, shapes)
    return [spread(arg, shape) for arg in args]


def size_of(shape: Sequence[int]) -> int:
    """Returns the number of elements of an array of a shape."""
    return math.prod(shape)


# ---- dtypes of values ----


def convert(x: Any, dtype: Any, weak_type: bool = False) -> Array:
    """Converts an operand to a dtype; NumPy and Python scalars are converted on the host."""
    kind = x.__class__
    if kind in _python_scalar_types or isinstance(x, np.generic):
        if weak_type and kind in _python_scalar_types:
            return dtypes.scalar_type_of(dtype)(x)
        return _inexact_scalar(x, dtype)
    aval = get_aval(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x if kind is not np.ndarray or x.dtype == dtype else x.astype(dtype)
    if kind is np.ndarray and not weak_type and not dtypes.is_extended(dtype):
        with np.errstate(over="ignore", invalid="ignore"):
            return x.astype(dtype)
    return lax.convert_dtype(x, dtype, weak_type)


def as_integer(number: Any, dtype: Any) -> np.ndarray:
    """Converts a number to an integer dtype on the host, as compiled programs do.

    The fractions of floats are cut off, and floats beyond the limits become the limits; NaN becomes
    zero. Integers wrap around.
    """
    if not isinstance(number, float):
        return np.array(number).astype(dtype)
    if math.isnan(number):
        return np.zeros((), dtype)
    limits = dtypes.iinfo(dtype)
    return np.array(int(min(max(number, limits.min), limits.max)), dtype)


def constant(value: Any, like: Any) -> Array:
    """Returns a scalar of the dtype and weak type of another operand."""
    aval = get_aval(like)
    return convert(value, aval.dtype, aval.weak_type)


def scalar_like(value: Any, like: Any) -> Any:
    """Returns a scalar of another operand's dtype, weakly typed if that operand is a weak scalar.

    An operation with this scalar keeps weak scalars weak, but makes weakly typed arrays strong.
    """
    aval = get_aval(like)
    return convert(value, aval.dtype, aval.weak_type and not aval.shape)


def result_type_of(*values: Any) -> tuple[Any, bool]:
    """Returns the common dtype of operands, and whether it is weak."""
    return lattice_result_type(
        *(value if hasattr(value, "dtype") else get_aval(value) for value in values)
    )


def ensure_array(value: Any) -> Array:
    """Returns arrays unchanged, and other operands as arrays with ``shape`` and ``dtype``.

    NumPy arrays are narrowed to dtypes that arrays may have, and stay on the host.
    """
    kind = value.__class__
    if kind in _ready_types or isinstance(value, Array):
        _ready_types.add(kind)
        return value
    if kind is np.ndarray:
        dtype = get_aval(value).dtype
        return value if value.dtype == dtype else value.astype(dtype)
    convert_itself = array_conversion(value)
    if convert_itself is not None:
        return ensure_array(convert_itself())
    aval = get_aval(value)
    scalar = _inexact_scalar(value, aval.dtype)
    return held(scalar, aval) if aval.weak_type else scalar


def of_promotable_dtype(value: Any) -> Any:
    """Returns an array; integers of few bits, which do not promote with floats, become floats."""
    dtype = getattr(value, "dtype", None)
    is_small = dtype in dtypes.small_signed or dtype in dtypes.small_unsigned
    return convert(value, np.dtype(np.float32)) if is_small else ensure_array(value)


_ready_types: set[type] = set()  # a cache of subclasses of `Array`


def held(value: Any, aval: Any) -> Array:
    """Converts a NumPy array to an OLYMPUS array with the abstract value ``aval``.

    In a traced program, a scalar becomes a literal. Compilation reads literals without a transfer
    from a device.
    """
    if current.trace is not evaluation_trace and not value.shape:
        recording = None if dtypes.is_extended(aval.dtype) else recording_trace()
        if recording is not None and wide_constant(value) is None:
            return recording.tracer(typed_scalar(value.copy(), aval.dtype, aval.weak_type))
        if recording is not None:
            return recording.tracer(evaluator().array(value, aval))
    return evaluator().array(value, aval)


def not_numbers(value: Any, dtype: Any) -> str:
    """Returns the error message for a value whose elements are not numbers."""
    return (
        f"Value {value!r} with dtype {dtype} is not a valid {naming.library} array type. Only "
        f"arrays of numeric types are supported by {naming.library}."
    )


def with_type(value: Any) -> Any:
    """Converts a foreign object with ``__array__`` to a NumPy array; returns other values as is."""
    if hasattr(value, "__array__") and not is_valid_value(value):
        return np.asarray(value)
    return value


def warn_of_lost_parts(x: Any, dtype: Any) -> None:
    """Warns if a conversion drops the imaginary parts of complex numbers."""
    if getattr(x.dtype, "kind", "") == "c" and getattr(dtype, "kind", "V") not in "bc":
        warn_user(
            "Casting from complex to real dtypes will soon raise a ValueError. Take the part "
            "with olympus.numpy.real or olympus.numpy.imag first.",
            DeprecationWarning,
        )
