# SPDX-License-Identifier: Apache-2.0
"""Descriptions of machines that are not present, as targets of compilation."""

from olympus_xla._jaxlib import Device
from olympus_xla.platforms.topologies import (
    TopologyDescription,
    get_attached_topology,
    get_topology_desc,
    make_mesh,
)

from .._faces import present as _present

__all__ = [
    "Device",
    "TopologyDescription",
    "get_attached_topology",
    "get_topology_desc",
    "make_mesh",
]

_present(__name__)
