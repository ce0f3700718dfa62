# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.calls.eager import compile_and_run as compile_and_run
from typing import Any
Backend: Any
Primitive: Any
apply_primitive: Any
canonicalize_dtype_handlers: Any
