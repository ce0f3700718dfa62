# SPDX-License-Identifier: Apache-2.0
"""Meshes and shardings: the layout of arrays over devices."""

from olympus_sharding import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    ManualAxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    get_abstract_mesh,
    get_mesh,
    make_single_device_sharding,
    set_mesh,
    use_abstract_mesh,
)

from . import _lazy

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "ManualAxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "auto_axes",  # noqa: F822 - looked up below, like others
    "explicit_axes",  # noqa: F822
    "get_abstract_mesh",
    "get_mesh",
    "make_single_device_sharding",
    "reshard",  # noqa: F822
    "set_mesh",
    "use_abstract_mesh",
]

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from(
            "olympus_sharding.annotations.axis_scopes", "auto_axes", "explicit_axes"
        ),
        **_lazy.names_from("olympus_sharding.annotations.constraints", "reshard"),
        # The former name of `set_mesh` as a context manager.
        **_lazy.names_from("olympus_sharding", "use_mesh=set_mesh"),
    },
)
