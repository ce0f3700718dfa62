# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.lax.annotations.functions import compute_on as compute_on
from olympus_ir.lax.annotations.functions import compute_on2 as compute_on2
