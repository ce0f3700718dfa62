# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.processes.distributed import initialize as initialize
from olympus_xla.processes.distributed import is_initialized as is_initialized
from olympus_xla.processes.distributed import shutdown as shutdown
