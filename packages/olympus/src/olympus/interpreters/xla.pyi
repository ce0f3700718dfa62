# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.programs.primitives import Primitive as Primitive
from olympus_xla.calls.eager import compile_and_run as compile_and_run
from typing import Any
Backend: Any
apply_primitive: Any
canonicalize_dtype_handlers: Any
