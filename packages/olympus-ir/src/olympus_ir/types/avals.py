# SPDX-License-Identifier: Apache-2.0
"""Abstract values: the static properties of arrays, which are known during tracing.

Abstract values are immutable and interned: equal abstract values are the same object. Hot paths
therefore compare and hash them by identity. The table of interned values holds weak references.
"""

from __future__ import annotations

import math
import operator
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..diagnostics.errors import OlympusError, TracerIntegerConversionError
from ..settings import config
from ..settings.naming import naming
from . import dtypes, layouts
from .memory_spaces import MemorySpace

Shape: TypeAlias = tuple[int, ...]
DType: TypeAlias = Any  # an np.dtype or an extended dtype


class AbstractValue:
    """Base of all types of traced values."""

    __slots__ = ()
    is_ref = False  # whether values are mutable references
    layout: Any = None  # how arrays are sharded over explicit axes of a mesh; see `layouts`

    def str_short(self, short_dtypes: bool = False) -> str:
        """Returns the type's text, as the printer and error messages show it."""
        return repr(self)

    def to_tangent_aval(self) -> AbstractValue:
        raise TypeError(f"values of type {self} have no tangent space")

    def matches(self, other: AbstractValue) -> bool:
        """Returns whether two types are equal apart from weak types."""
        return self == other


_interned: dict[tuple, weakref.ref] = {}
_interning_lock = threading.Lock()
_NO_AXES: frozenset = frozenset()


class aval_property(NamedTuple):
    """Property that a type declares for its values; tracers of the type also have it."""

    fget: Callable[[Any], Any]


class aval_method(NamedTuple):
    """Method that a type declares for its values; tracers of the type also have it."""

    fun: Callable[..., Any]


class ShapedArray(AbstractValue):
    """The type of an array: shape, dtype, weak type and placement.

    Args:
      shape: the sizes of the dimensions, non-negative integers.
      dtype: a NumPy dtype, or an extended dtype such as that of typed PRNG keys.
      weak_type: whether promotion prefers the dtype of the other operand, as for a Python scalar.
      sharding: the layout of the array over the explicit axes of an abstract mesh: a
          `NamedSharding`, or a partition spec over the current mesh.
      manual_axis_type: the variation of the value along manual mesh axes; None for none.
      memory_space: the memory space of the array; None stands for `MemorySpace.Device`.

    Example:
      >>> ShapedArray((2, 3), np.float32)
      ShapedArray(float32[2,3])
      >>> ShapedArray((2, 3), np.float32) is ShapedArray((2, 3), np.float32)
      True
    """

    __slots__ = (
        "__weakref__",
        "dtype",
        "layout",
        "memory_space",
        "ndim",
        "shape",
        "vma",
        "weak_type",
    )

    shape: Shape
    dtype: DType
    weak_type: bool
    # The normal form of `sharding`; None for a type without mesh axes. Hot paths test for None.
    layout: Any
    vma: frozenset
    memory_space: Any
    ndim: int

    def __new__(
        cls,
        shape: Any,
        dtype: Any,
        weak_type: bool = False,
        *,
        sharding: Any = None,
        manual_axis_type: layouts.ManualAxisType | None = None,
        memory_space: MemorySpace | None = MemorySpace.Device,
    ) -> ShapedArray:
        vma = _NO_AXES
        if manual_axis_type is not None:
            vma, sharding = layouts.with_variation(manual_axis_type, sharding)
        if shape.__class__ is not tuple:
            shape = tuple(shape)
        key = (cls, shape, dtype, weak_type, sharding, vma, memory_space)
        try:
            reference = _interned.get(key)
        except TypeError:
            reference = None
        if reference is not None:
            self = reference()
            if self is not None:
                return self
        return cls._intern(shape, dtype, weak_type, sharding, vma, memory_space)

    @classmethod
    def varying(
        cls,
        shape: Any,
        dtype: Any,
        weak_type: bool = False,
        *,
        vma: frozenset,
        sharding: Any = None,
        memory_space: MemorySpace | None = MemorySpace.Device,
    ) -> ShapedArray:
        """Returns the type of values that vary over some manual mesh axes.

        Args:
          shape: the sizes of the dimensions.
          dtype: the dtype.
          weak_type: whether promotion prefers the dtype of the other operand.
          vma: the manual mesh axes over which the value varies.
          sharding: the layout of the array.
          memory_space: the memory space of the array.
        """
        if not vma:
            return cls(shape, dtype, weak_type, sharding=sharding, memory_space=memory_space)
        return cls._intern(shape, dtype, weak_type, sharding, vma, memory_space)

    @classmethod
    def _intern(
        cls, shape: Any, dtype: Any, weak_type: bool, sharding: Any, vma: Any, memory_space: Any
    ) -> ShapedArray:
        """Normalizes the fields, and enters the type into the table if it is new."""
        shape = tuple(dimension_size(size) for size in shape)
        if not dtypes.is_extended(dtype):
            dtype = np.dtype(dtype)
        weak_type = bool(weak_type)
        vma = frozenset(vma)
        if memory_space is None:
            memory_space = MemorySpace.Device
        if sharding is not None:
            sharding = layouts.normal_form(sharding, len(shape))
            if sharding is not None:
                layouts.check_divisible(shape, sharding)
        key = (cls, shape, dtype, weak_type, sharding, vma, memory_space)
        with _interning_lock:
            reference = _interned.get(key)
            self = reference() if reference is not None else None
            if self is None:
                self = object.__new__(cls)
                set_field = object.__setattr__
                set_field(self, "shape", shape)
                set_field(self, "dtype", dtype)
                set_field(self, "weak_type", weak_type)
                set_field(self, "layout", sharding)
                set_field(self, "vma", vma)
                set_field(self, "memory_space", memory_space)
                set_field(self, "ndim", len(shape))
                _interned[key] = weakref.ref(self, lambda ref: _forget(key, ref))
            return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"abstract values are immutable: cannot set {name!r} of {self}")

    def __reduce__(self) -> tuple:
        fields = (self.shape, self.dtype, self.weak_type)
        return (_rebuild, (type(self), *fields, self.layout, self.vma, self.memory_space))

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def sharding(self) -> Any:
        """The layout of the array; by default, the replicated sharding over the current mesh."""
        if self.layout is not None:
            return self.layout
        return layouts.replicated(self.ndim)

    @property
    def manual_axis_type(self) -> layouts.ManualAxisType:
        """The variation of the value along manual mesh axes."""
        return layouts.manual_axis_type(self.vma, self.layout)

    mat = manual_axis_type

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def update(self, **changes: Any) -> ShapedArray:
        """Returns the type with some fields changed."""
        fields = {
            "shape": self.shape,
            "dtype": self.dtype,
            "weak_type": self.weak_type,
            "sharding": self.layout,
            "vma": self.vma,
            "memory_space": self.memory_space,
            **changes,
        }
        variation = fields.pop("manual_axis_type", None)
        if variation is not None:
            fields["vma"], fields["sharding"] = layouts.with_variation(
                variation, fields["sharding"]
            )
        positional = (fields.pop("shape"), fields.pop("dtype"), fields.pop("weak_type"))
        return type(self).varying(*positional, **fields)

    def strip_weak_type(self) -> ShapedArray:
        """Returns the type without weak type."""
        return self.update(weak_type=False) if self.weak_type else self

    def strip_layout(self) -> ShapedArray:
        """Returns the type without placement over explicit mesh axes."""
        return self.update(sharding=None) if self.layout is not None else self

    def to_ct_aval(self) -> ShapedArray:
        """Returns the cotangent type: the tangent type with unreduced and reduced axes swapped."""
        aval = self.to_tangent_aval()
        if aval.layout is None:
            return aval
        spec = aval.layout.spec
        if not spec.unreduced and not spec.reduced:
            return aval
        mesh = aval.layout.mesh
        layout = layouts.layout_over(mesh, spec.partitions, spec.reduced, spec.unreduced)
        return aval.update(sharding=layout)

    def to_tangent_aval(self) -> ShapedArray:
        """Returns the type of tangents."""
        tangent_dtype = dtypes.tangent_dtype(self.dtype)
        if tangent_dtype is self.dtype or tangent_dtype == self.dtype:
            return self
        return self.update(dtype=tangent_dtype, weak_type=False)

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """Returns a short text of the type, such as ``float32[2,3]``, or ``f32[2,3]``.

        Args:
          short_dtypes: whether to abbreviate dtypes.
          mesh_axis_types: whether to show the types of mesh axes.
        """
        name = dtypes.short_name(self.dtype) if short_dtypes else dtypes.name_of(self.dtype)
        space = "" if self.memory_space is MemorySpace.Device else f"<{self.memory_space}>"
        if self.layout is None and not self.vma:
            text = f"{name}{space}[{','.join(map(str, self.shape))}]"
        else:
            dimensions, axes = layouts.texts(self.shape, self.layout, self.vma)
            text = f"{name}{space}[{dimensions}]{axes}"
        return text + layouts.mesh_text(self.layout) if mesh_axis_types else text

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short()}"


def _rebuild(
    cls: type[ShapedArray],
    shape: Shape,
    dtype: Any,
    weak: bool,
    sharding: Any,
    vma: Any,
    space: Any,
):
    return cls.varying(shape, dtype, weak, sharding=sharding, vma=vma, memory_space=space)


def _forget(key: tuple, reference: weakref.ref) -> None:
    # A new type may have taken the key after the old type was deleted.
    if _interned.get(key) is reference:
        _interned.pop(key, None)


def varying_axes(avals: Any) -> frozenset:
    """Returns the mesh axes over which any of the values varies."""
    varying = _NO_AXES
    for aval in avals:
        if isinstance(aval, ShapedArray) and aval.vma:
            varying |= aval.vma
    return varying


class AbstractToken(AbstractValue):
    """The type of tokens, which order effects and carry no data."""

    __slots__ = ()

    def str_short(self, short_dtypes: bool = False) -> str:
        return "Tok"

    def to_tangent_aval(self) -> AbstractToken:
        return self

    def __repr__(self) -> str:
        return "AbstractToken()"


abstract_token = AbstractToken()


def dimension_size(size: Any) -> Any:
    """Checks a dimension's size, and returns it as a Python integer."""
    if type(size) is int:
        if size < 0:
            raise TypeError(f"Shapes must have non-negative sizes, got {size}.")
        return size
    # Symbolic dimensions are returned unchanged, because they define their own arithmetic.
    if getattr(size, "_is_symbolic_dimension", False):
        return size
    try:
        size = operator.index(size)
    except Exception as error:
        if getattr(size, "_is_traced_array", None) is not None:
            raise  # the tracer's error names the argument on which the size depends
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {size!r} "
            f"of type {type(size).__name__}."
        ) from error
    return dimension_size(size)


def canonicalize_shape(shape: Any, context: str = "") -> Shape:
    """Checks a user's shape, and returns it as a tuple of integers.

    Raises:
      TypeError: ``shape`` is not a sequence of non-negative integers.
    """
    if type(shape) is tuple and all(type(size) is int and size >= 0 for size in shape):
        return shape
    if isinstance(shape, str | bytes | dict | set):
        raise TypeError(
            "Shapes must be 1D sequences of concrete values of integer type, got "
            f"{shape!r} of type {type(shape).__name__}."
        )
    try:
        return tuple(dimension_size(size) for size in shape)
    except TypeError as error:
        if isinstance(error, TracerIntegerConversionError):
            raise TypeError(
                "Shapes must be 1D sequences of concrete values of integer type, got "
                f"{shape!r}.\nIf using `jit`, try using `static_argnums` or applying `jit` to "
                f"smaller subfunctions.\n{error}"
            ) from None
        if isinstance(error, OlympusError):
            raise
        if isinstance(shape, int):
            return (dimension_size(shape),)
        message = (
            str(error)
            if hasattr(shape, "__iter__")
            else (
                "Shapes must be 1D sequences of concrete values of integer type, "
                f"got {shape!r} of type {type(shape).__name__}."
            )
        )
        raise TypeError(f"{message}{' ' + context if context else ''}") from None


# ---- abstract values of concrete values ----

AvalGetter: TypeAlias = Callable[[Any], AbstractValue]

# Maps the type of a value to the function that returns its abstract value. Packages that define a
# type of arrays (device arrays, typed keys) register the type with `register_value_type`.
aval_getters: dict[type, AvalGetter] = {}


def register_value_type(value_type: type, getter: AvalGetter) -> None:
    """Registers a type whose values are valid operands.

    Args:
      value_type: the type.
      getter: a function that returns the abstract value of a value of the type.
    """
    aval_getters[value_type] = getter


def get_aval(value: Any) -> Any:
    """Returns the abstract value of a concrete array, a scalar or a tracer.

    Raises:
      TypeError: values of this type are not arrays.
    """
    getter = aval_getters.get(value.__class__)
    if getter is not None:
        return getter(value)
    for base in value.__class__.__mro__[1:]:
        getter = aval_getters.get(base)
        if getter is not None:
            return getter(value)
    convert = array_conversion(value)
    if convert is not None:
        return get_aval(convert())
    raise TypeError(
        f"Argument {value!r} of type {type(value)} is not a valid {naming.library} type"
    )


def array_conversion(value: Any) -> Callable[[], Any] | None:
    """Returns a function that converts an object of another library to an array, or None.

    It calls the method ``__olympus_array__`` or ``__jax_array__``, and raises TypeError if that
    returns the object itself.

    Example:
      >>> array_conversion(1.5) is None
      True
    """
    convert = getattr(value, "__olympus_array__", None)
    if convert is None:
        convert = getattr(value, "__jax_array__", None)
    return None if convert is None else partial(_converted, value, convert)


def _converted(value: Any, convert: Callable[[], Any]) -> Any:
    result = convert()
    if result is value:
        name = getattr(convert, "__name__", "__olympus_array__")
        raise TypeError(
            f"the method {name} of a {type(value).__name__} returned the object itself; it must "
            "return an array"
        )
    return result


def argument_aval(value: Any) -> Any:
    """Returns the abstract value of a value, or of an object that has only a shape and a dtype."""
    try:
        return get_aval(value)
    except TypeError:
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        if shape is None or dtype is None:
            raise
        if not dtypes.is_extended(dtype):
            dtype = dtypes.canonicalize_dtype(dtype)
            dtypes.check_valid_dtype(dtype)
        layout = layouts.of_sharding(getattr(value, "sharding", None), len(shape))
        return ShapedArray(shape, dtype, bool(getattr(value, "weak_type", False)), sharding=layout)


def is_valid_value(value: Any) -> bool:
    """Returns whether a value may be an operand of a primitive."""
    try:
        get_aval(value)
    except TypeError:
        return False
    return True


def operand_avals(operation: str, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the abstract values of an operation's operands.

    Raises:
      TypeError: an operand is not an array. The message names the operand.
    """
    try:
        return tuple([get_aval(operand) for operand in operands])
    except TypeError as error:
        position = next(i for i, operand in enumerate(operands) if not is_valid_value(operand))
        raise TypeError(
            f"Error interpreting argument to {operation} as {naming.a_library} value. The "
            f"problematic value is of type {type(operands[position])} and was passed to "
            f"{operation} at position {position}. {error}"
        ) from error


def _numpy_aval(value: Any) -> ShapedArray:
    dtype = dtypes.canonicalize_dtype(value.dtype)
    dtypes.check_valid_dtype(dtype)
    return ShapedArray(value.shape, dtype)


for _scalar_type in dtypes.numpy_scalar_types:
    register_value_type(_scalar_type, _numpy_aval)
register_value_type(np.ndarray, _numpy_aval)

# The abstract values of Python scalars, which depend on the flag for 64-bit types.
_python_scalar_avals: dict[tuple[type, bool], ShapedArray] = {}


def _python_scalar_aval(value: Any) -> ShapedArray:
    kind = value.__class__
    key = (kind, config.enable_x64.value)
    aval = _python_scalar_avals.get(key)
    if aval is None:
        while kind not in (bool, int, float, complex):
            kind = kind.__mro__[1]
        dtype = dtypes.python_scalar_dtype(kind)
        aval = _python_scalar_avals[key] = ShapedArray((), dtype, kind is not bool)
    if kind is int:
        dtypes.check_integer_fits(value, aval.dtype)
    return aval


for _scalar_type in (bool, int, float, complex):
    register_value_type(_scalar_type, _python_scalar_aval)


def typematch(first: AbstractValue, second: AbstractValue) -> bool:
    """Returns whether two types are equal apart from their weak types."""
    if first is second:
        return True
    if isinstance(first, ShapedArray) and isinstance(second, ShapedArray):
        return first.strip_weak_type() is second.strip_weak_type()
    return first.matches(second)
