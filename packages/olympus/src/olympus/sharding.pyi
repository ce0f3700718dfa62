# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.types.layouts import ManualAxisType as ManualAxisType
from olympus_ir.types.placement import AbstractDevice as AbstractDevice
from olympus_ir.types.placement import AbstractMesh as AbstractMesh
from olympus_ir.types.placement import AxisType as AxisType
from olympus_ir.types.placement import NamedSharding as NamedSharding
from olympus_ir.types.placement import PartitionSpec as PartitionSpec
from olympus_ir.types.placement import Sharding as Sharding
from olympus_ir.types.placement import SingleDeviceSharding as SingleDeviceSharding
from olympus_sharding import Mesh as Mesh
from olympus_sharding import set_mesh as set_mesh
from olympus_sharding import use_abstract_mesh as use_abstract_mesh
from olympus_sharding.annotations.axis_scopes import auto_axes as auto_axes
from olympus_sharding.annotations.axis_scopes import explicit_axes as explicit_axes
from olympus_sharding.annotations.constraints import reshard as reshard
from olympus_sharding.meshes.context import get_abstract_mesh as get_abstract_mesh
from olympus_sharding.meshes.context import get_mesh as get_mesh
from olympus_sharding.shardings.behavior import make_single_device_sharding as make_single_device_sharding
from typing import Any
use_mesh: Any
