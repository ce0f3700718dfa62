# SPDX-License-Identifier: Apache-2.0
"""Errors of running programs that are raised later, under the names of JAX's private module.

A reference holds the number of the first error that a program has met. Numbers index a list of
messages and of the places that set them.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus.extend import source_info_util
from olympus_export.trees import register_pytree_node_serialization
from olympus_ir.adapters.trace_state import eval_context
from olympus_ir.diagnostics.traceback_filtering import filter_traceback
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.programs.tracing import Tracer
from olympus_ir.trees.pytrees import register_dataclass
from olympus_ir.types.avals import get_aval
from olympus_ir.types.placement import AxisType, PartitionSpec
from olympus_sharding.meshes.context import concrete_mesh_in_force
from olympus_sharding.shardings.behavior import NamedSharding

__all__ = [
    "JaxValueError",
    "error_checking_context",
    "raise_if_error",
    "set_error_if",
    "unwrap_from_import",
    "wrap_for_export",
]

_NONE = np.uint32(2**32 - 1)  # the number of no error


class JaxValueError(ValueError):
    """An error that a program met while it ran."""


class _Error(NamedTuple):
    """An error that a program may meet.

    Attributes:
      message: its message.
      place: the traceback of the call that sets it, or its text if it comes from another process.
    """

    message: str
    place: TracebackType | str | None


class _State(threading.local):
    """The reference to the number of the first error, in this thread; None before its first use."""

    ref: Any = None


_state = _State()
_lock = threading.RLock()
_errors: list[_Error] = []


def _new_ref() -> Any:
    """Returns a reference without an error: a number, or one for each device of the mesh."""
    mesh = concrete_mesh_in_force()
    if mesh is None or mesh.empty:
        return olympus.new_ref(jnp.uint32(_NONE))
    sharding = NamedSharding(mesh, PartitionSpec(*mesh.axis_names))
    return olympus.new_ref(jnp.full(mesh.axis_sizes, _NONE, device=sharding))


def _ref() -> Any:
    if _state.ref is None:
        with eval_context():
            _state.ref = _new_ref()
    return _state.ref


class error_checking_context:
    """A context with an error state of its own, one number for each device of the mesh in force.

    Enter it after the mesh. At the end, the previous state is in force again.
    """

    def __init__(self) -> None:
        self._previous: Any = None

    def __enter__(self) -> error_checking_context:
        self._previous = _state.ref
        with eval_context():
            _state.ref = _new_ref()
        return self

    def __exit__(self, *exception: object) -> None:
        _state.ref = self._previous


def set_error_if(pred: Any, /, msg: str) -> None:
    """Notes an error if any element of a mask is True. Only the first error is kept.

    The program goes on. `raise_if_error` raises the error later.

    Args:
      pred: a boolean array.
      msg: the message.

    Raises:
      ValueError: the mask and the error state are on different meshes.
    """
    ref = _ref()
    found: Any = source_info_util.current().traceback
    place = filter_traceback(found.as_python_traceback())
    with _lock:
        number = np.uint32(len(_errors))
        _errors.append(_Error(msg, place))
    noted = ref[...]
    ref[...] = jnp.where((noted == _NONE) & _any(pred, ref), number, noted)


def _any(pred: Any, ref: Any) -> Any:
    """Returns whether a mask has a True, for each device if the error state is one for each."""
    given, kept = get_aval(pred).sharding, get_aval(ref).sharding  # type: ignore[attr-defined]
    if all(dimension is None for dimension in kept.spec):
        return jnp.any(pred)
    if AxisType.Auto in given.mesh.axis_types:
        warn_user(
            "When at least one mesh axis of `pred` is in auto mode, calling `set_error_if` will "
            "cause implicit communication between devices. To avoid this, consider converting the "
            "mesh axis in auto mode to explicit mode.",
            RuntimeWarning,
        )
        return jnp.any(pred)
    if kept.mesh != given.mesh:
        raise ValueError(
            "The error code state and the predicate must be on the same mesh, but got "
            f"{kept.mesh} and {given.mesh} respectively. Please use `with "
            "error_checking_context()` to redefine the error code state based on the mesh."
        )

    def of_device(part: Any) -> Any:
        return jnp.any(part).reshape((1,) * len(kept.spec))

    return olympus.shard_map(of_device, mesh=kept.mesh, in_specs=given.spec, out_specs=kept.spec)(
        pred
    )


def raise_if_error() -> None:
    """Raises the first error that was noted, if there is one, and forgets it.

    Raises:
      JaxValueError: an error was noted.
      ValueError: the function is called in a traced function.
    """
    ref = _state.ref
    if ref is None:
        return
    noted = ref[...].min()
    if isinstance(noted, Tracer):
        raise ValueError(
            "raise_if_error() should not be called within a traced context, such as within a "
            "jitted function. Call it after the function has returned."
        )
    number = int(noted)
    if number == _NONE:
        return
    ref[...] = jnp.full_like(ref[...], _NONE)
    if number >= len(_errors):
        raise JaxValueError(
            "An unknown error occurred during execution of an AOT-imported function: its number "
            f"is {number}, and only {len(_errors)} errors are known."
        )
    message, place = _errors[number]
    if isinstance(place, str):
        raise JaxValueError(f"{message}\nThe original traceback is shown below:\n{place}")
    raise JaxValueError(message).with_traceback(place)


@dataclasses.dataclass(frozen=True)
class _Errors:
    """The errors of an exported function: the number of the one met, and the list of all."""

    error_code: Any
    error_list: Any


register_dataclass(_Errors, data_fields=("error_code",), meta_fields=("error_list",))
register_pytree_node_serialization(
    _Errors,
    serialized_name="olympus.error_check.errors",
    serialize_auxdata=lambda errors: json.dumps(errors).encode(),
    deserialize_auxdata=lambda data: json.loads(bytes(data).decode()),
)


def wrap_for_export(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function to export, whose results include its errors.

    Args:
      f: a function that calls `set_error_if`.
    """

    def with_errors(*args: Any, **kwargs: Any) -> Any:
        previous = _state.ref
        _state.ref = _new_ref()
        with _lock:
            first = len(_errors)
            try:
                out = f(*args, **kwargs)
                number = _state.ref[...].min()
                own = _errors[first:]
            finally:
                del _errors[first:]
                _state.ref = previous
        number = jnp.where(number == _NONE, _NONE, number - np.uint32(first))
        return out, _Errors(number, tuple((error.message, _text(error.place)) for error in own))

    return with_errors


def _text(place: TracebackType | str | None) -> str:
    if isinstance(place, str):
        return place
    return "".join(traceback.format_list(traceback.extract_tb(place))).rstrip("\n")


def unwrap_from_import(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that notes the errors of an imported one and returns its other results.

    Args:
      f: the imported function, which `wrap_for_export` made.
    """
    _ref()

    def without_errors(*args: Any, **kwargs: Any) -> Any:
        out, errors = f(*args, **kwargs)
        with _lock:
            first = np.uint32(len(_errors))
            _errors.extend(_Error(*error) for error in errors.error_list)
        ref = _ref()
        noted = ref[...]
        is_first = (noted == _NONE) & (errors.error_code != _NONE)
        ref[...] = jnp.where(is_first, errors.error_code + first, noted)
        return out

    return without_errors
