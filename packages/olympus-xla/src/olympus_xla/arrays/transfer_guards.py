# SPDX-License-Identifier: Apache-2.0
"""Transfer guards. The runtime enforces the configured levels.

``device_put`` and ``device_get`` set a mark while they run, so the runtime treats their transfers
as explicit. All other transfers are implicit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_ir.settings import config_states

from .._jaxlib import (
    garbage_collection_guard_level,
    global_transfer_guard_state,
    transfer_guard_level,
    transfer_guard_state,
    update_thread_guard,
)

__all__ = ["explicit_device_get", "explicit_device_put", "guards_in_use"]

_TRANSFER_LEVELS = {
    "allow": transfer_guard_level.ALLOW,
    "log": transfer_guard_level.LOG,
    "disallow": transfer_guard_level.DISALLOW,
    "log_explicit": transfer_guard_level.LOG_EXPLICIT,
    "disallow_explicit": transfer_guard_level.DISALLOW_EXPLICIT,
}
_COLLECTION_LEVELS = {
    "allow": garbage_collection_guard_level.ALLOW,
    "log": garbage_collection_guard_level.LOG,
    "fatal": garbage_collection_guard_level.FATAL,
}
_GUARDS = (
    (config_states.transfer_guard_host_to_device, "host_to_device", _TRANSFER_LEVELS),
    (config_states.transfer_guard_device_to_device, "device_to_device", _TRANSFER_LEVELS),
    (config_states.transfer_guard_device_to_host, "device_to_host", _TRANSFER_LEVELS),
    (config_states.array_garbage_collection_guard, "garbage_collect_array", _COLLECTION_LEVELS),
)

# True once some thread has set a guard. Before that, no marks are set.
_in_use = False


def _setter(state: Callable[[], Any], name: str, levels: dict[str, Any]) -> Callable[[Any], None]:
    def set_level(value: str | None) -> None:
        global _in_use
        if value is not None:
            _in_use = True
        setattr(state(), name, None if value is None else levels[value])

    return set_level


for _flag, _name, _levels in _GUARDS:
    _flag.add_global_hook(_setter(global_transfer_guard_state, _name, _levels))
    _flag.add_local_hook(_setter(transfer_guard_state, _name, _levels))


def _set_thread_guard(value: bool | None) -> None:
    if value is None:
        value = config_states.thread_guard.get_global()
    update_thread_guard(bool(value))


# `update_thread_guard` applies to all threads, so a thread-local setting has the same effect as a
# global setting.
config_states.thread_guard.add_global_hook(_set_thread_guard)
config_states.thread_guard.add_local_hook(_set_thread_guard)


def guards_in_use() -> bool:
    """Returns whether some thread has ever set a guard."""
    return _in_use


class _Explicit:
    """Context manager that marks the transfers of this thread as explicit."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        if _in_use:
            setattr(transfer_guard_state(), self._name, True)

    def __exit__(self, *exception: object) -> None:
        if _in_use:
            setattr(transfer_guard_state(), self._name, False)


explicit_device_put = _Explicit("explicit_device_put")
explicit_device_get = _Explicit("explicit_device_get")
