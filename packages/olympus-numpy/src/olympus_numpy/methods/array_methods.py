# SPDX-License-Identifier: Apache-2.0
"""NumPy's methods and properties, attached to every class of arrays and to tracers."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ElementsError, NotAnArrayError
from olympus_ir.diagnostics.traceback_filtering import (
    api_boundary,
    boundary_members,
    filter_exception,
)
from olympus_ir.loading import deferred
from olympus_ir.programs.tracing import Tracer, current, evaluation_trace
from olympus_ir.types import dtypes, known_types
from olympus_ir.types.annotations import ShardingLike
from olympus_ir.types.arrays import Array, attach_methods, register_array_class
from olympus_ir.types.avals import ShapedArray, aval_method, aval_property
from olympus_ir.types.extended_arrays import ExtendedArray

from ..arrays import creation, joining, nonzero, repeating, selection, shaping
from ..core.compilation import compiled
from ..core.promotion import warn_of_lost_parts
from ..elementwise import complex_parts, floats
from ..indexing import getting, masking, taking
from ..indexing.updates import Updates
from ..ordering import searching, sorting
from ..products import contractions, matrices
from ..reductions import cumulative, extremes, moments, sums, truth
from .operators import array_operators, tracer_operators

if TYPE_CHECKING:
    from . import missing_members
else:
    missing_members = deferred(".missing_members", milliseconds=0.5)

__all__ = ["attach"]


# ---- methods whose parameters differ from those of the function ----


def _reshape(self: Any, *args: Any, order: str = "C", out_sharding: ShardingLike = None) -> Any:
    """Returns the elements in another shape, given as one argument or several; see `reshape`."""
    shape = args[0] if len(args) == 1 and _is_shape(args[0]) else args
    return shaping.reshape(self, shape, order, out_sharding=out_sharding)


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple | list) or getattr(value, "ndim", 0) == 1


def _transpose(self: Any, *args: Any) -> Any:
    """Permutes the dimensions; the axes are one argument or several. See `transpose`."""
    if not args:
        return shaping.transpose(self)
    axes = args[0] if len(args) == 1 and not _is_integer(args[0]) else args
    return shaping.transpose(self, axes)


def _is_integer(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _traced_reshape(
    self: Any, *args: Any, order: str = "C", out_sharding: ShardingLike = None
) -> Any:
    shape = args[0] if len(args) == 1 and _is_shape(args[0]) else args
    return shaping.reshaped(self, shape, order, False, out_sharding)


def _flatten(self: Any, order: str = "C", *, out_sharding: ShardingLike = None) -> Any:
    """Returns the elements in one dimension; see `ravel`."""
    return shaping.ravel(self, order, out_sharding=out_sharding)


def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """Returns the array converted to a dtype; see `astype`."""
    return creation.astype(self, dtype, copy=copy, device=device)


def _traced_astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    if copy or device is not None:
        return _astype(self, dtype, copy, device)
    dtype = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype, "astype")
    warn_of_lost_parts(self, dtype)
    return creation.converted(self, dtype)


def _copy(self: Any) -> Any:
    """Returns a copy of the array."""
    return creation.array(self, copy=True)


def _clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """Returns the array with its values limited to ``min`` and ``max``; see `clip`."""
    return selection.clip(self, min, max)


def _compress(
    self: Any,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """Returns the slices along an axis for which a condition holds; see `compress`."""
    return masking.compress(condition, self, axis=axis, out=out, size=size, fill_value=fill_value)


def _nonzero(self: Any, *, fill_value: Any = None, size: int | None = None) -> Any:
    """Returns the indices of elements that are not zero; see `nonzero`."""
    return nonzero.nonzero(self, size=size, fill_value=fill_value)


def _item(self: Any, *args: int) -> Any:
    """Returns an element as a Python scalar: the only element, or the element at an index."""
    return np.asarray(self).item(*args)


def _searchsorted(
    self: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Any:
    """Returns the positions of values in this sorted array; see `searchsorted`."""
    return searching.searchsorted(self, v, side, sorter, method=method)


def _byteswapped(x: Any) -> Any:
    size = dtypes.itemsize_bits(x.dtype) // 8
    if size < 2:
        return x
    byte = np.dtype(np.uint8)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return lax.complex(_byteswapped(lax.real(x)), _byteswapped(lax.imag(x)))
    pattern = lax.bitcast_convert_type(x, byte)
    return lax.bitcast_convert_type(lax.rev(pattern, (pattern.ndim - 1,)), x.dtype)


_byteswap_compiled = compiled(_byteswapped, inline=True, name="byteswap")


def _byteswap(self: Any) -> Any:
    """Returns the array with the bytes of each element reversed."""
    return _byteswap_compiled(self)


def _viewed(x: Any, dtype: Any) -> Any:
    """Reinterprets the bytes as elements of another dtype; the last dimension changes size."""
    if x.dtype == dtype:
        return x
    if dtype == np.bool_:
        return _viewed(x, np.dtype(np.uint8)) != 0
    if x.dtype == np.bool_:
        return _viewed(lax.convert_dtype(x, np.dtype(np.uint8)), dtype)
    old_bits, new_bits = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    if x.ndim == 0 and old_bits != new_bits:
        raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        if dtypes.issubdtype(dtype, np.complexfloating):
            raise NotImplementedError("view cannot change the width of complex numbers")
        parts = lax.concatenate(
            [lax.expand_dims(part, (x.ndim,)) for part in (lax.real(x), lax.imag(x))], x.ndim
        )
        flat = lax.reshape(parts, (*x.shape[:-1], x.shape[-1] * 2) if x.ndim else (2,))
        return _viewed(flat, dtype)
    if dtypes.issubdtype(dtype, np.complexfloating):
        parts = _viewed(x, np.dtype(f"float{new_bits // 2}"))
        even = lax.slice_in_dim(parts, 0, None, 2, axis=parts.ndim - 1)
        odd = lax.slice_in_dim(parts, 1, None, 2, axis=parts.ndim - 1)
        return lax.complex(even, odd)
    if old_bits == new_bits:
        return lax.bitcast_convert_type(x, dtype)
    if old_bits > new_bits:
        result = lax.bitcast_convert_type(x, dtype)
        return lax.reshape(result, (*result.shape[:-2], result.shape[-2] * result.shape[-1]))
    factor = new_bits // old_bits
    if x.shape[-1] % factor:
        raise ValueError(
            f"view as {dtype}: When changing to a larger dtype, its size must be a divisor of the "
            f"total size in bytes of the last axis of the array. Its {x.shape[-1]} elements are no "
            f"multiple of {factor}."
        )
    grouped = lax.reshape(x, (*x.shape[:-1], x.shape[-1] // factor, factor))
    return lax.bitcast_convert_type(grouped, dtype)


_view_compiled = compiled(_viewed, ("dtype",), inline=True, name="view")


def _view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """Reinterprets the bytes as elements of another dtype."""
    if type is not None:
        raise NotImplementedError(
            "`type` argument of array.view() is not supported. A view has another dtype; for "
            "another shape, use x.reshape(...)."
        )
    if dtype is None:
        return self
    dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "view")
    return _view_compiled(self, dtype)


def _to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """Returns the array on another device or with another sharding."""
    if stream is not None:
        raise NotImplementedError("stream argument of array.to_device()")
    return lax.device_put(self, device)


# The module that `__array_namespace__` returns: this package, or a package that re-exports this
# one.
_namespace = __name__.partition(".")[0]


def serve_as_namespace(module_name: str) -> None:
    """Sets the module that `__array_namespace__` returns.

    Args:
      module_name: the name of a module that re-exports this package's names.
    """
    global _namespace
    _namespace = module_name


def _array_namespace(self: Any, /, *, api_version: str | None = None) -> Any:
    """Returns the module of array functions, as the array API standard asks."""
    namespace = sys.modules[_namespace]
    if api_version not in (None, namespace.__array_api_version__):
        raise ValueError(
            f"{api_version=} is not available; available versions are: "
            f"{[namespace.__array_api_version__]}"
        )
    return namespace


def _contains(self: Any, value: Any) -> Any:
    if np.ndim(value):
        raise ValueError(
            "Array.__contains__: query value must be a scalar, got query.shape="
            f"{np.shape(value)}. To look for each of several values, use isin."
        )
    return bool(truth.any(self == value))


# ---- properties and iteration ----


def _iterate(self: Any) -> Any:
    """Iterates over the slices along the first dimension; one program computes many of them."""
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    if _is_in_parts(self):
        # The slices belong to no mesh, so they may be used with arrays on any device.
        return map(creation.array, np.asarray(self))
    size = self.shape[0]
    if size <= _SLICES_AT_ONCE:
        return iter(joining.unstack(self) if size else ())
    return _iterate_in_parts(self)


_SLICES_AT_ONCE = 100


def _is_in_parts(x: Any) -> bool:
    """Returns whether several devices of this process hold different parts of a concrete array."""
    if getattr(x, "_committed", False) is not True or current.trace is not evaluation_trace:
        return False
    sharding = x.sharding
    return (
        sharding.num_devices > 1
        and not sharding.is_fully_replicated
        and sharding.is_fully_addressable
    )


def _iterate_in_parts(x: Any) -> Any:
    for start in range(0, x.shape[0], _SLICES_AT_ONCE):
        yield from joining.unstack(x[start : start + _SLICES_AT_ONCE])


def _transposed(self: Any) -> Any:
    return shaping.transpose(self)


def _matrix_transposed(self: Any) -> Any:
    return shaping.matrix_transpose(self)


def _updates(self: Any) -> Updates:
    return Updates(self)


class _Flat:
    """The elements of an array in row-major order, the value of ``x.flat``."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> Any:
        return shaping.ravel(self.array)[index]

    def __len__(self) -> int:
        return self.array.size

    def __iter__(self) -> Any:
        return iter(shaping.ravel(self.array))


_METHODS: dict[str, Any] = {
    "all": truth.all,
    "any": truth.any,
    "argmax": extremes.argmax,
    "argmin": extremes.argmin,
    "argpartition": sorting.argpartition,
    "argsort": sorting.argsort,
    "astype": _astype,
    "byteswap": _byteswap,
    "choose": taking.choose,
    "clip": _clip,
    "compress": _compress,
    "conj": complex_parts.conj,
    "conjugate": complex_parts.conjugate,
    "copy": _copy,
    "cumprod": cumulative.cumprod,
    "cumsum": cumulative.cumsum,
    "diagonal": matrices.diagonal,
    "dot": contractions.dot,
    "flatten": _flatten,
    "max": extremes.max,
    "mean": moments.mean,
    "min": extremes.min,
    "nonzero": _nonzero,
    "prod": sums.prod,
    "ptp": extremes.ptp,
    "ravel": shaping.ravel,
    "repeat": repeating.repeat,
    "reshape": _reshape,
    "round": floats.round,
    "searchsorted": _searchsorted,
    "sort": sorting.sort,
    "squeeze": shaping.squeeze,
    "std": moments.std,
    "sum": sums.sum,
    "swapaxes": shaping.swapaxes,
    "take": taking.take,
    "to_device": _to_device,
    "trace": matrices.trace,
    "transpose": _transpose,
    "var": moments.var,
    "view": _view,
    "__array_namespace__": _array_namespace,
    "__contains__": _contains,
    "__iter__": _iterate,
}


class _Described:
    """Descriptor that shows a function as a method when it is looked up on the class `Array`.

    The method's signature lacks the parameters in ``left_out``. Look-up on an instance returns the
    function itself.
    """

    def __init__(self, function: Any, left_out: tuple[str, ...] = ()) -> None:
        self._function = function
        self._left_out = left_out
        self._described: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is not None:
            return self._function.__get__(instance, owner)
        if self._described is None:
            self._described = self._describe()
        return self._described

    def _describe(self) -> Any:
        function = self._function

        @functools.wraps(function)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return function(self, *args, **kwargs)

        signature = inspect.signature(function)
        kept = [
            parameter
            for name, parameter in signature.parameters.items()
            if name not in self._left_out
        ]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        kept[0] = kept[0].replace(name="self", kind=kind)
        method.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return method


# Parameters that functions have and methods do not.
_LEFT_OUT = {
    "argsort": ("dtype",),
    "dot": ("out_sharding",),
    "std": ("mean",),
    "var": ("mean",),
}
_DESCRIBED = (
    "all any argmax argmin argpartition argsort choose conj conjugate cumprod cumsum diagonal dot "
    "max mean min prod ptp ravel repeat round sort squeeze std sum swapaxes take trace var"
).split()


# Methods of tracers call the Python functions directly, without the look-up of a compiled program.
_TRACER_METHODS: dict[str, Any] = {
    "__getitem__": getting.traced_getitem,
    "T": property(shaping.transposed),
    "astype": _traced_astype,
    "reshape": _traced_reshape,
}

_PROPERTIES: dict[str, Any] = {
    "T": property(_transposed, doc="The array with its dimensions in reverse order."),
    "mT": property(_matrix_transposed, doc="The array with its last two dimensions exchanged."),
    "at": property(_updates, doc="Indexed updates, such as ``x.at[0].set(1)``."),
    "flat": property(_Flat, doc="The elements in row-major order."),
    "real": property(lambda self: complex_parts.real(self), doc="The real parts."),
    "imag": property(lambda self: complex_parts.imag(self), doc="The imaginary parts."),
}


def _missing(self: Any, name: str) -> Any:
    """Raises AttributeError. Python calls this method for names that an array does not have."""
    try:
        if name.startswith("__"):  # NumPy and other libraries look up special names often
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if isinstance(self, Tracer) and known_types.is_high(self.aval):
            raise NotAnArrayError(self.aval, name)
        raise missing_members.missing_member(type(self), name)
    except AttributeError as error:
        if not name.startswith("__"):
            filter_exception(error)
        raise


def attach() -> None:
    """Attaches operators, methods and properties to all classes of arrays and tracers."""
    # Device arrays inherit from `Array`. `Array` replaces some methods by descriptions, for `help`
    # and `inspect`. These methods are set on its subclasses directly.
    register_array_class(Array)
    methods = boundary_members(_METHODS)
    attach_methods(
        {
            **array_operators(),
            **methods,
            **boundary_members(_PROPERTIES),
            "__getitem__": getting.getitem,
            "__hash__": None,
        }
    )
    functions = {name: methods[name] for name in _DESCRIBED}
    for array_class in Array.__subclasses__():
        for name, method in functions.items():
            setattr(array_class, name, method)
    for name, method in functions.items():
        setattr(Array, name, _Described(method, _LEFT_OUT.get(name, ())))
    Array.__getattr__ = Tracer.__getattr__ = _missing  # type: ignore[attr-defined]
    for name, method in {**tracer_operators(), **_TRACER_METHODS}.items():
        setattr(Tracer, name, method)
    for name in _OF_NUMBERS:
        is_property = name in _PROPERTIES
        setattr(ExtendedArray, name, property(_refused(name)) if is_property else _refused(name))
    _attach_to_types()


# Members of arrays of numbers, which arrays of keys do not have.
_OF_NUMBERS = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip"),
    *("conj", "conjugate", "cumprod", "cumsum", "dot", "imag", "max", "mean", "min", "nonzero"),
    *("prod", "ptp", "real", "round", "searchsorted", "sort", "std", "sum", "trace", "var", "view"),
)


def _refused(name: str) -> Any:
    @api_boundary
    def refuse(self: ExtendedArray, *args: Any, **kwargs: Any) -> Any:
        raise ElementsError(
            f"arrays of dtype {self.dtype.name} have no `{name}`: their elements are not numbers. "
            "Use the array that stores them, such as olympus.random.key_data(key) for keys."
        )

    refuse.__name__ = name
    return refuse


def _attach_to_types() -> None:
    """Attaches the members of arrays to avals, where the tracers of other libraries find them."""
    for name, method in _METHODS.items():
        if name[0] != "_" or name == "__array_namespace__":
            setattr(ShapedArray, name, aval_method(method))
    for name, prop in _PROPERTIES.items():
        setattr(ShapedArray, name, aval_property(prop.fget))
    for name in ("itemsize", "nbytes"):
        setattr(ShapedArray, name, aval_property(operator.attrgetter(name)))
    for name, method in (
        ("broadcast", lax.broadcast),
        ("item", lambda self, *args: self.item(*args)),
    ):
        setattr(ShapedArray, name, aval_method(method))
