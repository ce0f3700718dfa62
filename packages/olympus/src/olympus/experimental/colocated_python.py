# SPDX-License-Identifier: Apache-2.0
"""Python functions that run on the hosts of their arguments."""

from olympus_xla.processes.colocated import (
    colocated_cpu_devices,
    colocated_python,
    colocated_python_class,
)

from .._faces import present as _present

__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]

_present(__name__)
