# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.processes.colocated import colocated_cpu_devices as colocated_cpu_devices
from olympus_xla.processes.colocated import colocated_python as colocated_python
from olympus_xla.processes.colocated import colocated_python_class as colocated_python_class
