# SPDX-License-Identifier: Apache-2.0
"""Reference rules of callbacks, which call the Python function."""

from __future__ import annotations

from ..lax.callbacks import (
    debug_callback_p,
    debug_print_p,
    io_callback_p,
    pure_callback_p,
    run_callback,
    run_debug_callback,
    run_debug_print,
)
from .tables import reference_rules, takes_arrays

reference_rules.define(debug_print_p, takes_arrays(run_debug_print))
reference_rules.define(debug_callback_p, takes_arrays(run_debug_callback))
reference_rules.define(pure_callback_p, takes_arrays(run_callback))
reference_rules.define(io_callback_p, takes_arrays(run_callback))
