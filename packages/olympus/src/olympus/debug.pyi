# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.debugger.breakpoints import breakpoint as breakpoint
from olympus_ir.lax.callbacks import debug_callback as _debug_callback
from olympus_ir.lax.callbacks import debug_log as _debug_log
from olympus_ir.lax.callbacks import debug_print as _debug_print
from olympus_sharding.annotations.inspection import inspect_array_sharding as inspect_array_sharding
from olympus_sharding.annotations.inspection import visualize_array_sharding as visualize_array_sharding
from olympus_sharding.shardings.visualization import visualize_sharding as visualize_sharding
from typing import Any
DebugEffect: Any
OrderedDebugEffect: Any
callback = _debug_callback
log = _debug_log
print = _debug_print
