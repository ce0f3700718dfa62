# SPDX-License-Identifier: Apache-2.0
"""Functions that make arrays of buffers, under the names of JAX's private module.

Rules of libraries' own dtypes call these functions with the type of the array that represents
theirs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from olympus.core import ShapedArray
from olympus_ir.types import dtypes
from olympus_xla._jaxlib import array_result_handler

__all__ = [
    "ResultsHandler",
    "global_aval_to_result_handler",
    "global_avals_to_results_handler",
    "global_result_handlers",
]

_Handler = Callable[[Any], Any]


def _handler_of_array(aval: Any, out_sharding: Any, committed: bool) -> _Handler:
    if dtypes.issubdtype(aval.dtype, dtypes.extended):
        return aval.dtype._rules.global_sharded_result_handler(aval, out_sharding, committed)
    return array_result_handler(aval, out_sharding, committed)


#: The functions that return the handlers of results, by the types of avals.
global_result_handlers: dict[type, Callable[[Any, Any, bool], _Handler]] = {
    ShapedArray: _handler_of_array
}


def global_aval_to_result_handler(aval: Any, out_sharding: Any, committed: bool) -> _Handler:
    """Returns the function that makes a result of its buffers, one for each device.

    Args:
      aval: the aval of the result.
      out_sharding: the sharding of the result.
      committed: whether the result stays on its devices.

    Raises:
      TypeError: results of this type of aval have no handler.
    """
    make = global_result_handlers.get(type(aval))
    if make is None:
        raise TypeError(f"No pxla_result_handler for type: {type(aval)}")
    return make(aval, out_sharding, committed)


@dataclasses.dataclass(frozen=True)
class ResultsHandler:
    """A function that makes all results of a program of their buffers.

    Attributes:
      handlers: the function of each result.
      out_shardings: the sharding of each result.
      out_avals: the aval of each result.
    """

    handlers: Sequence[_Handler]
    out_shardings: Sequence[Any]
    out_avals: Sequence[Any]

    def __call__(self, out_bufs: Sequence[Any]) -> list[Any]:
        """Returns the results of lists of buffers."""
        return [handler(bufs) for handler, bufs in zip(self.handlers, out_bufs, strict=True)]


def global_avals_to_results_handler(
    global_out_avals: Sequence[Any], shardings: Sequence[Any], committed: bool
) -> ResultsHandler:
    """Returns the function that makes all results of a program of their buffers.

    Args:
      global_out_avals: the aval of each result.
      shardings: the sharding of each result.
      committed: whether the results stay on their devices.

    Raises:
      TypeError: results of some type of aval have no handler.
    """
    handlers = [
        global_aval_to_result_handler(aval, sharding, committed)
        for aval, sharding in zip(global_out_avals, shardings, strict=True)
    ]
    return ResultsHandler(handlers, shardings, global_out_avals)
