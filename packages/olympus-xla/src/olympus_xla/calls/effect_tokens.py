# SPDX-License-Identifier: Apache-2.0
"""Tokens of ordered effects, by which each call waits for the previous call."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding.meshes.mesh import Mesh
from olympus_sharding.shardings.behavior import NamedSharding, SingleDeviceSharding

from .._jaxlib import JaxRuntimeError, array_result_handler, batched_device_put
from ..foreign.callback_errors import in_callback, raise_callback_error

lock = threading.RLock()
_tokens: dict[Any, Any] = {}
# Tokens of computations with unordered effects, oldest first. Tokens cannot be tested for
# readiness, so `watch` waits for the oldest tokens if there are many.
_pending: list[Any] = []
_MOST_PENDING = 1024

# At the boundary of a computation, an empty array stands for a token.
carrier = ShapedArray((0,), np.dtype(np.bool_))


def _place(devices: tuple) -> Any:
    """Returns the sharding of tokens: replicated over a computation's devices."""
    if len(devices) == 1:
        return SingleDeviceSharding(devices[0])
    return NamedSharding(Mesh(np.array(devices), ("devices",)), PartitionSpec())


def take(effects: Sequence[Any], devices: tuple) -> list[Any]:
    """Returns the tokens for which a computation on some devices must wait."""
    place = _place(devices)
    tokens = []
    for effect in effects:
        token = _tokens.get(effect)
        if token is None or token._sharding != place:
            if token is not None:
                token.block_until_ready()  # the previous computation ran on other devices
            shards = [np.zeros(0, np.bool_) for _ in devices]
            token = batched_device_put(carrier, place, shards, list(devices), enable_x64=False)
        tokens.append(token)
    return tokens


def handlers(effects: Sequence[Any], devices: tuple) -> list[Any]:
    """Returns the C++ objects that make arrays from the tokens among a computation's results."""
    place = _place(devices)
    return [array_result_handler(carrier, place, True) for _ in effects]


def give(effects: Sequence[Any], tokens: Sequence[Any]) -> None:
    """Stores the tokens that a call returned. The next call will wait for them."""
    for effect, token in zip(effects, tokens, strict=True):
        _tokens[effect] = token


def watch(token: Any) -> None:
    """Stores the token of a computation with unordered effects until the next barrier."""
    with lock:
        _pending.append(token)
        if len(_pending) < _MOST_PENDING or in_callback():
            return  # a callback must not wait for the computation that called it
        oldest = _pending[: _MOST_PENDING // 2]
        del _pending[: _MOST_PENDING // 2]
    for token in oldest:
        token.block_until_ready()


def barrier() -> None:
    """Waits until all effects of the computations started so far have happened.

    Raises the exception of a failed callback after all computations have ended.

    Example:
      >>> import olympus
      >>> heard = []
      >>> olympus.jit(lambda x: olympus.debug.callback(lambda x: heard.append(int(x)), x))(3)
      >>> olympus.effects_barrier()
      >>> heard
      [3]
    """
    with lock:
        waiting = [*_tokens.values(), *_pending]
        _pending.clear()
    failure = None
    for token in waiting:
        try:
            token.block_until_ready()
        except JaxRuntimeError as error:
            failure = failure or error
    if failure is not None:
        raise_callback_error(failure)
        raise failure


def clear() -> None:
    """Forgets all tokens, before the clients that made them are dropped."""
    with lock:
        _tokens.clear()
        _pending.clear()
