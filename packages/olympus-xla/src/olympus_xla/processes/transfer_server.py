# SPDX-License-Identifier: Apache-2.0
"""Arrays that one program offers, and another one takes, over the network.

The server and the connections are XLA's own objects; they take flat lists of arrays, and get here
what they need for pytrees.
"""

from __future__ import annotations

from typing import Any

from olympus_ir.trees import pytrees

from .._jaxlib import TransferConnection, TransferServer, start_transfer_server
from .._jaxlib import make_error_array as make_array_of_error

__all__ = ["TransferConnection", "TransferServer", "make_error_array", "start_transfer_server"]


def _typed(struct: Any) -> Any:
    """Returns the type that XLA wants to know of an array: with a sharding.

    Raises:
      ValueError: none is given.
    """
    if getattr(struct, "sharding", None) is None:
        raise ValueError(
            "an array that comes over the network needs a sharding: pass "
            f"ShapeDtypeStruct(shape, dtype, sharding=...), got {struct}"
        )
    return struct


def _client_of(structs: list[Any]) -> Any:
    return next(iter(structs[0].sharding.device_set)).client


def await_pull(self: Any, uuid: int, arrays: Any, timeout: Any = None) -> None:
    """Offers a pytree of arrays under a number, until a connection has pulled it.

    Args:
      uuid: the number; each is used once.
      arrays: the arrays.
      timeout: how long they are offered.
    """
    self._await_pull_flat(uuid, pytrees.tree_leaves(arrays), timeout)


def pull(self: Any, uuid: int, xs: Any, timeout: Any = None) -> Any:
    """Takes what the other side offers under a number.

    Args:
      uuid: the number.
      xs: a pytree of `ShapeDtypeStruct`s with shardings, of what is offered.
      timeout: how long to wait.

    Raises:
      ValueError: a sharding is missing.
    """
    structs, tree = pytrees.tree_flatten(xs)
    structs = list(map(_typed, structs))
    if not structs:
        return xs
    return pytrees.tree_unflatten(
        tree, self._pull_flat(uuid, _client_of(structs), structs, timeout)
    )


TransferServer.await_pull = await_pull
TransferConnection.pull = pull


def make_error_array(aval: Any, message: str) -> Any:
    """Returns an array that cannot be read: whoever waits for it gets an error.

    Args:
      aval: a `ShapeDtypeStruct` with a sharding.
      message: the error's.

    Raises:
      ValueError: the sharding is missing.
    """
    struct = _typed(aval)
    return make_array_of_error(_client_of([struct]), struct, message)
