# SPDX-License-Identifier: Apache-2.0
"""The inspection interface of the array API standard: ``__array_namespace_info__``."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.programs.evaluation import evaluator
from olympus_ir.types import dtypes

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2024.12"

_NARROW = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "complex64")
_WIDE = ("int64", "uint64", "float64", "complex128")


class __array_namespace_info__:
    """The dtypes, devices and capabilities of this namespace, as the array API standard names them.

    Example:
      >>> from olympus_numpy import __array_namespace_info__
      >>> __array_namespace_info__().default_dtypes()["real floating"]
      dtype('float32')
    """

    def capabilities(self) -> dict[str, Any]:
        """Returns the capabilities that functions have under all transformations.

        Shapes that depend on data are supported outside transformations only.

        Returns:
          A dictionary from the name of a capability to its value.

        Example:
          >>> from olympus_numpy import __array_namespace_info__
          >>> __array_namespace_info__().capabilities()["boolean indexing"]
          False
        """
        return {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": 64,
        }

    def default_device(self) -> None:
        """Returns None: arrays lie on the default device until they are put on another one.

        Returns:
          None.

        Example:
          >>> from olympus_numpy import __array_namespace_info__
          >>> __array_namespace_info__().default_device()
        """

    def devices(self) -> list[Any]:
        """Returns all devices that arrays can be put on, and None for the default one.

        Returns:
          A list of devices, which begins with None.

        Example:
          >>> from olympus_numpy import __array_namespace_info__
          >>> __array_namespace_info__().devices()[0] is None
          True
        """
        known = getattr(evaluator(), "devices", None)
        return [None, *(() if known is None else known())]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Returns the dtypes of arrays for which none is given.

        Args:
          device: has no effect: all devices have the same dtypes.

        Returns:
          A dictionary from a kind, such as ``"integral"``, to a dtype.

        Example:
          >>> from olympus_numpy import __array_namespace_info__
          >>> __array_namespace_info__().default_dtypes()["integral"]
          dtype('int32')
        """
        return {
            "real floating": dtypes.default_float_dtype(),
            "complex floating": dtypes.default_complex_dtype(),
            "integral": dtypes.default_int_dtype(),
            "indexing": dtypes.default_int_dtype(),
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """Returns the standard's dtypes that arrays may have; 64-bit dtypes only if enabled.

        Args:
          device: has no effect: all devices have the same dtypes.
          kind: a kind that `isdtype` accepts, or several; all by default.

        Returns:
          A dictionary from a name to a dtype.

        Example:
          >>> from olympus_numpy import __array_namespace_info__
          >>> __array_namespace_info__().dtypes(kind="real floating")
          {'float32': dtype('float32')}
        """
        wide = dtypes.default_int_dtype().itemsize == 8
        by_name = {name: np.dtype(name) for name in (*_NARROW, *(_WIDE if wide else ()))}
        if kind is None:
            return by_name
        return {name: dtype for name, dtype in by_name.items() if dtypes.isdtype(dtype, kind)}
