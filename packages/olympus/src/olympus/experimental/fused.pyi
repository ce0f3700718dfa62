# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.lax.annotations.functions import fused as fused
from typing import Any
fused_p: Any
