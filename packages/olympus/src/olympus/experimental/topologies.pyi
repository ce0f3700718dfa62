# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.types.placement import Device as Device
from olympus_xla.platforms.topologies import TopologyDescription as TopologyDescription
from olympus_xla.platforms.topologies import get_attached_topology as get_attached_topology
from olympus_xla.platforms.topologies import get_topology_desc as get_topology_desc
from olympus_xla.platforms.topologies import make_mesh as make_mesh
