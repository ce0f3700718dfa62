# SPDX-License-Identifier: Apache-2.0
"""Foreign functions: compiled code in other languages, called from OLYMPUS programs.

A handler, made with XLA's headers (`include_dir`), wraps a C++ or CUDA function.
`register_ffi_target` registers the handler's address under a name. `ffi_call` calls the handler by
this name, eagerly and in compiled programs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.callbacks import check_vmap_method
from olympus_ir.types import dtypes
from olympus_ir.types.avals import AbstractToken, ShapedArray, canonicalize_shape, get_aval

from .. import _jaxlib
from ..arrays.layouts import Layout
from .ffi_attributes import hashable_attribute
from .ffi_primitive import ffi_call_p

__all__ = [
    "ffi_call",
    "ffi_call_p",
    "include_dir",
    "minor_to_major_layouts",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
]


# ---- registration ----

# XLA's names for the platforms of registered functions.
_XLA_PLATFORMS = {"cpu": "cpu", "gpu": "CUDA", "cuda": "CUDA", "rocm": "ROCM"}


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Registers a foreign function under a name, for `ffi_call`.

    Args:
      name: the name, valid in the whole process.
      fn: a capsule of the handler's address (`pycapsule`), or a dictionary of such capsules with
        the stages ``"instantiate"``, ``"prepare"``, ``"initialize"`` and ``"execute"``.
      platform: the platform of the function: ``"cpu"``, ``"cuda"``, ``"rocm"`` or another name.
      api_version: 1 for handlers made with XLA's headers, 0 for the older custom calls.
      **kwargs: further options of jaxlib's registration: ``traits``.

    Raises:
      TypeError: ``fn`` is neither a capsule nor a dictionary of capsules.

    Example:
      >>> register_ffi_target("my_function", 7)
      Traceback (most recent call last):
        ...
      TypeError: register_ffi_target: fn must be ...
    """
    capsules = list(fn.values()) if isinstance(fn, dict) else [fn]
    if not all(type(capsule).__name__ == "PyCapsule" for capsule in capsules):
        raise TypeError(
            f"register_ffi_target: fn must be a capsule, or a dictionary of capsules by stage, got "
            f"{fn!r} for {name!r}. Make a capsule of a function loaded with ctypes by "
            "olympus.ffi.pycapsule(library.function)."
        )
    _jaxlib.register_custom_call_target(
        name,
        fn,
        platform=_XLA_PLATFORMS.get(platform, platform),
        api_version=api_version,
        **kwargs,
    )


def register_ffi_type(name: str, type_registration: dict[str, Any], platform: str = "cpu") -> None:
    """Registers a type of C++ objects that handlers keep as their state between calls.

    Args:
      name: the name of the type.
      type_registration: capsules of the addresses of the type's ``XLA_FFI_TypeId``, under
        ``"type_id"``, and optionally of its ``XLA_FFI_TypeInfo``, under ``"type_info"``.
      platform: the platform whose handlers use the type.

    Raises:
      TypeError: ``type_registration`` is not a dictionary of this form.
    """
    if not isinstance(type_registration, dict) or "type_id" not in type_registration:
        raise TypeError(
            f"register_ffi_type: type_registration must be a dictionary with a capsule under "
            f"'type_id' and optionally one under 'type_info', got {type_registration!r} for "
            f"{name!r}"
        )
    _jaxlib.register_custom_type(
        name, type_registration, platform=_XLA_PLATFORMS.get(platform, platform)
    )


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Registers a type by its ``XLA_FFI_TypeId`` alone; see `register_ffi_type`."""
    register_ffi_type(name, {"type_id": obj}, platform)


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Declares that a function may run separately on each shard along the leading dimensions.

    The partitioner then does not gather operands that are sharded over these dimensions.
    """
    _jaxlib.register_custom_call_as_batch_partitionable(name)


def pycapsule(funcptr: Any) -> Any:
    """Returns the capsule of a function's address.

    Args:
      funcptr: a function of a library loaded with ``ctypes``.

    Example:
      >>> import ctypes
      >>> type(pycapsule(ctypes.CDLL(None).abs)).__name__
      'PyCapsule'
    """
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    new_capsule.restype = ctypes.py_object
    return new_capsule(ctypes.cast(funcptr, ctypes.c_void_p), None, None)


def include_dir() -> str:
    """Returns the folder of XLA's C++ headers, for the compiler's ``-I``.

    Example:
      >>> import os
      >>> os.path.exists(os.path.join(include_dir(), "xla", "ffi", "api", "ffi.h"))
      True
    """
    return _jaxlib.INCLUDE_DIR


# ---- calls ----


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Any] | None = None,
    output_layouts: Any = None,
    input_output_aliases: dict[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """Returns a function that calls a registered foreign function.

    The returned function can be called eagerly and under `jit` and `vmap`. It has no derivative;
    define one with `custom_vjp` or `custom_jvp`.

    Args:
      target_name: the name under which the function is registered.
      result_shape_dtypes: the type of the result, an object with ``shape`` and ``dtype``, or a
        sequence of such objects for several results.
      has_side_effect: whether the function must be called even if its results are not used.
      vmap_method: the behavior under `vmap`. ``"sequential"`` calls the function once for each
        batch element. ``"expand_dims"`` and ``"broadcast_all"`` call it once, with a leading
        dimension on all operands. For an operand that is not batched, this dimension has size one
        (``"expand_dims"``) or the size of the batch (``"broadcast_all"``).
      input_layouts: the layouts that the function expects of its operands: for each operand a
        `Layout`, the dimensions from major to minor, or None for row-major order.
      output_layouts: the same for the results.
      input_output_aliases: maps the index of an operand to the index of the result that reuses its
        memory.
      custom_call_api_version: the version of XLA's custom call interface; 4 is the typed interface.
      legacy_backend_config: with a version below 4, the text passed to the function.

    Returns:
      A function of arrays, with the attributes of the call as keyword arguments: Python or NumPy
      scalars, strings, NumPy arrays, and tuples and dictionaries of these. A Python int arrives as
      a 64-bit integer and a float as a double: pass ``numpy.float32(x)`` where the handler binds a
      ``float``.

    Raises:
      ValueError: an argument does not have the form described above.

    Example:
      >>> import numpy as np
      >>> from olympus import ShapeDtypeStruct
      >>> norm = ffi_call("rms_norm", ShapeDtypeStruct((4,), np.float32))
      >>> norm(np.ones(4, np.float32), eps=np.float32(1e-5))  # doctest: +SKIP
      Array([0.99999, 0.99999, 0.99999, 0.99999], dtype=float32)
    """
    check_vmap_method(vmap_method)
    if legacy_backend_config is not None and custom_call_api_version >= 4:
        raise ValueError(
            "The use of the legacy_backend_config parameter requires custom_call_api_version < 4; "
            f"got {custom_call_api_version}. Attributes of typed calls are keyword arguments."
        )
    if custom_call_api_version < 0:
        raise ValueError(
            "custom_call_api_version must be 0 or positive, and 4 or above for the typed "
            f"interface; got {custom_call_api_version}"
        )
    several = isinstance(result_shape_dtypes, Sequence) and not isinstance(result_shape_dtypes, str)
    result_avals = _result_avals(result_shape_dtypes if several else (result_shape_dtypes,))
    if output_layouts is None:
        output_layouts = (None,) * len(result_avals)
    elif not several:
        output_layouts = (output_layouts,)
    result_layouts = minor_to_major_layouts(output_layouts, result_avals, "output")
    type_of_results = list if isinstance(result_shape_dtypes, list) else tuple

    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and custom_call_api_version < 4:
            raise ValueError(
                "The use of ffi_call attributes requires a custom call API version of at least 4; "
                f"got api_version={custom_call_api_version} and {', '.join(kwargs)}"
            )
        in_avals = [get_aval(arg) for arg in args]
        results = ffi_call_p.bind(
            *args,
            result_avals=result_avals,
            vmap_method=vmap_method,
            target_name=target_name,
            has_side_effect=bool(has_side_effect),
            input_layouts=minor_to_major_layouts(
                (None,) * len(args) if input_layouts is None else input_layouts, in_avals, "input"
            ),
            output_layouts=result_layouts,
            input_output_aliases=check_aliases(input_output_aliases, in_avals, result_avals),
            custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config,
            attributes=tuple(
                (name, hashable_attribute(name, value)) for name, value in sorted(kwargs.items())
            ),
        )
        return type_of_results(results) if several else results[0]

    return call


def _result_avals(types: Sequence[Any]) -> tuple[Any, ...]:
    avals: list[Any] = []
    for position, result in enumerate(types):
        if isinstance(result, AbstractToken):
            avals.append(result)
            continue
        if not hasattr(result, "shape") or not hasattr(result, "dtype"):
            raise ValueError(
                "All elements of result_shape_dtypes must have 'shape' and 'dtype' attributes. Got "
                f"{result} at position {position}."
            )
        dtype = result.dtype if dtypes.is_extended(result.dtype) else np.dtype(result.dtype)
        avals.append(ShapedArray(canonicalize_shape(result.shape), dtype))
    return tuple(avals)


def _physical_ndim(aval: Any) -> int:
    if isinstance(aval, AbstractToken):
        return 0
    extended = dtypes.is_extended(aval.dtype)
    return aval.ndim + (len(aval.dtype.physical_element_aval().shape) if extended else 0)


def minor_to_major_layouts(
    specified: Sequence[Any], avals: Sequence[Any], role: str
) -> tuple[tuple[int, ...], ...]:
    """Returns the layouts of operands or results in XLA's notation, from minor to major.

    Args:
      specified: the layout of each value. A layout is a `Layout`, a sequence of the dimensions from
        major to minor, or None for row-major order.
      avals: the types of the values.
      role: ``"input"`` or ``"output"``, for errors.

    Raises:
      ValueError: a layout does not have each dimension once, or the number of layouts is not the
        number of values.
    """
    if len(specified) != len(avals):
        values = "arguments" if role == "input" else "results"
        raise ValueError(
            f"The number of {role} {values} ({len(avals)}) must equal the number of {role} layouts "
            f"({len(specified)})."
        )
    layouts = []
    for position, (layout, aval) in enumerate(zip(specified, avals, strict=True)):
        ndim = _physical_ndim(aval)
        major_to_minor = layout.major_to_minor if isinstance(layout, Layout) else layout
        if major_to_minor is None:
            major_to_minor = range(ndim)
        major_to_minor = tuple(major_to_minor)
        if sorted(major_to_minor) != list(range(ndim)):
            raise ValueError(
                f"{role}_layouts[{position}] is {major_to_minor}, and must have each dimension of "
                f"{aval.str_short()} once, from major to minor: a permutation of "
                f"{tuple(range(ndim))}."
            )
        layouts.append(major_to_minor[::-1])
    return tuple(layouts)


def check_aliases(
    pairs: Mapping[int, int] | None, in_avals: Sequence[Any], out_avals: Sequence[Any]
) -> tuple[tuple[int, int], ...]:
    aliases = []
    for source, target in sorted((pairs or {}).items()):
        for index, count, kind in (
            (source, len(in_avals), "input"),
            (target, len(out_avals), "output"),
        ):
            if not 0 <= index < count:
                raise ValueError(
                    f"input_output_aliases contains the mapping '{source}:{target}' with {kind} "
                    f"index {index} outside the range [0, {count})."
                )
        in_aval, out_aval = in_avals[source], out_avals[target]
        if (in_aval.shape, in_aval.dtype) != (out_aval.shape, out_aval.dtype):
            raise ValueError(
                f"input_output_aliases contains the mapping '{source}:{target}' referring to an "
                f"input with abstract value {in_aval.str_short()} and an output with a different "
                f"abstract value {out_aval.str_short()}."
            )
        aliases.append((source, target))
    return tuple(aliases)
