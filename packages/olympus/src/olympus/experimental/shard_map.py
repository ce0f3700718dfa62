# SPDX-License-Identifier: Apache-2.0
"""`shard_map` with its former, experimental parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_sharding.manual.shard_map import shard_map as _shard_map

from .._faces import present as _present

__all__ = ["shard_map"]


def shard_map(
    f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True
) -> Callable[..., Any]:
    """Maps a function over the parts of arrays; new programs call `olympus.shard_map`.

    Args:
      f: the function, which receives one device's shards of the arrays.
      mesh: the devices.
      in_specs: a pytree prefix of the arguments, with partition specs.
      out_specs: a pytree prefix of the results, with partition specs.
      check_rep: the former name of ``check_vma``.

    Returns:
      The function of whole arrays.

    Example:
      >>> import olympus
      >>> from olympus.experimental.shard_map import shard_map
      >>> mesh = olympus.sharding.Mesh(olympus.devices()[:1], ("x",))
      >>> P = olympus.P
      >>> shard_map(lambda x: 2 * x, mesh, P("x"), P("x"))(olympus.numpy.ones(2))
      Array([2., 2.], dtype=float32)
    """
    return _shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep)


_present(__name__)
