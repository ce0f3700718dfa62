# SPDX-License-Identifier: Apache-2.0
"""Shardings in XLA's terms, and their serialized form."""

from __future__ import annotations

from olympus_xla._jaxlib import GSPMDSharding, HloSharding, OpSharding

from .._faces import present as _present

__all__ = [
    "GSPMDSharding",
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
]


def get_op_sharding_from_serialized_proto(sharding: bytes) -> OpSharding:
    """Deserializes an ``OpSharding``.

    Args:
      sharding: a serialized ``OpSharding``.

    Returns:
      The ``OpSharding``.
    """
    proto = OpSharding()
    proto.ParseFromString(sharding)
    return proto


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> HloSharding:
    """Deserializes an ``OpSharding`` to an ``HloSharding``.

    Args:
      sharding: a serialized ``OpSharding``.

    Returns:
      The ``HloSharding``.

    Example:
      >>> from jaxlib.xla_client import HloSharding
      >>> proto = get_serialized_proto_from_hlo_sharding(HloSharding.replicate())
      >>> get_hlo_sharding_from_serialized_proto(proto)
      {replicated}
    """
    return HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: HloSharding) -> bytes:
    """Serializes a sharding as an ``OpSharding``.

    Args:
      sharding: the sharding.

    Returns:
      The serialized ``OpSharding``.
    """
    return sharding.to_proto().SerializeToString()


_present(__name__)
