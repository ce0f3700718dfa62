# SPDX-License-Identifier: Apache-2.0
"""Function objects of jaxlib. Repeated calls of such an object never enter Python.

The object flattens the arguments, looks up the `Fastpath` that an earlier cache miss returned, and
runs the executable, all in C++.
"""

from __future__ import annotations

import weakref
from collections import namedtuple
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from olympus_ir._jaxlib import call_registry
from olympus_ir.diagnostics.encodable import encodable

from .._jaxlib import PjitFunctionCache, pjit_function
from ..arrays.transfer import put_leaf

__all__ = ["Fastpath", "clear_call_caches", "make_cpp_function"]


# A class made by `typing.NamedTuple` would take twice as long to create at import.
class Fastpath(
    namedtuple(
        "Fastpath",
        "xla_executable out_pytree_def in_shardings out_shardings out_avals out_committed "
        "kept_var_bitvec in_device_local_layouts const_args",
    )
):
    """Data with which the C++ call path runs an executable without Python.

    Attributes:
      xla_executable: the loaded executable.
      out_pytree_def: the structure of the result.
      in_shardings: the sharding of each kept operand.
      out_shardings: the sharding of each result.
      out_avals: the type of each result.
      out_committed: for each result, whether it is committed.
      kept_var_bitvec: for each operand, constants first, whether it is passed to the executable.
      in_device_local_layouts: the layout of each kept operand; None for the default.
      const_args: arrays passed before the operands.
    """

    __slots__ = ()


_CACHE_CAPACITY = 4096
# The cache shared by all function objects. The Python function and the key identify an entry, so a
# function that is jitted twice is compiled once.
_shared_cache = PjitFunctionCache(_CACHE_CAPACITY)


def clear_call_caches() -> None:
    """Empties the cache that function objects share."""
    _shared_cache.clear()


def _put_argument(argument: Any, sharding: Any, layout: Any) -> Any:
    """Puts an operand on devices.

    C++ calls this function for operands that it cannot place itself.
    """
    return put_leaf(argument, sharding)


def make_cpp_function(
    name: str,
    fun: Callable[..., Any],
    cache_miss: Callable[..., Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    key: Hashable = "call",
    own_capacity: int | None = None,
) -> Any:
    """Returns a function object of jaxlib that runs compiled calls without entering Python.

    Args:
      name: the function's name.
      fun: the function, which is called directly while ``disable_jit`` is set.
      cache_miss: called with the arguments if no executable is known. It returns the result; a
        `Fastpath`, or None to be called again next time; and whether to drop the cache entry.
      static_argnums: positions of arguments that are compared by value.
      static_argnames: names of keyword arguments that are compared by value.
      key: identifies the function in the shared cache, together with ``fun``.
      own_capacity: the capacity of a cache that only this object uses. None for the cache that all
        objects of the same ``fun`` and ``key`` share.
    """
    try:
        weakref.ref(fun)
    except TypeError:
        # jaxlib crashes where it finds the entry of a function that has no weak references, such as
        # a ufunc of NumPy. So each object has an entry of its own.
        key = (key, object())
    return pjit_function(
        encodable(name),
        fun,
        cache_miss,
        list(static_argnums),
        list(static_argnames),
        key,
        call_registry,
        _put_argument,
        _shared_cache if own_capacity is None else PjitFunctionCache(own_capacity),
    )
