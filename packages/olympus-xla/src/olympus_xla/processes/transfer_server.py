# SPDX-License-Identifier: Apache-2.0
"""Transfer of arrays from one program to another over the network.

The server and the connections are objects of XLA, which take flat lists of arrays. This module adds
methods for pytrees.
"""

from __future__ import annotations

from typing import Any

from olympus_ir.trees import pytrees

from .._jaxlib import TransferConnection, TransferServer, start_transfer_server
from .._jaxlib import make_error_array as make_array_of_error

__all__ = ["TransferConnection", "TransferServer", "make_error_array", "start_transfer_server"]


def _typed(struct: Any) -> Any:
    """Returns the type of an array with a sharding, in XLA's form.

    Raises:
      ValueError: the type has no sharding.
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
    """Offers a pytree of arrays under an id until another program has pulled the arrays.

    Args:
      uuid: the id; each id is used once.
      arrays: the arrays.
      timeout: the time during which the arrays are offered.
    """
    self._await_pull_flat(uuid, pytrees.tree_leaves(arrays), timeout)


def pull(self: Any, uuid: int, xs: Any, timeout: Any = None) -> Any:
    """Pulls the arrays that the other side offers under an id.

    Args:
      uuid: the id.
      xs: a pytree of `ShapeDtypeStruct`s with shardings, the types of the offered arrays.
      timeout: the time to wait.

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
    """Returns an array that raises an error when it is read.

    Args:
      aval: a `ShapeDtypeStruct` with a sharding.
      message: the message of the error.

    Raises:
      ValueError: the sharding is missing.
    """
    struct = _typed(aval)
    return make_array_of_error(_client_of([struct]), struct, message)
