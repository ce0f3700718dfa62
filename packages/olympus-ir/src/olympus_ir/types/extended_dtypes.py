# SPDX-License-Identifier: Apache-2.0
"""Extended dtypes, whose elements are each stored in an array of an ordinary dtype.

An array of an extended dtype, such as an array of typed random keys, is stored in its physical
array. This is an array of an ordinary dtype, such as uint32, whose last dimensions belong to one
element. The extended dtype defines the shape and dtype of the physical array of one element. The
package that defines the dtype also defines its operations.
"""

from __future__ import annotations

import abc
import math
from typing import Any, NoReturn

import numpy as np

from . import known_types


class extended(np.generic):
    """The abstract scalar type of all extended dtypes.

    Use it with `issubdtype`; it has no instances.
    """


class prng_key(extended):
    """The abstract scalar type of the dtypes of typed random keys.

    Use it with `issubdtype`; it has no instances.
    """


class ExtendedDType(abc.ABC):
    """Base of extended dtypes. Subclasses are immutable, with equality and a hash.

    A subclass defines `name` and `physical_element_aval`. Dtypes of other libraries may instead
    define ``_rules``, an object of static functions of the dtype, with `physical_element_aval`
    among them. Optional functions of ``_rules`` allow conversions (``convert_from(dtype, other)``,
    ``convert_to(other, dtype)``) and define the tangents' dtype (``tangent_dtype(dtype)``), sum
    (``add(dtype, x, y)``) and zero (``zero(dtype)``).

    Attributes:
        type: the abstract scalar type, a subclass of `extended`.
    """

    __slots__ = ()

    type: type

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The printed name, such as ``key<fry>``."""

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        physical = self.physical_element_aval()
        return math.prod(physical.shape) * np.dtype(physical.dtype).itemsize

    def physical_element_aval(self) -> Any:
        """The abstract value of the physical array that stores one element."""
        rules: Any = getattr(self, "_rules", None)
        if rules is None:
            raise TypeError(
                f"the dtype {self.name} does not define the array that stores its elements"
            )
        return rules.physical_element_aval(self)

    @classmethod
    def from_name(cls, name: str) -> Any:
        """Returns the dtype of this class called ``name``; None if there is none.

        Readers of files use this method.
        """
        return None

    @property
    def tangent_dtype(self) -> Any:
        """The dtype of tangents; ``float0`` for elements without tangents."""
        rules: Any = getattr(self, "_rules", None)
        return float0 if rules is None else rules.tangent_dtype(self)

    def converts_to(self, dtype: Any) -> bool:
        """Returns whether elements can be converted to another dtype."""
        convert = getattr(getattr(self, "_rules", None), "convert_from", None)
        return convert is not None and convert(self, dtype)

    def converts_from(self, dtype: Any) -> bool:
        """Returns whether elements of another dtype can be converted to this dtype."""
        convert = getattr(getattr(self, "_rules", None), "convert_to", None)
        return convert is not None and convert(dtype, self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_rules" in vars(cls):
            known_types.use_sums_by_rule()

    @property
    def alignment(self) -> int:
        """The alignment of an element in bytes, as of a NumPy dtype."""
        return self.itemsize

    def __repr__(self) -> str:
        return self.name


# The dtype of tangents of values without tangents, such as integers. Arrays of dtype float0 take no
# memory.
float0: np.dtype = np.dtype([("float0", np.void, 0)])


def refuse_float0(operation: str) -> NoReturn:
    """Raises the error for an operand of dtype float0, such as the tangent of an integer."""
    raise TypeError(
        f"{operation} was called with a float0. float0s do not support any operations by design: "
        "they are the tangents of integers, and have no elements. To replace them by zeros, use "
        "np.zeros(x.shape, float)."
    )
