# SPDX-License-Identifier: Apache-2.0
"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array

from ..arrays.flipping import flip
from ..core.compilation import compiled
from ..core.options import is_among
from ..core.promotion import check_arraylike, ensure_array, promote_dtypes, promote_dtypes_inexact

if TYPE_CHECKING:
    from olympus_ir.lax.contractions.dot_algorithms import PrecisionLike

__all__ = ["convolve", "correlate"]


def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Returns the convolution of two vectors.

    Args:
      a: a vector.
      v: another vector.
      mode: ``"full"`` returns all overlaps. ``"same"`` returns the middle overlaps, as many as the
        longer vector has elements. ``"valid"`` returns the overlaps where one vector lies within
        the other.
      precision: the precision of products on accelerators, as in
        `olympus.lax.conv_general_dilated`.
      preferred_element_type: the dtype of the accumulation and of the result.

    Returns:
      An array of one dimension, of the common dtype unless ``preferred_element_type`` is given.

    Example:
      >>> from olympus_numpy import array
      >>> convolve(array([1.0, 2.0, 3.0]), array([0.0, 1.0, 0.5]))
      Array([0. , 1. , 2.5, 4. , 1.5], dtype=float32)
    """
    check_arraylike("convolve", a, v)
    options = _options("convolve", mode, precision, preferred_element_type)
    return _convolve(ensure_array(a), ensure_array(v), *options)


def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Returns the cross-correlation of two vectors; the second one is conjugated.

    Args:
      a: a vector.
      v: another vector.
      mode: as in `convolve`.
      precision: as in `convolve`.
      preferred_element_type: as in `convolve`.

    Returns:
      An array of one dimension, of the common dtype unless ``preferred_element_type`` is given.

    Example:
      >>> from olympus_numpy import array
      >>> correlate(array([1.0, 2.0, 3.0]), array([0.0, 1.0, 0.5]), "full")
      Array([0.5, 2. , 3.5, 3. , 0. ], dtype=float32)
    """
    check_arraylike("correlate", a, v)
    options = _options("correlate", mode, precision, preferred_element_type)
    return _correlate(ensure_array(a), ensure_array(v), *options)


def _options(name: str, mode: str, precision: Any, preferred_element_type: Any) -> tuple:
    """Returns the options as static arguments."""
    if not is_among(mode, _MODES):
        raise ValueError(f"mode must be one of {list(_MODES)}, got {mode!r}")
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_and_canonicalize_user_dtype(
            preferred_element_type, name
        )
    if isinstance(precision, list):
        precision = tuple(precision)
    return mode, precision, preferred_element_type


def _valid_padding(count: int) -> tuple[int, int]:
    return 0, 0


def _same_padding(count: int) -> tuple[int, int]:
    return count // 2, count - count // 2 - 1


def _full_padding(count: int) -> tuple[int, int]:
    return count - 1, count - 1


# For each mode, the function from the length of the shorter vector to the padding of the longer.
_MODES = {"full": _full_padding, "same": _same_padding, "valid": _valid_padding}


def _vectors_only(name: str, a: Any, v: Any) -> None:
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(
            f"{name}() only support 1-dimensional inputs, got shapes {a.shape} and {v.shape}."
        )
    if a.shape[0] == 0 or v.shape[0] == 0:
        raise ValueError(f"{name}: inputs cannot be empty, got shapes {a.shape} and {v.shape}.")


def _windowed(
    a: Any, v: Any, flips: bool, mode: str, precision: Any, preferred_element_type: Any
) -> Any:
    """Slides the shorter vector along the longer one; flips the shorter one for convolutions."""
    promote = promote_dtypes_inexact if preferred_element_type is None else promote_dtypes
    a, v = promote(a, v)
    swapped = a.shape[0] < v.shape[0]
    if flips:
        longer, shorter = (v, a) if swapped else (a, v)
        shorter = flip(shorter)
    else:
        if dtypes.issubdtype(v.dtype, np.complexfloating):
            v = lax.conj(v)
        longer, shorter = (v, a) if swapped else (a, v)
    out = lax.conv_general_dilated(
        lax.expand_dims(longer, (0, 1)),
        lax.expand_dims(shorter, (0, 1)),
        (1,),
        [_MODES[mode](shorter.shape[0])],
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    if swapped and not flips:
        out = lax.rev(out, (2,))
    return lax.squeeze(out, (0, 1))


_conv = compiled(_windowed, ("flips", "mode", "precision", "preferred_element_type"), name="_conv")


def _convolution(a: Any, v: Any, mode: str, precision: Any, preferred_element_type: Any) -> Any:
    _vectors_only("convolve", a, v)
    return _conv(a, v, True, mode, precision, preferred_element_type)


def _correlation(a: Any, v: Any, mode: str, precision: Any, preferred_element_type: Any) -> Any:
    _vectors_only("correlate", a, v)
    return _conv(a, v, False, mode, precision, preferred_element_type)


_STATIC = ("mode", "precision", "preferred_element_type")
_convolve = compiled(_convolution, _STATIC, name="convolve")
_correlate = compiled(_correlation, _STATIC, name="correlate")
