# SPDX-License-Identifier: Apache-2.0
"""Arrays of extended dtypes, each stored in a physical array: an array of an ordinary dtype."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

from .._jaxlib import call_registry
from ..diagnostics.errors import ElementsError
from ..diagnostics.traceback_filtering import boundary_class
from ..settings.naming import naming
from . import dtypes, layouts
from .arrays import ConcreteArray, register_array_class
from .avals import ShapedArray, register_value_type
from .dtypes import is_extended
from .placement import NamedSharding, PartitionSpec

__all__ = [
    "ExtendedArray",
    "array_of_type",
    "logical_aval",
    "physical_aval",
    "physical_sharding",
    "plain_array",
    "plain_aval",
]


def physical_aval(aval: ShapedArray) -> ShapedArray:
    """Returns the type of the physical array that stores an array of an extended dtype."""
    element = aval.dtype.physical_element_aval()
    shape = (*aval.shape, *element.shape)
    return ShapedArray.varying(shape, element.dtype, vma=aval.vma, sharding=aval.layout)


def logical_aval(physical: ShapedArray, dtype: Any) -> ShapedArray:
    """Returns the type of the array of an extended dtype that a physical array stores."""
    element = dtype.physical_element_aval()
    leading = physical.ndim - element.ndim
    if leading < 0 or physical.shape[leading:] != element.shape or physical.dtype != element.dtype:
        raise TypeError(
            f"elements of dtype {dtype.name} are stored in arrays of {element.str_short()}, with "
            f"any leading dimensions; got {physical.str_short()}"
        )
    layout = None if physical.layout is None else layouts.leading(physical.layout, leading)
    return ShapedArray.varying(physical.shape[:leading], dtype, vma=physical.vma, sharding=layout)


def physical_sharding(sharding: Any, aval: Any) -> Any:
    """Returns the sharding of the array that stores an array of a given sharding and type.

    For extended dtypes it has further dimensions, those of one element, which are never split.
    """
    if not isinstance(sharding, NamedSharding) or not is_extended(getattr(aval, "dtype", None)):
        return sharding
    element = aval.dtype.physical_element_aval()
    spec = PartitionSpec(*sharding.spec, *(None,) * element.ndim)
    return NamedSharding(sharding.mesh, spec, memory_kind=sharding.memory_kind)


@boundary_class
class ExtendedArray(ConcreteArray):
    """A concrete array of an extended dtype, such as an array of typed random keys.

    Args:
      physical: the physical array, which stores the elements. Its last dimensions are the
        dimensions of one element.
      aval: the type of the array.
    """

    __slots__ = ("__weakref__", "_aval", "physical")

    def __init__(self, physical: Any, aval: ShapedArray) -> None:
        self.physical = physical
        self._aval = aval

    # ---- elements ----

    def _no_numbers(self, conversion: str) -> NoReturn:
        dtype = self._aval.dtype
        name = "PRNGKey" if dtypes.issubdtype(dtype, dtypes.prng_key) else dtype.name
        raise ElementsError(
            f"{naming.library} array with {name} dtype cannot be converted to {conversion}: its "
            "elements are not numbers. Use the array that stores them instead, such as "
            "olympus.random.key_data(key) for keys."
        )

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._no_numbers("a NumPy array")

    def __bool__(self) -> NoReturn:
        self._no_numbers("a bool")

    def __int__(self) -> NoReturn:
        self._no_numbers("an int")

    def __float__(self) -> NoReturn:
        self._no_numbers("a float")

    def __complex__(self) -> NoReturn:
        self._no_numbers("a complex number")

    def __index__(self) -> NoReturn:
        self._no_numbers("an index")

    def item(self, *args: Any) -> NoReturn:
        """Raises ElementsError, because no Python object stands for an element."""
        self._no_numbers("a Python number")

    def tolist(self) -> NoReturn:
        """Raises ElementsError, because no Python object stands for an element."""
        self._no_numbers("lists of Python numbers")

    def __reduce__(self) -> tuple:
        return (ExtendedArray, (self.physical, self._aval))

    # ---- properties and methods of the physical array ----

    @property
    def sharding(self) -> Any:
        """The layout of the array over devices."""
        sharding = self.physical.sharding
        if isinstance(sharding, NamedSharding):
            ndim = self._aval.ndim
            entries = tuple(sharding.spec)[:ndim]
            spec = PartitionSpec(*entries, *(None,) * (ndim - len(entries)))
            return NamedSharding(sharding.mesh, spec, memory_kind=sharding.memory_kind)
        return sharding

    def block_until_ready(self) -> ExtendedArray:
        """Waits until the array is computed, and returns it."""
        self.physical.block_until_ready()
        return self

    def addressable_data(self, index: int) -> ExtendedArray:
        """Returns the shard on one of this process's devices."""
        physical = self.physical.addressable_data(index)
        return ExtendedArray(physical, logical_aval(physical.aval, self._aval.dtype))

    @property
    def addressable_shards(self) -> list[Any]:
        """The shards on devices of this process."""
        return [self._own_shard(shard) for shard in self.physical.addressable_shards]

    @property
    def global_shards(self) -> list[Any]:
        """The shards on all devices."""
        return [self._own_shard(shard) for shard in self.physical.global_shards]

    def _own_shard(self, shard: Any) -> Any:
        index = shard.index[: self._aval.ndim]
        key_shard = shard.of_array(shard.device, index, shard.replica_id, self, None)
        if (part := shard.data) is not None:
            key_shard._data = ExtendedArray(part, logical_aval(part.aval, self._aval.dtype))
        return key_shard

    # ---- text ----

    def __repr__(self) -> str:
        aval = self._aval
        return f"Array({aval.shape}, dtype={aval.dtype.name}) overlaying:\n{self.physical}"

    def __str__(self) -> str:
        return repr(self)


def plain_array(value: Any) -> Any:
    """Returns the physical array of an array of an extended dtype, and other values unchanged."""
    return value.physical if value.__class__ is ExtendedArray else value


def plain_aval(aval: Any) -> Any:
    """Returns the type of the physical array for an extended dtype, and other types unchanged."""
    if isinstance(aval, ShapedArray) and is_extended(aval.dtype):
        return physical_aval(aval)
    return aval


def array_of_type(plain: Any, aval: Any) -> Any:
    """Returns the array of a type that an array stores.

    Args:
      plain: the physical array if the type has an extended dtype; otherwise the array itself.
      aval: the type of the result.
    """
    return ExtendedArray(plain, aval) if is_extended(aval.dtype) else plain


for _name in (
    "committed",
    "copy_to_host_async",
    "delete",
    "device",
    "devices",
    "is_deleted",
    "is_fully_addressable",
    "is_fully_replicated",
    "is_ready",
    "on_device_size_in_bytes",
    "unsafe_buffer_pointer",
):
    setattr(ExtendedArray, _name, property(operator.attrgetter(f"physical.{_name}")))


def _aval_of(array: ExtendedArray) -> ShapedArray:
    return array._aval


register_value_type(ExtendedArray, _aval_of)
call_registry.register_node(
    ExtendedArray,
    lambda array: ((array.physical,), array._aval),
    lambda aval, children: ExtendedArray(children[0], aval),
)
register_array_class(ExtendedArray)
