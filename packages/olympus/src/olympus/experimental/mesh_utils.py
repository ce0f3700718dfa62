# SPDX-License-Identifier: Apache-2.0
"""Arrangements of devices in meshes that follow the physical interconnect."""

from olympus_sharding.meshes.arrangements import (
    create_device_mesh,
    create_hybrid_device_mesh,
    device_kind_handler_dict,
)

from .._faces import present as _present

__all__ = ["create_device_mesh", "create_hybrid_device_mesh", "device_kind_handler_dict"]

_present(__name__)
