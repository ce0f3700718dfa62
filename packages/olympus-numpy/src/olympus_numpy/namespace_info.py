# SPDX-License-Identifier: Apache-2.0
"""What the array API standard asks a namespace about itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.programs.evaluation import evaluator
from olympus_ir.types import dtypes

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2024.12"

_NARROW = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "complex64")
_WIDE = ("int64", "uint64", "float64", "complex128")


class __array_namespace_info__:  # noqa: N801: the standard's name
    """Dtypes, devices and abilities of this namespace, in the standard's words.

    Example:
      >>> from olympus_numpy import __array_namespace_info__
      >>> __array_namespace_info__().default_dtypes()["real floating"]
      dtype('float32')
    """

    def capabilities(self) -> dict[str, Any]:
        """What functions can do under all transformations: results have known shapes there."""
        return {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": 64,
        }

    def default_device(self) -> None:
        """None: arrays lie on the default device until they are put on another one."""

    def devices(self) -> list[Any]:
        """All devices that arrays can be put on, and None for the default one."""
        known = getattr(evaluator(), "devices", None)
        return [None, *(() if known is None else known())]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of arrays for which none is given.

        Args:
          device: has no effect: they are the same everywhere.
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
        """The standard's dtypes that arrays may have; those of 64 bits where they are enabled.

        Args:
          device: has no effect: they are the same everywhere.
          kind: a kind of `isdtype`, or several; all where not given.
        """
        wide = dtypes.default_int_dtype().itemsize == 8
        found = {name: np.dtype(name) for name in (*_NARROW, *(_WIDE if wide else ()))}
        if kind is None:
            return found
        return {name: dtype for name, dtype in found.items() if dtypes.isdtype(dtype, kind)}
