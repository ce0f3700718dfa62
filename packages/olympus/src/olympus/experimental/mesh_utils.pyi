# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sharding.meshes.arrangements import create_device_mesh as create_device_mesh
from olympus_sharding.meshes.arrangements import create_hybrid_device_mesh as create_hybrid_device_mesh
from olympus_sharding.meshes.arrangements import device_kind_handler_dict as device_kind_handler_dict
