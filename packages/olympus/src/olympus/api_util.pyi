# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.adapters.construction import argnums_partial as argnums_partial
from olympus_ir.adapters.construction import donation_vector as donation_vector
from olympus_ir.adapters.construction import flatten_axes as flatten_axes
from olympus_ir.adapters.construction import rebase_donate_argnums as rebase_donate_argnums
from olympus_ir.adapters.construction import shaped_abstractify as shaped_abstractify
from olympus_ir.adapters.wrapped_functions import flatten_fun as flatten_fun
from olympus_ir.adapters.wrapped_functions import flatten_fun_nokwargs as flatten_fun_nokwargs
from olympus_ir.trees.flattening import debug_info as debug_info
from typing import Any
safe_map: Any
